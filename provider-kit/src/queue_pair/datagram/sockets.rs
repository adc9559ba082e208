//! The sockets of a queue pair.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use dat_provider::LocalCause;
use rustix::event::epoll::EventFlags;

use crate::datagram_counts::DatagramCounts;
use crate::datagram_socket::DatagramSocket;
use crate::progress::{Core, Driven, Job};

/// The sockets, each at another address of the machine. Usually there is one.
#[derive(Default)]
pub(super) struct Sockets {
    all: Vec<OpenSocket>,
    /// The events that the driver waits for.
    interest: EventFlags,
    /// One was opened that pollers do not know yet.
    has_new: bool,
}

struct OpenSocket {
    /// The address, whose port means nothing.
    at: SocketAddr,
    socket: DatagramSocket,
    token: u64,
}

impl Sockets {
    /// The socket at an address, which is opened if there is none.
    ///
    /// # Errors
    /// What keeps this side from it.
    pub(super) fn at(
        &mut self,
        at: SocketAddr,
        core: &Core,
        queue_pair: &Weak<dyn Driven>,
        lost: &Arc<DatagramCounts>,
    ) -> Result<&DatagramSocket, LocalCause> {
        let known = self.all.iter().position(|one| is_same_address(one.at, at));
        let index = match known {
            Some(index) => index,
            None => {
                let failed = |what: &'static str| {
                    move |errno: rustix::io::Errno| LocalCause::new(what, &errno.into())
                };
                let socket = DatagramSocket::bind(at, lost)
                    .map_err(failed("open a socket for datagrams"))?;
                let token = core.token();
                core.submit_without_wakeup(Job::Watch(token, Weak::clone(queue_pair), None));
                let interest = self.interest | EventFlags::IN;
                if let Err(errno) = core.watch(socket.descriptor(), token, interest) {
                    core.submit_without_wakeup(Job::Forget(token));
                    return Err(failed("wait for datagrams (epoll)")(errno));
                }
                self.all.push(OpenSocket { at, socket, token });
                self.has_new = true;
                self.all.len() - 1
            }
        };
        Ok(&self.all[index].socket)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &DatagramSocket> {
        self.all.iter().map(|one| &one.socket)
    }

    /// Tells the driver which events to wait for. Returns whether pollers do not know one of the sockets yet.
    pub(super) fn set_interest(&mut self, interest: EventFlags, core: &Core) -> bool {
        let has_new = std::mem::take(&mut self.has_new);
        if self.interest != interest || has_new {
            self.interest = interest;
            for one in &self.all {
                core.change_interest(one.socket.descriptor(), one.token, interest);
            }
        }
        has_new
    }

    /// Closes them.
    pub(super) fn close(self, core: &Core) {
        for one in &self.all {
            core.forget_descriptor(one.socket.descriptor());
            core.submit_without_wakeup(Job::Forget(one.token));
        }
    }
}

/// Whether two addresses differ at most in their ports.
fn is_same_address(one: SocketAddr, mut other: SocketAddr) -> bool {
    other.set_port(one.port());
    one == other
}
