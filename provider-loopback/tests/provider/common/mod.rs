//! What the tests share: sides that record what happens to them, in order.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use dat_core::error::Result;
use dat_core::flags::{Close, CompletionFlags, Privileges, Qos};
use dat_core::provider::*;
use dat_core::{DtoStatus, Memory, Operation, RmrTriplet};

/// Runs a test and fails it when it takes longer than a minute.
pub(crate) fn bounded(test: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    match wait.recv_timeout(Duration::from_secs(60)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the test does not end"),
        _ => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    }
}

/// Waits for something that other threads bring about.
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "never: {what}");
        std::thread::yield_now();
    }
}

pub(crate) struct NoAsync;

impl AdapterSink for NoAsync {
    fn async_event(&self, event: AsyncUpcall) {
        panic!("an asynchronous event: {event:?}");
    }
}

pub(crate) fn try_open(name: &str, parameters: &str) -> Result<Arc<dyn Adapter>> {
    let request = OpenRequest { name, parameters, sink: Arc::new(NoAsync) };
    dat_provider_loopback::provider().open(request)
}

/// An address of its own for each test, so that they don't meet each other's listeners.
pub(crate) fn fresh_address() -> IpAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0x7f01_0001);
    IpAddr::V4(Ipv4Addr::from(NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// An adapter at an address of its own, with a domain and a listener.
pub(crate) struct World {
    pub(crate) adapter: Arc<dyn Adapter>,
    pub(crate) domain: Arc<dyn ProtectionDomain>,
    pub(crate) address: IpAddr,
    pub(crate) listener: ListenerParts,
    pub(crate) requests: Arc<Requests>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::at(fresh_address())
    }

    pub(crate) fn at(address: IpAddr) -> Self {
        let adapter = try_open("test", &format!("address={address}")).expect("open");
        let requests = Arc::new(Requests::default());
        let sink = Arc::clone(&requests) as Arc<dyn ListenSink>;
        let listener = adapter.listen(None, sink).expect("listen");
        let domain = adapter.create_domain().expect("domain");
        Self { adapter, domain, address, listener, requests }
    }

    pub(crate) fn buffer(&self, len: usize) -> Buffer {
        Buffer::new(&*self.domain, len, Privileges::ALL)
    }

    pub(crate) fn side(&self) -> Side {
        self.side_with(Setup::default())
    }

    pub(crate) fn side_with(&self, setup: Setup) -> Side {
        Side::new(self, setup)
    }

    /// Two sides with a connection between them.
    pub(crate) fn pair(&self) -> (Side, Side) {
        self.pair_with(Setup::default(), Setup::default())
    }

    pub(crate) fn pair_with(&self, active: Setup, passive: Setup) -> (Side, Side) {
        let (a, b) = (self.side_with(active), self.side_with(passive));
        self.join(&a, &b);
        (a, b)
    }

    /// Connects two sides; the first is the connecting one.
    pub(crate) fn join(&self, a: &Side, b: &Side) {
        let attempt = self.connect(a, &[]);
        let incoming = self.requests.take();
        let accepted = b.next_attempt();
        incoming.answer.accept(&*b.qp, accepted, &[]).expect("accept");
        for (side, attempt) in [(a, attempt), (b, accepted)] {
            assert!(matches!(side.last_event(), (n, Event::Established { .. }) if n == attempt));
        }
    }

    pub(crate) fn connect(&self, side: &Side, private_data: &[u8]) -> u64 {
        side.connect(self.address, self.listener.qualifier, private_data)
    }
}

/// A listener's sink that keeps the requests.
#[derive(Default)]
pub(crate) struct Requests(Mutex<VecDeque<Incoming>>);

impl Requests {
    pub(crate) fn take(&self) -> Incoming {
        self.0.lock().unwrap().pop_front().expect("a request for a connection")
    }
}

impl ListenSink for Requests {
    fn connection_request(&self, incoming: Incoming) -> std::result::Result<(), Incoming> {
        self.0.lock().unwrap().push_back(incoming);
        Ok(())
    }
}

/// A listener's sink that gives all requests back.
pub(crate) struct Refuse;

impl ListenSink for Refuse {
    fn connection_request(&self, incoming: Incoming) -> std::result::Result<(), Incoming> {
        Err(incoming)
    }
}

/// Memory that is registered for as long as it lives.
pub(crate) struct Buffer {
    pub(crate) region: Box<dyn MemoryRegion>,
    pub(crate) local_key: u32,
    pub(crate) remote_key: u32,
    pub(crate) memory: Memory,
}

impl Buffer {
    pub(crate) fn new(domain: &dyn ProtectionDomain, len: usize, privileges: Privileges) -> Self {
        let memory = Memory::zeroed(len).expect("memory");
        let Registration { region, local_key, remote_key } =
            domain.register(memory.span(), privileges).expect("register");
        Self { region, local_key, remote_key, memory }
    }

    /// Fills it with bytes that tell where they are.
    pub(crate) fn fill(&self, seed: u8) -> Vec<u8> {
        let bytes: Vec<u8> = (0..self.memory.len()).map(|n| pattern(seed, n)).collect();
        self.memory.write(0, &bytes).unwrap();
        bytes
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.memory.to_vec(0, self.memory.len()).unwrap()
    }

    pub(crate) fn segment(&self, offset: usize, length: usize) -> Segment {
        Segment {
            address: self.memory.address() + offset as u64,
            length: length as u64,
            key: self.local_key,
        }
    }

    pub(crate) fn remote(&self, offset: usize, length: usize) -> RmrTriplet {
        RmrTriplet {
            address: self.memory.address() + offset as u64,
            length: length as u64,
            context: self.remote_key,
        }
    }
}

pub(crate) fn pattern(seed: u8, n: usize) -> u8 {
    (n as u8).wrapping_mul(31).wrapping_add((n >> 8) as u8).wrapping_add(seed)
}

/// What happened to a side, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Completion(Completion),
    Event(u64, Event),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Established { private_data: Vec<u8>, peer: Peer, local_port: u64 },
    PeerRejected(Vec<u8>),
    NonPeerRejected,
    Unreachable,
    AcceptFailed,
    Disconnected,
    Broken,
}

impl From<ConnectionUpcall<'_>> for Event {
    fn from(event: ConnectionUpcall<'_>) -> Self {
        match event {
            ConnectionUpcall::Established { private_data, peer, local_port } => {
                Self::Established { private_data: private_data.to_vec(), peer, local_port }
            }
            ConnectionUpcall::PeerRejected { private_data } => {
                Self::PeerRejected(private_data.to_vec())
            }
            ConnectionUpcall::NonPeerRejected => Self::NonPeerRejected,
            ConnectionUpcall::Unreachable => Self::Unreachable,
            ConnectionUpcall::AcceptFailed => Self::AcceptFailed,
            ConnectionUpcall::Disconnected => Self::Disconnected,
            ConnectionUpcall::Broken => Self::Broken,
            other => panic!("unexpected: {other:?}"),
        }
    }
}

/// Counts the upcalls of a completion queue.
#[derive(Default)]
pub(crate) struct Ready {
    pub(crate) ready: AtomicU32,
    pub(crate) overflow: AtomicU32,
}

impl Ready {
    pub(crate) fn count(&self) -> u32 {
        self.ready.load(Ordering::Relaxed)
    }
}

impl CompletionSink for Ready {
    fn completion_ready(&self) {
        self.ready.fetch_add(1, Ordering::Relaxed);
    }

    fn completion_overflow(&self) {
        self.overflow.fetch_add(1, Ordering::Relaxed);
    }
}

/// Takes completions and events into one log; at each event what can be polled comes first.
pub(crate) struct Recorder {
    pub(crate) poller: Mutex<Box<dyn CompletionPoller>>,
    log: Mutex<Vec<Entry>>,
}

impl Recorder {
    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.log.lock().unwrap().len()
    }

    pub(crate) fn drain(&self) {
        // One lock around both, so that the log has the order of the polls.
        let mut log = self.log.lock().unwrap();
        let mut found = [Completion::default(); 16];
        loop {
            let count = self.poller.lock().unwrap().poll(&mut found);
            log.extend(found[..count].iter().map(|one| Entry::Completion(*one)));
            if count == 0 {
                return;
            }
        }
    }
}

impl ConnectionSink for Recorder {
    fn connection_event(&self, attempt: u64, event: ConnectionUpcall<'_>) {
        self.drain();
        self.log.lock().unwrap().push(Entry::Event(attempt, event.into()));
    }
}

/// What a side is made with.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) limits: QueuePairLimits,
    pub(crate) depth: usize,
    pub(crate) domain: Option<Arc<dyn ProtectionDomain>>,
    pub(crate) shared: Option<Arc<dyn SharedReceiveQueue>>,
    pub(crate) with_requests: bool,
    pub(crate) with_receives: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            limits: QueuePairLimits {
                max_receives: 8,
                max_requests: 8,
                max_receive_segments: 4,
                max_request_segments: 4,
                max_message_size: 1 << 30,
                max_reads_in: 4,
                max_reads_out: 4,
            },
            depth: 64,
            domain: None,
            shared: None,
            with_requests: true,
            with_receives: true,
        }
    }
}

/// A queue pair with its completion queue and the log of both.
pub(crate) struct Side {
    pub(crate) qp: Arc<dyn QueuePair>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) ready: Arc<Ready>,
    pub(crate) spec: QueuePairSpec,
    attempts: AtomicU64,
}

/// As the core lets go of one.
impl Drop for Side {
    fn drop(&mut self) {
        self.qp.retire();
    }
}

impl Side {
    pub(crate) fn new(world: &World, setup: Setup) -> Self {
        static TAGS: AtomicU64 = AtomicU64::new(100);
        let ready = Arc::new(Ready::default());
        let sink = Arc::clone(&ready) as Arc<dyn CompletionSink>;
        let parts = world.adapter.create_completion_queue(setup.depth, sink).expect("queue");
        let recorder =
            Arc::new(Recorder { poller: Mutex::new(parts.poller), log: Mutex::default() });
        let domain = setup.domain.unwrap_or_else(|| Arc::clone(&world.domain));
        let spec = QueuePairSpec {
            service: Service::Connection,
            tag: TAGS.fetch_add(1, Ordering::Relaxed),
            domain: Some(domain),
            request_queue: setup.with_requests.then(|| Arc::clone(&parts.queue)),
            receive_queue: setup.with_receives.then(|| Arc::clone(&parts.queue)),
            shared_receives: setup.shared,
            limits: setup.limits,
            epochs: Arc::default(),
            sink: Arc::clone(&recorder) as Arc<dyn ConnectionSink>,
        };
        let qp = world.adapter.create_queue_pair(spec.clone()).expect("queue pair");
        Self { qp: qp.into(), recorder, ready, spec, attempts: AtomicU64::new(1) }
    }

    pub(crate) fn next_attempt(&self) -> u64 {
        self.attempts.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn connect(&self, address: IpAddr, qualifier: u64, private_data: &[u8]) -> u64 {
        let attempt = self.next_attempt();
        let qos = Qos::BEST_EFFORT;
        let request = ConnectRequest { attempt, address, qualifier, private_data, qos };
        self.qp.connect(&request).expect("connect");
        attempt
    }

    pub(crate) fn receive(&self, cookie: u64, segments: &[Segment]) {
        self.try_receive(cookie, segments).expect("post a receive");
    }

    pub(crate) fn try_receive(&self, cookie: u64, segments: &[Segment]) -> Result<()> {
        let flags = CompletionFlags::empty();
        let checked = Epoch::default();
        self.qp.post_receive(&ReceiveRequest { segments, cookie, flags, checked })
    }

    pub(crate) fn send(&self, cookie: u64, segments: &[Segment]) {
        self.request(Work::Send, cookie, segments, CompletionFlags::empty()).expect("send");
    }

    pub(crate) fn write(&self, cookie: u64, segments: &[Segment], remote: RmrTriplet) {
        let work = Work::RdmaWrite { remote };
        self.request(work, cookie, segments, CompletionFlags::empty()).expect("write");
    }

    pub(crate) fn read(&self, cookie: u64, segments: &[Segment], remote: RmrTriplet) {
        let work = Work::RdmaRead { remote };
        self.request(work, cookie, segments, CompletionFlags::empty()).expect("read");
    }

    pub(crate) fn request(
        &self,
        work: Work,
        cookie: u64,
        segments: &[Segment],
        flags: CompletionFlags,
    ) -> Result<()> {
        let length = segments.iter().map(|segment| segment.length).sum();
        let checked = Epoch::default();
        self.qp.post_request(&Request { work, segments, length, cookie, flags, checked })
    }

    pub(crate) fn bind(
        &self,
        window: &dyn MemoryWindow,
        buffer: &Buffer,
        (offset, length): (usize, usize),
        privileges: Privileges,
        cookie: u64,
    ) -> u32 {
        let bind = BindRequest {
            window,
            region: Some(&*buffer.region),
            address: buffer.memory.address() + offset as u64,
            length: length as u64,
            privileges,
            cookie,
            flags: CompletionFlags::empty(),
        };
        self.qp.post_bind(&bind).expect("bind")
    }

    /// Everything that happened since the last call.
    pub(crate) fn log(&self) -> Vec<Entry> {
        self.recorder.drain();
        std::mem::take(&mut *self.recorder.log.lock().unwrap())
    }

    /// The completions since the last call; there must be no event among them.
    pub(crate) fn completions(&self) -> Vec<Completion> {
        let only = |entry| match entry {
            Entry::Completion(completion) => completion,
            Entry::Event(..) => panic!("an event among the completions: {entry:?}"),
        };
        self.log().into_iter().map(only).collect()
    }

    /// Operation, cookie, length and status of the completions since the last call.
    pub(crate) fn done(&self) -> Vec<(Operation, u64, u64, DtoStatus)> {
        let brief = |c: Completion| {
            assert_eq!(c.tag, self.spec.tag);
            (c.operation, c.cookie, c.length, c.status)
        };
        self.completions().into_iter().map(brief).collect()
    }

    /// The log as cookies and statuses, with the event at its end.
    pub(crate) fn ended(&self) -> (Vec<(Operation, u64, DtoStatus)>, Event) {
        let mut log = self.log();
        let Some(Entry::Event(_, event)) = log.pop() else {
            panic!("no event at the end: {log:?}")
        };
        let brief = |entry| match entry {
            Entry::Completion(c) => (c.operation, c.cookie, c.status),
            Entry::Event(..) => panic!("more than one event"),
        };
        (log.into_iter().map(brief).collect(), event)
    }

    /// The one event since the last call, with nothing before it.
    pub(crate) fn last_event(&self) -> (u64, Event) {
        let mut log = self.log();
        match (log.pop(), log.is_empty()) {
            (Some(Entry::Event(attempt, event)), true) => (attempt, event),
            other => panic!("not one event: {other:?} {log:?}"),
        }
    }

    pub(crate) fn break_off(&self) {
        self.qp.disconnect(Close::Abrupt);
    }
}
