//! The socket of an identifier that is bound, or listens.

use std::sync::{Arc, Weak};
use std::time::Duration;

use dat_sync::Mutex;
use dat_sync::epoll::EventFlags;

use super::Identifier;
use super::link::{Arrival, Link};
use super::message::{Message, Rejection, reason};
use super::progress::{Progress, Ready, Watch};
use super::socket::{self, Socket};
use crate::error::Result;

/// How long a connection may wait for the request of its peer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Number of connections that may wait for it at a time.
const MAX_ARRIVING: usize = 1024;
/// How long no connection is taken if descriptors are used up.
const PAUSE: Duration = Duration::from_millis(100);

/// A listening socket. Requests are rejected until the identifier listens.
pub(super) struct Listener {
    socket: Socket,
    identifier: Weak<Identifier>,
    watch: Mutex<Option<Watch>>,
    /// The connections whose request has not arrived.
    arriving: Mutex<Vec<Arc<Link>>>,
}

impl Listener {
    /// Takes connections from a listening socket.
    ///
    /// # Errors
    /// There is no memory or thread left.
    pub(super) fn new(socket: Socket, identifier: Weak<Identifier>) -> Result<Arc<Self>> {
        let listener = Arc::new(Self {
            socket,
            identifier,
            watch: Mutex::new(None),
            arriving: Mutex::default(),
        });
        let target = Arc::downgrade(&listener);
        let target: Weak<dyn Ready> = target;
        // The lock keeps the thread from an arrival before the watch is stored.
        let mut watch = listener.watch.lock();
        *watch = Some(Progress::get()?.watch(&*listener.socket, EventFlags::IN, target)?);
        drop(watch);
        Ok(listener)
    }

    /// A request has arrived, or the connection ended before.
    pub(super) fn receive(&self, link: &Arc<Link>, arrival: Arrival) {
        self.arriving.lock().retain(|other| !Arc::ptr_eq(other, link));
        match (arrival, self.identifier.upgrade()) {
            (Arrival::Message(Message::Request(terms)), Some(identifier)) => {
                identifier.take_request(link, terms);
            }
            _ => link.close(),
        }
    }

    /// Takes a connection; whether there may be more.
    fn take(self: &Arc<Self>) -> bool {
        let (socket, _peer) = match socket::accept(&self.socket) {
            Ok(Some(taken)) => taken,
            Ok(None) => return false,
            Err(_) => {
                self.pause();
                return false;
            }
        };
        let Ok(link) = Link::accepted(socket, self) else { return true };
        let is_listening = self.identifier.upgrade().is_some_and(|id| id.is_listening());
        let mut arriving = self.arriving.lock();
        if !is_listening || arriving.len() >= MAX_ARRIVING {
            let rejection = Rejection { reason: reason::NO_LISTENER, private_data: Vec::new() };
            link.send(&Message::Reject(rejection));
            link.close();
            return true;
        }
        let (weak, listener) = (Arc::downgrade(&link), Arc::downgrade(self));
        arriving.push(link);
        drop(arriving);
        if let Ok(progress) = Progress::get() {
            progress.later(PATIENCE, move || {
                let Some((link, listener)) = weak.upgrade().zip(listener.upgrade()) else { return };
                let is_late = listener.arriving.lock().iter().any(|one| Arc::ptr_eq(one, &link));
                if is_late {
                    listener.receive(&link, Arrival::Gone(libc::ETIMEDOUT));
                }
            });
        }
        true
    }

    /// Takes no connection for a while.
    fn pause(self: &Arc<Self>) {
        let Ok(progress) = Progress::get() else { return };
        self.change(EventFlags::empty());
        let listener = Arc::downgrade(self);
        progress.later(PAUSE, move || {
            if let Some(listener) = listener.upgrade() {
                listener.change(EventFlags::IN);
            }
        });
    }

    fn change(&self, interest: EventFlags) {
        if let Some(watch) = &*self.watch.lock() {
            watch.change(&*self.socket, interest);
        }
    }

    /// Ends the listening.
    pub(super) fn close(&self) {
        if let Some(watch) = self.watch.lock().take() {
            watch.end(&*self.socket);
        }
        for link in std::mem::take(&mut *self.arriving.lock()) {
            link.close();
        }
    }
}

impl Ready for Listener {
    fn ready(self: Arc<Self>) {
        while self.take() {}
    }
}
