//! Listening on a qualifier with both kinds of links.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider_kit::engine::{Acceptor, Connected};
use dat_provider_kit::fork::Guard;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

/// Two listeners on one qualifier.
pub(crate) struct Listening {
    _guard: Guard,
    /// Readable when either listener is.
    epoll: OwnedFd,
    /// It is closed before the socket: a process that gets the port finds the name of the ring free.
    rings: Box<dyn Acceptor>,
    sockets: Box<dyn Acceptor>,
}

impl Listening {
    /// Combines the listeners.
    pub(crate) fn new(rings: Box<dyn Acceptor>, sockets: Box<dyn Acceptor>) -> Result<Self> {
        let joined = || {
            let epoll = epoll::create(CreateFlags::CLOEXEC)?;
            for (number, acceptor) in [(0, &rings), (1, &sockets)] {
                let data = EventData::new_u64(number);
                epoll::add(&epoll, acceptor.descriptor(), data, EventFlags::IN)?;
            }
            Ok(epoll)
        };
        let epoll = joined().map_err(|errno: rustix::io::Errno| {
            Error::new(ReturnType::InsufficientResources, Subtype::ResourceDevice)
                .because(format!(
                    "cannot wait for both listeners on connection qualifier {}",
                    sockets.qualifier()
                ))
                .errno(errno.raw_os_error())
                .advise("if descriptors are used up, raise their limit: ulimit -n")
        })?;
        Ok(Self { _guard: Guard::new(epoll.as_fd()), epoll, rings, sockets })
    }
}

impl Acceptor for Listening {
    fn qualifier(&self) -> u64 {
        self.sockets.qualifier()
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    fn accept(&mut self) -> Option<Connected> {
        self.rings.accept().or_else(|| self.sockets.accept())
    }
}
