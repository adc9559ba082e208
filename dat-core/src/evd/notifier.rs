//! Notifies the waiter of an arriving event, or, if there is none, the notification object and the
//! user of the descriptor.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use super::EvdInner;
use super::streams::Mode;
use crate::cno::CnoInner;
use crate::counters::EvdCounter;
use crate::event::AsyncErrorKind;
use crate::ia::IaInner;
use crate::provider::{CompletionSink, Notify};
use crate::sync::Mutex;
use crate::wakeup::Wakeup;

pub(super) struct Notifier {
    pub(super) wakeup: Wakeup,
    ia: Weak<IaInner>,
    id: u64,
    evd: OnceLock<Weak<EvdInner>>,
    /// An overflow was reported, and the queue has not been drained since.
    overflowed: AtomicBool,
    /// True if the dispatcher counts.
    is_counted: AtomicBool,
    state: Mutex<State>,
}

struct State {
    waiting: bool,
    /// The consumer requested that arrivals make the descriptor readable.
    armed: bool,
    enabled: bool,
    cno: Option<Arc<CnoInner>>,
}

impl Notifier {
    pub(super) fn new(ia: &Arc<IaInner>, id: u64) -> Self {
        let state = State { waiting: false, armed: false, enabled: true, cno: None };
        Self {
            wakeup: Wakeup::default(),
            ia: Arc::downgrade(ia),
            id,
            evd: OnceLock::new(),
            overflowed: AtomicBool::new(false),
            is_counted: AtomicBool::new(false),
            state: Mutex::new(state),
        }
    }

    pub(super) fn bind(&self, evd: &Arc<EvdInner>) {
        let _ = self.evd.set(Arc::downgrade(evd));
    }

    /// Sets whether the dispatcher counts.
    pub(super) fn set_counted(&self, is_counted: bool) {
        self.is_counted.store(is_counted, Ordering::Relaxed);
    }

    #[cold]
    fn count_callback(&self) {
        if let Some(evd) = self.evd.get().and_then(Weak::upgrade) {
            evd.counter_set().count(EvdCounter::DtoCallback);
        }
    }

    pub(super) fn set_cno(&self, cno: Option<Arc<CnoInner>>) {
        self.state.lock().cno = cno;
    }

    pub(super) fn set_enabled(&self, enabled: bool) {
        self.state.lock().enabled = enabled;
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.state.lock().enabled
    }

    /// Records a waiter.
    pub(super) fn begin_wait(&self) {
        self.state.lock().waiting = true;
    }

    /// Removes the waiter; returns which arrivals must notify from then on.
    pub(super) fn end_wait(&self, mode: Mode) -> Notify {
        let mut state = self.state.lock();
        state.waiting = false;
        state.wanted(mode)
    }

    pub(super) fn set_armed(&self, armed: bool) {
        self.state.lock().armed = armed;
    }

    /// Reports an overflow if it is the first one since the queue was drained.
    pub(super) fn overflow(&self) {
        if self.overflowed.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Some(ia) = self.ia.upgrade() {
            ia.raise_async(AsyncErrorKind::EvdOverflow, self.id);
        }
    }

    /// Records that the queue was empty.
    #[inline]
    pub(super) fn drained(&self) {
        if self.overflowed.load(Ordering::Relaxed) {
            self.overflowed.store(false, Ordering::Release);
        }
    }

    /// An event arrived: notifies the waiter, the descriptor and the notification object.
    pub(super) fn notify(&self) {
        let cno = {
            let state = self.state.lock();
            if state.waiting {
                self.wakeup.signal();
                return;
            }
            if state.armed || self.wakeup.has_fd() {
                self.wakeup.signal();
            }
            match &state.cno {
                Some(cno) if state.enabled => Arc::clone(cno),
                _ => return,
            }
        };
        if let Some(evd) = self.evd.get() {
            cno.trigger(evd);
        }
    }

    /// Which completions must notify when they arrive, given the mode of the streams.
    pub(super) fn wanted(&self, mode: Mode) -> Notify {
        self.state.lock().wanted(mode)
    }

    /// As [`wanted`](Self::wanted), while the waiter is awake and takes what arrives itself.
    pub(super) fn wanted_besides_waiter(&self, mode: Mode) -> Notify {
        let state = self.state.lock();
        State::wanted_if(state.listens_besides_waiter(), mode)
    }
}

impl State {
    fn wanted(&self, mode: Mode) -> Notify {
        Self::wanted_if(self.waiting || self.listens_besides_waiter(), mode)
    }

    fn listens_besides_waiter(&self) -> bool {
        self.armed || (self.enabled && self.cno.is_some())
    }

    fn wanted_if(listening: bool, mode: Mode) -> Notify {
        match mode {
            _ if !listening => Notify::Off,
            Mode::Solicited => Notify::Solicited,
            Mode::Threshold | Mode::Unsignalled => Notify::Signalled,
        }
    }
}

impl CompletionSink for Notifier {
    fn completion_ready(&self) {
        if self.is_counted.load(Ordering::Relaxed) {
            self.count_callback();
        }
        self.notify();
    }

    fn completion_overflow(&self) {
        self.overflow();
    }
}
