//! Does one operation again and again, for tools that count instructions: see `.ci/instructions`.

use dat_core::registry::Registry;
use dat_core::{
    CompletionFlags, Connect, EpSpec, Error, EvdFlags, EvdOptions, Event, EventDispatcher, Memory,
    MemorySource, Privileges, PspMaker,
};

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_else(|| "send".to_owned());
    let count: u64 = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(1000);
    let registry = Registry::new();
    registry.add_provider(dat_provider_loopback::provider())?;
    let ia = registry.open("loopback")?;
    let pz = ia.pz_create()?;
    let evd = |flags| ia.evd_create(&EvdOptions::new(64, flags));
    let (recv, request, other) =
        (evd(EvdFlags::DTO)?, evd(EvdFlags::DTO)?, evd(EvdFlags::DEFAULT)?);
    let spec = EpSpec::new(&pz).recv_evd(&recv).request_evd(&request).connect_evd(&other);
    let (a, b) = (ia.ep_create(&spec)?, ia.ep_create(&spec)?);
    let psp = ia.psp_create(1000, &other, PspMaker::Consumer)?;
    a.connect(&Connect::to(ia.attributes().address, psp.qualifier()))?;
    let mut event = Event::default();
    other.dequeue(&mut event)?;
    if let Event::ConnectionRequest(arrival) = &event {
        arrival.request.accept(Some(&b), b"")?;
    }
    while other.dequeue(&mut event)? {}
    let memory = Memory::zeroed(128)?;
    let lmr = ia.lmr_create(MemorySource::Memory(&memory), &pz, Privileges::ALL)?;
    let (from, to) = ([lmr.triplet(0, 64)?], [lmr.triplet(64, 64)?]);
    let (remote, flags) = (lmr.remote_triplet(64, 64)?, CompletionFlags::empty());
    let take = |evd: &EventDispatcher, event: &mut Event| {
        assert!(evd.dequeue(event).is_ok_and(|found| found), "a completion");
    };
    for cookie in 0..count {
        match what.as_str() {
            "send" => {
                b.post_recv(&to, cookie, flags)?;
                a.post_send(&from, cookie, flags)?;
                take(&request, &mut event);
                take(&recv, &mut event);
            }
            "write" => {
                a.post_rdma_write(&from, cookie, remote, flags)?;
                take(&request, &mut event);
            }
            "empty" => assert!(!request.dequeue(&mut event)?),
            other => panic!("no operation {other:?}: send, write or empty"),
        }
    }
    Ok(())
}
