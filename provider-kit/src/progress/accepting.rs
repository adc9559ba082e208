//! Links that peers have connected to listeners, until their requests are reported.

use std::sync::Arc;

use dat_sync::shortage;
use rustix::io::Errno;

use super::driver::{Driver, IN, TimedLink};
use super::incoming::{Incoming, ListenerState};
use super::pending_handshake::{HandshakeOutcome, PendingHandshake};
use crate::descriptors;

impl Driver {
    /// Accepts the links that wait at a listener.
    pub(super) fn accept_links(&mut self, listener: &Arc<ListenerState>) {
        loop {
            let link = match &mut *listener.open.lock() {
                Some((acceptor, _)) if !acceptor.is_there() => {
                    return self.shared.fail(Errno::BADF);
                }
                Some((acceptor, _)) => acceptor.accept(),
                None => None,
            };
            let Some(link) = link else { return };
            // Each request needs memory, and a peer decides how many there are.
            if shortage::persists() {
                continue;
            }
            if self.pending_handshakes >= descriptors::handshakes() {
                self.drop_oldest();
            }
            let token = self.shared.token();
            let secret = self.shared.transport.secret();
            let handshake = Box::new(PendingHandshake::new(link, Arc::clone(listener), secret));
            self.pending_handshakes += 1;
            self.advance_handshake(token, handshake);
        }
    }

    /// Closes the link that has been in the handshake longest, unless it can complete now.
    fn drop_oldest(&mut self) {
        let waiting = self.timed.iter().filter_map(|(token, timed)| match timed {
            TimedLink::Handshake(handshake) => Some((handshake.deadline, *token)),
            TimedLink::Lingering(_) => None,
        });
        let Some((_, token)) = waiting.min() else { return };
        let Some(TimedLink::Handshake(handshake)) = self.timed.remove(&token) else { return };
        self.advance_handshake(token, handshake);
        if self.timed.remove(&token).is_some() {
            self.pending_handshakes -= 1;
        }
    }

    /// Continues the handshake of a link with the frames that arrived.
    pub(super) fn advance_handshake(&mut self, token: u64, mut handshake: Box<PendingHandshake>) {
        let outcome = handshake.advance();
        if matches!(outcome, HandshakeOutcome::Waiting) {
            if !std::mem::replace(&mut handshake.is_watched, true) {
                let descriptor = handshake.link.reader.descriptor();
                if descriptor.is_some_and(|it| self.shared.watch(it, token, IN).is_err()) {
                    // The system has no memory to watch it: the link is closed.
                    self.pending_handshakes -= 1;
                    return;
                }
            }
            self.timed.insert(token, TimedLink::Handshake(handshake));
            return;
        }
        self.pending_handshakes -= 1;
        let PendingHandshake { link, listener, is_watched, .. } = *handshake;
        // The link is not watched until the request is answered.
        if is_watched {
            self.shared.forget_link(&*link.reader);
        }
        match outcome {
            HandshakeOutcome::Waiting | HandshakeOutcome::Gone => {}
            HandshakeOutcome::Refused(message) => {
                Incoming::refuse_link(link, &message, &self.shared)
            }
            HandshakeOutcome::Incoming(hello) => {
                let incoming = Incoming { link, hello, qualifier: listener.qualifier };
                self.order.add_request(listener, incoming);
            }
        }
    }
}
