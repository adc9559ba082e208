//! An adapter with a zone and dispatchers, and what connects two endpoints.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU32, Ordering};

use dat_core::{
    Close, Connect, ConnectionEventKind, Endpoint, EpSpec, EpState, EvdFlags, EvdOptions,
    EventDispatcher, InterfaceAdapter, Lmr, LmrTriplet, Memory, MemorySource, Privileges,
    ProtectionZone, PspMaker, Registry, RmrTriplet,
};

use crate::wait::{expect_connection, expect_request, state, until};

/// A registry with the loopback provider.
///
/// # Panics
/// Never.
#[must_use]
pub fn registry() -> Registry {
    let registry = Registry::new();
    registry.add_provider(provider_loopback::provider()).expect("an empty registry");
    registry
}

/// An address that no other adapter of the tests has.
#[must_use]
pub fn fresh_address() -> IpAddr {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let [_, high, middle, low] = number.to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(127, high + 1, middle, low))
}

/// A loopback adapter with those parameters (`max_eps=2,max_iov=1`) at an address of its own.
///
/// # Panics
/// When it can't be opened.
#[track_caller]
#[must_use]
pub fn open(parameters: &str) -> InterfaceAdapter {
    open_at(fresh_address(), parameters)
}

/// A loopback adapter with those parameters at that address.
///
/// # Panics
/// When it can't be opened.
#[track_caller]
#[must_use]
pub fn open_at(address: IpAddr, parameters: &str) -> InterfaceAdapter {
    let name = format!("loopback?address={address},{parameters}");
    registry().open(&name).expect("the loopback adapter")
}

/// An adapter, a zone, and a dispatcher for each stream of endpoints.
#[derive(Debug)]
pub struct Node {
    /// The adapter.
    pub ia: InterfaceAdapter,
    /// The zone.
    pub pz: ProtectionZone,
    /// For completions of receives.
    pub recv: EventDispatcher,
    /// For completions of requests, also of binds.
    pub request: EventDispatcher,
    /// For connection events.
    pub connect: EventDispatcher,
    /// For connection requests.
    pub requests: EventDispatcher,
}

impl Default for Node {
    fn default() -> Self {
        Self::new()
    }
}

impl Node {
    /// How many events each dispatcher holds.
    pub const QLEN: u32 = 256;

    /// On a loopback adapter without parameters.
    ///
    /// # Panics
    /// When it can't be made.
    #[track_caller]
    #[must_use]
    pub fn new() -> Self {
        Self::with("")
    }

    /// On a loopback adapter with parameters.
    ///
    /// # Panics
    /// When it can't be made.
    #[track_caller]
    #[must_use]
    pub fn with(parameters: &str) -> Self {
        Self::on(open(parameters))
    }

    /// On an adapter.
    ///
    /// # Panics
    /// When it can't be made.
    #[track_caller]
    #[must_use]
    pub fn on(ia: InterfaceAdapter) -> Self {
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
    pub fn address(&self) -> IpAddr {
        self.ia.attributes().address
    }

    /// Another dispatcher.
    ///
    /// # Panics
    /// When it can't be made.
    #[track_caller]
    #[must_use]
    pub fn evd(&self, flags: EvdFlags) -> EventDispatcher {
        self.ia.evd_create(&EvdOptions::new(Self::QLEN, flags)).expect("a dispatcher")
    }

    /// An endpoint with all three dispatchers and default attributes, to be made.
    #[must_use]
    pub fn spec(&self) -> EpSpec {
        EpSpec::new(&self.pz)
            .recv_evd(&self.recv)
            .request_evd(&self.request)
            .connect_evd(&self.connect)
    }

    /// An endpoint of [`Node::spec`].
    ///
    /// # Panics
    /// When it can't be made.
    #[track_caller]
    #[must_use]
    pub fn ep(&self) -> Endpoint {
        self.ia.ep_create(&self.spec()).expect("an endpoint")
    }

    /// Two endpoints, connected with each other: the one that asked, and the one that accepted.
    ///
    /// # Panics
    /// When they can't be made.
    #[track_caller]
    #[must_use]
    pub fn pair(&self) -> (Endpoint, Endpoint) {
        let (client, server) = (self.ep(), self.ep());
        link(self, &client, self, &server);
        (client, server)
    }

    /// Memory of that length in the zone, for all uses.
    ///
    /// # Panics
    /// When it can't be registered.
    #[track_caller]
    #[must_use]
    pub fn buffer(&self, len: usize) -> Buffer {
        Buffer::new(&self.ia, &self.pz, len)
    }

    /// As [`Node::finish`], after other dispatchers were freed.
    ///
    /// # Panics
    /// When something is left.
    #[track_caller]
    pub fn finish_with<const N: usize>(self, evds: [EventDispatcher; N]) {
        for evd in evds {
            evd.free().expect("nothing uses the dispatcher");
        }
        self.finish();
    }

    /// Frees the dispatchers and the zone and closes the adapter gracefully: what the test made
    /// is freed already, and nothing of it is left.
    ///
    /// # Panics
    /// When something is left.
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

/// Memory and its region.
#[derive(Debug)]
pub struct Buffer {
    /// The bytes.
    pub memory: Memory,
    /// Their registration.
    pub lmr: Lmr,
}

impl Buffer {
    /// Registers new memory for all uses.
    ///
    /// # Panics
    /// When it can't be registered.
    #[track_caller]
    #[must_use]
    pub fn new(ia: &InterfaceAdapter, pz: &ProtectionZone, len: usize) -> Self {
        let memory = Memory::zeroed(len).expect("memory");
        let lmr = ia
            .lmr_create(MemorySource::Memory(&memory), pz, Privileges::ALL)
            .expect("a registration");
        Self { memory, lmr }
    }

    /// A piece for local use.
    ///
    /// # Panics
    /// When it is not inside.
    #[track_caller]
    #[must_use]
    pub fn piece(&self, offset: usize, len: usize) -> LmrTriplet {
        self.lmr.triplet(offset as u64, len as u64).expect("a piece of the region")
    }

    /// A piece for the peer's use.
    ///
    /// # Panics
    /// When it is not inside.
    #[track_caller]
    #[must_use]
    pub fn remote(&self, offset: usize, len: usize) -> RmrTriplet {
        self.lmr.remote_triplet(offset as u64, len as u64).expect("a piece of the region")
    }

    /// Writes bytes into the memory.
    ///
    /// # Panics
    /// When they don't fit.
    #[track_caller]
    pub fn fill(&self, offset: usize, bytes: &[u8]) {
        self.memory.write(offset, bytes).expect("inside the memory");
    }

    /// The bytes of a range.
    ///
    /// # Panics
    /// When it is not inside.
    #[track_caller]
    #[must_use]
    pub fn bytes(&self, offset: usize, len: usize) -> Vec<u8> {
        self.memory.to_vec(offset, len).expect("inside the memory")
    }
}

/// Connects two endpoints by way of a public service point, whether or not they have
/// dispatchers for connection events, and takes those events.
///
/// # Panics
/// When they don't connect.
#[track_caller]
pub fn link(from: &Node, client: &Endpoint, to: &Node, server: &Endpoint) {
    let psp = to.ia.psp_create_any(&to.requests, PspMaker::Consumer).expect("a service point");
    client.connect(&Connect::to(to.address(), psp.qualifier())).expect("an attempt to connect");
    let arrival = expect_request(&to.requests);
    arrival.request.accept(Some(server), b"").expect("an unconnected endpoint");
    psp.free().expect("a service point can be freed at any time");
    for (node, ep) in [(to, server), (from, client)] {
        match ep.query().expect("a live endpoint").connect_evd {
            Some(evd) if evd == node.connect => {
                expect_connection(&evd, ep, ConnectionEventKind::Established);
            }
            _ => until("the connection stands", || state(ep) == EpState::Connected),
        }
    }
    assert_eq!(state(client), EpState::Connected);
    assert_eq!(state(server), EpState::Connected);
}
