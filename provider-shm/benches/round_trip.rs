//! Half of a round trip between two processes over `shm`, next to the same ring without the engine, and
//! to one copy by the kernel (`process_vm_readv`), in the same run: `cargo bench -p dat-provider-shm`, or
//! `cargo bench -p dat-provider-shm polling` for some of the variants.
#![allow(unsafe_code, reason = "spans of memory, and process_vm_readv")]

use std::ptr::NonNull;

use dat_core::{InterfaceAdapter, Memory, Registry};
use dat_provider::mem::Span;
use dat_provider_kit::engine::{Attempt, Connected, Transport};
use dat_provider_kit::frame::{Body, Frame, MAX_PIECE};
use dat_provider_kit::link::{Armed, Budget, Destinations, FrameSink, Refused, WriteResult};
use dat_provider_shm::Rings;
use dat_two_processes::round_trip::{self, Floor, Side};

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
        link.reader.arm(Armed::Nothing);
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
                Ok(WriteResult::Taken | WriteResult::Buffered | WriteResult::Held) => {
                    sent += length
                }
                Ok(WriteResult::Full) => std::hint::spin_loop(),
                Ok(WriteResult::Unreadable) | Err(_) => std::process::exit(0),
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

fn rings() -> Rings {
    Rings::open("").expect("the defaults").0
}

fn serve_ring() -> Option<Box<dyn Side>> {
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
    Some(Box::new(plain))
}

fn connect_ring(port: u64, _: u32) -> Box<dyn Side> {
    match rings().connect([127, 0, 0, 1].into(), port).expect("it listens") {
        Attempt::Connected(link) => Box::new(Plain::new(link)),
        Attempt::Pending(_) => panic!("the backlog is full"),
    }
}

/// The number is the address of the memory.
fn serve_memory() -> Option<Box<dyn Side>> {
    let memory = vec![1_u8; 1 << 20];
    println!("port {}", memory.as_ptr() as usize);
    std::io::stdin().lines().for_each(drop);
    None
}

fn connect_memory(address: u64, process: u32) -> Box<dyn Side> {
    let pid = i32::try_from(process).expect("a process");
    Box::new(Cma { pid, address: address as usize, memory: vec![0; 1 << 20] })
}

const FLOORS: &[Floor] = &[
    Floor { name: "ring, spinning", serve: serve_ring, connect: connect_ring },
    Floor { name: "kernel's copy", serve: serve_memory, connect: connect_memory },
];

fn open() -> InterfaceAdapter {
    let registry = Registry::new();
    registry.add_provider(dat_provider_shm::provider()).expect("the only one");
    registry.open("shm").expect("every machine has it")
}

fn main() {
    round_trip::run(open, FLOORS);
}
