//! Connecting, accepting, rejecting and disconnecting.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Identifier;
use super::event::{EventKind, Parameters};
use super::identifier::Inner;
use super::link::{Arrival, Link};
use super::message::{Message, Rejection, Terms, reason};
use super::progress::Progress;
use super::queue_pair::known_gid;
use super::socket::{self, Socket};
use super::state::{Input, State, Step};
use crate::error::{Error, Result};
use crate::queue_pair::QueuePair;

/// The key of the queue pairs of datagrams (`RDMA_UDP_QKEY`).
pub const UDP_QUEUE_KEY: u32 = 0x0123_4567;

/// As many reads as the device serves (`RDMA_MAX_RESP_RES`, `RDMA_MAX_INIT_DEPTH`).
pub const MAX_READS: u8 = 0xff;

/// How long a request waits for its answer.
const ANSWER: Duration = Duration::from_secs(60);
/// How long a peer without a listener is asked again, and after which pauses. Resolving an address and a route takes a
/// device milliseconds; perftest and others rely on this for a listener that the peer is about to create.
const LISTENER: Duration = Duration::from_millis(400);
const PAUSE: Duration = Duration::from_millis(10);
/// How long a disconnection waits for its answer.
const AGREEMENT: Duration = Duration::from_secs(30);

/// The parameters that a side offers (`rdma_conn_param`).
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectParameters<'a> {
    /// Data for the program of the peer.
    pub private_data: &'a [u8],
    /// Number of reads and atomics of the peer that this side serves at a time; [`MAX_READS`] for the maximum.
    pub responder_resources: u8,
    /// Number of reads and atomics that this side may have in flight; [`MAX_READS`] for the maximum.
    pub initiator_depth: u8,
    /// True if it has flow control, which the request says to the peer.
    pub flow_control: u8,
    /// How often packets are repeated.
    pub retry_count: u8,
    /// How often the peer shall repeat a message for which there is no receive.
    pub rnr_retry_count: u8,
    /// True if the queue pair has a shared receive queue. Used if the identifier has no queue pair.
    pub is_shared: bool,
    /// The number of the queue pair. Used without a queue pair of the identifier.
    pub number: u32,
}

impl Identifier {
    /// Requests a connection, or looks up a service of datagrams (rdma_connect(3)). The outcome is an event.
    ///
    /// # Errors
    /// `EINVAL` if the route is not resolved, or for private data that is too long; `EMFILE`.
    pub fn connect(self: &Arc<Self>, parameters: &ConnectParameters<'_>) -> Result<()> {
        self.check_private_data(parameters.private_data, self.space().private_data().connect)?;
        let mut inner = self.inner.lock();
        if let Step::Refuse = inner.state.step(Input::Connect) {
            return Err(inner.refusal("connect"));
        }
        let (Some(local), Some(peer)) = (inner.local, inner.peer) else {
            return Err(inner.refusal("connect"));
        };
        let kept = match inner.listener.take() {
            Some(seat) => seat.leave(),
            None => inner.reserved.take(),
        };
        let (socket, started) = inner.connect_from(kept, local, peer)?;
        inner.own = self.terms(&inner, parameters);
        let request = Message::Request(inner.own.clone());
        inner.link = Some(Link::connect(socket, started, self, request)?);
        inner.state = State::Connecting;
        inner.asks_until = Some(Instant::now() + LISTENER);
        drop(inner);
        self.give_up_after(ANSWER, State::Connecting)
    }

    /// Asks a peer again that has no listener yet. Returns whether it does.
    pub(super) fn asks_again(self: &Arc<Self>, inner: &mut Inner) -> bool {
        let may_ask = inner.asks_until.is_some_and(|until| Instant::now() < until);
        if !may_ask || inner.state != State::Connecting {
            return false;
        }
        let Ok(progress) = Progress::get() else { return false };
        let refused = inner.link.take().inspect(|link| link.close());
        let weak = Arc::downgrade(self);
        progress.later(PAUSE, move || {
            if let Some(identifier) = weak.upgrade() {
                identifier.ask_again();
            }
            // It keeps the port until then.
            drop(refused);
        });
        true
    }

    fn ask_again(self: &Arc<Self>) {
        let mut inner = self.inner.lock();
        let (State::Connecting, None) = (inner.state, &inner.link) else { return };
        let (Some(local), Some(peer)) = (inner.local, inner.peer) else { return };
        let request = Message::Request(inner.own.clone());
        let attempt = inner
            .connect_from(None, local, peer)
            .and_then(|(socket, started)| Link::connect(socket, started, self, request));
        match attempt {
            Ok(link) => inner.link = Some(link),
            Err(error) => self.fail_attempt(&mut inner, error.errno),
        }
    }

    /// Accepts the request (rdma_accept(3)). Without parameters it takes what the peer offers. A queue pair of the
    /// identifier gets ready to send. A connection is established when an event says so; datagrams may be sent at once.
    ///
    /// # Errors
    /// `EINVAL` if there is no request that waits, and for private data that is too long: the request is rejected then, as
    /// the kernel does if it cannot send the answer. What the queue pair refuses.
    pub fn accept(self: &Arc<Self>, parameters: Option<&ConnectParameters<'_>>) -> Result<()> {
        let mut inner = self.inner.lock();
        if let Step::Refuse = inner.state.step(Input::Accept) {
            return Err(inner.refusal("accept"));
        }
        let Some(theirs) = inner.theirs.clone() else { return Err(inner.refusal("accept")) };
        let same = ConnectParameters {
            responder_resources: theirs.initiator_depth,
            initiator_depth: theirs.responder_resources,
            flow_control: theirs.flow_control,
            rnr_retry_count: theirs.rnr_retry_count,
            ..ConnectParameters::default()
        };
        let mut parameters = *parameters.unwrap_or(&same);
        if parameters.responder_resources == MAX_READS {
            parameters.responder_resources = theirs.initiator_depth;
        }
        if parameters.initiator_depth == MAX_READS {
            parameters.initiator_depth = theirs.responder_resources;
        }
        let most = self.space().private_data().accept;
        if let Err(error) = self.check_private_data(parameters.private_data, most) {
            // It fails only if the program has destroyed the queue pair, which flushes it as well.
            let _ = inner.flush_queue_pair();
            inner.reject(reason::CONSUMER, &[])?;
            return Err(error);
        }
        inner.own = self.terms(&inner, &parameters);
        inner.own.retry_count = theirs.retry_count;
        if !self.is_datagram() {
            inner.get_ready()?;
        }
        inner.send(&Message::Response(inner.own.clone()));
        inner.state = State::Accepted;
        Ok(())
    }

    /// Rejects the request, or the answer of the peer (rdma_reject(3), rdma_reject_ece(3)).
    ///
    /// # Errors
    /// `EINVAL` if none waits, or for private data that is too long.
    pub fn reject(&self, private_data: &[u8], for_ece: bool) -> Result<()> {
        self.check_private_data(private_data, self.space().private_data().reject)?;
        let reason = if for_ece { reason::OPTIONS } else { reason::CONSUMER };
        self.inner.lock().reject(reason, private_data)
    }

    /// Completes a connection of an identifier without a queue pair, after the peer has accepted (rdma_establish(3)).
    ///
    /// # Errors
    /// `EINVAL` if no answer waits, or if the identifier has a queue pair.
    pub fn establish(&self) -> Result<()> {
        let mut inner = self.inner.lock();
        if inner.queue_pair.is_some() {
            return Err(inner.refusal("establish the connection of a queue pair"));
        }
        inner.step(Input::Establish, "establish")?;
        inner.send(&Message::Ready);
        Ok(())
    }

    /// Ends the connection (rdma_disconnect(3)): its queue pair flushes what is posted. Both sides call it; the event
    /// comes when the peer has answered. Returns whether it was the first such call: another one does nothing.
    ///
    /// # Errors
    /// `EINVAL` if it was never connected.
    pub fn disconnect(self: &Arc<Self>) -> Result<bool> {
        let mut inner = self.inner.lock();
        if let Step::Refuse = inner.state.step(Input::Disconnect) {
            return Err(inner.refusal("disconnect"));
        }
        let flushed = inner.flush_queue_pair();
        if !inner.step(Input::Disconnect, "disconnect")? {
            return flushed.map(|()| false);
        }
        if inner.state == State::Leaving {
            inner.send(&Message::Disconnect);
            drop(inner);
            self.give_up_after(AGREEMENT, State::Leaving)?;
        } else {
            inner.send(&Message::Disconnected);
            inner.unlink();
            drop(inner);
            self.exit_timewait_later();
        }
        flushed.map(|()| true)
    }

    /// Completes an accepted request, when its event is taken; `None` if the connection is over already.
    pub(super) fn finish(self: &Arc<Self>, inner: &mut Inner) -> Option<(EventKind, i32)> {
        if inner.state != State::Answered {
            return None;
        }
        if self.is_datagram() {
            inner.state = State::Connected;
            return Some((EventKind::Established, 0));
        }
        if inner.queue_pair.is_none() {
            return Some((EventKind::ConnectResponse, 0));
        }
        if let Err(error) = inner.get_ready() {
            let rejection = Rejection { reason: reason::CONSUMER, private_data: Vec::new() };
            inner.send(&Message::Reject(rejection));
            inner.unlink();
            inner.state = State::Ended;
            return Some((EventKind::ConnectError, -error.errno));
        }
        inner.state = State::Connected;
        inner.send(&Message::Ready);
        Some((EventKind::Established, 0))
    }

    /// Gives up what still waits after that time.
    fn give_up_after(self: &Arc<Self>, time: Duration, waiting: State) -> Result<()> {
        let weak = Arc::downgrade(self);
        Progress::get()?.later(time, move || {
            let Some(identifier) = weak.upgrade() else { return };
            let link = {
                let inner = identifier.inner.lock();
                inner.link.clone().filter(|_| inner.state == waiting)
            };
            let Some(link) = link else { return };
            if waiting == State::Connecting {
                let reason = reason::TIMED_OUT;
                link.send(&Message::Reject(Rejection { reason, private_data: Vec::new() }));
            }
            link.close();
            identifier.receive(&link, Arrival::Gone(libc::ETIMEDOUT));
        });
        Ok(())
    }

    /// Reports later that the queue pair may be used again.
    pub(super) fn exit_timewait_later(self: &Arc<Self>) {
        /// How long packets may be on their way.
        const TIMEWAIT: Duration = Duration::from_secs(1);
        let weak = Arc::downgrade(self);
        let Ok(progress) = Progress::get() else { return };
        progress.later(TIMEWAIT, move || {
            let Some(identifier) = weak.upgrade() else { return };
            let inner = identifier.inner.lock();
            if inner.state == State::Ended {
                identifier.report(&inner, EventKind::TimewaitExit, 0, Parameters::None);
            }
        });
    }

    fn terms(&self, inner: &Inner, parameters: &ConnectParameters<'_>) -> Terms {
        let queue_pair = inner.queue_pair.as_deref();
        let number = queue_pair.map_or(parameters.number, QueuePair::number);
        let is_shared = queue_pair.map_or(parameters.is_shared, has_shared_receives);
        let (reads_in, reads_out) = queue_pair.map_or((MAX_READS, MAX_READS), |queue_pair| {
            let device = queue_pair.domain().context().attributes();
            let most = |reads: u32| u8::try_from(reads).unwrap_or(MAX_READS);
            (most(device.max_qp_rd_atom), most(device.max_qp_init_rd_atom))
        });
        Terms {
            space: self.space() as u32,
            qp_type: self.qp_type() as u32,
            number: number & 0xff_ffff,
            key: if self.is_datagram() { UDP_QUEUE_KEY } else { 0 },
            psn: random() & 0xff_ffff,
            gid: inner.local.map(|local| known_gid(local.ip())).unwrap_or_default(),
            responder_resources: parameters.responder_resources.min(reads_in),
            initiator_depth: parameters.initiator_depth.min(reads_out),
            flow_control: parameters.flow_control,
            retry_count: parameters.retry_count & 7,
            rnr_retry_count: parameters.rnr_retry_count & 7,
            is_shared,
            ece: inner.options.ece,
            private_data: parameters.private_data.to_vec(),
        }
    }

    fn check_private_data(&self, data: &[u8], most: usize) -> Result<()> {
        if data.len() <= most {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "cannot send {} bytes of private data: {:?} has at most {most} in this message",
            data.len(),
            self.space()
        )))
    }
}

impl Inner {
    /// Starts to connect as [`socket::connect_from`], and records the address of the socket.
    fn connect_from(
        &mut self,
        kept: Option<Socket>,
        local: SocketAddr,
        peer: SocketAddr,
    ) -> Result<(Socket, io::Result<()>)> {
        let (socket, bound, started) = socket::connect_from(kept, local, peer)?;
        self.local = Some(bound);
        Ok((socket, started))
    }

    fn reject(&mut self, reason: u16, private_data: &[u8]) -> Result<()> {
        self.step(Input::Reject, "reject")?;
        let private_data = private_data.to_vec();
        self.send(&Message::Reject(Rejection { reason, private_data }));
        self.unlink();
        Ok(())
    }
}

fn has_shared_receives(queue_pair: &QueuePair) -> bool {
    queue_pair.init().shared_receives.is_some()
}

/// A number that differs from those of other connections with great probability; it is not a secret.
fn random() -> u32 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0) as u32
}
