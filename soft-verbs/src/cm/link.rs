//! The TCP connection between two identifiers, on which their messages travel.

use std::io::{self, ErrorKind, Read};
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use dat_sync::Mutex;
use dat_sync::epoll::EventFlags;

use super::Identifier;
use super::listener::Listener;
use super::message::Message;
use super::progress::{Progress, Ready, Watch};
use super::socket::{self, Socket};
use crate::error::Result;

/// A link of two identifiers.
pub(super) struct Link {
    socket: Socket,
    owner: Mutex<Owner>,
    watch: Mutex<Option<Watch>>,
    /// The message to send when the connection is established.
    first: Mutex<Option<Message>>,
    /// The bytes of a message that has not arrived completely. Only the thread of the connection manager uses it.
    arrived: Mutex<Vec<u8>>,
}

/// The receiver of the messages of a link.
#[derive(Clone)]
pub(super) enum Owner {
    /// The request has not arrived.
    Listener(Weak<Listener>),
    /// An identifier.
    Identifier(Weak<Identifier>),
}

/// An arrival on a link.
#[derive(Debug)]
pub(super) enum Arrival {
    /// A message.
    Message(Message),
    /// The end of the link, with the errno of an error that is not the peer's.
    Gone(i32),
}

impl Link {
    /// Sends the request when the socket is connected, if its attempt has begun.
    ///
    /// # Errors
    /// There is no descriptor, memory or thread left.
    pub(super) fn connect(
        socket: Socket,
        started: io::Result<()>,
        owner: &Arc<Identifier>,
        request: Message,
    ) -> Result<Arc<Self>> {
        let owner = Owner::Identifier(Arc::downgrade(owner));
        let link = Self::new(socket, owner, Some(request));
        let interest = EventFlags::OUT;
        match started {
            Ok(()) => link.begin(interest)?,
            // As for an attempt that fails later: the program gets an event.
            Err(error) => {
                let (weak, errno) = (Arc::downgrade(&link), socket::errno(&error));
                Progress::get()?.later(std::time::Duration::ZERO, move || {
                    if let Some(link) = weak.upgrade() {
                        link.deliver(Arrival::Gone(errno));
                    }
                });
            }
        }
        Ok(link)
    }

    /// A connection that a listener has taken.
    ///
    /// # Errors
    /// There is no memory left.
    pub(super) fn accepted(socket: Socket, listener: &Arc<Listener>) -> Result<Arc<Self>> {
        let link = Self::new(socket, Owner::Listener(Arc::downgrade(listener)), None);
        link.begin(EventFlags::IN)?;
        Ok(link)
    }

    fn new(socket: Socket, owner: Owner, first: Option<Message>) -> Arc<Self> {
        Arc::new(Self {
            socket,
            owner: Mutex::new(owner),
            watch: Mutex::new(None),
            first: Mutex::new(first),
            arrived: Mutex::default(),
        })
    }

    fn begin(self: &Arc<Self>, interest: EventFlags) -> Result<()> {
        // The lock keeps the thread from an arrival before the watch is stored.
        let mut watch = self.watch.lock();
        let target = Arc::downgrade(self);
        let target: Weak<dyn Ready> = target;
        *watch = Some(Progress::get()?.watch(&*self.socket, interest, target)?);
        Ok(())
    }

    /// The local address.
    pub(super) fn local_address(&self) -> io::Result<SocketAddr> {
        socket::local(&self.socket)
    }

    /// The address of the peer.
    pub(super) fn peer_address(&self) -> io::Result<SocketAddr> {
        socket::peer(&self.socket)
    }

    /// Gives the link to an identifier.
    pub(super) fn set_owner(&self, owner: &Arc<Identifier>) {
        *self.owner.lock() = Owner::Identifier(Arc::downgrade(owner));
    }

    /// Sends a message. A side sends less in total than the smallest buffer of a socket, so this does not block and
    /// sends all or nothing. A failure is reported as the end of the link.
    pub(super) fn send(&self, message: &Message) {
        let _ = self.socket.send_with_flags(&message.to_bytes(), libc::MSG_NOSIGNAL);
    }

    /// Ends the link. What was sent arrives.
    pub(super) fn close(&self) {
        if let Some(watch) = self.watch.lock().take() {
            watch.end(&*self.socket);
        }
        socket::close(&self.socket);
    }

    /// Sends the request if the connection is established; whether it is.
    fn establish(&self) -> io::Result<()> {
        let Some(first) = self.first.lock().take() else { return Ok(()) };
        socket::outcome(&self.socket)?;
        if let Some(watch) = &*self.watch.lock() {
            watch.change(&*self.socket, EventFlags::IN);
        }
        self.send(&first);
        Ok(())
    }

    /// Reads what is there. The end of the stream is an error.
    fn read(&self) -> io::Result<()> {
        let mut buffer = [0; 1024];
        let mut arrived = self.arrived.lock();
        loop {
            match (&**self.socket).read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => arrived.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
            // No side sends more before it is answered.
            if arrived.len() > 4096 {
                return Err(ErrorKind::InvalidData.into());
            }
        }
    }

    fn deliver(self: &Arc<Self>, arrival: Arrival) {
        let owner = self.owner.lock().clone();
        match owner {
            Owner::Listener(listener) => match listener.upgrade() {
                Some(listener) => listener.receive(self, arrival),
                None => self.close(),
            },
            Owner::Identifier(identifier) => {
                if let Some(identifier) = identifier.upgrade() {
                    identifier.receive(self, arrival);
                }
            }
        }
    }
}

impl Ready for Link {
    fn ready(self: Arc<Self>) {
        let outcome = self.establish().and_then(|()| self.read());
        loop {
            let next = Message::take(&mut self.arrived.lock());
            match next {
                Ok(Some(message)) => self.deliver(Arrival::Message(message)),
                Ok(None) => break,
                Err(_) => {
                    self.close();
                    return self.deliver(Arrival::Gone(libc::EPROTO));
                }
            }
        }
        if let Err(error) = outcome {
            self.close();
            self.deliver(Arrival::Gone(socket::errno(&error)));
        }
    }
}
