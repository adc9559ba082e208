//! A provider whose links are in memory. Its parameter is the seed of their splits and delays.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use dat_core::provider::error::{Error, Result, ReturnType, Subtype};
use dat_core::provider::mem::Span;
use dat_core::provider::{Adapter, Description, DiscoveredAdapter, OpenRequest, Provider, Reach};
use dat_provider_kit::engine::{
    self, Acceptor, Attempt, ConnectError, Connected, Identity, Transport,
};
use dat_provider_kit::frame::Frame;
use dat_provider_kit::link::{End, WriteResult, Writer};
use dat_provider_kit::memory_link::{MemoryLinkConfig, MemoryStream, pair};
use dat_provider_kit::parameters::Limits;
use dat_provider_kit::stream_link::{Stream, halves};
use rustix::event::{EventfdFlags, eventfd};

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The provider.
pub(crate) struct Memories;

impl Provider for Memories {
    fn describe(&self) -> Description {
        Description { name: "memory", vendor: "tests", version: (1, 0), reach: Reach::Process }
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        vec![DiscoveredAdapter {
            name: "memory".to_owned(),
            summary: String::new(),
            unusable: None,
        }]
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        let seed = request.parameters.parse().expect("a seed");
        let identity = Identity::new(request.name, self.describe(), Vec::new());
        engine::open(identity, ADDRESS, Limits::default(), Box::new(Links { seed }), request.sink)
    }
}

struct Links {
    seed: u64,
}

struct Port {
    qualifier: u64,
    arrivals: Arc<Waiting>,
}

struct Waiting {
    ends: Mutex<Vec<Connected>>,
    bell: OwnedFd,
    gate: Gate,
}

/// Stops the thread of an adapter when it accepts the next link of a port.
#[derive(Default)]
struct Gate {
    is_closed: AtomicBool,
    has_stopped: AtomicBool,
}

/// A closed gate. The thread goes on when this is dropped.
pub(crate) struct ClosedGate(Arc<Waiting>);

impl ClosedGate {
    /// Closes the gate of the port with that qualifier.
    pub(crate) fn at(qualifier: u64) -> Self {
        let port = Arc::clone(&PORTS.lock().expect("no panic")[&qualifier]);
        port.gate.is_closed.store(true, Ordering::SeqCst);
        Self(port)
    }

    /// Number of links that the port has not accepted.
    pub(crate) fn links(&self) -> usize {
        self.0.ends.lock().expect("no panic").len()
    }

    /// Returns true if the thread has stopped.
    pub(crate) fn has_stopped(&self) -> bool {
        self.0.gate.has_stopped.load(Ordering::SeqCst)
    }
}

impl Drop for ClosedGate {
    fn drop(&mut self) {
        self.0.gate.is_closed.store(false, Ordering::SeqCst);
    }
}

static PORTS: LazyLock<Mutex<HashMap<u64, Arc<Waiting>>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A descriptor that is always readable or never.
fn descriptor(is_ready: bool) -> OwnedFd {
    eventfd(u32::from(is_ready), EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).expect("one more")
}

impl Transport for Links {
    fn connect(&self, _: IpAddr, qualifier: u64) -> std::result::Result<Attempt, ConnectError> {
        let port = NEXT.fetch_add(1, Ordering::Relaxed);
        let ports = PORTS.lock().expect("no panic");
        let waiting = ports.get(&qualifier).ok_or(ConnectError::Refused)?;
        let (near, far) = pair(MemoryLinkConfig { seed: self.seed, capacity: 40_000 });
        let connected = |stream, local_port| {
            let (reader, writer) = halves(&Arc::new(Watched { stream, ready: descriptor(true) }));
            let writer = Box::new(Offering { writer, offers: self.seed });
            Connected { reader, writer, address: ADDRESS, local_port, datagrams: None }
        };
        waiting.ends.lock().expect("no panic").push(connected(far, qualifier));
        rustix::io::write(&waiting.bell, &1_u64.to_ne_bytes()).expect("room");
        Ok(Attempt::Connected(connected(near, port)))
    }

    fn listen(&self, qualifier: Option<u64>) -> Result<Box<dyn Acceptor>> {
        let qualifier = qualifier.unwrap_or_else(|| NEXT.fetch_add(1, Ordering::Relaxed));
        let (bell, gate) = (descriptor(false), Gate::default());
        let arrivals = Arc::new(Waiting { ends: Mutex::default(), bell, gate });
        let mut ports = PORTS.lock().expect("no panic");
        if ports.contains_key(&qualifier) {
            return Err(Error::new(ReturnType::ConnQualInUse, Subtype::NoSubtype));
        }
        ports.insert(qualifier, Arc::clone(&arrivals));
        Ok(Box::new(Port { qualifier, arrivals }))
    }
}

/// A link that offers some messages, although its peer can fetch none.
struct Offering {
    writer: Box<dyn Writer>,
    offers: u64,
}

impl Writer for Offering {
    fn write(&mut self, frame: &Frame, payload: &[Span]) -> std::result::Result<WriteResult, End> {
        self.writer.write(frame, payload)
    }

    fn hold(
        &mut self,
        frame: &Frame,
        payload: &[Span],
        limit: usize,
    ) -> std::result::Result<WriteResult, End> {
        self.writer.hold(frame, payload, limit)
    }

    fn max_first_piece(&self) -> u64 {
        self.writer.max_first_piece()
    }

    fn max_next_piece(&self) -> u64 {
        self.writer.max_next_piece()
    }

    fn can_hold(&self) -> bool {
        self.writer.can_hold()
    }

    fn flush(&mut self) -> std::result::Result<bool, End> {
        self.writer.flush()
    }

    fn shut_down(&mut self) -> std::result::Result<(), End> {
        self.writer.shut_down()
    }

    fn can_offer(&self) -> bool {
        true
    }

    fn offer(&mut self, _: u64, _: bool) -> Option<u64> {
        self.offers += 1;
        (self.offers % 2 == 0).then_some(self.offers)
    }
}

impl Acceptor for Port {
    fn qualifier(&self) -> u64 {
        self.qualifier
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.arrivals.bell.as_fd()
    }

    fn is_there(&self) -> bool {
        true
    }

    fn accept(&mut self) -> Option<Connected> {
        let gate = &self.arrivals.gate;
        while gate.is_closed.load(Ordering::SeqCst) {
            gate.has_stopped.store(true, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(1));
        }
        let end = self.arrivals.ends.lock().expect("no panic").pop();
        if end.is_none() {
            let _ = rustix::io::read(&self.arrivals.bell, &mut [0; 8]);
        }
        end
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        PORTS.lock().expect("no panic").remove(&self.qualifier);
    }
}

/// A stream that always seems to have something, since a delay ends without a sign.
struct Watched {
    stream: Arc<MemoryStream>,
    ready: OwnedFd,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.stream.cut();
    }
}

impl Stream for Watched {
    fn write(&self, from: &[Span]) -> std::result::Result<usize, End> {
        self.stream.write(from)
    }

    fn read(&self, into: &[Span]) -> std::result::Result<Option<usize>, End> {
        self.stream.read(into)
    }

    fn shut_down(&self) -> std::result::Result<(), End> {
        self.stream.shut_down()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.ready.as_fd())
    }
}
