//! Two endpoints of this process.

use std::time::{Duration, Instant};

use dat_core::monitor::{ConnectionView, Watch};
use dat_core::{
    Connect, Ep, EpAttributes, EpProvision, EpSpec, Evd, EvdFlags, EvdOptions, Event, Ia, Lmr,
    Memory, Privileges, Psp, Timeout,
};

use crate::{open, own};

/// Two connected endpoints.
pub(crate) struct Pair {
    pub(crate) ia: Ia,
    pub(crate) evd: Evd,
    pub(crate) client: Ep,
    pub(crate) server: Ep,
    pub(crate) lmr: Lmr,
}

impl Pair {
    pub(crate) fn connect(name: &str) -> Self {
        let ia = open(name);
        let attributes = ia.default_ep_attributes().clone();
        let (pair, _psp) = Self::begin(ia, &attributes);
        let event = pair.evd.next_event(Timeout::Infinite).expect("no error");
        let Some(Event::ConnectionRequest(arrival)) = event else { panic!("{event:?}") };
        arrival.request.accept(Some(&pair.server), b"").expect("it is the first");
        pair.take(2);
        pair
    }

    /// Two endpoints with these attributes. The client has called connect, and the server has not answered.
    pub(crate) fn begin(ia: Ia, attributes: &EpAttributes) -> (Self, Psp) {
        let pz = ia.pz_create().expect("a zone");
        let evd = ia.evd_create(&EvdOptions::new(64, EvdFlags::DEFAULT)).expect("a dispatcher");
        let spec = EpSpec::new(&pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd);
        let spec = spec.attributes(attributes);
        let client = ia.ep_create(&spec).expect("an endpoint");
        let server = ia.ep_create(&spec).expect("an endpoint");
        let memory = Memory::zeroed(128).expect("memory");
        let lmr = ia.lmr_create(&memory, &pz, Privileges::ALL).expect("a region");
        let psp = ia.psp_create_any(&evd, EpProvision::Consumer).expect("a service point");
        client.connect(&Connect::to_psp(&psp)).expect("it starts");
        (Self { ia, evd, client, server, lmr }, psp)
    }

    /// Takes that many events.
    pub(crate) fn take(&self, count: usize) {
        for _ in 0..count {
            let event = self.evd.next_event(Timeout::After(Duration::from_secs(10)));
            assert!(event.expect("no error").is_some());
        }
    }

    /// The view of an endpoint.
    pub(crate) fn view(&self, watch: &mut Watch, endpoint: &Ep) -> ConnectionView {
        let all = own(watch).connections;
        let found = all.iter().find(|it| (it.ia, it.ep) == (self.ia.id(), endpoint.id()));
        found.unwrap_or_else(|| panic!("{all:?}")).clone()
    }

    /// The view of the client, once it waits for something for more than a second.
    pub(crate) fn stalled(&self, watch: &mut Watch) -> ConnectionView {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let view = self.view(watch, &self.client);
            if view.waits_for.is_some() {
                return view;
            }
            assert!(Instant::now() < deadline, "{view:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}
