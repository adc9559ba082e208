//! Connecting: the active side of a connection.

use std::net::IpAddr;
use std::sync::mpsc::channel;
use std::sync::{Arc, Weak};
use std::time::Duration;

use dat_provider::error::Result;
use dat_provider::{ConnectRequest, Peer, RefusalCause};

use super::connection::{Connection, EndCause, Stage};
use super::event::Event;
use super::queue_pair::{Phase, SoftQp};
use super::transport::{Attempt, ConnectFailure, Connected};
use crate::handshake::{Active, Hello, Secret, SideInfo};

/// How long a link may take to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(8);
/// How long `connect` waits for the link, so that the local port is usually known when it returns.
const CALL_WAIT: Duration = Duration::from_millis(20);

/// Connects a link, in a separate thread if that may block.
pub(super) fn start(
    queue_pair: &Arc<SoftQp>,
    generation: u64,
    address: IpAddr,
    request: &ConnectRequest<'_>,
) {
    let dial = match queue_pair.core.transport.dial_towards(address) {
        Ok(dial) => dial,
        Err(failure) => return queue_pair.link_connected(generation, Err(failed(failure))),
    };
    queue_pair.set_local_port(generation, dial.local_port());
    let weak = Weak::clone(&queue_pair.weak_self);
    let qualifier = request.qualifier;
    let private_data = request.private_data.to_vec();
    let finish = move |link: std::result::Result<Connected, ConnectFailure>| {
        let Some(queue_pair) = weak.upgrade() else { return };
        let peer = Peer { address: address.into(), port: qualifier };
        let link = link.map(|link| ConnectedLink { link, peer, private_data });
        queue_pair.link_connected(generation, link.map_err(failed));
    };
    let dial = match dial.connect_at_once(address, qualifier, CONNECT_TIMEOUT) {
        Attempt::Ended(link) => return finish(link),
        Attempt::Blocks(dial) => dial,
    };
    let (finished, outcome) = channel();
    let connect = move || {
        finish(dial.connect(address, qualifier, CONNECT_TIMEOUT));
        // The call has stopped waiting if connecting took longer.
        let _ = finished.send(());
    };
    if dat_sync::thread::start("dat-connect", connect).is_err() {
        queue_pair.link_connected(generation, Err(Event::NonPeerRejected(RefusalCause::Unknown)));
    }
    let _ = outcome.recv_timeout(CALL_WAIT);
}

fn failed(failure: ConnectFailure) -> Event {
    match failure {
        ConnectFailure::Refused => Event::NonPeerRejected(RefusalCause::NoListener),
        ConnectFailure::Unreachable => Event::Unreachable,
        ConnectFailure::TimedOut => Event::TimedOut,
    }
}

/// A connected link, and what to send on it.
struct ConnectedLink {
    link: Connected,
    /// Address and qualifier that were requested.
    peer: Peer,
    private_data: Vec<u8>,
}

impl SoftQp {
    /// Stores the local port of an attempt.
    fn set_local_port(&self, generation: u64, port: u64) {
        let mut state = self.state.lock();
        if state.generation == generation {
            state.local_port = port;
        }
    }

    /// Continues an attempt once its link is connected, or has failed.
    fn link_connected(&self, generation: u64, link: std::result::Result<ConnectedLink, Event>) {
        let mut watched = None;
        self.with_state(|state, upcalls| {
            if state.generation != generation || state.phase != Phase::Connecting {
                return;
            }
            match link {
                Ok(ConnectedLink { link, peer, private_data }) => {
                    let token = self.core.token();
                    self.announce_link(token);
                    let Connected { reader, writer, local_port, .. } = link;
                    let side = state.queues.side_info(private_data);
                    let (halves, ports) = ((reader, writer), (peer, local_port));
                    let mut conn =
                        Connection::new(Stage::AwaitAnswer, halves, token, ports, side.posted);
                    let secret = self.core.transport.secret();
                    if send_hello(&mut conn, peer.port, side, secret).is_err() {
                        conn.end(EndCause::Refused(RefusalCause::Unknown), None);
                    }
                    state.conn = Some(conn);
                    watched = Some(token);
                }
                Err(event) => {
                    state.phase = Phase::Disconnected;
                    state.queues.receives.flush(upcalls);
                    state.push_event(event);
                }
            }
        });
        if let Some(token) = watched {
            self.watch(token);
        }
    }
}

/// Sends `HELLO`.
///
/// # Errors
/// The system has no random numbers.
fn send_hello(
    conn: &mut Connection,
    qualifier: u64,
    side: SideInfo,
    secret: Option<Secret>,
) -> Result<()> {
    let (active, message) = Active::new(&Hello { qualifier, port: conn.local_port, side }, secret)?;
    conn.handshake = Some(Box::new(active));
    conn.send_handshake(&message);
    Ok(())
}
