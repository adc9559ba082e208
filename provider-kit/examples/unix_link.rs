// A provider whose links are UNIX stream sockets. The guide of this crate explains it, in the same order.
#![allow(missing_docs, reason = "an example, explained by the guide")]

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dat_provider::error::Result;
use dat_provider::mem::Span;
use dat_provider::{
    Adapter, Address, Description, DiscoveredAdapter, LocalCause, OpenRequest, Provider, Reach,
};
use dat_provider_kit::engine::{
    self, Acceptor, Attempt, ConnectError, Connected, Connector, ConnectorEvent, Identity,
    Transport,
};
use dat_provider_kit::frame::{self, Frame};
use dat_provider_kit::link::{
    Budget, Destinations, End, FrameSink, Progress, Reader, Refused, WriteResult, Writer,
};
use dat_provider_kit::parameters::{self, Limits, Parameter};
use dat_provider_kit::{bytes, qualifier};
use rustix::io::Errno;
use rustix::net::{
    self, RecvFlags, SendFlags, Shutdown, SocketAddrAny, SocketAddrUnix, SocketFlags,
};

type Ended<T> = std::result::Result<T, End>;
type Dialled = std::result::Result<Attempt, ConnectError>;

// 1. The writer

struct SocketWriter {
    socket: Arc<OwnedFd>,
    /// Bytes that the socket has not taken.
    unsent: Vec<u8>,
    is_closing: bool,
}

impl Writer for SocketWriter {
    fn write(&mut self, frame: &Frame, payload: &[Span]) -> Ended<WriteResult> {
        if self.flush()? {
            return Ok(WriteResult::Full);
        }
        self.unsent.extend_from_slice(&frame.encode());
        if bytes::gather(payload, 0, &mut self.unsent).is_err() {
            self.unsent.clear();
            return Ok(WriteResult::Unreadable);
        }
        Ok(if self.flush()? { WriteResult::Buffered } else { WriteResult::Taken })
    }

    fn flush(&mut self) -> Ended<bool> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let mut sent = 0;
        while sent < self.unsent.len() {
            match net::send(&self.socket, &self.unsent[sent..], flags) {
                Ok(count) => sent += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(errno) => return Err(end_of(errno)),
            }
        }
        self.unsent.drain(..sent);
        if !self.unsent.is_empty() {
            return Ok(true);
        }
        if std::mem::take(&mut self.is_closing) {
            net::shutdown(&self.socket, Shutdown::Write).map_err(end_of)?;
        }
        Ok(false)
    }

    fn shut_down(&mut self) -> Ended<()> {
        self.is_closing = true;
        self.flush().map(drop)
    }
}

fn end_of(errno: Errno) -> End {
    match errno {
        Errno::PIPE | Errno::CONNRESET => End::Gone,
        errno => End::Lost(errno.raw_os_error()),
    }
}

// 2. The reader

struct SocketReader {
    socket: Arc<OwnedFd>,
    /// The bytes that were received and not passed on: `buffer[start..end]`.
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// The frame whose payload arrives, and the number of its bytes that were passed on.
    current: Option<(Frame, u64)>,
    destinations: Destinations,
    ended: Option<End>,
}

impl SocketReader {
    /// Receives behind the bytes that are left. `None` if nothing has arrived.
    fn receive(&mut self) -> Ended<Option<usize>> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        loop {
            let free = &mut self.buffer[self.end..];
            return match net::recv(&self.socket, free, RecvFlags::DONTWAIT) {
                Ok((0, _)) if self.end > 0 || self.current.is_some() => Err(End::Gone),
                Ok((0, _)) => Err(End::Closed),
                Ok((count, _)) => {
                    self.end += count;
                    Ok(Some(count))
                }
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => Ok(None),
                Err(errno) => Err(end_of(errno)),
            };
        }
    }

    /// Passes bytes on, up to the end of a frame. False if more bytes are needed.
    fn pass_on(&mut self, sink: &mut dyn FrameSink) -> Ended<bool> {
        let refused = |Refused| End::Refused;
        let (frame, passed) = match self.current.take() {
            Some(current) => current,
            None => {
                let arrived = &self.buffer[self.start..self.end];
                let Some((frame, head)) = frame::decode(arrived).map_err(End::Malformed)? else {
                    return Ok(false);
                };
                self.start += head;
                sink.begin(&frame).map_err(refused)?;
                (frame, 0)
            }
        };
        let missing = frame.payload() - passed;
        let part = missing.min((self.end - self.start) as u64);
        if part > 0 {
            self.destinations.clear();
            sink.destinations(passed, &mut self.destinations);
            let arrived = &self.buffer[self.start..self.start + part as usize];
            if bytes::scatter(arrived, &self.destinations).is_err() {
                sink.lose_memory();
            }
            self.start += part as usize;
        }
        if part < missing {
            self.current = Some((frame, passed + part));
            return Ok(false);
        }
        sink.end().map_err(refused)?;
        Ok(true)
    }

    fn run(&mut self, sink: &mut dyn FrameSink, budget: Budget) -> Ended<Progress> {
        let (mut frames, mut bytes) = (0, 0);
        loop {
            while self.pass_on(sink)? {
                frames += 1;
                if frames >= budget.frames {
                    return Ok(Progress::More);
                }
            }
            if bytes >= budget.bytes {
                return Ok(Progress::More);
            }
            match self.receive()? {
                Some(count) => bytes += count,
                None => return Ok(Progress::Drained(frames > 0 || bytes > 0)),
            }
        }
    }
}

impl Reader for SocketReader {
    fn read(&mut self, sink: &mut dyn FrameSink, budget: Budget) -> Ended<Progress> {
        if let Some(end) = &self.ended {
            return Err(end.clone());
        }
        self.run(sink, budget).inspect_err(|end| self.ended = Some(end.clone()))
    }

    fn discard(&mut self) -> Ended<()> {
        for _ in 0..64 {
            (self.start, self.end, self.current) = (0, 0, None);
            if self.receive()?.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }
}

fn connected(socket: OwnedFd, address: IpAddr, local_port: u64) -> Connected {
    let socket = Arc::new(socket);
    let writer =
        SocketWriter { socket: Arc::clone(&socket), unsent: Vec::new(), is_closing: false };
    let reader = SocketReader {
        socket,
        buffer: vec![0; 64 << 10].into_boxed_slice(),
        start: 0,
        end: 0,
        current: None,
        destinations: Destinations::new(),
        ended: None,
    };
    Connected {
        reader: Box::new(reader),
        writer: Box::new(writer),
        address,
        local_port,
        // It carries no datagrams.
        datagrams: None,
    }
}

// 3. The transport

const NEW: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);
static NEXT: AtomicU64 = AtomicU64::new(49_152);

fn socket() -> rustix::io::Result<OwnedFd> {
    net::socket_with(net::AddressFamily::UNIX, net::SocketType::STREAM, NEW, None)
}

/// The sockets of an adapter. Those of one space reach each other.
struct Sockets {
    space: String,
    address: IpAddr,
    limits: Limits,
}

impl Sockets {
    fn name(&self, address: IpAddr, port: u64) -> rustix::io::Result<SocketAddrUnix> {
        let name = format!("dat-unix/{}/{address}/{port}", self.space);
        SocketAddrUnix::new_abstract_name(name.as_bytes())
    }
}

fn address_in(name: Option<SocketAddrAny>) -> Option<IpAddr> {
    let name = SocketAddrUnix::try_from(name?).ok()?;
    let name = std::str::from_utf8(name.abstract_name()?).ok()?;
    name.rsplit('/').nth(1)?.parse().ok()
}

impl Transport for Sockets {
    fn connect(&self, address: IpAddr, qualifier: u64) -> Dialled {
        let address = address.to_canonical();
        if !address.is_loopback() {
            return Err(ConnectError::Unreachable);
        }
        let socket = socket().map_err(local)?;
        let port = u64::from(std::process::id()) << 32 | NEXT.fetch_add(1, Ordering::Relaxed);
        let own = self.name(self.address, port).map_err(local)?;
        net::bind(&socket, &own).map_err(local)?; // from which the peer gets our address
        let name = self.name(address, qualifier).map_err(local)?;
        Box::new(Dialling { socket, address, name, port, next: Instant::now() }).advance()
    }

    fn listen(&self, wanted: Option<u64>) -> Result<Box<dyn Acceptor>> {
        let refused =
            |call| move |errno: Errno| qualifier::refused(call, errno.raw_os_error(), wanted);
        let socket = socket().map_err(refused("socket"))?;
        let qualifier = loop {
            let qualifier = wanted.unwrap_or_else(|| NEXT.fetch_add(1, Ordering::Relaxed));
            let name = self.name(self.address, qualifier);
            match name.and_then(|name| net::bind(&socket, &name)) {
                Ok(()) => break qualifier,
                Err(Errno::ADDRINUSE) if wanted.is_none() => {}
                Err(errno) => return Err(refused("bind")(errno)),
            }
        };
        net::listen(&socket, 1024).map_err(refused("listen"))?;
        Ok(Box::new(Listening { socket, qualifier }))
    }

    fn listen_at(&self, address: IpAddr, qualifier: u64) -> Result<Box<dyn Acceptor>> {
        if address.to_canonical() != self.address {
            return Err(Address::Ip(address).not_of_adapter(self.address.into()));
        }
        self.listen(Some(qualifier))
    }
}

fn local(errno: Errno) -> ConnectError {
    ConnectError::Local(LocalCause { what: "connect a socket", errno: errno.raw_os_error() })
}

/// A socket whose listener has a full backlog.
struct Dialling {
    socket: OwnedFd,
    address: IpAddr,
    name: SocketAddrUnix,
    port: u64,
    next: Instant,
}

impl Connector for Dialling {
    fn local_port(&self) -> u64 {
        self.port
    }

    fn awaits(&self) -> ConnectorEvent<'_> {
        ConnectorEvent::Time(self.next)
    }

    fn advance(mut self: Box<Self>) -> Dialled {
        match net::connect(&self.socket, &self.name) {
            Ok(()) => Ok(Attempt::Connected(connected(self.socket, self.address, self.port))),
            Err(Errno::AGAIN | Errno::INTR) => {
                self.next = Instant::now() + Duration::from_millis(1);
                Ok(Attempt::Pending(self))
            }
            Err(Errno::CONNREFUSED) => Err(ConnectError::Refused),
            Err(errno) => Err(local(errno)),
        }
    }
}

// 4. The acceptor

struct Listening {
    socket: OwnedFd,
    qualifier: u64,
}

impl Acceptor for Listening {
    fn qualifier(&self) -> u64 {
        self.qualifier
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn is_there(&self) -> bool {
        net::sockopt::socket_acceptconn(&self.socket) == Ok(true)
    }

    fn accept(&mut self) -> Option<Connected> {
        let (socket, name) = net::acceptfrom_with(&self.socket, NEW).ok()?;
        Some(connected(socket, address_in(name)?, self.qualifier))
    }
}

// 5. The provider

pub(crate) struct Unix;

/// The parameters that an adapter has besides its limits.
const OTHERS: [Parameter<Sockets>; 2] = [
    Parameter { key: "address", set: Sockets::set_address },
    Parameter { key: "space", set: Sockets::set_space },
];

impl Sockets {
    fn set_address(&mut self, value: &str) -> Result<()> {
        let address = value.parse().ok().filter(IpAddr::is_loopback);
        let invalid = || parameters::invalid(format!("{value:?} is not a loopback address"));
        self.address = address.ok_or_else(invalid)?;
        Ok(())
    }

    fn set_space(&mut self, value: &str) -> Result<()> {
        value.clone_into(&mut self.space);
        Ok(())
    }
}

impl Provider for Unix {
    fn describe(&self) -> Description {
        Description { name: "unix", vendor: "an example", version: (1, 0), reach: Reach::Host }
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        let summary = "processes of this machine, by UNIX sockets".to_owned();
        vec![DiscoveredAdapter { name: "unix".to_owned(), summary, unusable: None }]
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        let identity = Identity::new(request.name, self.describe(), Vec::new());
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let mut sockets = Sockets { space: String::new(), address, limits: Limits::default() };
        parameters::parse(request.parameters, &mut sockets, |all| &mut all.limits, &OTHERS)?;
        let (address, limits) = (sockets.address, sockets.limits.clone());
        engine::open(identity, address, limits, Box::new(sockets), request.sink)
    }
}

// 6. A program

fn main() -> Result<()> {
    use dat_core::{Connect, EpSpec, EvdFlags, EvdOptions, Event, Memory, Privileges};

    const LENGTH: usize = 1 << 20; // more than a socket takes at once

    let registry = dat_core::Registry::new();
    registry.add_provider(Arc::new(Unix))?;
    let ia = registry.open(&format!("unix?space={}", std::process::id()))?;
    let pz = ia.pz_create()?;
    let evd = ia.evd_create(&EvdOptions::new(64, EvdFlags::DEFAULT))?;
    let spec = EpSpec::new(&pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd);
    let (client, server) = (ia.ep_create(&spec)?, ia.ep_create(&spec)?);

    let sent: Vec<u8> = (0..LENGTH).map(|number| (number % 251) as u8).collect();
    let (from, to) = (Memory::copy_of(&sent)?, Memory::zeroed(LENGTH)?);
    let from_lmr = ia.lmr_create(&from, &pz, Privileges::ALL)?;
    let to_lmr = ia.lmr_create(&to, &pz, Privileges::ALL)?;
    server.receive(&[to_lmr.triplet(0, LENGTH as u64)?], 1)?;

    let psp = ia.psp_create_any(&evd, dat_core::EpProvision::Consumer)?;
    client.connect(&Connect::to_psp(&psp))?;
    let (mut established, mut done) = (0, Vec::new());
    while done.len() < 2 {
        match evd.next_event(Duration::from_secs(10))?.expect("an event within ten seconds") {
            Event::ConnectionRequest(arrival) => arrival.request.accept(Some(&server), b"")?,
            Event::Connection(_) => {
                established += 1;
                if established == 2 {
                    client.send(&[from_lmr.triplet(0, LENGTH as u64)?], 2)?;
                }
            }
            Event::Dto(completion) => {
                assert_eq!(completion.result(), Ok(LENGTH as u64));
                done.push(completion.cookie);
            }
            other => println!("{other}"),
        }
    }
    assert_eq!(to.to_vec(0, LENGTH)?, sent);
    println!("{LENGTH} bytes over a UNIX socket");
    Ok(())
}
