//! Listeners, and the connection requests that arrive at them.

use std::sync::Arc;

use dat_provider::Peer;
use dat_sync::Mutex;

use super::lingering::Closing;
use super::link_state::LinkState;
use super::shared::Shared;
use crate::bytes;
use crate::frame::Refusal;
use crate::handshake::{ConnectionParameters, Hello, Message};
use crate::transport::{Acceptor, Connected};

/// The driver's state of a listener.
pub(crate) struct ListenerState {
    pub(crate) token: u64,
    pub(crate) qualifier: u64,
    /// Absent once the listener is closed.
    pub(crate) open: Mutex<Option<OpenListener>>,
}

/// The resources of an open listener.
pub(crate) type OpenListener = (Box<dyn Acceptor>, Arc<dyn RequestSink>);

/// Receives the connection requests of a listener.
pub(crate) trait RequestSink: Send + Sync {
    /// A peer requests a connection.
    fn request(&self, incoming: Incoming);
}

/// A connection request: a link on which the `HELLO` of the active side was accepted.
pub(crate) struct Incoming {
    pub(crate) link: Connected,
    pub(crate) hello: Hello,
    pub(crate) qualifier: u64,
}

impl Incoming {
    /// Address and port of the active side.
    pub(crate) fn peer(&self) -> Peer {
        Peer { address: self.link.address.into(), port: self.hello.port }
    }

    /// Sends a last message and closes the link.
    pub(crate) fn answer_and_close(self, message: &Message, core: &Shared) {
        if core.has_failed() {
            return;
        }
        let Connected { reader, mut writer, .. } = self.link;
        // A new link has enough space.
        let _ = writer.write(&message.frame, &[bytes::source(&message.payload)]);
        let (token, link) = (core.token(), LinkState::new(writer));
        core.close(Closing { token, reader, link, last: None });
    }

    /// Refuses the request as if no listener existed.
    pub(crate) fn refuse(self, core: &Shared) {
        self.answer_and_close(&Message::refusal(Refusal::NoListener), core);
    }

    /// Refuses a link whose handshake failed.
    pub(crate) fn refuse_link(link: Connected, message: &Message, core: &Shared) {
        let hello = Hello { qualifier: 0, port: 0, side: ConnectionParameters::default() };
        Self { link, hello, qualifier: 0 }.answer_and_close(message, core);
    }
}
