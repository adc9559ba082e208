//! The connection of a queue pair, which the numbers of the two sides establish.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use dat_provider::flags::Qos;
use dat_provider::{ConnectRequest, ConnectionSink, ConnectionUpcall, RefusalCause, Responder};
use dat_sync::clock;

use super::failure::repetition;
use super::role::Role;
use super::{Control, QueuePair, QueuePairAttributes, QueuePairState, QueuePairType};
use crate::engine::dial::{Dial, NO_QUEUE_PAIR};
use crate::log::explain;

/// The time until a queue pair that is not ready to send first checks for arrivals.
const FIRST_LOOK: Duration = Duration::from_millis(1);
/// How long a side that connects waits before it tries again.
const PAUSE: Duration = Duration::from_millis(20);
/// The shortest time that a peer has for its answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Why there is no connection if nothing has failed on this side.
const NO_ATTEMPT: &str = "the peer has not connected; make it ready to receive (RTR) with this queue pair as its \
     destination, and check that neither process lacks descriptors (ulimit -n)";

/// How far the connection is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// The queue pair is not ready to receive.
    #[default]
    None,
    /// The other side has to connect.
    Waiting,
    /// An attempt is in progress, or will be repeated.
    Connecting,
    /// Established.
    Up,
    /// It was established, and has ended.
    Lost,
    /// It was not established in time.
    Failed,
}

impl Phase {
    /// Returns true if there is a connection, or was one.
    pub(super) const fn was_up(self) -> bool {
        matches!(self, Self::Up | Self::Lost)
    }
}

/// The connection.
#[derive(Default)]
pub(super) struct Link {
    pub(super) phase: Phase,
    /// The number of the latest attempt.
    attempt: u64,
    /// The number of the attempt or connection that was forgotten last.
    forgotten: u64,
    /// The `min_rnr_timer` of the peer.
    pub(super) peer_timer: u8,
    /// How often the link was forgotten.
    pub(super) round: u64,
    /// It is lost, and requests are outstanding, which fail later.
    pub(super) is_repeating: bool,
    /// The time after which an attempt by number is not repeated.
    deadline: Option<Instant>,
    /// A request by number that came before this side was ready.
    incoming: Option<(Dial, Arc<dyn Responder>)>,
    /// Why the latest attempt has failed.
    pub(super) cause: Option<Cow<'static, str>>,
}

impl Link {
    /// Returns true if that is the latest attempt, or its connection.
    pub(super) const fn is_attempt(&self, attempt: u64) -> bool {
        self.attempt == attempt
    }

    /// Ends the attempt: its events are of no interest any more.
    pub(super) fn give_up(&mut self) {
        self.attempt += 1;
        self.phase = Phase::Failed;
    }

    /// Ends the attempt or connection: its events are of no interest any more.
    pub(super) fn forget(&mut self) {
        let (attempt, round, forgotten) = (self.attempt + 1, self.round + 1, self.attempt);
        *self = Self { attempt, round, forgotten, ..Self::default() };
    }
}

/// Passes the events of the engine to the queue pair.
#[derive(Default)]
pub(super) struct LinkSink(OnceLock<Weak<QueuePair>>);

impl LinkSink {
    pub(super) fn set(&self, queue_pair: &Arc<QueuePair>) {
        // It is set once.
        let _ = self.0.set(Arc::downgrade(queue_pair));
    }
}

impl ConnectionSink for LinkSink {
    fn connection_event(&self, attempt: u64, event: ConnectionUpcall<'_>) {
        if let Some(queue_pair) = self.0.get().and_then(Weak::upgrade) {
            queue_pair.note_event(attempt, &event);
        }
    }

    fn receive_awaited(&self, attempt: u64) {
        if let Some(queue_pair) = self.0.get().and_then(Weak::upgrade) {
            queue_pair.note_receive_wait(attempt);
        }
    }
}

/// The time that a peer has for its answer, from the attributes; unlimited if `None`. An unreliable queue pair has no
/// such attributes, and its requests are lost then.
fn patience(kind: QueuePairType, attributes: &QueuePairAttributes) -> Option<Duration> {
    if kind != QueuePairType::Rc {
        return Some(PATIENCE);
    }
    // Before, it has no attributes for sending.
    if attributes.qp_state != QueuePairState::Rts {
        return Some(PATIENCE);
    }
    repetition(attributes).map(|time| time.max(PATIENCE))
}

/// Why an attempt has failed, as far as it is known.
fn cause_of(event: &ConnectionUpcall<'_>) -> Option<Cow<'static, str>> {
    match event {
        ConnectionUpcall::PeerRejected { private_data } => {
            Some(String::from_utf8_lossy(private_data).escape_debug().to_string().into())
        }
        ConnectionUpcall::NonPeerRejected { cause } | ConnectionUpcall::AcceptFailed { cause } => {
            cause.text()
        }
        ConnectionUpcall::NoPath { cause } => RefusalCause::Path(*cause).text(),
        ConnectionUpcall::Unreachable => RefusalCause::Unreachable.text(),
        ConnectionUpcall::TimedOut => RefusalCause::TimedOut.text(),
        _ => None,
    }
}

impl QueuePair {
    /// Explains why the requests fail that wait for the connection.
    pub(super) fn explain_no_link(&self) {
        let control = self.control.lock();
        let (cause, attributes) = (control.link.cause.clone(), control.attributes);
        drop(control);
        let cause = cause.unwrap_or_else(|| NO_ATTEMPT.into());
        let (number, address) = (attributes.dest_qp_num, attributes.ah_attr.address());
        explain(format_args!(
            "the requests of {self:?} fail, because it is not connected to the queue pair {number:#08x} at {address}: {cause}"
        ));
    }

    /// The queue pair has become ready to receive: connects it by the numbers.
    pub(super) fn begin_link(&self) {
        let mut control = self.control.lock();
        if control.link.phase != Phase::None {
            return;
        }
        if self.kind() == QueuePairType::Ud {
            control.link.phase = Phase::Up;
            return;
        }
        match self.role(&control) {
            Role::Connects => self.dial_from_now(&mut control),
            Role::Waits => {
                control.link.phase = Phase::Waiting;
                drop(control);
                return self.accept_incoming();
            }
            Role::Itself => {
                drop(control);
                return self.connect_to_itself();
            }
        }
        drop(control);
        self.dial();
    }

    fn role(&self, control: &Control) -> Role {
        let attributes = &control.attributes;
        let own = (self.number, self.own_gid(attributes));
        Role::of(&own, &(attributes.dest_qp_num, attributes.ah_attr.dgid))
    }

    fn own_gid(&self, attributes: &QueuePairAttributes) -> [u8; 16] {
        let index = attributes.ah_attr.sgid_index.into();
        self.domain.context().engine.gid(index).unwrap_or_default()
    }

    fn dial_from_now(&self, control: &mut Control) {
        control.link.phase = Phase::Connecting;
        control.link.deadline =
            patience(self.kind(), &control.attributes).map(|patience| clock::now() + patience);
    }

    /// Connects to the peer, whose number has the port.
    fn dial(&self) {
        let mut control = self.control.lock();
        if control.link.phase != Phase::Connecting {
            return;
        }
        control.link.attempt += 1;
        let (attempt, attributes) = (control.link.attempt, control.attributes);
        drop(control);
        let gid = self.own_gid(&attributes);
        let timer = attributes.min_rnr_timer;
        let dial = Dial { to: attributes.dest_qp_num, from: self.number, gid, timer };
        let request = ConnectRequest {
            attempt,
            address: attributes.ah_attr.address().into(),
            qualifier: u64::from(attributes.dest_qp_num >> 8),
            private_data: &dial.to_bytes(),
            qos: Qos::BEST_EFFORT,
        };
        if let Err(error) = self.kit.connect(&request) {
            self.retry(attempt, Some(error.to_string().into()));
        }
    }

    /// An attempt by number has failed. Repeats it, or gives up.
    fn retry(&self, attempt: u64, cause: Option<Cow<'static, str>>) {
        let mut control = self.control.lock();
        let link = &mut control.link;
        if link.attempt != attempt || link.phase != Phase::Connecting {
            return;
        }
        link.cause = cause;
        if link.deadline.is_none_or(|deadline| clock::now() < deadline) {
            drop(control);
            return self.later(PAUSE, Self::dial);
        }
        link.phase = Phase::Failed;
        drop(control);
        self.fail_held();
    }

    /// Calls a function later, unless the queue pair is gone by then.
    pub(super) fn later(&self, delay: Duration, task: impl FnOnce(&Self) + Send + 'static) {
        let weak = Weak::clone(&self.weak_self);
        self.domain.context().engine.timer.after(delay, move || {
            if let Some(queue_pair) = weak.upgrade() {
                task(&queue_pair);
            }
        });
    }

    /// A request waits for the connection, and is the first: it fails if the peer takes too long.
    pub(super) fn limit_wait(&self) {
        let mut control = self.control.lock();
        if control.link.phase == Phase::Failed && self.role(&control) == Role::Connects {
            self.dial_from_now(&mut control);
            drop(control);
            return self.dial();
        }
        let (round, patience) = (control.link.round, patience(self.kind(), &control.attributes));
        drop(control);
        let Some(patience) = patience else { return };
        self.later(patience, move |queue_pair| {
            let control = queue_pair.control.lock();
            let is_same = control.link.round == round && !control.link.phase.was_up();
            let still_waits = is_same && control.state == QueuePairState::Rts;
            drop(control);
            if still_waits {
                queue_pair.fail_held();
            }
        });
    }

    /// A request by number has arrived for this queue pair.
    pub(crate) fn incoming(&self, dial: Dial, responder: Arc<dyn Responder>) {
        let mut control = self.control.lock();
        let older = control.link.incoming.replace((dial, responder));
        drop(control);
        drop(older);
        self.accept_incoming();
    }

    /// Accepts the request that has arrived, if this side is ready and it is from the peer.
    fn accept_incoming(&self) {
        let mut control = self.control.lock();
        if control.link.phase != Phase::Waiting && control.link.phase != Phase::Failed {
            return;
        }
        let attributes = control.attributes;
        let Some((dial, responder)) = control.link.incoming.take() else { return };
        if dial.from != attributes.dest_qp_num || dial.gid != attributes.ah_attr.dgid {
            drop(control);
            let _ = responder.reject(NO_QUEUE_PAIR);
            return;
        }
        control.link.phase = Phase::Connecting;
        control.link.attempt += 1;
        control.link.peer_timer = dial.timer;
        let attempt = control.link.attempt;
        drop(control);
        let accepted = responder.accept(&*self.kit, attempt, &[attributes.min_rnr_timer]);
        if let Err(error) = accepted {
            self.wait_again(attempt, Some(error.to_string().into()));
        }
    }

    /// An accepted request was not completed: the peer tries again.
    fn wait_again(&self, attempt: u64, cause: Option<Cow<'static, str>>) {
        let mut control = self.control.lock();
        if control.link.attempt == attempt && control.link.phase == Phase::Connecting {
            control.link.phase = Phase::Waiting;
            control.link.cause = cause;
        }
        drop(control);
        self.accept_incoming();
    }

    fn note_event(&self, attempt: u64, event: &ConnectionUpcall<'_>) {
        let mut control = self.control.lock();
        if control.link.attempt != attempt {
            // A completion may have moved a queue pair that is connected to itself to the state ERR before.
            let is_late = control.state == QueuePairState::Err && control.link.forgotten == attempt;
            drop(control);
            if is_late && matches!(event, ConnectionUpcall::Broken) {
                self.report_refusal();
            }
            return;
        }
        match event {
            ConnectionUpcall::Established { private_data, .. } => {
                // The timer of the side that connects came with its request.
                if let [timer] = private_data {
                    control.link.peer_timer = *timer;
                }
                control.link.phase = Phase::Up;
                drop(control);
                self.pass_held();
                self.watch_for_arrival(FIRST_LOOK);
            }
            ConnectionUpcall::Disconnected | ConnectionUpcall::Broken => {
                control.link.phase = Phase::Lost;
                drop(control);
                self.note_end();
            }
            ConnectionUpcall::AcceptFailed { .. } => {
                drop(control);
                self.wait_again(attempt, cause_of(event));
            }
            _ => {
                drop(control);
                self.retry(attempt, cause_of(event));
            }
        }
    }
}
