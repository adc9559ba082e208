//! The sockets of a queue pair.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Weak};

use dat_provider::LocalCause;
use rustix::event::epoll::EventFlags;

use crate::datagram_counts::DatagramCounts;
use crate::datagram_socket::DatagramSocket;
use crate::progress::{Core, Driven, Job};

/// The sockets. Usually there is one.
#[derive(Default)]
pub(super) struct Sockets {
    /// Each at another address of the machine; or first that of the port at every address, and one for each group.
    all: Vec<OpenSocket>,
    /// The events that the driver waits for, at the sockets of datagrams.
    interest: EventFlags,
    /// The first one receives at every address.
    has_port: bool,
    acks: Option<AckSocket>,
    /// One was opened that pollers do not know yet.
    has_new: bool,
}

/// The socket that receives the acknowledgements of peers, at every address.
struct AckSocket {
    socket: DatagramSocket,
    token: u64,
    interest: EventFlags,
}

struct OpenSocket {
    place: Place,
    socket: DatagramSocket,
    token: u64,
}

/// Where a socket receives.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// At an address, whose port means nothing.
    Address(SocketAddr),
    /// At every address.
    Port,
    /// At a group, on the interface with an address.
    Group(IpAddr, IpAddr),
}

impl Sockets {
    /// Opens a socket at every address.
    ///
    /// # Errors
    /// As [`at`](Self::at), and if another socket has the port.
    pub(super) fn bind(
        &mut self,
        port: u16,
        core: &Core,
        queue_pair: &Weak<dyn Driven>,
        lost: &Arc<DatagramCounts>,
    ) -> Result<(), LocalCause> {
        let socket = DatagramSocket::bind_everywhere(port, lost)
            .map_err(failed("open a socket for datagrams"))?;
        self.add(Place::Port, socket, core, queue_pair)?;
        self.has_port = true;
        Ok(())
    }

    /// The port at every address.
    pub(super) fn port(&self) -> Option<u16> {
        self.all.first().filter(|_| self.has_port).map(|one| one.socket.port())
    }

    fn member(&self, group: IpAddr, at: IpAddr) -> Option<usize> {
        let is_it = |one: &OpenSocket| matches!(one.place, Place::Group(its, there) if (its, there) == (group, at));
        self.all.iter().position(is_it)
    }

    /// Receives what is sent to a group.
    ///
    /// # Errors
    /// As [`at`](Self::at), and if no interface has the address.
    pub(super) fn join(
        &mut self,
        (group, at): (IpAddr, IpAddr),
        core: &Core,
        queue_pair: &Weak<dyn Driven>,
        lost: &Arc<DatagramCounts>,
    ) -> Result<(), LocalCause> {
        if self.member(group, at).is_none() {
            let socket = DatagramSocket::bind_group(group, at, lost)
                .map_err(failed("join a multicast group"))?;
            self.add(Place::Group(group, at), socket, core, queue_pair)?;
        }
        Ok(())
    }

    /// Receives no more what is sent to a group. Returns false if it is not a member.
    pub(super) fn leave(&mut self, group: IpAddr, at: IpAddr, core: &Core) -> bool {
        let member = self.member(group, at);
        if let Some(index) = member {
            let OpenSocket { socket, token, .. } = self.all.remove(index);
            forget(&socket, token, core);
        }
        member.is_some()
    }

    /// The socket from which datagrams leave that go from an address; `None` leaves that to the system.
    ///
    /// # Errors
    /// As [`at`](Self::at), and if the system would have to choose one of several sockets.
    pub(super) fn for_sending(
        &mut self,
        from: Option<SocketAddr>,
        core: &Core,
        queue_pair: &Weak<dyn Driven>,
        lost: &Arc<DatagramCounts>,
    ) -> Result<&DatagramSocket, LocalCause> {
        let what = "send from an address that the system chooses";
        let none = LocalCause { what, errno: libc::EDESTADDRREQ };
        let from = from.or(self.has_port.then_some(EVERYWHERE)).ok_or(none)?;
        self.at(from, core, queue_pair, lost)
    }

    /// The socket at an address, which is opened if there is none.
    ///
    /// # Errors
    /// The obstacle on this side.
    pub(super) fn at(
        &mut self,
        at: SocketAddr,
        core: &Core,
        queue_pair: &Weak<dyn Driven>,
        lost: &Arc<DatagramCounts>,
    ) -> Result<&DatagramSocket, LocalCause> {
        let is_it = |one: &OpenSocket| match one.place {
            Place::Address(address) => is_same_address(address, at),
            Place::Port => true,
            Place::Group(..) => false,
        };
        let index = match self.all.iter().position(is_it) {
            Some(index) => index,
            None => {
                let socket = DatagramSocket::bind(at, lost)
                    .map_err(failed("open a socket for datagrams"))?;
                self.add(Place::Address(at), socket, core, queue_pair)?
            }
        };
        Ok(&self.all[index].socket)
    }

    /// The socket for acknowledgements, which is opened if there is none. Nothing while the system refuses: datagrams are
    /// sent without flow control.
    pub(super) fn acks(
        &mut self,
        core: &Core,
        queue_pair: &Weak<dyn Driven>,
    ) -> Option<&DatagramSocket> {
        if self.acks.is_none() {
            // Lost acknowledgements are no lost datagrams.
            let socket = DatagramSocket::bind_everywhere(0, &DatagramCounts::new()).ok()?;
            let interest = EventFlags::empty();
            let token = watch(&socket, interest, core, queue_pair).ok()?;
            self.acks = Some(AckSocket { socket, token, interest });
        }
        self.acks.as_ref().map(|acks| &acks.socket)
    }

    /// Adds a socket, and returns its index.
    fn add(
        &mut self,
        place: Place,
        socket: DatagramSocket,
        core: &Core,
        queue_pair: &Weak<dyn Driven>,
    ) -> Result<usize, LocalCause> {
        let token = watch(&socket, self.interest | EventFlags::IN, core, queue_pair)
            .map_err(failed("wait for datagrams (epoll)"))?;
        self.all.push(OpenSocket { place, socket, token });
        self.has_new = true;
        Ok(self.all.len() - 1)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &DatagramSocket> {
        self.all.iter().map(|one| &one.socket)
    }

    /// Sets the events for which the driver waits, and those at the socket for acknowledgements. Returns true if pollers
    /// do not know one of the sockets yet.
    pub(super) fn set_interest(
        &mut self,
        interest: EventFlags,
        in_acks: EventFlags,
        core: &Core,
    ) -> bool {
        if let Some(acks) = self.acks.as_mut().filter(|acks| acks.interest != in_acks) {
            acks.interest = in_acks;
            core.change_interest(acks.socket.descriptor(), acks.token, in_acks);
        }
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
        self.all.iter().for_each(|one| forget(&one.socket, one.token, core));
        if let Some(AckSocket { socket, token, .. }) = &self.acks {
            forget(socket, *token, core);
        }
    }
}

/// Makes the driver wait for events of a socket. Returns its token.
fn watch(
    socket: &DatagramSocket,
    interest: EventFlags,
    core: &Core,
    queue_pair: &Weak<dyn Driven>,
) -> rustix::io::Result<u64> {
    let token = core.token();
    core.submit_without_wakeup(Job::Watch(token, Weak::clone(queue_pair), None));
    let watched = core.watch(socket.descriptor(), token, interest);
    watched.inspect_err(|_| core.submit_without_wakeup(Job::Forget(token)))?;
    Ok(token)
}

/// The driver waits no more for a socket, which the caller closes.
fn forget(socket: &DatagramSocket, token: u64, core: &Core) {
    core.forget_descriptor(socket.descriptor());
    core.submit_without_wakeup(Job::Forget(token));
}

/// The address of a queue pair that sends from any.
const EVERYWHERE: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0);

/// The cause that a step failed with an error of the system.
fn failed(what: &'static str) -> impl Fn(rustix::io::Errno) -> LocalCause {
    move |errno| LocalCause::new(what, &errno.into())
}

/// Returns true if two addresses differ at most in their ports.
fn is_same_address(one: SocketAddr, mut other: SocketAddr) -> bool {
    other.set_port(one.port());
    one == other
}
