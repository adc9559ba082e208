//! An adapter with what tests need of it.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use super::{Buffer, Event, Setup, Side, fresh_address, try_open};
use dat_core::flags::Privileges;
use dat_core::provider::{Adapter, IncomingRequest, ListenSink, ListenerParts, ProtectionDomain};

/// An adapter with an address that no other test uses, a domain and a listener.
pub(crate) struct World {
    pub(crate) adapter: Arc<dyn Adapter>,
    pub(crate) domain: Arc<dyn ProtectionDomain>,
    pub(crate) address: IpAddr,
    pub(crate) listener: ListenerParts,
    pub(crate) requests: Arc<Requests>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::at(fresh_address())
    }

    pub(crate) fn at(address: IpAddr) -> Self {
        let adapter = try_open("test", &format!("address={address}")).expect("open");
        let requests = Arc::new(Requests::default());
        let sink = Arc::clone(&requests) as Arc<dyn ListenSink>;
        let listener = adapter.listen(None, sink).expect("listen");
        let domain = adapter.create_domain().expect("domain");
        Self { adapter, domain, address, listener, requests }
    }

    pub(crate) fn buffer(&self, len: usize) -> Buffer {
        Buffer::new(&*self.domain, len, Privileges::ALL)
    }

    pub(crate) fn side(&self) -> Side {
        self.side_with(Setup::default())
    }

    pub(crate) fn side_with(&self, setup: Setup) -> Side {
        Side::new(self, setup)
    }

    /// Two connected sides.
    pub(crate) fn pair(&self) -> (Side, Side) {
        self.pair_with(Setup::default(), Setup::default())
    }

    pub(crate) fn pair_with(&self, active: Setup, passive: Setup) -> (Side, Side) {
        let (a, b) = (self.side_with(active), self.side_with(passive));
        self.join(&a, &b);
        (a, b)
    }

    /// Connects the first side to the second.
    pub(crate) fn join(&self, a: &Side, b: &Side) {
        let attempt = self.connect(a, &[]);
        let incoming = self.requests.take();
        let accepted = b.next_attempt();
        incoming.responder.accept(&*b.qp, accepted, &[]).expect("accept");
        for (side, attempt) in [(a, attempt), (b, accepted)] {
            assert!(matches!(side.last_event(), (n, Event::Established { .. }) if n == attempt));
        }
    }

    pub(crate) fn connect(&self, side: &Side, private_data: &[u8]) -> u64 {
        side.connect(self.address, self.listener.qualifier, private_data)
    }
}

/// The sink of a listener. It keeps the requests.
#[derive(Default)]
pub(crate) struct Requests(Mutex<VecDeque<IncomingRequest>>);

impl Requests {
    pub(crate) fn take(&self) -> IncomingRequest {
        self.0.lock().unwrap().pop_front().expect("a request for a connection")
    }
}

impl ListenSink for Requests {
    fn connection_request(&self, incoming: IncomingRequest) -> Result<(), IncomingRequest> {
        self.0.lock().unwrap().push_back(incoming);
        Ok(())
    }
}

/// The sink of a listener that refuses all requests.
pub(crate) struct Refuse;

impl ListenSink for Refuse {
    fn connection_request(&self, incoming: IncomingRequest) -> Result<(), IncomingRequest> {
        Err(incoming)
    }
}
