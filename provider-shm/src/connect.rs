//! Connecting to a listener of this machine.

use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dat_provider::LocalCause;
use dat_provider_kit::engine::{Attempt, ConnectError, Connector, ConnectorEvent};
use dat_provider_kit::fork::Private;
use dat_sync::clock;
use rustix::io::Errno;

use crate::address::Space;
use crate::greeting::PeerProcess;
use crate::kept_segments::ClaimedSegment;
use crate::link::{Link, halves};
use crate::listener::{connected, socket};
use crate::segment::Segment;
use crate::transport::Rings;

/// The first pause before a retry; each pause is twice as long as the previous one.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_millis(128);

type Result<T> = std::result::Result<T, ConnectError>;

/// A link that is being connected. The kernel does not report when a backlog or the descriptors in flight have space
/// again, so the attempt is retried after pauses.
pub(crate) struct Dialling {
    goal: Goal,
    step: Step,
    pause: Duration,
    next: Instant,
}

/// The destination and the source of an attempt.
struct Goal {
    /// The address of the peer's adapter.
    found: IpAddr,
    qualifier: u64,
    port: u64,
    rings: Rings,
}

/// The next action.
enum Step {
    /// Connect the socket.
    Connect(Private<OwnedFd>, Chosen),
    /// Send the memory file, unless the peer has kept the segment.
    Greet(Link, Option<Private<OwnedFd>>),
}

/// The segment of an attempt.
enum Chosen {
    New(Segment, Private<OwnedFd>),
    /// One that was used with the qualifier before.
    Kept(ClaimedSegment),
}

impl Dialling {
    /// Starts to connect.
    pub(crate) fn start(rings: &Rings, peer: IpAddr, qualifier: u64) -> Result<Attempt> {
        let here = rings.space.here(peer).map_err(ConnectError::Local)?;
        let found = here.ok_or(ConnectError::Unreachable)?;
        // Before the peer is woken, so that it finds the greeting when it accepts.
        let kept = rings.options.kept.claim(qualifier);
        let segment = kept.map_or_else(Chosen::new, |kept| Ok(Chosen::Kept(kept)))?;
        let (socket, port) = bound(rings.space, rings.address).map_err(failed("open a socket"))?;
        let goal = Goal { found, qualifier, port, rings: rings.clone() };
        let step = Step::Connect(socket, segment);
        goal.advance(step, FIRST_PAUSE)
    }
}

impl Connector for Dialling {
    fn local_port(&self) -> u64 {
        self.goal.port
    }

    fn awaits(&self) -> ConnectorEvent<'_> {
        ConnectorEvent::Time(self.next)
    }

    fn advance(self: Box<Self>) -> Result<Attempt> {
        let Self { goal, step, pause, .. } = *self;
        goal.advance(step, (pause * 2).min(LONGEST_PAUSE))
    }
}

impl Goal {
    /// Executes a step and those that follow it. If the system does not allow it now, it is retried after the pause.
    fn advance(self, step: Step, pause: Duration) -> Result<Attempt> {
        let later = |goal, step| {
            let next = clock::now() + pause;
            Ok(Attempt::Pending(Box::new(Dialling { goal, step, pause, next })))
        };
        let (mut link, file) = match step {
            Step::Greet(link, file) => (link, file),
            Step::Connect(socket, segment) => {
                if !self.connect(&socket)? {
                    return later(self, Step::Connect(socket, segment));
                }
                let peer = PeerProcess::of(&socket);
                if !self.rings.any_user && !peer.is_some_and(|peer| peer.is_of_same_user) {
                    return Err(ConnectError::OtherUser);
                }
                let (segment, file) = segment.with(peer)?;
                (Link::active(socket, segment, file.is_none(), peer, &self.rings.options), file)
            }
        };
        match link.greet(file.as_ref().map(AsFd::as_fd)) {
            Ok(()) => {
                link.set_qualifier(self.qualifier);
                Ok(Attempt::Connected(connected(halves(link), self.found, self.port, &self.rings)))
            }
            Err(errno) if is_passing(errno) => later(self, Step::Greet(link, file)),
            Err(errno) => Err(failed("send the memory file to the peer")(errno)),
        }
    }

    /// Connects the socket. Returns false if the backlog of the listener is full.
    fn connect(&self, socket: &Private<OwnedFd>) -> Result<bool> {
        let Self { rings, found, qualifier, .. } = self;
        for at in rings.space.listening_at(*found) {
            let name = rings.space.listener(rings.folder.as_deref(), at, *qualifier);
            match name.and_then(|name| rustix::net::connect(socket, &name)) {
                Ok(()) => return Ok(true),
                Err(errno) if is_passing(errno) => return Ok(false),
                // No listener, or a socket of another program.
                Err(Errno::CONNREFUSED | Errno::NOENT | Errno::PROTOTYPE) => {}
                Err(errno) => return Err(failed("connect to the listener")(errno)),
            }
        }
        Err(ConnectError::Refused)
    }
}

impl Chosen {
    fn new() -> Result<Self> {
        let created =
            Segment::create().map_err(failed("create the memory file of a connection"))?;
        Ok(Self::New(created.0, created.1))
    }

    /// The segment for a connection with a process, and its file unless the process has kept it.
    fn with(self, peer: Option<PeerProcess>) -> Result<(Segment, Option<Private<OwnedFd>>)> {
        match self {
            Self::New(segment, file) => Ok((segment, Some(file))),
            Self::Kept(kept) => match kept.into_own() {
                Some(own) if Some(own.peer) == peer => Ok((own.segment, None)),
                // Another process listens there now.
                _ => Self::new()?.with(peer),
            },
        }
    }
}

/// Returns true for an error whose cause ends by itself: a full backlog, or too many packets or descriptors in flight.
fn is_passing(errno: Errno) -> bool {
    matches!(errno, Errno::AGAIN | Errno::INTR | Errno::NOBUFS | Errno::TOOMANYREFS)
}

fn failed(what: &'static str) -> impl Fn(Errno) -> ConnectError {
    move |errno| match errno {
        // The listening process has ended, or has no descriptor for the connection.
        Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN => ConnectError::Closed,
        errno => ConnectError::Local(LocalCause { what, errno: errno.raw_os_error() }),
    }
}

/// A socket with a name of its own, and the port in the name.
pub(crate) fn bound(space: Space, address: IpAddr) -> rustix::io::Result<(Private<OwnedFd>, u64)> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let socket = socket()?;
    let process = u64::from(rustix::process::getpid().as_raw_nonzero().get().unsigned_abs());
    loop {
        // Processes in two namespaces may have the same number; the next port is then free.
        let port = process << 32 | NEXT.fetch_add(1, Ordering::Relaxed) & 0xffff_ffff;
        match rustix::net::bind(&socket, &space.dialler(address, port)?) {
            Ok(()) => return Ok((socket, port)),
            Err(Errno::ADDRINUSE) => {}
            Err(errno) => return Err(errno),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_listener_that_closes_the_link_was_there() {
        for errno in [Errno::PIPE, Errno::CONNRESET, Errno::NOTCONN] {
            assert_eq!(failed("try")(errno), ConnectError::Closed);
        }
    }

    #[test]
    fn every_errno_that_is_not_known_is_a_local_cause() {
        for errno in
            [Errno::MFILE, Errno::PERM, Errno::NOMEM, Errno::FBIG, Errno::from_raw_os_error(133)]
        {
            assert!(!is_passing(errno), "{errno:?}");
            let cause = LocalCause { what: "try", errno: errno.raw_os_error() };
            assert_eq!(failed("try")(errno), ConnectError::Local(cause));
        }
    }
}
