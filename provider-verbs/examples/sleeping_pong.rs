//! Measures half the round-trip time of a message and its answer between two threads that sleep
//! while they wait: `sleeping_pong ADDRESS [ROUNDS]`, where ADDRESS belongs to an RDMA device.

use std::time::{Duration, Instant};

use dat_core::registry::Configuration;
use dat_core::{
    CompletionFlags, Connect, Ep, EpProvision, EpSpec, Evd, EvdFlags, EvdOptions, Event, Ia,
    LmrTriplet, Memory, MemorySource, Privileges, Registry, Result, Timeout,
};
use dat_provider_verbs::VerbsProvider;

const LIMIT: Timeout = Timeout::After(Duration::from_secs(20));

struct Side {
    ep: Ep,
    received: Evd,
    connect: Evd,
}

fn wait(evd: &Evd) -> Result<Event> {
    let mut event = Event::default();
    let waited = evd.wait(LIMIT, 1, &mut event)?;
    assert!(waited.is_event(), "nothing comes");
    Ok(event)
}

/// Sends and takes the answer, or the other way round, `count` times.
fn rounds(side: &Side, piece: LmrTriplet, first: bool, count: u32) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    let mut start = Instant::now();
    for turn in 0..count * 2 {
        if (turn % 2 == 0) == first {
            side.ep.post_send(&[piece], 0, CompletionFlags::SUPPRESS)?;
        } else {
            wait(&side.received)?;
            side.ep.post_recv(&[piece], 0, CompletionFlags::empty())?;
            times.push(start.elapsed());
            start = Instant::now();
        }
    }
    Ok(times)
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().expect("the address of an RDMA device");
    let count = arguments.next().map_or(2000, |text| text.parse().expect("a number"));
    let name = VerbsProvider::NAME;
    let line = format!("here u2.0 threadsafe default {name} {name}.0.1 \"{address} 0\" \"\"");
    let registry = Registry::with_configuration(Configuration::from_text("dat.conf", &line));
    registry.add_provider(dat_provider_verbs::provider())?;
    let ia: Ia = registry.open("here")?;
    let pz = ia.pz_create()?;
    let memory = Memory::zeroed(64)?;
    let lmr = ia.lmr_create(MemorySource::Memory(&memory), &pz, Privileges::ALL)?;
    let piece = lmr.triplet(0, 64)?;
    let side = || -> Result<Side> {
        let received = ia.evd_create(&EvdOptions::new(64, EvdFlags::DTO))?;
        let connect = ia.evd_create(&EvdOptions::new(8, EvdFlags::CONNECTION))?;
        let spec = EpSpec::new(&pz).recv_evd(&received).connect_evd(&connect);
        Ok(Side { ep: ia.ep_create(&spec)?, received, connect })
    };
    let (one, other) = (side()?, side()?);
    for side in [&one, &other] {
        for _ in 0..4 {
            side.ep.post_recv(&[piece], 0, CompletionFlags::empty())?;
        }
    }
    let requests = ia.evd_create(&EvdOptions::new(8, EvdFlags::CONNECTION_REQUEST))?;
    let psp = ia.psp_create_any(&requests, EpProvision::Consumer)?;
    one.ep.connect(&Connect::to(ia.attributes().address, psp.qualifier()))?;
    let Event::ConnectionRequest(arrival) = wait(&requests)? else { panic!("no request") };
    arrival.request.accept(Some(&other.ep), b"")?;
    wait(&one.connect)?;
    wait(&other.connect)?;
    let mut times = std::thread::scope(|scope| {
        let answers = scope.spawn(|| rounds(&other, piece, false, count));
        let times = rounds(&one, piece, true, count);
        answers.join().expect("no panic").and(times)
    })?;
    times.sort_unstable();
    let half = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 5e5;
    println!(
        "half a round trip, asleep: min {:.1} p50 {:.1} p90 {:.1} p99 {:.1} us over {count}",
        half(0),
        half(50),
        half(90),
        half(99)
    );
    Ok(())
}
