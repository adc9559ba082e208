//! A provider whose completions the models create: the stub with its own completion queue.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::error::Result;
use crate::provider::{
    Adapter, AdapterAttributes, Completion, CompletionDescriptor, CompletionFeatures,
    CompletionPoller, CompletionQueue, CompletionQueueParts, CompletionSink, Description,
    DiscoveredAdapter, ListenSink, ListenerParts, Notify, OpenRequest, ProtectionDomain, Provider,
    QueuePair, QueuePairSpec, Reach, SharedWord, SleepTarget, WaiterProgress, stub::StubProvider,
};
use crate::sync::Mutex;
use crate::{AsyncEvd, Evd, EvdFlags, EvdOptions, Ia, IaOptions};

/// The completion queue that was created last.
#[derive(Default)]
struct Made {
    queue: OnceLock<Completions>,
}

struct ModelProvider {
    made: Arc<Made>,
    sleeps: Sleeps,
}

/// The descriptors that waiters of the adapter sleep on, besides a wakeup.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sleeps {
    /// Nothing.
    Plainly,
    /// The descriptors of the completion queues.
    OnCompletions,
    /// The progress of the adapter, which one of them claims.
    OnProgress,
    /// The descriptor of the only connection of their dispatcher.
    OnLink,
    /// A word of it.
    OnLinkWord,
}

impl Provider for ModelProvider {
    fn describe(&self) -> Description {
        Description { name: "model", vendor: "dat-core", version: (0, 1), reach: Reach::Process }
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        vec![DiscoveredAdapter {
            name: "model".to_owned(),
            summary: "completes what the models request".to_owned(),
            unusable: None,
        }]
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        let adapter = StubProvider.open(request)?;
        let made = Arc::clone(&self.made);
        Ok(Arc::new(ModelAdapter { adapter, made, sleeps: self.sleeps }))
    }
}

struct ModelAdapter {
    adapter: Arc<dyn Adapter>,
    made: Arc<Made>,
    sleeps: Sleeps,
}

/// Progress that never has work to do.
struct NoLinks {
    is_claimed: Mutex<bool>,
    never_readable: EventFd,
}

impl WaiterProgress for NoLinks {
    fn claim(&self) -> bool {
        !std::mem::replace(&mut *self.is_claimed.lock(), true)
    }

    fn release(&self) {
        *self.is_claimed.lock() = false;
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.never_readable.as_fd()
    }

    fn advance(&self) -> bool {
        true
    }
}

fn eventfd() -> EventFd {
    let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
    EventFd::from_flags(flags).expect("a descriptor")
}

impl Adapter for ModelAdapter {
    dat_provider::forward! { self => self.adapter;
        fn attributes() -> AdapterAttributes;
        fn create_domain() -> Result<Arc<dyn ProtectionDomain>>;
        fn create_queue_pair(spec: QueuePairSpec) -> Result<Box<dyn QueuePair>>;
        fn listen(qualifier: Option<u64>, sink: Arc<dyn ListenSink>) -> Result<ListenerParts>;
    }

    fn create_completion_queue(
        &self,
        _depth: usize,
        sink: Arc<dyn CompletionSink>,
    ) -> Result<CompletionQueueParts> {
        let own = |sleeps| (self.sleeps == sleeps).then(|| Arc::new(eventfd()));
        let (descriptor, link) = (own(Sleeps::OnCompletions), own(Sleeps::OnLink));
        let word = (self.sleeps == Sleeps::OnLinkWord).then(Arc::default);
        let shared = Arc::new(Shared { state: Mutex::default(), descriptor, link, word, sink });
        let _ = self.made.queue.set(Completions(Arc::clone(&shared)));
        Ok(CompletionQueueParts { queue: Arc::new(Half), poller: Box::new(Poller(shared)) })
    }

    fn waiter_progress(&self) -> Option<Arc<dyn WaiterProgress>> {
        let links = || NoLinks { is_claimed: Mutex::new(false), never_readable: eventfd() };
        let has_progress = [Sleeps::OnProgress, Sleeps::OnLink, Sleeps::OnLinkWord];
        has_progress.contains(&self.sleeps).then(|| Arc::new(links()) as _)
    }
}

struct Shared {
    state: Mutex<State>,
    descriptor: Option<Arc<EventFd>>,
    /// Readable while there are completions that a waiter must find.
    link: Option<Arc<EventFd>>,
    /// Changes when there are completions that a waiter must find.
    word: Option<Arc<Word>>,
    sink: Arc<dyn CompletionSink>,
}

/// Read and changed under the lock of the state, so that only the sleep is a switching point for loom.
#[derive(Default)]
struct Word(AtomicU32);

impl SharedWord for Word {
    fn word(&self) -> &AtomicU32 {
        &self.0
    }
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Completion>,
    notify: Notify,
    /// A waiter sleeps on the descriptor, which has not been made readable since.
    watched: bool,
    /// A waiter sleeps on the connection, which no other thread reads.
    is_slept_on: bool,
}

struct Half;

impl CompletionQueue for Half {}

struct Poller(Arc<Shared>);

impl CompletionPoller for Poller {
    fn poll(&mut self, into: &mut [Completion]) -> usize {
        let mut state = self.0.state.lock();
        let count = state.waiting.len().min(into.len());
        for (place, completion) in into.iter_mut().zip(state.waiting.drain(..count)) {
            *place = completion;
        }
        if let Some(link) = self.0.link.as_ref().filter(|_| state.waiting.is_empty()) {
            let _ = link.read();
        }
        count
    }

    fn notify(&mut self, mode: Notify) -> bool {
        let mut state = self.0.state.lock();
        state.notify = mode;
        state.watched = false;
        !state.waiting.is_empty()
    }

    fn descriptor(&mut self) -> Option<CompletionDescriptor> {
        self.0.descriptor.clone().map(|descriptor| descriptor as CompletionDescriptor)
    }

    fn arm_descriptor(&mut self) {
        let mut state = self.0.state.lock();
        state.notify = Notify::Signalled;
        state.watched = true;
        if let Some(descriptor) = &self.0.descriptor {
            let _ = descriptor.read();
        }
    }

    fn begin_sleep(&mut self) -> Option<SleepTarget> {
        let mut state = self.0.state.lock();
        if let Some(word) = self.0.word.clone() {
            state.is_slept_on = true;
            let seen = word.0.load(Ordering::Relaxed);
            return Some(SleepTarget::Word { word, seen });
        }
        let link = self.0.link.clone()?;
        state.is_slept_on = true;
        if !state.waiting.is_empty() {
            link.write(1).expect("room");
        }
        Some(SleepTarget::Descriptor(link))
    }

    fn end_sleep(&mut self) {
        self.0.state.lock().is_slept_on = false;
    }

    fn resize(&mut self, _depth: usize) -> Result<()> {
        Ok(())
    }
}

/// The device's end of a completion queue.
#[derive(Clone)]
pub(super) struct Completions(Arc<Shared>);

impl Completions {
    /// A completion arrives: if requested, it makes the descriptor readable or makes its upcall.
    /// Like a device, it does so once.
    pub(super) fn arrive(&self, cookie: u64) {
        let wanted = {
            let mut state = self.0.state.lock();
            state.waiting.push_back(Completion { cookie, ..Completion::default() });
            let wanted = state.notify.wants(CompletionFeatures::default());
            match &self.0.descriptor {
                _ if state.is_slept_on => {
                    match (&self.0.word, &self.0.link) {
                        (Some(word), _) => _ = word.0.fetch_add(1, Ordering::Relaxed),
                        (None, link) => {
                            let link = link.as_ref().expect("it is slept on");
                            link.write(1).expect("room");
                        }
                    }
                    false
                }
                Some(descriptor) if wanted && state.watched => {
                    state.watched = false;
                    state.notify = Notify::Off;
                    descriptor.write(1).expect("room");
                    false
                }
                _ => wanted,
            }
        };
        if wanted {
            self.0.sink.completion_ready();
        }
    }
}

/// Opens an adapter with everything that it needs; the closure returns its completion queue.
pub(super) fn open() -> (Ia, impl FnOnce() -> Completions) {
    open_with(Sleeps::Plainly)
}

/// As [`open`], but a waiter claims the progress of the adapter.
pub(super) fn open_with_progress() -> (Ia, impl FnOnce() -> Completions) {
    open_with(Sleeps::OnProgress)
}

fn open_with(sleeps: Sleeps) -> (Ia, impl FnOnce() -> Completions) {
    let made = Arc::new(Made::default());
    let registry = crate::Registry::new();
    let provider = Arc::new(ModelProvider { made: Arc::clone(&made), sleeps });
    registry.add_provider(provider).expect("the first");
    let options = IaOptions { async_evd: AsyncEvd::Foreign, ..IaOptions::default() };
    let ia = registry.open_with("model", &options).expect("opens");
    (ia, move || made.queue.get().expect("a dispatcher was created").clone())
}

/// A dispatcher for software events and completions, and its completion queue.
pub(super) fn dispatcher() -> (Evd, Completions) {
    dispatcher_of(open())
}

/// As [`dispatcher`], but its waiter sleeps on the descriptor of the completion queue.
pub(super) fn showing_dispatcher() -> (Evd, Completions) {
    dispatcher_of(open_with(Sleeps::OnCompletions))
}

/// As [`dispatcher`], but its waiter claims the progress of the adapter.
pub(super) fn claiming_dispatcher() -> (Evd, Completions) {
    dispatcher_of(open_with_progress())
}

/// As [`dispatcher`], but its waiter sleeps on the connection.
pub(super) fn linked_dispatcher() -> (Evd, Completions) {
    dispatcher_of(open_with(Sleeps::OnLink))
}

/// As [`dispatcher`], but its waiter sleeps on a word of the connection.
pub(super) fn word_dispatcher() -> (Evd, Completions) {
    dispatcher_of(open_with(Sleeps::OnLinkWord))
}

fn dispatcher_of((ia, completions): (Ia, impl FnOnce() -> Completions)) -> (Evd, Completions) {
    let flags = EvdFlags::SOFTWARE | EvdFlags::DTO;
    let evd = ia.evd_create(&EvdOptions::new(4, flags)).expect("a dispatcher");
    (evd, completions())
}
