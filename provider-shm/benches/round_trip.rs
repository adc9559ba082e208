//! Half of a round trip between two processes over `shm`, next to the same ring without the engine, and
//! to one copy by the kernel (`process_vm_readv`), in the same run.
//!
//! `cargo bench -p provider-shm` prints microseconds: the median of the batches, the best and the
//! worst one. A batch has 1000 round trips, 100 of 1 MiB. The variants take turns, so that what else the machine
//! does meets all of them; arguments choose some (`cargo bench -p provider-shm polling`).
#![allow(unsafe_code, reason = "spans of memory, and process_vm_readv")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use dat_core::{
    CompletionFlags, Connect, DtoStatus, Endpoint, EpSpec, EvdFlags, EvdOptions, Event,
    EventDispatcher, InterfaceAdapter, Lmr, Memory, MemorySource, Privileges, Psp, PspMaker,
    Registry, Timeout,
};
use dat_provider::mem::Span;
use provider_kit::engine::{Connected, Transport};
use provider_kit::frame::{Body, Frame, MAX_PIECE};
use provider_kit::link::{Budget, Destinations, FrameSink, Refused, Written};
use provider_shm::Rings;

const BATCH: u32 = 1000;
const BATCHES: usize = 40;
const SIZES: [usize; 4] = [64, 4 << 10, 64 << 10, 1 << 20];
const NONE: CompletionFlags = CompletionFlags::empty();

/// A side of a connection that sends and receives messages of one size.
trait Side {
    fn send(&mut self, size: usize);
    fn receive(&mut self, size: usize);
}

/// The same ring without the engine: frames with a payload and no state.
struct Plain {
    link: Connected,
    sink: Sink,
    segments: Vec<Span>,
}

struct Sink {
    memory: Memory,
    length: u64,
    received: u64,
}

impl FrameSink for Sink {
    fn begin(&mut self, frame: &Frame) -> Result<(), Refused> {
        self.length = frame.payload();
        Ok(())
    }

    fn destinations(&mut self, offset: u64, destinations: &mut Destinations) {
        let at = (self.received + offset) as usize;
        destinations.push(part(&self.memory, at, self.length as usize));
    }

    fn end(&mut self) -> Result<(), Refused> {
        self.received += self.length;
        Ok(())
    }
}

/// Bytes of the memory.
fn part(memory: &Memory, at: usize, length: usize) -> Span {
    let span = memory.span();
    let base = span.pointer(span.address() + at as u64, length as u64).expect("inside");
    // SAFETY: a part of memory that lives as long as the side.
    unsafe { Span::new(NonNull::new(base).expect("memory"), length) }
}

impl Plain {
    fn new(mut link: Connected) -> Self {
        link.reader.arm(false);
        let memory = Memory::zeroed(1 << 20).expect("memory");
        Self { link, sink: Sink { memory, length: 0, received: 0 }, segments: Vec::new() }
    }

    fn read(&mut self) {
        if self.link.reader.read(&mut self.sink, Budget::default()).is_err() {
            std::process::exit(0);
        }
    }
}

impl Side for Plain {
    fn send(&mut self, size: usize) {
        let mut sent = 0;
        while sent < size {
            let length = (size - sent).min(MAX_PIECE as usize);
            let frame = Frame::new(Body::Data { length: length as u64, last: true });
            self.segments.clear();
            self.segments.push(part(&self.sink.memory, sent, length));
            match self.link.writer.write(&frame, &self.segments) {
                Ok(Written::Taken) => sent += length,
                Ok(Written::Full) => std::hint::spin_loop(),
                Err(_) => std::process::exit(0),
            }
        }
    }

    fn receive(&mut self, size: usize) {
        self.sink.received = 0;
        while self.sink.received < size as u64 {
            self.read();
        }
    }
}

/// The kernel copies from the other process, which need not run.
struct Cma {
    pid: i32,
    address: usize,
    memory: Vec<u8>,
}

impl Side for Cma {
    fn send(&mut self, size: usize) {
        let local = libc::iovec { iov_base: self.memory.as_mut_ptr().cast(), iov_len: size };
        let remote = libc::iovec { iov_base: self.address as *mut _, iov_len: size };
        // SAFETY: the local memory has 1 MiB; the kernel checks the remote address.
        let read = unsafe {
            libc::process_vm_readv(self.pid, &raw const local, 1, &raw const remote, 1, 0)
        };
        assert_eq!(read, size as isize, "{}", std::io::Error::last_os_error());
    }

    fn receive(&mut self, size: usize) {
        // A round trip is two copies.
        self.send(size);
    }
}

struct Dat {
    _ia: InterfaceAdapter,
    received: EventDispatcher,
    requested: EventDispatcher,
    arrivals: EventDispatcher,
    ep: Endpoint,
    _memory: Memory,
    lmr: Lmr,
    waits: bool,
}

impl Dat {
    fn new(waits: bool) -> Self {
        let registry = Registry::new();
        registry.add_provider(provider_shm::provider()).expect("the only one");
        let ia = registry.open("shm").expect("every machine has it");
        let evd = |flags| ia.evd_create(&EvdOptions::new(64, flags)).expect("a dispatcher");
        let (received, requested) = (evd(EvdFlags::DTO), evd(EvdFlags::DTO));
        let arrivals = evd(EvdFlags::CONNECTION | EvdFlags::CONNECTION_REQUEST);
        let pz = ia.pz_create().expect("a zone");
        let memory = Memory::zeroed(2 << 20).expect("memory");
        let lmr = ia.lmr_create(MemorySource::Memory(&memory), &pz, Privileges::ALL);
        let lmr = lmr.expect("a region");
        let spec = EpSpec::new(&pz).recv_evd(&received).request_evd(&requested);
        let ep = ia.ep_create(&spec.connect_evd(&arrivals)).expect("an endpoint");
        let mut dat =
            Self { _ia: ia, received, requested, arrivals, ep, _memory: memory, lmr, waits };
        for _ in 0..8 {
            dat.post();
        }
        dat
    }

    fn serve(&self) {
        let psp: Psp = self._ia.psp_create_any(&self.arrivals, PspMaker::Consumer).expect("a port");
        println!("port {}", psp.qualifier());
        let Event::ConnectionRequest(arrival) = wait(&self.arrivals) else { panic!("a request") };
        arrival.request.accept(Some(&self.ep), b"").expect("unconnected");
        wait(&self.arrivals);
    }

    fn connect(&self, port: u64) {
        let to = Connect::to([127, 0, 0, 1].into(), port);
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

const VARIANTS: [&str; 4] = ["ring, spinning", "DAT, polling", "kernel's copy", "DAT, waiting"];

fn rings() -> Rings {
    Rings::open("").expect("the defaults").0
}

fn rounds(size: usize) -> u32 {
    if size > 64 << 10 { BATCH / 10 } else { BATCH }
}

/// The other process: answers a batch of each size on each request.
fn serve(variant: &str) {
    let mut side: Box<dyn Side> = match variant {
        "ring, spinning" => {
            let mut acceptor = rings().listen(None).expect("a qualifier");
            println!("port {}", acceptor.qualifier());
            let link = loop {
                if let Some(link) = acceptor.accept() {
                    break link;
                }
            };
            let mut plain = Plain::new(link);
            // The segment comes with the first packet.
            plain.read();
            Box::new(plain)
        }
        "kernel's copy" => {
            let memory = vec![1_u8; 1 << 20];
            println!("port {}", memory.as_ptr() as usize);
            std::io::stdin().lines().for_each(drop);
            return;
        }
        _ => {
            let dat = Dat::new(variant.ends_with("waiting"));
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

fn start(name: &'static str) -> Measured {
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
    let side: Box<dyn Side> = match name {
        "ring, spinning" => {
            let dial = rings().dial().expect("a name");
            let limit = Duration::from_secs(5);
            let link = dial.connect([127, 0, 0, 1].into(), port, limit).expect("it listens");
            Box::new(Plain::new(link))
        }
        "kernel's copy" => {
            let pid = i32::try_from(child.id()).expect("a process");
            Box::new(Cma { pid, address: port as usize, memory: vec![0; 1 << 20] })
        }
        _ => {
            let dat = Dat::new(name.ends_with("waiting"));
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
        // The first one waits until the server has read the line.
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

fn main() {
    if let Ok(variant) = std::env::var("ROUND_TRIP") {
        return serve(&variant);
    }
    let filters: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_chosen =
        |name: &&str| filters.is_empty() || filters.iter().any(|one| name.contains(one));
    let mut all: Vec<Measured> = VARIANTS.into_iter().filter(is_chosen).map(start).collect();
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
