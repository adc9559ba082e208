//! One side of a connection, over the device with the address in `DAT_TEST_RDMA`; `.ci/guest` has
//! one.

use std::io::Write;
use std::net::IpAddr;
use std::time::Duration;

use dat_core::registry::Configuration;
use dat_core::{
    CompletionFlags, Connect, ConnectionEventKind, Ep, EpProvision, EpSpec, Evd, EvdFlags,
    EvdOptions, Event, Ia, Lmr, Memory, MemorySource, Privileges, Pz, Registry, WaitResult,
};
use dat_provider_verbs::VerbsProvider;

/// The time-out of every wait.
pub const LIMIT: Duration = Duration::from_secs(20);
/// No completion flags.
pub const NONE: CompletionFlags = CompletionFlags::empty();

/// The address of the device. Without one, the test prints on standard error that it did not run,
/// even if the test runner captures output.
pub fn device(test: &str) -> Option<IpAddr> {
    let Ok(address) = std::env::var("DAT_TEST_RDMA") else {
        let text = "NOT RUN: no RDMA device is named by DAT_TEST_RDMA";
        let _ = writeln!(std::io::stderr(), "{text}: {test}");
        return None;
    };
    Some(address.parse().expect("DAT_TEST_RDMA is an address"))
}

/// An instance of the adapter with that address, named as in a line of dat.conf.
pub fn open(address: IpAddr) -> Ia {
    let name = VerbsProvider::NAME;
    let line = format!("here u2.0 threadsafe default {name} {name}.0.1 \"{address} 0\" \"\"");
    let registry = Registry::with_configuration(Configuration::from_text("dat.conf", &line));
    registry.add_provider(dat_provider_verbs::provider()).expect("an empty registry");
    registry.open("here").expect("the adapter of DAT_TEST_RDMA")
}

/// An open adapter with the objects that endpoints need.
#[derive(Clone, Debug)]
pub struct Side {
    /// The adapter.
    pub ia: Ia,
    /// The zone of its endpoints and memory.
    pub pz: Pz,
    /// The dispatcher of all completions.
    pub done: Evd,
    /// The dispatcher of connection events.
    pub connect: Evd,
}

impl Side {
    /// Opens an instance of the adapter with that address.
    pub fn open(address: IpAddr) -> Self {
        let ia = open(address);
        let evd = |flags| ia.evd_create(&EvdOptions::new(256, flags)).expect("a dispatcher");
        Self {
            pz: ia.pz_create().expect("a zone"),
            done: evd(EvdFlags::DTO),
            connect: evd(EvdFlags::CONNECTION),
            ia,
        }
    }

    /// An endpoint on the dispatchers of this side.
    pub fn ep(&self) -> Ep {
        let spec = EpSpec::new(&self.pz).recv_evd(&self.done).request_evd(&self.done);
        self.ia.ep_create(&spec.connect_evd(&self.connect)).expect("an endpoint")
    }
}

/// Waits for the next event.
#[track_caller]
pub fn next(evd: &Evd) -> Event {
    let mut event = Event::default();
    match evd.wait(LIMIT.into(), 1, &mut event) {
        Ok(WaitResult::Event { .. }) => event,
        other => panic!("no event: {other:?}"),
    }
}

/// Waits for the next event, which must be a connection event.
#[track_caller]
pub fn connection(evd: &Evd) -> ConnectionEventKind {
    match next(evd) {
        Event::Connection(event) => event.kind,
        other => panic!("no event of a connection: {other:?}"),
    }
}

impl Side {
    /// Connects two endpoints of this side.
    pub fn link(&self, active: &Ep, passive: &Ep) {
        let requests = EvdOptions::new(16, EvdFlags::CONNECTION_REQUEST);
        let requests = self.ia.evd_create(&requests).expect("a dispatcher");
        let psp =
            self.ia.psp_create_any(&requests, EpProvision::Consumer).expect("a service point");
        let to = Connect::to(self.ia.attributes().address, psp.qualifier());
        active.connect(&to).expect("an attempt");
        let Event::ConnectionRequest(arrival) = next(&requests) else { panic!("no request") };
        arrival.request.accept(Some(passive), b"").expect("an unconnected endpoint");
        for _ in 0..2 {
            assert_eq!(connection(&self.connect), ConnectionEventKind::Established);
        }
        psp.free().expect("live");
    }

    /// Memory with its registration, with all privileges.
    pub fn memory(&self, length: usize) -> (Memory, Lmr) {
        let memory = Memory::zeroed(length).expect("memory");
        let source = MemorySource::Memory(&memory);
        let lmr = self.ia.lmr_create(source, &self.pz, Privileges::ALL).expect("registered");
        (memory, lmr)
    }
}
