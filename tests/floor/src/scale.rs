//! Rows with many endpoints and many regions, and the cost of one more.

use std::hint::black_box;
use std::time::{Duration, Instant};

use dat_core::{
    CompletionFlags, DtoStatus, Endpoint, EpSpec, EvdFlags, EvdOptions, Event, EventDispatcher,
    Lmr, LmrTriplet, Memory, MemorySource, Privileges, RmrTriplet,
};

use super::bench::{Bench, Samples};
use super::connect::Meeting;
use super::report::{Row, Unit};
use super::skeleton::MESSAGE;
use dat_cli::error::CliError;
use dat_cli::perf::fixture::Fixture;
use dat_cli::session::Buffer;
use dat_cli::side::Side;

pub(super) fn rows(bench: &Bench<'_>, rows: &mut Vec<Row>) -> Result<(), CliError> {
    let fixture = Fixture::new(bench.name, bench.timeout)?;
    endpoints(bench, &fixture, rows)?;
    regions(bench, &fixture, rows)?;
    fixture.end()
}

/// A reproducible pseudo-random sequence.
struct Jumps(u64);

impl Jumps {
    #[inline]
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

/// As much memory as the objects have, to measure the cost of its cache lines alone.
struct Lines {
    lines: Vec<Line>,
    /// Lines per object.
    each: usize,
}

#[repr(align(64))]
#[derive(Clone)]
struct Line(u64);

impl Lines {
    fn new(objects: usize, each: usize) -> Self {
        Self { lines: vec![Line(1); objects * each], each }
    }

    /// Reads lines of one of the objects. The lines of a step are read in parallel; each step
    /// depends on the previous one.
    #[inline]
    fn read(&self, jumps: &mut Jumps, steps: &[usize]) {
        let mut first = jumps.below(self.lines.len() / self.each) * self.each;
        for step in steps {
            let sum: u64 = self.lines[first..first + step].iter().map(|line| line.0).sum();
            first += black_box(sum) as usize;
        }
    }
}

/// No extra work before an operation.
#[inline]
fn nothing(_: &mut Jumps) {}

/// Connected endpoints that share dispatchers and memory.
struct Crowd {
    pairs: Vec<(Endpoint, Endpoint)>,
    recv: EventDispatcher,
    request: EventDispatcher,
    source: Buffer,
    target: Buffer,
}

impl Crowd {
    /// Pairs in the order in which they were connected, each used several times.
    fn new(fixture: &Fixture, pairs: usize, times: usize) -> Result<Self, CliError> {
        let meeting = Meeting::new(fixture)?;
        let evd = || fixture.ia.evd_create(&EvdOptions::new(64, EvdFlags::DTO));
        let (recv, request) = (evd()?, evd()?);
        let mut attributes = fixture.ia.default_ep_attributes().clone();
        attributes.max_recv_dtos = 4;
        attributes.max_request_dtos = 4;
        let spec = EpSpec::new(&fixture.pz)
            .recv_evd(&recv)
            .request_evd(&request)
            .connect_evd(&meeting.connection)
            .attributes(&attributes);
        let pairs = (0..pairs)
            .map(|_| {
                let pair = (fixture.ia.ep_create(&spec)?, fixture.ia.ep_create(&spec)?);
                meeting.connect(&pair.0, &pair.1)?;
                Ok(pair)
            })
            .collect::<Result<Vec<_>, CliError>>()?;
        let pairs = pairs.into_iter().flat_map(|pair| vec![pair; times]).collect();
        let source = Buffer::source(&fixture.ia, &fixture.pz, MESSAGE)?;
        let target = Buffer::target(&fixture.ia, &fixture.pz, MESSAGE)?;
        Ok(Self { pairs, recv, request, source, target })
    }

    /// Send cycles on endpoints in random order, each after `before`.
    fn cycles(
        &self,
        jumps: &mut Jumps,
        count: u32,
        event: &mut Event,
        before: impl Fn(&mut Jumps),
    ) -> Result<(), CliError> {
        let from = [self.source.lmr.triplet(0, MESSAGE as u64)?];
        let to = [self.target.lmr.triplet(0, MESSAGE as u64)?];
        for _ in 0..count {
            before(jumps);
            let (a, b) = &self.pairs[jumps.below(self.pairs.len())];
            b.post_recv(&to, 1, CompletionFlags::empty())?;
            a.post_send(&from, 2, CompletionFlags::empty())?;
            for evd in [&self.request, &self.recv] {
                take(evd, event)?;
            }
        }
        Ok(())
    }

    fn free(self) -> Result<(), CliError> {
        for (a, b) in self.pairs.iter().filter(|(a, _)| a.is_live()) {
            a.free()?;
            b.free()?;
        }
        self.recv.free()?;
        Ok(self.request.free()?)
    }
}

#[inline]
fn take(evd: &EventDispatcher, event: &mut Event) -> Result<(), CliError> {
    match (evd.dequeue(event)?, &*event) {
        (true, Event::Dto(done)) if done.status == DtoStatus::Success => Ok(()),
        (true, other) => Err(CliError::unexpected(format!("expected a completion, got {other:?}"))),
        (false, _) => Err(CliError::unexpected("no completion came".into())),
    }
}

/// Cache lines of an endpoint and its queue pair.
const LINES_OF_ENDPOINT: usize = 14;
/// Cache lines that a send cycle reads: the receiver's endpoint, queue pair and ring, and the
/// sender's endpoint, its queue pair and the peer's queue pair.
const LINES_OF_CYCLE: [&[usize]; 2] = [&[1, 2, 2], &[1, 3, 2]];

fn endpoints(bench: &Bench<'_>, fixture: &Fixture, rows: &mut Vec<Row>) -> Result<(), CliError> {
    for (key, count) in [("endpoints_100", 100), ("endpoints_10000", 10_000)] {
        let crowd = Crowd::new(fixture, count / 2, 1)?;
        // The floor has as many handles, so that reading them costs the same.
        let one = Crowd::new(fixture, 1, count / 2)?;
        let (mut event, mut other) = (Event::default(), Event::default());
        let (mut jumps, mut steps) = (Jumps(1), Jumps(1));
        let (time, floor) = bench.both(
            || bench.time(|count| crowd.cycles(&mut jumps, count, &mut event, nothing)),
            || bench.time(|count| one.cycles(&mut steps, count, &mut other, nothing)),
        )?;
        let what = format!("send cycle, {count} connected endpoints in random order");
        let target = if count == 100 { 1.05 } else { added(&floor, 50.0) };
        let floors = ("the same with two endpoints", &floor);
        rows.push(Row::new(key, what, Unit::Nanos, &time, floors, Some(target)));
        let lines = Lines::new(count, LINES_OF_ENDPOINT);
        let read = |jumps: &mut Jumps| {
            LINES_OF_CYCLE.into_iter().for_each(|steps| lines.read(jumps, steps));
        };
        let (with, without) = bench.both(
            || bench.time(|count| one.cycles(&mut steps, count, &mut other, read)),
            || bench.time(|count| one.cycles(&mut jumps, count, &mut event, nothing)),
        )?;
        let what = format!("two endpoints, and as many lines of {count}");
        let key = if count == 100 { "lines_100" } else { "lines_10000" };
        let floors = ("two endpoints", &without);
        rows.push(Row::new(key, what, Unit::Nanos, &with, floors, None));
        crowd.free()?;
        one.free()?;
    }
    Ok(())
}

/// The target ratio if a number of nanoseconds may be added to the floor.
fn added(floor: &Samples, nanoseconds: f64) -> f64 {
    1.0 + nanoseconds / floor.least()
}

fn regions(bench: &Bench<'_>, fixture: &Fixture, rows: &mut Vec<Row>) -> Result<(), CliError> {
    let memory = Memory::zeroed(MESSAGE)?;
    let register =
        |_| fixture.ia.lmr_create(MemorySource::Memory(&memory), &fixture.pz, Privileges::ALL);
    let one = register(0)?;
    let (mut event, mut other) = (Event::default(), Event::default());
    for (key, count, most) in [("regions_1000", 1_000, 6.0), ("regions_100000", 100_000, 40.0)] {
        let many = (0..count).map(register).collect::<Result<Vec<_>, _>>()?;
        let (mut jumps, mut steps) = (Jumps(1), Jumps(1));
        let side = &fixture.pair.active;
        // The floor has as many triplets, so that reading them costs the same.
        let all = many.iter().map(both_ends).collect::<Result<Vec<_>, _>>()?;
        let same = vec![both_ends(&one)?; count];
        let (time, floor) = bench.both(
            || bench.time(|count| writes(side, &all, &mut jumps, count, &mut event, nothing)),
            || bench.time(|count| writes(side, &same, &mut steps, count, &mut other, nothing)),
        )?;
        let what = format!("RDMA write, {count} regions in random order");
        let target = added(&floor, most);
        let floors = ("the same with one region", &floor);
        rows.push(Row::new(key, what, Unit::Nanos, &time, floors, Some(target)));
        if count > 1_000 {
            // Two regions share a line in the core's table and one in the provider's.
            let tables = [Lines::new(count / 2, 1), Lines::new(count / 2, 1)];
            let read = |jumps: &mut Jumps| tables.iter().for_each(|table| table.read(jumps, &[1]));
            let (with, without) = bench.both(
                || bench.time(|count| writes(side, &same, &mut steps, count, &mut other, read)),
                || bench.time(|count| writes(side, &same, &mut jumps, count, &mut event, nothing)),
            )?;
            let what = format!("one region, and two lines of {count}");
            let floors = ("one region", &without);
            rows.push(Row::new("lines_100000", what, Unit::Nanos, &with, floors, None));
        }
        let (time, floor) = bench
            .both(|| registering(bench, fixture, &memory), || Ok(allocating(bench.round / 4)))?;
        let what = format!("registering a region among {count} others");
        let key = if count == 1_000 { "register_1000" } else { "register_100000" };
        let (target, floors) = (80.0 / floor.least(), ("an allocation", &floor));
        rows.push(Row::new(key, what, Unit::Nanos, &time, floors, Some(target)));
        many.iter().try_for_each(Lmr::free)?;
    }
    Ok(one.free()?)
}

/// The segments of a region, local and remote.
fn both_ends(region: &Lmr) -> Result<(LmrTriplet, RmrTriplet), CliError> {
    Ok((region.triplet(0, MESSAGE as u64)?, region.remote_triplet(0, MESSAGE as u64)?))
}

/// Writes between regions in random order, each after `before`.
fn writes(
    side: &Side,
    regions: &[(LmrTriplet, RmrTriplet)],
    jumps: &mut Jumps,
    count: u32,
    event: &mut Event,
    before: impl Fn(&mut Jumps),
) -> Result<(), CliError> {
    for _ in 0..count {
        before(jumps);
        let ((from, _), (_, to)) =
            (&regions[jumps.below(regions.len())], &regions[jumps.below(regions.len())]);
        side.ep.post_rdma_write(&[*from], 1, *to, CompletionFlags::empty())?;
        take(&side.request, event)?;
    }
    Ok(())
}

/// Registers regions in batches. Freeing them is not timed.
fn registering(bench: &Bench<'_>, fixture: &Fixture, memory: &Memory) -> Result<f64, CliError> {
    const AT_ONCE: usize = 64;
    let (mut spent, mut done) = (Duration::ZERO, 0);
    let mut fresh = Vec::with_capacity(AT_ONCE);
    let source = || MemorySource::Memory(memory);
    while spent < bench.round / 4 {
        let start = Instant::now();
        for _ in 0..AT_ONCE {
            fresh.push(fixture.ia.lmr_create(source(), &fixture.pz, Privileges::ALL)?);
        }
        spent += start.elapsed();
        done += AT_ONCE;
        for region in fresh.drain(..) {
            region.free()?;
        }
    }
    Ok(spent.as_secs_f64() * 1e9 / done as f64)
}

/// Nanoseconds to allocate a small block.
fn allocating(budget: Duration) -> f64 {
    const AT_ONCE: usize = 64;
    let (mut spent, mut done) = (Duration::ZERO, 0);
    let mut blocks: Vec<Box<[u64; 16]>> = Vec::with_capacity(AT_ONCE);
    while spent < budget {
        let start = Instant::now();
        for number in 0..AT_ONCE {
            blocks.push(black_box(Box::new([number as u64; 16])));
        }
        spent += start.elapsed();
        done += AT_ONCE;
        blocks.clear();
    }
    spent.as_secs_f64() * 1e9 / done as f64
}

/// The memory of idle endpoints.
pub(super) fn idle(bench: &Bench<'_>, rows: &mut Vec<Row>) -> Result<(), CliError> {
    const ENDPOINTS: usize = 4000;
    let fixture = Fixture::new(bench.name, bench.timeout)?;
    let meeting = Meeting::new(&fixture)?;
    let evd = fixture.ia.evd_create(&EvdOptions::new(64, EvdFlags::DTO))?;
    let spec =
        EpSpec::new(&fixture.pz).recv_evd(&evd).request_evd(&evd).connect_evd(&meeting.connection);
    let all =
        |count| (0..count).map(|_| fixture.ia.ep_create(&spec)).collect::<Result<Vec<_>, _>>();
    // The first ones warm up the allocator.
    let few = all(ENDPOINTS / 8)?;
    let start = resident()?;
    let many = all(ENDPOINTS)?;
    let made = resident()?;
    for pair in many.chunks_exact(2) {
        meeting.connect(&pair[0], &pair[1])?;
    }
    let connected = resident()?;
    for (key, what, size, aim) in [
        ("idle", "memory of an idle endpoint", made - start, 768.0),
        ("idle_connected", "memory of an idle connected endpoint", connected - start, 2048.0),
    ] {
        let size = Samples(vec![size / ENDPOINTS as f64]);
        let aim = ("the aim", &Samples(vec![aim]));
        rows.push(Row::new(key, what, Unit::Bytes, &size, aim, Some(1.0)));
    }
    few.iter().chain(&many).try_for_each(Endpoint::free)?;
    evd.free()?;
    fixture.end()
}

/// The resident memory of this process, in bytes.
fn resident() -> Result<f64, CliError> {
    let unknown = || CliError::unexpected("/proc/self/smaps_rollup can't be read".into());
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").map_err(|_| unknown())?;
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:")).ok_or_else(unknown)?;
    let kilobytes = line.trim().trim_end_matches("kB").trim().parse::<f64>();
    Ok(kilobytes.map_err(|_| unknown())? * 1024.0)
}
