//! Queue pairs.
//!
//! # Modules
//! - `create`: the creation; `attributes` and `transition`: what a queue pair is, and its state machine; `modify`: the transitions.
//! - `link`: the connection by number; `role`: which side connects.
//! - `itself`: the connection of a queue pair to itself.
//! - `datagram`: queue pairs of type UD.
//! - `bind`: windows.
//! - `post`: posting; `waiting` and `held`: requests that wait for the connection; `inline`: data that a post copies.
//! - `receive_wait`: requests for which the peer has no receive.
//! - `failure`: what a failed completion causes.
//!
//! # Locks
//! In this order: `modifying`, the locks of the engine, `posting`, `control`. Calls of the engine are made with
//! `modifying` at most, because they may make upcalls of a connection, which take `posting` and `control`.

mod attributes;
mod bind;
mod create;
mod datagram;
mod failure;
mod held;
mod inline;
mod itself;
mod link;
mod modify;
mod post;
mod receive_wait;
mod role;
mod transition;
mod waiting;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use dat_provider::Activity;
use dat_sync::Mutex;
use dat_sync::biased::BiasedLock;

use crate::async_event::{AsyncElement, AsyncEventType};
use crate::completion_queue::CompletionQueue;
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::in_use::Use;
use crate::shared_receive::SharedReceiveQueue;

pub use attributes::{
    AttributeMask, QueuePairAttributes, QueuePairCapacity, QueuePairState, QueuePairType,
};
pub(crate) use datagram::number_of_port;
pub use inline::MAX_INLINE;

use failure::Special;
use held::Held;
use inline::InlineRing;
use itself::Twin;
use link::Link;

/// The parameters with which a queue pair is created (`ibv_qp_init_attr`).
#[derive(Clone, Debug)]
pub struct QueuePairInit {
    /// Returned in asynchronous events.
    pub user: u64,
    /// The queue of the completions of requests.
    pub send_queue: Arc<CompletionQueue>,
    /// The queue of the completions of receives.
    pub receive_queue: Arc<CompletionQueue>,
    /// The shared queue from which receives are taken, instead of a queue of its own.
    pub shared_receives: Option<Arc<SharedReceiveQueue>>,
    /// Its size.
    pub capacity: QueuePairCapacity,
    /// Its type.
    pub kind: QueuePairType,
    /// True if every request generates a completion (`sq_sig_all`).
    pub signals_all: bool,
}

/// A queue pair (ibv_create_qp(3)).
pub struct QueuePair {
    number: u32,
    user: AtomicU64,
    init: QueuePairInit,
    domain: Arc<Domain>,
    kit: Box<dyn dat_provider::QueuePair>,
    /// Requests go to the engine as they are posted. Changes under `posting`.
    is_open: AtomicBool,
    /// Receives go to the engine as they are posted.
    takes_receives: AtomicBool,
    /// The queue pair of the engine that sends if this one is connected to itself.
    twin: Mutex<Option<Twin>>,
    inline: BiasedLock<Option<InlineRing>>,
    posting: Mutex<Posting>,
    /// Held by a call that changes the state.
    modifying: Mutex<()>,
    control: Mutex<Control>,
    weak_self: Weak<Self>,
    is_destroyed: AtomicBool,
    uses: Mutex<Vec<Use>>,
}

/// Requests that wait for the connection.
#[derive(Default)]
struct Posting {
    held: VecDeque<Held>,
    /// Number of those that were posted before the state SQD, and are passed on in it.
    to_drain: usize,
    /// A thread passes them on.
    is_passing: bool,
    /// The engine has flushed what it had, and flushes what it gets.
    is_flushed: bool,
}

/// The state.
struct Control {
    state: QueuePairState,
    attributes: QueuePairAttributes,
    link: Link,
    /// Binds and local invalidations that were posted to the engine, the oldest first.
    special: VecDeque<Special>,
    /// True if something has arrived in the state RTR.
    has_arrival: bool,
    /// True if the event of the drained queue is requested.
    reports_drained: bool,
}

impl QueuePair {
    /// Its number (`qp_num`).
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Its domain.
    #[must_use]
    pub const fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    /// The parameters with which it was created, with the sizes that it has.
    #[must_use]
    pub const fn init(&self) -> &QueuePairInit {
        &self.init
    }

    /// Its type.
    #[must_use]
    pub const fn kind(&self) -> QueuePairType {
        self.init.kind
    }

    /// The value in its asynchronous events.
    #[must_use]
    pub fn user(&self) -> u64 {
        self.user.load(Ordering::Relaxed)
    }

    /// Changes the value in its asynchronous events.
    pub fn set_user(&self, user: u64) {
        self.user.store(user, Ordering::Relaxed);
    }

    /// Its state.
    #[must_use]
    pub fn state(&self) -> QueuePairState {
        self.control.lock().state
    }

    /// Its attributes (ibv_query_qp(3)).
    #[must_use]
    pub fn query(&self) -> QueuePairAttributes {
        let control = self.control.lock();
        let (state, attributes) = (control.state, control.attributes);
        drop(control);
        let sq_draining = state == QueuePairState::Sqd && self.is_draining();
        QueuePairAttributes { qp_state: state, cur_qp_state: state, sq_draining, ..attributes }
    }

    /// Its activity, for operators.
    pub(crate) fn activity(&self) -> Activity {
        self.kit.activity()
    }

    /// Destroys it (ibv_destroy_qp(3)): outstanding operations end without a completion.
    ///
    /// # Errors
    /// `EINVAL` if it is destroyed already.
    pub fn destroy(&self) -> Result<()> {
        if self.is_destroyed.swap(true, Ordering::AcqRel) {
            return Err(Error::invalid("the queue pair is destroyed already"));
        }
        let _modifying = self.modifying.lock();
        self.end();
        let completion_queues = [&self.init.send_queue, &self.init.receive_queue];
        completion_queues.into_iter().for_each(|queue| queue.forget(self.number));
        let context = self.domain.context();
        context.async_events().remove(AsyncElement::QueuePair(self.user()));
        let uses = std::mem::take(&mut *self.uses.lock());
        drop(uses);
        Ok(())
    }

    /// Ends the connection, after what has arrived is received and acknowledged.
    pub(crate) fn leave(&self) {
        self.disconnect();
    }

    /// Ends all use of the engine.
    fn end(&self) {
        self.domain.context().engine.numbers.release(self.number);
        self.close_gates();
        let mut control = self.control.lock();
        control.link.forget();
        self.set_state(&mut control, QueuePairState::Reset);
        drop(control);
        // What has arrived is received and acknowledged, as a device does: for the peer it is a success.
        self.disconnect();
        self.forget_twin();
        self.kit.shutdown();
        *self.posting.lock() = Posting::default();
    }

    fn report(&self, kind: AsyncEventType) {
        self.domain.context().async_events().push(kind, AsyncElement::QueuePair(self.user()));
    }

    fn set_state(&self, control: &mut Control, state: QueuePairState) {
        let in_rtr = &self.domain.context().engine.in_rtr;
        // Counted before this side can accept a connection, over which something arrives.
        if control.state == QueuePairState::Rtr {
            in_rtr.fetch_sub(1, Ordering::Relaxed);
        }
        if state == QueuePairState::Rtr {
            control.has_arrival &= control.state == QueuePairState::Rtr;
            in_rtr.fetch_add(1, Ordering::Relaxed);
        }
        control.state = state;
        control.attributes.qp_state = state;
    }

    /// Returns true if requests that were posted before the state SQD have not completed.
    fn is_draining(&self) -> bool {
        self.posting.lock().to_drain != 0 || self.outstanding_requests() != 0
    }

    /// Makes later posts take the path that checks the state.
    fn close_gates(&self) {
        let _posting = self.posting.lock();
        self.is_open.store(false, Ordering::Release);
        self.takes_receives.store(false, Ordering::Release);
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        if !*self.is_destroyed.get_mut() {
            self.end();
        }
    }
}

impl std::fmt::Debug for QueuePair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let number = self.number;
        write!(f, "QueuePair({number:#08x}, {:?}, {:?})", self.kind(), self.state())
    }
}
