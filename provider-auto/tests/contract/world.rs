//! An adapter, and queue pairs on it as the provider contract has them.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};
use dat_provider::error::Result;
use dat_provider::flags::{CompletionFlags, Privileges, Qos};
use dat_provider::mem::Memory;
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::triplet::RmrTriplet;
use dat_provider::{
    Adapter, AdapterSink, Address, AsyncUpcall, Completion, CompletionPoller, CompletionQueueParts,
    CompletionSink, ConnectRequest, ConnectionSink, ConnectionUpcall, Epoch, IncomingRequest,
    ListenSink, ListenerParts, OpenRequest, ProtectionDomain, Provider, QueuePair, QueuePairLimits,
    QueuePairSpec, ReceiveRequest, Registration, Request, Segment, SharedReceiveLimits,
    SharedReceiveQueue, SharedReceiveSink, Work,
};

/// How long a test waits for anything.
const PATIENCE: Duration = Duration::from_secs(20);

/// An open adapter with a domain and a listener.
pub(crate) struct World {
    pub(crate) adapter: Arc<dyn Adapter>,
    pub(crate) domain: Arc<dyn ProtectionDomain>,
    listener: ListenerParts,
    requests: Receiver<IncomingRequest>,
}

struct NoAsync;

impl AdapterSink for NoAsync {
    fn async_event(&self, event: AsyncUpcall) {
        panic!("an asynchronous event: {event:?}");
    }
}

struct NoWatermark;

impl SharedReceiveSink for NoWatermark {
    fn low_watermark_reached(&self) {}
}

struct Requests(Sender<IncomingRequest>);

impl ListenSink for Requests {
    fn connection_request(
        &self,
        incoming: IncomingRequest,
    ) -> std::result::Result<(), IncomingRequest> {
        self.0.send(incoming).map_err(|unsent| unsent.0)
    }
}

/// The adapters over links: in shared memory, and over sockets.
pub(crate) fn over_links() -> [World; 2] {
    [
        World::open(&*dat_provider_shm::provider(), "shm"),
        World::open(&*dat_provider_tcp::provider(), "tcp-lo"),
    ]
}

/// All adapters in software.
pub(crate) fn everywhere() -> [World; 3] {
    let [shm, tcp] = over_links();
    [shm, tcp, World::open(&*dat_provider_loopback::provider(), "loopback")]
}

impl World {
    pub(crate) fn open(provider: &dyn Provider, name: &str) -> Self {
        let request = OpenRequest { name, parameters: "", sink: Arc::new(NoAsync) };
        let adapter = provider.open(request).expect("every machine has it");
        let (sender, requests) = unbounded();
        let listener = adapter.listen(None, Arc::new(Requests(sender))).expect("a port");
        let domain = adapter.create_domain().expect("a domain");
        Self { adapter, domain, listener, requests }
    }

    pub(crate) fn address(&self) -> IpAddr {
        match self.adapter.attributes().ia.address {
            Address::Ip(address) => address,
            Address::Fabric(_) => panic!("it has an IP address"),
        }
    }

    /// A queue pair whose specification differs from the usual one.
    pub(crate) fn side_with(&self, change: impl FnOnce(&mut QueuePairSpec)) -> Side {
        Side::new(self, change).expect("a queue pair")
    }

    /// A shared receive queue.
    pub(crate) fn shared_receives(&self) -> Arc<dyn SharedReceiveQueue> {
        let limits = SharedReceiveLimits { max_receives: 8, max_segments: 1 };
        let (domain, sink) = (Arc::clone(&self.domain), Arc::new(NoWatermark));
        self.adapter.create_shared_receive_queue(domain, limits, sink).expect("a queue")
    }

    /// Two connected queue pairs.
    pub(crate) fn pair_with(&self, change: impl Fn(&mut QueuePairSpec)) -> [Side; 2] {
        let sides = [self.side_with(&change), self.side_with(&change)];
        self.join(&sides);
        sides
    }

    pub(crate) fn pair(&self) -> [Side; 2] {
        self.pair_with(|_| {})
    }

    /// Starts to connect a queue pair to the listener.
    pub(crate) fn connect(&self, side: &Side) {
        let (address, qualifier) = (self.address().into(), self.listener.qualifier);
        side.connect(address, qualifier).expect("an attempt");
    }

    /// The next request of a connection.
    pub(crate) fn request(&self) -> IncomingRequest {
        self.requests.recv_timeout(PATIENCE).expect("a request of a connection")
    }

    /// Waits until a condition that depends on other threads is true.
    pub(crate) fn eventually(&self, condition: impl Fn() -> bool) {
        let begun = Instant::now();
        while !condition() {
            assert!(begun.elapsed() < PATIENCE, "it never becomes true");
            std::thread::yield_now();
        }
    }

    /// Connects the first queue pair to the second.
    pub(crate) fn join(&self, [one, other]: &[Side; 2]) {
        self.connect(one);
        self.request().responder.accept(&*other.qp, other.attempt(), &[]).expect("it accepts");
        for side in [one, other] {
            assert_eq!(side.event(), Event::Established);
        }
    }
}

/// The events of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Established,
    Disconnected,
    Broken,
    Failed,
}

struct Events(Sender<Event>);

impl ConnectionSink for Events {
    fn connection_event(&self, _: u64, event: ConnectionUpcall<'_>) {
        let event = match event {
            ConnectionUpcall::Established { .. } => Event::Established,
            ConnectionUpcall::Disconnected => Event::Disconnected,
            ConnectionUpcall::Broken => Event::Broken,
            _ => Event::Failed,
        };
        let _ = self.0.send(event);
    }
}

struct Quiet;

impl CompletionSink for Quiet {
    fn completion_ready(&self) {}

    fn completion_overflow(&self) {
        panic!("the completion queue has overflown");
    }
}

/// Number of bytes of the memory of a queue pair.
pub(crate) const MEMORY: usize = 1 << 18;

/// A queue pair with its completion queue, its events and its memory.
pub(crate) struct Side {
    pub(crate) qp: Box<dyn QueuePair>,
    poller: Mutex<Box<dyn CompletionPoller>>,
    events: Receiver<Event>,
    pub(crate) memory: Memory,
    pub(crate) registration: Registration,
    attempts: AtomicU64,
}

/// A receive of one segment.
pub(crate) fn receive(cookie: u64, segments: &[Segment; 1]) -> ReceiveRequest<'_> {
    ReceiveRequest { segments, cookie, flags: CompletionFlags::empty(), checked: Epoch::default() }
}

impl Drop for Side {
    fn drop(&mut self) {
        self.qp.shutdown();
    }
}

impl Side {
    pub(crate) fn new(world: &World, change: impl FnOnce(&mut QueuePairSpec)) -> Result<Self> {
        let parts = world.adapter.create_completion_queue(64, Arc::new(Quiet))?;
        let CompletionQueueParts { queue, poller } = parts;
        let (sender, events) = unbounded();
        let limits = QueuePairLimits {
            max_receives: 16,
            max_requests: 16,
            max_receive_segments: 4,
            max_request_segments: 4,
            max_message_size: 1 << 30,
            max_reads_in: 4,
            max_reads_out: 4,
        };
        let mut spec = QueuePairSpec {
            tag: 7,
            domain: Some(Arc::clone(&world.domain)),
            request_queue: Some(Arc::clone(&queue)),
            receive_queue: Some(queue),
            limits,
            ..QueuePairSpec::new(Arc::new(Events(sender)))
        };
        change(&mut spec);
        let qp = world.adapter.create_queue_pair(spec)?;
        let memory = Memory::zeroed(MEMORY).expect("memory");
        let privileges = Privileges::ALL | Privileges::REMOTE_ATOMIC;
        let registration = world.domain.register(memory.span(), privileges)?;
        let (poller, attempts) = (Mutex::new(poller), AtomicU64::new(0));
        Ok(Self { qp, poller, events, memory, registration, attempts })
    }

    pub(crate) fn attempt(&self) -> u64 {
        self.attempts.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn connect(&self, address: Address, qualifier: u64) -> Result<()> {
        let (attempt, qos, private_data) = (self.attempt(), Qos::BEST_EFFORT, &[][..]);
        self.qp.connect(&ConnectRequest { attempt, address, qualifier, private_data, qos })
    }

    pub(crate) fn segment(&self, offset: usize, length: usize) -> Segment {
        let address = self.memory.address() + offset as u64;
        Segment { address, length: length as u64, key: self.registration.local_key }
    }

    pub(crate) fn remote(&self, offset: usize, length: usize) -> RmrTriplet {
        let address = self.memory.address() + offset as u64;
        RmrTriplet { address, length: length as u64, context: self.registration.remote_key }
    }

    pub(crate) fn receive(&self, cookie: u64, segment: Segment) {
        self.qp.post_receive(&receive(cookie, &[segment])).expect("a receive");
    }

    pub(crate) fn request(&self, work: Work, cookie: u64, segment: Segment) {
        self.request_with(work, cookie, segment, CompletionFlags::empty());
    }

    pub(crate) fn request_with(
        &self,
        work: Work,
        cookie: u64,
        segment: Segment,
        flags: CompletionFlags,
    ) {
        let (segments, length, checked) = (&[segment][..], segment.length, Epoch::default());
        let request = Request { work, segments, length, cookie, flags, checked };
        self.qp.post_request(&request).expect("a request");
    }

    /// The completions that there are now.
    pub(crate) fn poll(&self) -> Vec<Completion> {
        let mut some = [Completion::default(); 16];
        let count = self.poller.lock().expect("no panic").poll(&mut some);
        some[..count].to_vec()
    }

    /// The next completions.
    pub(crate) fn completions(&self, count: usize) -> Vec<Completion> {
        let (mut found, begun) = (Vec::new(), Instant::now());
        while found.len() < count {
            assert!(begun.elapsed() < PATIENCE, "only {found:?}");
            found.extend(self.poll());
        }
        assert_eq!(found.len(), count, "{found:?}");
        found
    }

    /// Operation, cookie and status of the next completions.
    pub(crate) fn done(&self, count: usize) -> Vec<(Operation, u64, DtoStatus)> {
        let brief = |one: &Completion| (one.operation, one.cookie, one.status);
        self.completions(count).iter().map(brief).collect()
    }

    /// Nothing has completed.
    pub(crate) fn expect_none(&self) {
        assert_eq!(self.poll(), []);
    }

    /// Nothing completes within some milliseconds.
    pub(crate) fn expect_nothing(&self) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(30) {
            assert_eq!(self.poll(), []);
        }
    }

    /// The next event.
    pub(crate) fn event(&self) -> Event {
        self.events.recv_timeout(PATIENCE).expect("an event")
    }
}
