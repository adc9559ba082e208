//! Half of a round trip between two processes over `tcp-lo`, next to plain sockets in the same run:
//! `cargo bench -p dat-provider-tcp`, or `cargo bench -p dat-provider-tcp polling` for some of the variants.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use dat_core::{InterfaceAdapter, Registry};
use dat_two_processes::round_trip::{self, Floor, Side};

struct Plain {
    stream: TcpStream,
    memory: Vec<u8>,
    spins: bool,
}

impl Plain {
    fn new(stream: TcpStream, spins: bool) -> Self {
        stream.set_nodelay(true).expect("a socket");
        stream.set_nonblocking(spins).expect("a socket");
        Self { stream, memory: vec![1; 1 << 20], spins }
    }

    /// Moves all bytes; a socket that spins tries again when it would block.
    fn all(&mut self, size: usize, step: fn(&mut TcpStream, &mut [u8]) -> std::io::Result<usize>) {
        let mut done = 0;
        while done < size {
            match step(&mut self.stream, &mut self.memory[done..size]) {
                Ok(0) => std::process::exit(0),
                Ok(count) => done += count,
                Err(error) if self.spins && error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => std::process::exit(0),
            }
        }
    }
}

impl Side for Plain {
    fn send(&mut self, size: usize) {
        self.all(size, |stream, bytes| stream.write(bytes));
    }

    fn receive(&mut self, size: usize) {
        self.all(size, Read::read);
    }
}

fn serve(spins: bool) -> Option<Box<dyn Side>> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    println!("port {}", listener.local_addr().expect("bound").port());
    let (stream, _) = listener.accept().expect("a client");
    Some(Box::new(Plain::new(stream, spins)))
}

fn connect(port: u64, spins: bool) -> Box<dyn Side> {
    let port = u16::try_from(port).expect("a port");
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("a server");
    Box::new(Plain::new(stream, spins))
}

const FLOORS: &[Floor] = &[
    Floor {
        name: "socket, spinning",
        serve: || serve(true),
        connect: |port, _| connect(port, true),
    },
    Floor {
        name: "socket, blocking",
        serve: || serve(false),
        connect: |port, _| connect(port, false),
    },
];

fn open() -> InterfaceAdapter {
    let registry = Registry::new();
    registry.add_provider(dat_provider_tcp::provider()).expect("the only one");
    registry.open("tcp-lo").expect("every Linux has it")
}

fn main() {
    round_trip::run(open, FLOORS);
}
