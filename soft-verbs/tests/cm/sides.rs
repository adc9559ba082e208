//! Two sides of a connection in one process.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;

use dat_soft_verbs::QueuePairType;
use dat_soft_verbs::cm::{
    ConnectParameters, Event, EventChannel, EventKind, Identifier, Parameters, PortSpace,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The time that a step may take, in seconds.
const LIMIT: i64 = 20;

/// The address of the loopback device with that port.
pub(crate) fn at(port: u16) -> SocketAddr {
    SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)
}

/// A new identifier with its own channel.
pub(crate) fn identifier(space: PortSpace) -> (Arc<EventChannel>, Arc<Identifier>) {
    let channel = EventChannel::new().expect("a channel");
    let qp_type = if space.is_datagram() { QueuePairType::Ud } else { QueuePairType::Rc };
    let id = Identifier::new(&channel, 7, space, qp_type);
    (channel, id)
}

/// Returns true if an event waits.
pub(crate) fn is_readable(channel: &EventChannel) -> bool {
    wait(channel, Timespec { tv_sec: 0, tv_nsec: 0 })
}

/// Waits until an event waits.
#[track_caller]
pub(crate) fn readable(channel: &EventChannel) {
    assert!(wait(channel, Timespec { tv_sec: LIMIT, tv_nsec: 0 }), "no event in time");
}

fn wait(channel: &EventChannel, time: Timespec) -> bool {
    let descriptor = channel.as_fd();
    let mut descriptors = [PollFd::new(&descriptor, PollFlags::IN)];
    poll(&mut descriptors, Some(&time)).expect("polled") > 0
}

/// The next event, which must be of that kind.
#[track_caller]
pub(crate) fn expect(channel: &EventChannel, kind: EventKind) -> Event {
    readable(channel);
    let event = channel.next().expect("an event");
    assert_eq!(event.kind(), kind, "status {}", event.status());
    event
}

/// Resolves address and route.
#[track_caller]
pub(crate) fn resolve(channel: &EventChannel, id: &Arc<Identifier>, to: SocketAddr) {
    id.resolve_address(None, to).expect("it begins");
    expect(channel, EventKind::AddressResolved);
    id.resolve_route().expect("it begins");
    expect(channel, EventKind::RouteResolved);
}

/// An identifier that can connect to another one that listens.
pub(crate) struct Sides {
    pub(crate) here: Arc<EventChannel>,
    pub(crate) active: Arc<Identifier>,
    pub(crate) there: Arc<EventChannel>,
    pub(crate) listener: Arc<Identifier>,
    /// What the last request said.
    pub(crate) requested: Parameters,
}

impl Sides {
    pub(crate) fn new(space: PortSpace) -> Self {
        Self::with_backlog(space, 4)
    }

    pub(crate) fn with_backlog(space: PortSpace, backlog: i32) -> Self {
        Self::of(space, at(0), backlog)
    }

    /// With a listener at that address.
    pub(crate) fn at(address: &str) -> Self {
        Self::of(PortSpace::Tcp, address.parse().expect("an address"), 4)
    }

    fn of(space: PortSpace, address: SocketAddr, backlog: i32) -> Self {
        let (there, listener) = identifier(space);
        listener.bind(address).expect("free");
        listener.listen(backlog).expect("bound");
        let (here, active) = identifier(space);
        resolve(&here, &active, listener.local_address().expect("bound"));
        Self { here, active, there, listener, requested: Parameters::None }
    }

    /// Requests a connection. Returns the identifier of the request.
    pub(crate) fn request(&mut self, wanted: &ConnectParameters<'_>) -> Arc<Identifier> {
        self.active.connect(wanted).expect("it begins");
        let event = expect(&self.there, EventKind::ConnectRequest);
        self.requested = event.parameters().clone();
        Arc::clone(event.identifier())
    }
}

/// Two sides that are connected without queue pairs, and the passive one.
pub(crate) fn connected() -> (Sides, Arc<Identifier>) {
    let mut sides = Sides::new(PortSpace::Tcp);
    let passive = sides.request(&ConnectParameters::default());
    passive.accept(None).expect("a request waits");
    expect(&sides.here, EventKind::ConnectResponse);
    sides.active.establish().expect("an answer waits");
    expect(&sides.there, EventKind::Established);
    (sides, passive)
}
