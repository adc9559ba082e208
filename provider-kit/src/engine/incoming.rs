//! Connection requests that arrived: the passive side of a connection.

use dat_provider::Peer;
use dat_provider::error::Result;

use super::connection::{Connection, Stage};
use super::core::Shared;
use super::queue_pair::{Phase, SoftQp};
use super::transport::Connected;
use crate::frame::Refusal;
use crate::handshake::{Hello, Message, SideInfo};

/// A connection request: a link on which the `HELLO` of the active side was accepted.
pub(super) struct Incoming {
    pub(super) link: Connected,
    pub(super) hello: Hello,
    pub(super) qualifier: u64,
}

impl Incoming {
    /// Address and port of the active side.
    pub(super) fn peer(&self) -> Peer {
        Peer { address: self.link.address.into(), port: self.hello.port }
    }

    fn connection(self, token: u64, posted: u32) -> Box<Connection> {
        let peer = self.peer();
        let Self { link, hello, qualifier } = self;
        let halves = (link.reader, link.writer);
        let mut conn = Connection::new(Stage::AwaitReady, halves, token, (peer, qualifier), posted);
        conn.apply_peer_info(&hello.side);
        conn
    }

    /// Accepts the request; the connection waits for `READY`.
    pub(super) fn accepted(self, token: u64, side: &SideInfo) -> Box<Connection> {
        let mut conn = self.connection(token, side.posted);
        conn.send_handshake(&Message::acceptance(side));
        conn
    }

    /// Sends a last message and closes the link.
    pub(super) fn answer_and_close(self, message: &Message, core: &Shared) {
        if core.has_failed() {
            return;
        }
        let mut conn = self.connection(core.token(), 0);
        conn.send_handshake(message);
        core.linger(conn, None);
    }

    /// Refuses the request as if nothing listened.
    pub(super) fn refuse(self, core: &Shared) {
        self.answer_and_close(&Message::refusal(Refusal::NoListener), core);
    }

    /// Refuses a link whose handshake failed.
    pub(super) fn refuse_link(link: Connected, message: &Message, core: &Shared) {
        let hello = Hello { qualifier: 0, port: 0, side: SideInfo::default() };
        Self { link, hello, qualifier: 0 }.answer_and_close(message, core);
    }
}

impl SoftQp {
    /// Accepts the connection request that `take` returns.
    pub(super) fn accept(
        &self,
        attempt: u64,
        private_data: &[u8],
        take: impl FnOnce() -> Result<Incoming>,
    ) -> Result<()> {
        self.core.check()?;
        let token = self.core.token();
        self.with_state(|state, _| {
            state.check_connectable()?;
            let incoming = take()?;
            state.attempt = attempt;
            self.announce_link(token, incoming.link.reader.liveness());
            state.phase = Phase::Connected;
            let side = state.queues.side_info(private_data.to_vec());
            state.conn = Some(incoming.accepted(token, &side));
            Ok(())
        })?;
        self.watch(token);
        Ok(())
    }
}
