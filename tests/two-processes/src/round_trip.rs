//! Half a round trip between two processes, compared to floors measured in the same run.
//!
//! A batch has 1000 round trips, 100 of 1 MiB. The variants take turns, so that other load on the
//! machine affects all of them. Prints microseconds: the median of the batches, the best and the worst.

use std::io::{BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use dat_core::{
    Connect, DtoStatus, Endpoint, EpProvision, EpSpec, EvdFlags, EvdOptions, Event,
    EventDispatcher, InterfaceAdapter, Lmr, Memory, MemorySource, Privileges, Psp, Timeout,
};

use crate::completions::NONE;

const BATCH: u32 = 1000;
const BATCHES: usize = 40;
const SIZES: [usize; 4] = [64, 4 << 10, 64 << 10, 1 << 20];

/// One side of a connection, which sends and receives messages of one size.
pub trait Side {
    /// Sends a message.
    fn send(&mut self, size: usize);
    /// Waits until a message of that size has arrived.
    fn receive(&mut self, size: usize);
}

/// A floor: the same messages without the library.
#[derive(Clone, Copy, Debug)]
pub struct Floor {
    /// Its name in the table.
    pub name: &'static str,
    /// In the other process: prints a line "port NUMBER" and returns the side that answers, or
    /// returns `None` when the first process is done.
    pub serve: fn() -> Option<Box<dyn Side>>,
    /// In the first process: the side that reaches the other process, given its number and its
    /// process identifier.
    pub connect: fn(number: u64, process: u32) -> Box<dyn Side>,
}

struct Dat {
    ia: InterfaceAdapter,
    received: EventDispatcher,
    requested: EventDispatcher,
    arrivals: EventDispatcher,
    ep: Endpoint,
    _memory: Memory,
    lmr: Lmr,
    waits: bool,
}

impl Dat {
    fn new(ia: InterfaceAdapter, waits: bool) -> Self {
        let evd = |flags| ia.evd_create(&EvdOptions::new(64, flags)).expect("a dispatcher");
        let (received, requested) = (evd(EvdFlags::DTO), evd(EvdFlags::DTO));
        let arrivals = evd(EvdFlags::CONNECTION | EvdFlags::CONNECTION_REQUEST);
        let pz = ia.pz_create().expect("a zone");
        let memory = Memory::zeroed(2 << 20).expect("memory");
        let lmr = ia.lmr_create(MemorySource::Memory(&memory), &pz, Privileges::ALL);
        let lmr = lmr.expect("a region");
        let spec = EpSpec::new(&pz).recv_evd(&received).request_evd(&requested);
        let ep = ia.ep_create(&spec.connect_evd(&arrivals)).expect("an endpoint");
        let mut dat = Self { ia, received, requested, arrivals, ep, _memory: memory, lmr, waits };
        for _ in 0..8 {
            dat.post();
        }
        dat
    }

    fn serve(&self) {
        let psp: Psp =
            self.ia.psp_create_any(&self.arrivals, EpProvision::Consumer).expect("a port");
        println!("port {}", psp.qualifier());
        let Event::ConnectionRequest(arrival) = wait(&self.arrivals) else { panic!("a request") };
        arrival.request.accept(Some(&self.ep), b"").expect("unconnected");
        wait(&self.arrivals);
    }

    fn connect(&self, port: u64) {
        let to = Connect::to(Ipv4Addr::LOCALHOST, port);
        self.ep.connect(&to).expect("an attempt");
        wait(&self.arrivals);
    }

    fn post(&mut self) {
        let piece = self.lmr.triplet(1 << 20, 1 << 20).expect("inside");
        self.ep.post_recv(&[piece], 1, NONE).expect("room");
    }

    fn finish(&self, evd: &EventDispatcher) {
        let event = if self.waits {
            wait(evd)
        } else {
            let mut event = Event::default();
            while !evd.dequeue(&mut event).expect("live") {}
            event
        };
        match event {
            Event::Dto(done) if done.status == DtoStatus::Success => {}
            _ => std::process::exit(0),
        }
    }
}

fn wait(evd: &EventDispatcher) -> Event {
    let mut event = Event::default();
    evd.wait(Timeout::Infinite, 1, &mut event).expect("an event");
    event
}

impl Side for Dat {
    fn send(&mut self, size: usize) {
        let piece = self.lmr.triplet(0, size as u64).expect("inside");
        if self.ep.post_send(&[piece], 2, NONE).is_err() {
            std::process::exit(0);
        }
        let mut event = Event::default();
        // Completions of earlier sends.
        while self.requested.dequeue(&mut event).expect("live") {}
    }

    fn receive(&mut self, _: usize) {
        self.finish(&self.received);
        self.post();
    }
}

/// The variants: the floors, then ways to use the provider.
const POLLING: &str = "DAT, polling";
const WAITING: &str = "DAT, waiting";

fn rounds(size: usize) -> u32 {
    if size > 64 << 10 { BATCH / 10 } else { BATCH }
}

/// The other process: answers a batch of each size on each request.
fn serve(variant: &str, open: fn() -> InterfaceAdapter, floors: &[Floor]) {
    let mut side: Box<dyn Side> = match floors.iter().find(|floor| floor.name == variant) {
        Some(floor) => match (floor.serve)() {
            Some(side) => side,
            None => return,
        },
        None => {
            let dat = Dat::new(open(), variant == WAITING);
            dat.serve();
            Box::new(dat)
        }
    };
    for line in std::io::stdin().lines() {
        let size: usize = line.expect("text").parse().expect("a size");
        for _ in 0..rounds(size) {
            side.receive(size);
            side.send(size);
        }
    }
}

struct Measured {
    name: &'static str,
    child: Child,
    side: Box<dyn Side>,
    /// Microseconds, for each size.
    figures: [Vec<f64>; SIZES.len()],
}

fn start(name: &'static str, open: fn() -> InterfaceAdapter, floors: &[Floor]) -> Measured {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .env("ROUND_TRIP", name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut ports = lines.map_while(Result::ok);
    let port: u64 =
        ports.find_map(|line| line.strip_prefix("port ")?.parse().ok()).expect("a port");
    let side: Box<dyn Side> = match floors.iter().find(|floor| floor.name == name) {
        Some(floor) => (floor.connect)(port, child.id()),
        None => {
            let dat = Dat::new(open(), name == WAITING);
            dat.connect(port);
            Box::new(dat)
        }
    };
    Measured { name, child, side, figures: Default::default() }
}

impl Measured {
    fn batch(&mut self, index: usize) {
        let size = SIZES[index];
        writeln!(self.child.stdin.as_mut().expect("piped"), "{size}").expect("a server");
        // The first batch includes the time until the server has read the line.
        self.side.send(size);
        self.side.receive(size);
        let (count, begin) = (rounds(size) - 1, Instant::now());
        for _ in 0..count {
            self.side.send(size);
            self.side.receive(size);
        }
        let half = begin.elapsed().as_secs_f64() * 1e6 / f64::from(2 * count);
        self.figures[index].push(half);
    }
}

/// Measures an adapter next to its floors and prints the table. Arguments of the program choose
/// variants by a part of their names.
///
/// # Panics
/// If a connection cannot be made.
pub fn run(open: fn() -> InterfaceAdapter, floors: &'static [Floor]) {
    if let Ok(variant) = std::env::var("ROUND_TRIP") {
        return serve(&variant, open, floors);
    }
    let filters: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_chosen =
        |name: &&str| filters.is_empty() || filters.iter().any(|one| name.contains(one));
    let names = floors.iter().map(|floor| floor.name).chain([POLLING, WAITING]);
    let mut all: Vec<Measured> =
        names.filter(is_chosen).map(|name| start(name, open, floors)).collect();
    for index in 0..SIZES.len() {
        for _ in 0..BATCHES {
            all.iter_mut().for_each(|one| one.batch(index));
        }
    }
    println!("{:<18} {:>8} {:>9} {:>9} {:>9}", "us", "bytes", "median", "best", "worst");
    for (index, size) in SIZES.into_iter().enumerate() {
        for one in &mut all {
            let figures = &mut one.figures[index];
            figures.sort_by(f64::total_cmp);
            let (best, worst) = (figures[0], figures[figures.len() - 1]);
            let median = figures[figures.len() / 2];
            println!("{:<18} {size:>8} {median:>9.2} {best:>9.2} {worst:>9.2}", one.name);
        }
    }
    for mut one in all {
        drop(one.child.stdin.take());
        let _ = one.child.wait();
    }
}
