//! Connecting, and answering requests for a connection.

use std::sync::mpsc::channel;
use std::sync::{Arc, Weak};
use std::time::Duration;

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::{ConnectRequest, Peer, QueuePair};
use parking_lot::Mutex;

use super::conn::{Conn, Stage};
use super::core::{Core, Job, Shared};
use super::event::Event;
use super::handle;
use super::pair::Pair;
use super::transport::{ConnectFailure, Connected};
use crate::errors::wrong_state;
use crate::frame::Refusal;
use crate::handshake::{Active, Hello, Message, Secret, SideInfo};

/// How long a link may take to connect.
const PATIENCE: Duration = Duration::from_secs(8);
/// How long a call waits for the link.
const BRIEFLY: Duration = Duration::from_millis(20);

/// Connects a link in a thread of its own, since that may block.
pub(super) fn start(pair: &Arc<Pair>, serial: u64, request: &ConnectRequest<'_>) {
    let dial = match pair.core.transport.dial() {
        Ok(dial) => dial,
        Err(failure) => return pair.linked(serial, Err(failed(failure))),
    };
    pair.dials(serial, dial.local_port());
    let weak = Weak::clone(&pair.me);
    let (address, qualifier) = (request.address, request.qualifier);
    let private_data = request.private_data.to_vec();
    let connect = move || {
        let link = dial.connect(address, qualifier, PATIENCE);
        let Some(pair) = weak.upgrade() else { return };
        let peer = Peer { address, port: qualifier };
        let link = link.map(|link| (link, peer, private_data, qualifier));
        pair.linked(serial, link.map_err(failed));
    };
    // On this machine it takes no longer than the call.
    if address.is_loopback() {
        return connect();
    }
    let (finished, outcome) = channel();
    let connect = move || {
        connect();
        // Nothing receives it any more where it took longer.
        let _ = finished.send(());
    };
    let name = "dat-connect".to_owned();
    if std::thread::Builder::new().name(name).spawn(connect).is_err() {
        pair.linked(serial, Err(Event::NonPeerRejected));
    }
    // Mostly the port is known when this returns.
    let _ = outcome.recv_timeout(BRIEFLY);
}

fn failed(failure: ConnectFailure) -> Event {
    match failure {
        ConnectFailure::Refused => Event::NonPeerRejected,
        ConnectFailure::Unreachable => Event::Unreachable,
        ConnectFailure::TimedOut => Event::TimedOut,
    }
}

/// The active side introduces itself.
///
/// # Errors
/// The system has no random numbers.
pub(super) fn hello(
    conn: &mut Conn,
    qualifier: u64,
    side: SideInfo,
    secret: Option<Secret>,
) -> Result<()> {
    let (active, message) = Active::new(&Hello { qualifier, port: conn.local_port, side }, secret)?;
    conn.handshake = Some(Box::new(active));
    conn.say(&message);
    Ok(())
}

/// A link whose active side has introduced itself.
pub(super) struct Incoming {
    pub(super) link: Connected,
    pub(super) hello: Hello,
    pub(super) qualifier: u64,
}

impl Incoming {
    pub(super) fn peer(&self) -> Peer {
        Peer { address: self.link.address, port: self.hello.port }
    }

    fn conn(self, token: u64, posted: u32) -> Conn {
        let peer = self.peer();
        let Self { link, hello, qualifier } = self;
        let halves = (link.reader, link.writer);
        let mut conn = Conn::new(Stage::Ready, halves, token, (peer, qualifier), posted);
        conn.meet(&hello.side);
        conn
    }

    /// The connection of the passive side.
    pub(super) fn accepted(self, token: u64, side: &SideInfo) -> Conn {
        let mut conn = self.conn(token, side.posted);
        conn.say(&Message::acceptance(side));
        conn
    }

    fn answered(self, message: &Message, core: &Shared) {
        let mut conn = self.conn(core.token(), 0);
        conn.say(message);
        core.linger(conn, None);
    }

    /// Refuses, as if nothing listened.
    pub(super) fn refuse(self, core: &Shared) {
        self.answered(&Message::refusal(Refusal::NoListener), core);
    }

    /// Refuses a link that has not requested a connection.
    pub(super) fn turn_away(link: Connected, message: &Message, core: &Shared) {
        let hello = Hello { qualifier: 0, port: 0, side: SideInfo::default() };
        Self { link, hello, qualifier: 0 }.answered(message, core);
    }
}

/// A request for a connection that waits for its answer.
pub(super) struct Pending {
    core: Arc<Core>,
    incoming: Mutex<Option<Incoming>>,
}

impl Pending {
    /// The request as the contract has it.
    pub(super) fn contract(core: &Arc<Core>, incoming: Incoming) -> dat_provider::Incoming {
        dat_provider::Incoming {
            peer: incoming.peer(),
            is_datagram: false,
            private_data: Arc::from(incoming.hello.side.private_data.as_slice()),
            answer: Box::new(Self { core: Arc::clone(core), incoming: Mutex::new(Some(incoming)) }),
        }
    }

    fn take(&self) -> Result<Incoming> {
        self.incoming.lock().take().ok_or_else(answered)
    }
}

fn answered() -> Error {
    wrong_state(Subtype::NoSubtype).because("the connection request was already answered")
}

impl dat_provider::Answer for Pending {
    fn accept(&self, queue_pair: &dyn QueuePair, attempt: u64, private_data: &[u8]) -> Result<()> {
        handle::downcast(queue_pair)?.accept(attempt, private_data, || self.take())
    }

    fn reject(&self, private_data: &[u8]) -> Result<()> {
        self.take()?.answered(&Message::rejection(private_data), &self.core);
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(incoming) = self.incoming.get_mut().take() {
            incoming.refuse(&self.core);
        }
    }
}

/// A listener of the contract; its drop closes it at once.
pub(super) struct Listening {
    pub(super) core: Arc<Core>,
    pub(super) door: Arc<super::core::Door>,
}

impl dat_provider::Listener for Listening {}

impl Drop for Listening {
    fn drop(&mut self) {
        let open = self.door.open.lock().take();
        self.core.ask(Job::Forget(self.door.token));
        // The sink may own more than this module knows of, so it goes without the lock.
        drop(open);
    }
}

/// The thread could not be started.
pub(super) fn no_thread(error: &std::io::Error) -> Error {
    Error::new(ReturnType::InsufficientResources, Subtype::NoSubtype)
        .because(format!("cannot start the thread dat-progress: {error}"))
        .advise("raise the limit of threads (ulimit -u)")
}
