//! The fixture of most cases: an adapter with a protection zone and event dispatchers, registered
//! memory, and functions that connect two endpoints and exchange a message. Each of them panics if
//! a call that it makes fails, such as a free of an object that is in use.

use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use dat_core::attr::ProviderAttributes;
use dat_core::{
    Address, Close, Cno, Comm, CompletionFlags, Connect, ConnectionEventKind, Cr, Csp, DtoStatus,
    Ep, EpAttributes, EpProvision, EpSpec, EpState, Evd, EvdFlags, EvdOptions, Ia, Lmr, Privileges,
    Psp, Pz, Result, Rmr, Rsp, Srq, SrqAttributes,
};

pub use crate::buffer::Buffer;
use crate::case::skip;
use crate::target::try_open;
use crate::wait::{expect_connection, expect_dto, expect_request, state, until};

/// Opens the adapter under test with parameters such as `max_eps=2,max_iov=1`.
#[track_caller]
#[must_use]
pub fn open(parameters: &str) -> Ia {
    try_open(parameters).expect("the adapter under test opens")
}

/// An open adapter with a protection zone and an event dispatcher for each stream of endpoints.
#[derive(Debug)]
pub struct Node {
    /// The adapter.
    pub ia: Ia,
    /// The protection zone.
    pub pz: Pz,
    /// Dispatcher for completions of receives.
    pub recv: Evd,
    /// Dispatcher for completions of requests and binds.
    pub request: Evd,
    /// Dispatcher for connection events.
    pub connect: Evd,
    /// Dispatcher for connection requests.
    pub requests: Evd,
}

impl Default for Node {
    fn default() -> Self {
        Self::new()
    }
}

impl Node {
    /// Minimum queue length of each dispatcher, in events.
    pub const QLEN: u32 = 256;

    /// Opens the adapter under test.
    #[track_caller]
    #[must_use]
    pub fn new() -> Self {
        Self::with("")
    }

    /// Opens the adapter under test with parameters.
    #[track_caller]
    #[must_use]
    pub fn with(parameters: &str) -> Self {
        Self::on(open(parameters))
    }

    /// Skips the case if the provider lacks a feature.
    pub fn need(&self, has: impl FnOnce(&ProviderAttributes) -> bool, feature: &str) {
        if !has(self.ia.provider_attributes()) {
            skip(format!("the provider has no {feature}"));
        }
    }

    /// Returns true if the provider has remote memory regions.
    #[must_use]
    pub fn has_rmrs(&self) -> bool {
        self.ia.provider_attributes().rmr_supported
    }

    /// A remote memory region in the zone. Skips the case if the provider has none.
    #[track_caller]
    #[must_use]
    pub fn rmr(&self) -> Rmr {
        self.need(|it| it.rmr_supported, "remote memory regions");
        self.ia.rmr_create(&self.pz).expect("made")
    }

    /// Uses an adapter that is already open.
    #[track_caller]
    #[must_use]
    pub fn on(ia: Ia) -> Self {
        let evd = |flags| {
            let qlen = Self::QLEN.min(ia.attributes().max_evd_qlen);
            ia.evd_create(&EvdOptions::new(qlen, flags)).expect("a dispatcher")
        };
        Self {
            pz: ia.pz_create().expect("a zone"),
            recv: evd(EvdFlags::DTO),
            request: evd(EvdFlags::COMPLETIONS),
            connect: evd(EvdFlags::CONNECTION),
            requests: evd(EvdFlags::CONNECTION_REQUEST),
            ia,
        }
    }

    /// The address of the adapter.
    #[must_use]
    pub fn address(&self) -> Address {
        self.ia.attributes().address
    }

    /// The IP address of the adapter. Skips the case if it has none.
    #[must_use]
    pub fn ip(&self) -> IpAddr {
        self.address().ip().unwrap_or_else(|| skip("the adapter has no IP address"))
    }

    /// Where a common service point of the adapter listens on a port: at its IP address, or at the
    /// unspecified one if it has none.
    #[must_use]
    pub fn socket(&self, port: u16) -> SocketAddr {
        SocketAddr::new(self.address().ip().unwrap_or(Ipv4Addr::UNSPECIFIED.into()), port)
    }

    /// Another event dispatcher.
    #[track_caller]
    #[must_use]
    pub fn evd(&self, flags: EvdFlags) -> Evd {
        self.ia.evd_create(&EvdOptions::new(Self::QLEN, flags)).expect("a dispatcher")
    }

    /// An event dispatcher of a given length.
    #[track_caller]
    pub(crate) fn evd_of(&self, qlen: u32, flags: EvdFlags) -> Evd {
        self.ia.evd_create(&EvdOptions::new(qlen, flags)).expect("a dispatcher")
    }

    /// An event dispatcher that is freed already.
    #[track_caller]
    pub(crate) fn freed_evd(&self, flags: EvdFlags) -> Evd {
        let evd = self.evd(flags);
        evd.free().expect("unused");
        evd
    }

    /// A protection zone that is freed already.
    #[track_caller]
    pub(crate) fn freed_pz(&self) -> Pz {
        let pz = self.ia.pz_create().expect("a zone");
        pz.free().expect("unused");
        pz
    }

    /// The specification of an endpoint with all three dispatchers and default attributes.
    #[must_use]
    pub fn spec(&self) -> EpSpec {
        EpSpec::new(&self.pz)
            .recv_evd(&self.recv)
            .request_evd(&self.request)
            .connect_evd(&self.connect)
    }

    /// The default attributes of endpoints with changes.
    #[must_use]
    pub fn attributes_with(&self, change: impl FnOnce(&mut EpAttributes)) -> EpAttributes {
        let mut attributes = self.ia.default_ep_attributes().clone();
        change(&mut attributes);
        attributes
    }

    /// [`Node::spec`] with changed attributes.
    #[must_use]
    pub fn spec_with(&self, change: impl FnOnce(&mut EpAttributes)) -> EpSpec {
        self.spec().attributes(&self.attributes_with(change))
    }

    /// A new endpoint of a specification.
    #[track_caller]
    pub(crate) fn ep_of(&self, spec: &EpSpec) -> Ep {
        self.ia.ep_create(spec).expect("an endpoint")
    }

    /// A new endpoint of [`Node::spec_with`].
    #[track_caller]
    #[must_use]
    pub fn ep_with(&self, change: impl FnOnce(&mut EpAttributes)) -> Ep {
        self.ep_of(&self.spec_with(change))
    }

    /// A shared receive queue for receives of one segment. Skips the case if the provider has none.
    #[track_caller]
    #[must_use]
    pub fn srq(&self, max_recv_dtos: u32) -> Srq {
        self.need(|it| it.srq_supported, "shared receive queues");
        let attributes = SrqAttributes { max_recv_dtos, max_recv_iov: 1, low_watermark: 0 };
        self.ia.srq_create(&self.pz, attributes).expect("a queue")
    }

    /// A new endpoint of [`Node::spec`].
    #[track_caller]
    #[must_use]
    pub fn ep(&self) -> Ep {
        self.ep_of(&self.spec())
    }

    /// Two endpoints that are connected with each other: first the active side, then the passive.
    #[track_caller]
    #[must_use]
    pub fn pair(&self) -> (Ep, Ep) {
        let (client, server) = (self.ep(), self.ep());
        link(self, &client, self, &server);
        (client, server)
    }

    /// The node with two endpoints that are connected: first the active side, then the passive.
    #[track_caller]
    pub(crate) fn paired(self) -> (Self, Ep, Ep) {
        let (client, server) = self.pair();
        (self, client, server)
    }

    /// Creates an endpoint that connects to a qualifier of this adapter.
    #[track_caller]
    #[must_use]
    pub fn connecting(&self, qualifier: u64) -> Ep {
        let ep = self.ep();
        ep.connect(&Connect::to(self.address(), qualifier)).expect("unconnected");
        ep
    }

    /// Creates an endpoint that connects to a qualifier of this adapter; returns it and the resulting request.
    #[track_caller]
    pub(crate) fn asking(&self, qualifier: u64) -> (Ep, Cr) {
        let ep = self.connecting(qualifier);
        (ep, expect_request(&self.requests).request)
    }

    /// A new endpoint that has accepted a connection from `client`.
    #[track_caller]
    pub(crate) fn linked_to(&self, client: &Ep) -> Ep {
        let server = self.ep();
        link(self, client, self, &server);
        server
    }

    /// A service point with an unused qualifier, whose requests arrive on [`Node::requests`].
    #[track_caller]
    #[must_use]
    pub fn psp(&self) -> Psp {
        self.ia.psp_create_any(&self.requests, EpProvision::Consumer).expect("a service point")
    }

    /// A common service point at a port, whose requests arrive on [`Node::requests`].
    #[track_caller]
    pub(crate) fn csp(&self, port: u16) -> Csp {
        let socket = self.socket(port);
        let comm = Comm::for_address(socket.ip());
        self.ia.csp_create(comm, socket, &self.requests).expect("an unused port")
    }

    /// Registers `len` bytes of memory in the zone, with all privileges.
    #[track_caller]
    #[must_use]
    pub fn buffer(&self, len: usize) -> Buffer {
        Buffer::new(&self.ia, &self.pz, len)
    }

    /// Registers memory with the given bytes, with all privileges.
    #[track_caller]
    pub(crate) fn buffer_of(&self, bytes: &[u8]) -> Buffer {
        let buffer = self.buffer(bytes.len());
        buffer.fill(0, bytes);
        buffer
    }

    /// Registers `len` bytes of memory in the zone, with some privileges.
    #[track_caller]
    pub(crate) fn buffer_with(&self, len: usize, privileges: Privileges) -> Buffer {
        Buffer::with(&self.ia, &self.pz, len, privileges)
    }

    /// Another protection zone, with `len` bytes of memory that are registered in it.
    #[track_caller]
    pub(crate) fn elsewhere(&self, len: usize) -> (Pz, Buffer) {
        let pz = self.ia.pz_create().expect("a zone");
        let buffer = Buffer::new(&self.ia, &pz, len);
        (pz, buffer)
    }

    /// Frees further objects in the given order, then does the same as [`Node::finish`].
    #[track_caller]
    pub fn finish_with(self, objects: &[&dyn Free]) {
        free_all(objects);
        self.finish();
    }

    /// Frees the dispatchers and the zone and closes the adapter gracefully, which fails if any
    /// object of the case is left.
    #[track_caller]
    pub fn finish(self) {
        for evd in [&self.recv, &self.request, &self.connect, &self.requests] {
            if evd.is_live() {
                evd.free().expect("nothing uses the dispatcher");
            }
        }
        if self.pz.is_live() {
            self.pz.free().expect("nothing is in the zone");
        }
        self.ia.close(Close::Graceful).expect("nothing is left on the adapter");
    }
}

/// An object that a case frees at its end.
pub trait Free: Debug {
    /// Frees the object.
    ///
    /// # Errors
    /// The errors of the call that frees it.
    fn free(&self) -> Result<()>;
}

macro_rules! free {
    ($($object:ty),+) => {
        $(impl Free for $object {
            fn free(&self) -> Result<()> {
                self.free()
            }
        })+
    };
}

free!(Cno, Csp, Ep, Evd, Lmr, Pz, Psp, Rmr, Rsp, Srq);

impl Free for Buffer {
    fn free(&self) -> Result<()> {
        self.lmr.free()
    }
}

/// An object that another thread may free.
pub(crate) fn boxed<T: Free + Send + 'static>(object: T) -> Box<dyn Free + Send> {
    Box::new(object)
}

/// Frees objects in the given order.
#[track_caller]
pub fn free_all(objects: &[&dyn Free]) {
    for object in objects {
        object.free().unwrap_or_else(|error| panic!("cannot free {object:?}: {error}"));
    }
}

/// Sends a message from one endpoint to the other and takes both completions.
#[track_caller]
pub fn exchange(node: &Node, from: &Ep, to: &Ep) {
    let (source, target) = (node.buffer(16), node.buffer(16));
    source.fill(0, b"a whole message.");
    to.post_recv(&[target.piece(0, 16)], 101, CompletionFlags::empty()).expect("posted");
    from.post_send(&[source.piece(0, 16)], 102, CompletionFlags::empty()).expect("connected");
    let (got, sent) = (expect_dto(&node.recv, &[from, to]), expect_dto(&node.request, &[from, to]));
    assert_eq!((got.ep, got.cookie, got.status), (to.id(), 101, DtoStatus::Success));
    assert_eq!((sent.ep, sent.cookie, sent.status), (from.id(), 102, DtoStatus::Success));
    assert_eq!(target.bytes(0, 16), b"a whole message.");
}

/// Connects two endpoints through a public service point. If an endpoint has a dispatcher for
/// connection events, takes its event.
#[track_caller]
pub fn link(from: &Node, client: &Ep, to: &Node, server: &Ep) {
    let psp = to.psp();
    client.connect(&Connect::to(to.address(), psp.qualifier())).expect("an attempt to connect");
    let arrival = expect_request(&to.requests);
    arrival.request.accept(Some(server), b"").expect("an unconnected endpoint");
    psp.free().expect("a service point can be freed at any time");
    for (node, ep) in [(to, server), (from, client)] {
        match ep.query().expect("a live endpoint").connect_evd {
            Some(evd) if evd == node.connect => {
                expect_connection(&evd, ep, ConnectionEventKind::Established);
            }
            _ => until("the connection is established", || state(ep) == EpState::Connected),
        }
    }
    assert_eq!(state(client), EpState::Connected);
    assert_eq!(state(server), EpState::Connected);
}

/// An adapter with an unconnected endpoint.
#[track_caller]
pub(crate) fn unconnected() -> (Node, Ep) {
    let node = Node::new();
    let ep = node.ep();
    (node, ep)
}

/// An adapter with two unconnected endpoints.
#[track_caller]
pub(crate) fn unconnected_pair() -> (Node, Ep, Ep) {
    let (node, ep) = unconnected();
    let other = node.ep();
    (node, ep, other)
}

/// An adapter with a public service point.
#[track_caller]
pub(crate) fn with_psp() -> (Node, Psp) {
    let node = Node::new();
    let psp = node.psp();
    (node, psp)
}

/// Closes adapters gracefully, as [`Node::finish`] does.
#[track_caller]
pub(crate) fn finish_all(nodes: impl IntoIterator<Item = Node>) {
    for node in nodes {
        node.finish();
    }
}

/// An adapter with two endpoints that are connected: first the active side, then the passive.
#[track_caller]
pub(crate) fn linked_pair() -> (Node, Ep, Ep) {
    Node::new().paired()
}

/// Two adapters with an endpoint each, which are connected: first the active side, then the passive.
#[track_caller]
#[must_use]
pub fn linked_nodes() -> [(Node, Ep); 2] {
    let [near, far] = [Node::new(), Node::new()].map(|node| (node.ep(), node));
    link(&near.1, &near.0, &far.1, &far.0);
    [near, far].map(|(ep, node)| (node, ep))
}

/// The endpoint among `clients` that sent a connection request. Transports may reorder concurrent
/// requests.
///
/// # Panics
/// If none of them sent it.
#[track_caller]
#[must_use]
pub fn requester<'a>(clients: &'a [Ep], request: &Cr) -> &'a Ep {
    let port = request.query().expect("live").remote_port;
    let is_it = |client: &&Ep| client.query().expect("live").local_port == port;
    clients.iter().find(is_it).expect("sent by one of the clients")
}
