//! Connecting, on both sides.

use std::time::Instant;

use dat_provider::error::{Result, Subtype};
use dat_provider::{ConnectRequest, LocalCause, Peer, RefusalCause};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::connection::Connection;
use super::event::Event;
use super::{Phase, QpState, SoftQp};
use crate::errors::ip_address;
use crate::handshake::{Active, ConnectionParameters, Hello, Secret};
use crate::progress::{Core, Incoming, Job};
use crate::protocol::{EndCause, Stage};
use crate::transport::{Attempt, ConnectError, Connected, Connector, ConnectorEvent, Transport};
use crate::upcalls::Upcalls;

/// A link that is being connected, and the message to send on it.
pub(super) struct Dialling {
    connector: Box<dyn Connector>,
    token: u64,
    request: Request,
}

/// The consumer's request.
struct Request {
    /// Address and qualifier.
    peer: Peer,
    private_data: Vec<u8>,
}

/// The work that remains for an attempt after the lock of the queue pair is released.
pub(super) enum Next {
    /// The attempt has ended.
    Nothing,
    /// Wait for the link with this token.
    Watch(u64),
    /// Continue the attempt at this time.
    Retry(Instant),
}

impl SoftQp {
    /// Starts to connect.
    ///
    /// # Errors
    /// The queue pair cannot be connected in its state, or this side cannot connect.
    pub(super) fn connect(&self, request: &ConnectRequest<'_>) -> Result<()> {
        let address = ip_address(request.address)?;
        let next = self.with_state(|state, upcalls| {
            state.check_connectable()?;
            let attempt = match self.core.transport.connect(address, request.qualifier) {
                Err(ConnectError::Local(cause)) => {
                    return Err(cause.error(Subtype::ResourceDevice));
                }
                attempt => attempt,
            };
            state.begin_attempt(request.attempt, Phase::Connecting);
            let peer = Peer { address: address.into(), port: request.qualifier };
            let request = Request { peer, private_data: request.private_data.to_vec() };
            Ok(self.attempted(state, upcalls, attempt, self.core.token(), request))
        })?;
        match next {
            Next::Nothing => {}
            Next::Watch(token) => self.watch(token),
            Next::Retry(at) => self.core.submit(Job::Retry(at, self.driven())),
        }
        Ok(())
    }

    /// Continues an attempt whose link is being connected.
    pub(super) fn advance_dial(&self, state: &mut QpState, upcalls: &mut Upcalls) -> Next {
        let Some(dialling) = state.dialling.take() else { return Next::Nothing };
        let Dialling { connector, token, request } = *dialling;
        self.attempted(state, upcalls, connector.advance(), token, request)
    }

    /// Handles the result of a step of an attempt.
    fn attempted(
        &self,
        state: &mut QpState,
        upcalls: &mut Upcalls,
        attempt: std::result::Result<Attempt, ConnectError>,
        token: u64,
        request: Request,
    ) -> Next {
        match attempt {
            Ok(Attempt::Connected(link)) => {
                state.local_port = link.local_port;
                self.announce_link(token, link.reader.liveness());
                let transport = &*self.core.transport;
                state.conn = Some(connection(link, token, request, state, transport));
                Next::Watch(token)
            }
            Ok(Attempt::Pending(connector)) => {
                state.local_port = connector.local_port();
                let next = match connector.awaits() {
                    ConnectorEvent::Time(at) => Ok(Next::Retry(at)),
                    ConnectorEvent::Writable(descriptor) => {
                        self.announce_link(token, None);
                        let watched = self.core.watch(descriptor, token, EventFlags::OUT);
                        watched.map(|()| Next::Nothing)
                    }
                };
                state.dialling = Some(Box::new(Dialling { connector, token, request }));
                next.unwrap_or_else(|errno| {
                    let what = "wait until the connection is established (epoll)";
                    state.fail_dialling(&self.core, upcalls, what, errno);
                    Next::Nothing
                })
            }
            Err(failure) => {
                state.end_attempt(&self.core, upcalls, token, failure);
                Next::Nothing
            }
        }
    }
}

impl SoftQp {
    /// Accepts the connection request that `take` returns, for a connection that is unreliable or not.
    pub(super) fn accept(
        &self,
        attempt: u64,
        private_data: &[u8],
        take: impl FnOnce(bool) -> Result<Incoming>,
    ) -> Result<()> {
        self.core.check()?;
        let token = self.core.token();
        self.with_state(|state, _| {
            state.check_connectable()?;
            let incoming = take(state.queues.is_unreliable)?;
            state.begin_attempt(attempt, Phase::Connected);
            self.announce_link(token, incoming.link.reader.liveness());
            let side = state.queues.connection_parameters(private_data.to_vec());
            let ends = (incoming.peer(), incoming.qualifier);
            let Incoming { link, hello, .. } = incoming;
            let halves = (link.reader, link.writer);
            let reading = (token, self.core.transport.progress_mode());
            state.conn = Some(Connection::accepted(halves, reading, ends, (&hello.side, &side)));
            Ok(())
        })?;
        self.watch(token);
        Ok(())
    }
}

impl QpState {
    fn end_attempt(
        &mut self,
        core: &Core,
        upcalls: &mut Upcalls,
        token: u64,
        failure: ConnectError,
    ) {
        core.submit_without_wakeup(Job::Forget(token));
        self.conclude(true, upcalls);
        self.push_event(failed(failure));
    }

    /// Fails the attempt whose link is being connected, if there is one, for a local cause.
    pub(super) fn fail_dialling(
        &mut self,
        core: &Core,
        upcalls: &mut Upcalls,
        what: &'static str,
        errno: Errno,
    ) {
        if let Some(dialling) = self.dialling.take() {
            let cause = LocalCause { what, errno: errno.raw_os_error() };
            self.end_attempt(core, upcalls, dialling.token, ConnectError::Local(cause));
        }
    }

    /// Ends the attempt whose link is being connected, if there is one.
    pub(super) fn stop_dialling(&mut self, core: &Core) {
        if let Some(dialling) = self.dialling.take() {
            core.submit_without_wakeup(Job::Forget(dialling.token));
        }
    }
}

/// The event of a failed attempt.
pub(super) fn failed(failure: ConnectError) -> Event {
    Event::NonPeerRejected(match failure {
        ConnectError::Unreachable => return Event::Unreachable,
        ConnectError::Refused => RefusalCause::NoListener,
        ConnectError::Closed => RefusalCause::Closed,
        ConnectError::OtherUser => RefusalCause::OtherUser,
        ConnectError::Local(cause) => RefusalCause::Local(cause),
    })
}

/// The connection over a new link, on which `HELLO` is sent.
fn connection(
    link: Connected,
    token: u64,
    Request { peer, private_data }: Request,
    state: &QpState,
    transport: &dyn Transport,
) -> Box<Connection> {
    let Connected { reader, writer, local_port, .. } = link;
    let side = state.queues.connection_parameters(private_data);
    let (halves, ports) = ((reader, writer), (peer, local_port));
    let reading = (token, transport.progress_mode());
    let mut conn = Connection::new(Stage::AwaitAnswer, halves, reading, ports, &side);
    if let Err(error) = send_hello(&mut conn, (peer.port, local_port), side, transport.secret()) {
        let errno = error.raw_os_error().unwrap_or(0);
        let cause = LocalCause { what: "get random numbers from the system", errno };
        conn.protocol.end(EndCause::Refused(RefusalCause::Local(cause)), None);
    }
    conn
}

/// Sends `HELLO`.
///
/// # Errors
/// The kernel returns no random bytes.
fn send_hello(
    conn: &mut Connection,
    (qualifier, local_port): (u64, u64),
    side: ConnectionParameters,
    secret: Option<Secret>,
) -> Result<()> {
    let (active, message) = Active::new(&Hello { qualifier, port: local_port, side }, secret)?;
    conn.protocol.begin_handshake(active, &message, &mut conn.link);
    Ok(())
}
