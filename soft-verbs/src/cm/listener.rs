//! The socket of identifiers that are bound, or listen: one of each port space, at most.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use dat_sync::epoll::EventFlags;
use dat_sync::{Mutex, PerProcess};

use super::link::{Arrival, Link};
use super::message::{Message, Rejection, reason};
use super::progress::{Progress, Ready, Watch};
use super::socket::{self, Socket};
use super::{Identifier, PortSpace};
use crate::error::Result;

/// How long a connection may wait for the request of its peer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Number of connections that may wait for it at a time.
const MAX_ARRIVING: usize = 1024;
/// How long no connection is taken if descriptors are used up.
const PAUSE: Duration = Duration::from_millis(100);

/// The listeners of this process. A child of a fork has none.
static LISTENERS: PerProcess<Mutex<Vec<Weak<Listener>>>> = PerProcess::new();

/// A listening socket. A request is for the identifier of its port space, and is rejected until that listens.
pub(super) struct Listener {
    socket: Socket,
    address: SocketAddr,
    /// The identifiers. There are none any more after the last one has left.
    members: Mutex<Vec<(PortSpace, Weak<Identifier>)>>,
    watch: Mutex<Option<Watch>>,
    /// The connections whose request has not arrived.
    arriving: Mutex<Vec<Arc<Link>>>,
}

impl Listener {
    /// Takes connections from a listening socket, which has that address.
    ///
    /// # Errors
    /// There is no memory or thread left.
    pub(super) fn open(
        socket: Socket,
        address: SocketAddr,
        identifier: &Arc<Identifier>,
    ) -> Result<Seat> {
        let space = identifier.space();
        let listener = Arc::new(Self {
            socket,
            address,
            members: Mutex::new(vec![(space, Arc::downgrade(identifier))]),
            watch: Mutex::new(None),
            arriving: Mutex::default(),
        });
        let target = Arc::downgrade(&listener);
        let target: Weak<dyn Ready> = target;
        // The lock keeps the thread from an arrival before the watch is stored.
        let mut watch = listener.watch.lock();
        *watch = Some(Progress::get()?.watch(&*listener.socket, EventFlags::IN, target)?);
        drop(watch);
        let mut all = LISTENERS.get().lock();
        all.retain(|one| one.strong_count() != 0);
        all.push(Arc::downgrade(&listener));
        drop(all);
        Ok(Seat { listener, space })
    }

    /// Joins the listener of this process that has the address, for an identifier whose port space is free there.
    pub(super) fn join(address: SocketAddr, identifier: &Arc<Identifier>) -> Option<Seat> {
        let all = LISTENERS.get().lock().clone();
        let listener = all.iter().filter_map(Weak::upgrade).find(|one| one.address == address)?;
        let space = identifier.space();
        let mut members = listener.members.lock();
        if members.is_empty() || members.iter().any(|(other, _)| *other == space) {
            return None;
        }
        members.push((space, Arc::downgrade(identifier)));
        drop(members);
        Some(Seat { listener, space })
    }

    /// The identifiers.
    fn members(&self) -> Vec<Arc<Identifier>> {
        self.members.lock().iter().filter_map(|(_, one)| one.upgrade()).collect()
    }

    /// A request has arrived, or the connection ended before.
    pub(super) fn receive(&self, link: &Arc<Link>, arrival: Arrival) {
        self.arriving.lock().retain(|other| !Arc::ptr_eq(other, link));
        let Arrival::Message(Message::Request(terms)) = arrival else { return link.close() };
        let members = self.members();
        match members.iter().find(|one| one.space() as u32 == terms.space) {
            Some(identifier) => identifier.take_request(link, terms),
            None => refuse(link),
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
        let is_listening = self.members().iter().any(|one| one.is_listening());
        let mut arriving = self.arriving.lock();
        if !is_listening || arriving.len() >= MAX_ARRIVING {
            refuse(&link);
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
    fn close(&self) {
        if let Some(watch) = self.watch.lock().take() {
            watch.end(&*self.socket);
        }
        for link in std::mem::take(&mut *self.arriving.lock()) {
            link.close();
        }
    }
}

/// No identifier listens for the request of a link.
fn refuse(link: &Arc<Link>) {
    let rejection = Rejection { reason: reason::NO_LISTENER, private_data: Vec::new() };
    link.send(&Message::Reject(rejection));
    link.close();
}

/// The place of an identifier at a listener.
pub(super) struct Seat {
    listener: Arc<Listener>,
    space: PortSpace,
}

impl Seat {
    /// Leaves the listener. The last one closes it and gets its socket, which keeps the port.
    pub(super) fn leave(self) -> Option<Socket> {
        let mut members = self.listener.members.lock();
        members.retain(|(space, _)| *space != self.space);
        let is_last = members.is_empty();
        drop(members);
        if !is_last {
            return None;
        }
        self.listener.close();
        socket::stop_listening(&self.listener.socket).ok()?;
        Some(Arc::clone(&self.listener.socket))
    }
}

impl Ready for Listener {
    fn ready(self: Arc<Self>) {
        while self.take() {}
    }
}
