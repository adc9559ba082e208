//! What the tests through the DAT API share.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use dat_core::provider::Provider;
use dat_core::{
    AsyncError, Close, CompletionFlags, Connect, ConnectionEventKind, Cr, DatagramEvent,
    DtoCompletion, DtoStatus, Ep, EpAttributes, EpProvision, EpSpec, EpState, Evd, EvdFlags,
    EvdOptions, Event, Ia, Lmr, LmrTriplet, Memory, MemorySource, Operation, Privileges, Psp, Pz,
    Registry, Result, Timeout,
};

/// A timeout that expires only if a test hangs.
pub(crate) const LONG: Timeout = Timeout::After(Duration::from_secs(20));

/// An open adapter with an address that no other test uses, and a service point.
pub(crate) struct Site {
    pub(crate) ia: Ia,
    pub(crate) pz: Pz,
    pub(crate) requests: Evd,
    pub(crate) psp: Psp,
    pub(crate) lmr: Lmr,
    pub(crate) memory: Memory,
}

/// An address that no other test uses, so that tests do not find each other's listeners.
fn fresh_address() -> IpAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0x7f01_0001);
    IpAddr::V4(Ipv4Addr::from(NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// Opens an adapter of a provider with these IA parameters and an address that no other test uses.
pub(crate) fn open(provider: Arc<dyn Provider>, parameters: &str) -> Result<Ia> {
    let registry = Registry::new();
    registry.add_provider(provider)?;
    registry.open(&format!("loopback?address={} {parameters}", fresh_address()))
}

impl Site {
    /// A site of loopback with these IA parameters.
    pub(crate) fn with(parameters: &str) -> Self {
        Self::of(open(dat_provider_loopback::provider(), parameters).expect("open"))
    }

    pub(crate) fn over(provider: Arc<dyn Provider>) -> Self {
        Self::of(open(provider, "").expect("open"))
    }

    pub(crate) fn of(ia: Ia) -> Self {
        let pz = ia.pz_create().expect("zone");
        let evd = EvdOptions::new(64, EvdFlags::CONNECTION_REQUEST);
        let requests = ia.evd_create(&evd).expect("dispatcher");
        let psp = ia.psp_create_any(&requests, EpProvision::Consumer).expect("service point");
        let memory = Memory::zeroed(4096).expect("memory");
        let source = MemorySource::Memory(&memory);
        let lmr = ia.lmr_create(source, &pz, Privileges::ALL).expect("region");
        Self { ia, pz, requests, psp, lmr, memory }
    }

    /// Registers the memory once more.
    pub(crate) fn register(&self) -> Result<Lmr> {
        self.ia.lmr_create(MemorySource::Memory(&self.memory), &self.pz, Privileges::ALL)
    }

    pub(crate) fn evd(&self, flags: EvdFlags) -> Evd {
        self.ia.evd_create(&EvdOptions::new(256, flags)).expect("dispatcher")
    }

    pub(crate) fn end(&self) -> End {
        self.end_on(&self.evd(EvdFlags::COMPLETIONS))
    }

    /// An endpoint whose operations complete on this dispatcher.
    pub(crate) fn end_on(&self, dto: &Evd) -> End {
        self.end_from(EpSpec::new(&self.pz), dto)
    }

    pub(crate) fn end_from(&self, spec: EpSpec, dto: &Evd) -> End {
        let events = self.evd(EvdFlags::CONNECTION);
        let spec = spec.recv_evd(dto).request_evd(dto).connect_evd(&events);
        let ep = self.ia.ep_create(&spec).expect("endpoint");
        End { ep, dto: dto.clone(), events }
    }

    /// An endpoint that carries datagrams.
    pub(crate) fn datagram_end(&self) -> End {
        let service_type = EpAttributes::SERVICE_DATAGRAM;
        let attributes = EpAttributes { service_type, ..self.ia.default_ep_attributes().clone() };
        let spec = EpSpec::new(&self.pz).attributes(&attributes);
        self.end_from(spec, &self.evd(EvdFlags::COMPLETIONS))
    }

    /// Begins to connect an endpoint of any adapter to this one.
    pub(crate) fn connect(&self, end: &End, timeout: Timeout) {
        self.try_connect(end, timeout).expect("connect");
    }

    pub(crate) fn try_connect(&self, end: &End, timeout: Timeout) -> Result<()> {
        let address = self.ia.attributes().address;
        end.ep.connect(&Connect::to(address, self.psp.qualifier()).timeout(timeout))
    }

    pub(crate) fn request(&self) -> Cr {
        match next(&self.requests) {
            Event::ConnectionRequest(arrival) => arrival.request,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn has_request(&self) -> bool {
        self.requests.dequeue(&mut Event::default()).expect("dequeue")
    }

    /// Connects two endpoints; the second is of this adapter.
    pub(crate) fn join(&self, active: &End, passive: &End) {
        self.connect(active, LONG);
        self.request().accept(Some(&passive.ep), b"").expect("accept");
        for end in [active, passive] {
            assert_eq!(end.event(), ConnectionEventKind::Established);
            assert_eq!(end.state(), EpState::Connected);
        }
    }

    pub(crate) fn pair(&self) -> (End, End) {
        let (a, b) = (self.end(), self.end());
        self.join(&a, &b);
        (a, b)
    }

    pub(crate) fn iov(&self, offset: u64, length: u64) -> [LmrTriplet; 1] {
        [self.lmr.triplet(offset, length).expect("triplet")]
    }

    /// The next asynchronous error, if there is one.
    pub(crate) fn async_error(&self) -> Option<AsyncError> {
        let evd = self.ia.async_evd().expect("a dispatcher of asynchronous errors");
        let mut event = Event::default();
        match (evd.dequeue(&mut event).expect("dequeue"), event) {
            (false, _) => None,
            (true, Event::Async(error)) => Some(error),
            (true, other) => panic!("{other:?}"),
        }
    }
}

/// An endpoint and its dispatchers.
pub(crate) struct End {
    pub(crate) ep: Ep,
    pub(crate) dto: Evd,
    pub(crate) events: Evd,
}

/// Operation, cookie and status of a completion.
pub(crate) type Done = (Operation, u64, DtoStatus);

impl End {
    pub(crate) fn state(&self) -> EpState {
        self.ep.status().expect("status").state
    }

    /// The next connection event.
    pub(crate) fn event(&self) -> ConnectionEventKind {
        match next(&self.events) {
            Event::Connection(event) => {
                assert_eq!(event.ep, self.ep.id());
                event.kind
            }
            other => panic!("{other:?}"),
        }
    }

    /// The next event of an endpoint that carries datagrams.
    pub(crate) fn datagram_event(&self) -> DatagramEvent {
        match next(&self.events) {
            Event::Datagram(event) if event.ep == self.ep.id() => event,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn has_event(&self) -> bool {
        self.events.dequeue(&mut Event::default()).expect("dequeue")
    }

    pub(crate) fn send(&self, cookie: u64) -> Result<()> {
        self.ep.post_send(&[], cookie, CompletionFlags::empty())
    }

    pub(crate) fn receive(&self, cookie: u64) -> Result<()> {
        self.ep.post_recv(&[], cookie, CompletionFlags::empty())
    }

    /// All completions that can be polled.
    pub(crate) fn done(&self) -> Vec<Done> {
        drain(&self.dto).iter().map(|one| (one.operation, one.cookie, one.status)).collect()
    }

    pub(crate) fn disconnect(&self) {
        self.ep.disconnect(Close::Abrupt).expect("disconnect");
    }
}

/// The next event of a dispatcher.
pub(crate) fn next(evd: &Evd) -> Event {
    let mut event = Event::default();
    let waited = evd.wait(LONG, 1, &mut event).expect("wait");
    assert!(waited.is_event(), "no event came to {evd:?}");
    event
}

/// Polls once for a completion.
pub(crate) fn poll(evd: &Evd) -> Option<DtoCompletion> {
    let mut event = Event::default();
    match (evd.dequeue(&mut event).expect("dequeue"), event) {
        (false, _) => None,
        (true, Event::Dto(completion)) => Some(completion),
        (true, other) => panic!("{other:?}"),
    }
}

pub(crate) fn drain(evd: &Evd) -> Vec<DtoCompletion> {
    std::iter::from_fn(|| poll(evd)).collect()
}
