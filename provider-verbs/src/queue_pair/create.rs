//! Creating, modifying and resetting a queue pair.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::mem::replace;
use std::sync::{Arc, Weak};

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::status::Operation;
use dat_provider::{QueuePair, QueuePairLimits, QueuePairSpec, Service, unsupported};
use dat_provider_kit::errors::wrong_state;
use dat_sync::Mutex;

use super::last_look::LastLook;
use super::post::no_room;
use super::state::{Link, Mode, PostQueue, Receiver, Sender, State, VerbsQp};
use crate::completion_queue::{self, Attachment};
use crate::device::{Device, INTERNAL_REQUESTS};
use crate::domain::{self, Domain};
use crate::engine::{QueueEvents, Target};
use crate::errors::exhausted;
use crate::shared_receive::{self, Shared};
use crate::sys::verbs::{IBV_SEND_FENCE, IBV_SEND_INLINE, IBV_SEND_SIGNALED};
use crate::verbs::{self, Capabilities, QueuePairInit, QueuePairType};
use crate::work_queue::WorkQueue;

/// Number of inline bytes requested for each request.
const INLINE: u32 = 128;

/// Creates a queue pair.
pub(crate) fn create(device: &Arc<Device>, spec: &QueuePairSpec) -> Result<Box<dyn QueuePair>> {
    let key = device.engine.fresh_key();
    let parts = Parts::new(device, key, spec)?;
    let Parts { link, sender, receiver } = parts;
    let queue_pair = Arc::new_cyclic(|me: &Weak<VerbsQp>| {
        device.engine.register(key, Target::QueuePair(me.clone()));
        VerbsQp {
            device: Arc::clone(device),
            key,
            me: Weak::clone(me),
            datagrams: spec.service == Service::Datagram,
            link: Mutex::new(link),
            sender: Mutex::new(sender),
            receiver: Mutex::new(receiver),
        }
    });
    Ok(Box::new(queue_pair))
}

/// The objects and settings that a specification requires.
struct Parts {
    link: Link,
    sender: Sender,
    receiver: Receiver,
}

impl Parts {
    fn new(device: &Arc<Device>, key: u64, spec: &QueuePairSpec) -> Result<Self> {
        let datagrams = spec.service == Service::Datagram;
        if datagrams && device.limits.is_iwarp {
            return Err(unsupported("datagrams"));
        }
        let limits = spec.limits;
        let domain = spec.domain.as_deref().map(domain::find).transpose()?;
        let shared = spec.shared_receives.as_deref().map(shared_receive::find).transpose()?;
        let requests = completion_queue::find(
            device,
            spec.request_queue.as_deref(),
            Subtype::InvalidHandleEvdRequest,
        )?;
        let receives = completion_queue::find(
            device,
            spec.receive_queue.as_deref(),
            Subtype::InvalidHandleEvdRecv,
        )?;
        let (own, of_shared) = match &shared {
            Some(shared) => (0, shared.max()),
            None => (limits.max_receives, 0),
        };
        let requested = WorkQueue::create(spec.tag, key, limits.max_requests, INTERNAL_REQUESTS)
            .ok_or_else(|| Error::no_memory("the requests of the endpoint"))?;
        let received = WorkQueue::create(spec.tag, key, own, 0).ok_or_else(no_room)?;
        let entries = limits.max_requests.saturating_add(INTERNAL_REQUESTS);
        let requests = requests.attach(&requested.work_queue, None, entries, datagrams)?;
        let entries = own.saturating_add(of_shared);
        let receives =
            receives.attach(&received.work_queue, shared.as_ref(), entries, datagrams)?;
        let signalled = match device.limits.quirks.requests_overtake_reads {
            true => IBV_SEND_SIGNALED | IBV_SEND_FENCE,
            false => IBV_SEND_SIGNALED,
        };
        let mut parts = Self {
            link: Link {
                state: State::Unconnected,
                retired: false,
                domain,
                shared,
                limits,
                sink: Arc::clone(&spec.sink),
                hardware: None,
                datagrams: None,
            },
            sender: Sender {
                signalled,
                signalled_inline: signalled | IBV_SEND_INLINE,
                inline: 0,
                quiet: 0,
                // A datagram cannot be followed by an empty write that completes it.
                most_quiet: match datagrams {
                    true => 0,
                    false => (limits.max_requests / 2).saturating_sub(1),
                },
                queue: PostQueue::new(requested, requests),
                handles: RefCell::default(),
                last_look: LastLook::default(),
            },
            receiver: Receiver {
                operation: match datagrams {
                    true => Operation::ReceiveDatagram,
                    false => Operation::Receive,
                },
                queue: PostQueue::new(received, receives),
                early: VecDeque::new(),
            },
        };
        if let Some(domain) = &parts.link.domain {
            let attachments = [&*parts.sender.queue.attachment, &*parts.receiver.queue.attachment];
            let shared = parts.link.shared.as_ref();
            let hardware =
                make(domain, key, attachments, shared, &limits, queue_pair_type(datagrams))?;
            install(&mut parts.link, &mut parts.sender, &mut parts.receiver, hardware);
        }
        Ok(parts)
    }
}

const fn queue_pair_type(datagrams: bool) -> QueuePairType {
    if datagrams { QueuePairType::Ud } else { QueuePairType::Rc }
}

/// Creates the device's queue pair, with space for the provider's own requests.
fn make(
    domain: &Domain,
    key: u64,
    [requests, receives]: [&Attachment; 2],
    shared: Option<&Arc<Shared>>,
    limits: &QueuePairLimits,
    queue_pair_type: QueuePairType,
) -> Result<Arc<verbs::QueuePair>> {
    let with_inline = |max_inline_data| {
        let init = QueuePairInit {
            key,
            send_queue: &requests.queue.hardware,
            receive_queue: &receives.queue.hardware,
            shared: shared.map(|shared| &shared.hardware),
            capabilities: Capabilities {
                max_send_wr: limits.max_requests.saturating_add(INTERNAL_REQUESTS),
                max_recv_wr: if shared.is_some() { 0 } else { limits.max_receives },
                max_send_sge: limits.max_request_segments.max(1),
                max_recv_sge: if shared.is_some() { 0 } else { limits.max_receive_segments.max(1) },
                max_inline_data,
            },
            queue_pair_type,
        };
        verbs::QueuePair::new(&domain.hardware, &init)
    };
    // A device may not support inline data with so large a number of segments, or at all.
    with_inline(INLINE)
        .or_else(|_| with_inline(INLINE / 2))
        .or_else(|_| with_inline(0))
        .map(Arc::new)
        .map_err(|failure| exhausted(failure, Subtype::ResourceTep, "queue pair of that size"))
}

/// Installs the device's queue pair, and work_queue_table its completions; returns the former one.
fn install(
    link: &mut Link,
    sender: &mut Sender,
    receiver: &mut Receiver,
    hardware: Arc<verbs::QueuePair>,
) -> Option<Arc<verbs::QueuePair>> {
    sender.inline = u64::from(hardware.capabilities().max_inline_data);
    let before = link.hardware.take();
    if link.shared.is_some() {
        let number = before.as_ref().map(|before| before.number());
        receiver.queue.attachment.renumber(number, Some(hardware.number()));
    }
    link.hardware = Some(hardware);
    before
}

impl VerbsQp {
    pub(super) fn modify(&self, spec: &QueuePairSpec) -> Result<()> {
        let mut link = self.link.lock();
        if link.retired || !matches!(link.state, State::Unconnected) {
            return Err(link.state.refusal());
        }
        if link.datagrams.is_some() {
            return Err(wrong_state(Subtype::InvalidStateEpNotready)
                .because("peers may already know the address of the endpoint")
                .advise("modify a datagram endpoint before it connects or accepts"));
        }
        let mut parts = Parts::new(&self.device, self.key, spec)?;
        let mut sender = self.sender.lock();
        let mut receiver = self.receiver.lock();
        // The receives that wait are moved, with new sequence numbers.
        let posted = receiver.early.len();
        if posted > spec.limits.max_receives as usize && spec.shared_receives.is_none() {
            return Err(Error::new(ReturnType::InsufficientResources, Subtype::ResourceTep)
                .because(format!(
                    "{posted} receives are posted, more than the new limit of {}",
                    spec.limits.max_receives
                )));
        }
        for (number, segments) in &receiver.early {
            let Some(record) = receiver.queue.posts.work_queue.read(*number) else { continue };
            let fresh = &mut parts.receiver;
            let number =
                fresh.queue.posts.write(&record).ok_or_else(dat_provider_kit::errors::no_credit)?;
            fresh.keep_early(number, segments)?;
        }
        let before = (
            replace(&mut *link, parts.link),
            replace(&mut *sender, parts.sender),
            replace(&mut *receiver, parts.receiver),
        );
        drop((receiver, sender, link));
        // The former objects may be the last references and take long to destroy.
        drop(before);
        Ok(())
    }

    /// Returns to Unconnected with a new device queue pair; the number of the old one stays
    /// reserved for its connection for a while.
    pub(super) fn reset(&self) -> Result<()> {
        // The thread that ended the connection may know of it before the end is complete.
        self.finish();
        let mut link = self.link.lock();
        if link.retired || !matches!(link.state, State::Disconnected(_)) {
            return Err(link.state.refusal());
        }
        let mut sender = self.sender.lock();
        let mut receiver = self.receiver.lock();
        receiver.queue.attachment.queue.collect_quietly();
        let before = match &link.domain {
            None => None,
            Some(domain) => {
                let attachments = [&*sender.queue.attachment, &*receiver.queue.attachment];
                let shared = link.shared.as_ref();
                let queue_pair_type = queue_pair_type(self.datagrams);
                let hardware =
                    make(domain, self.key, attachments, shared, &link.limits, queue_pair_type)?;
                install(&mut link, &mut sender, &mut receiver, hardware)
            }
        };
        for posts in [&sender.queue.posts, &receiver.queue.posts] {
            posts.work_queue.begin_connection();
        }
        sender.queue.leave(Mode::Early);
        receiver.queue.leave(Mode::Early);
        let state = replace(&mut link.state, State::Unconnected);
        drop((receiver, sender, link));
        drop((before, state));
        Ok(())
    }
}
