//! One side of a connection.

use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Buffer, Entry, Event, Ready, Recorder, World};
use dat_core::error::Result;
use dat_core::flags::{Close, CompletionFlags, Privileges, Qos};
use dat_core::provider::{
    BindRequest, Completion, CompletionSink, ConnectRequest, ConnectionSink, Epoch, MemoryWindow,
    ProtectionDomain, QueuePair, QueuePairLimits, QueuePairSpec, ReceiveRequest, Request, Segment,
    Service, SharedReceiveQueue, Work,
};
use dat_core::{DtoStatus, Operation, RmrTriplet};

/// The options of a side.
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

impl Drop for Side {
    fn drop(&mut self) {
        // The core does so before it drops a queue pair.
        self.qp.shutdown();
    }
}

impl Side {
    pub(crate) fn new(world: &World, setup: Setup) -> Self {
        static TAGS: AtomicU64 = AtomicU64::new(100);
        let ready = Arc::new(Ready::default());
        let sink = Arc::clone(&ready) as Arc<dyn CompletionSink>;
        let parts = world.adapter.create_completion_queue(setup.depth, sink).expect("queue");
        let recorder = Arc::new(Recorder::new(parts.poller));
        let domain = setup.domain.unwrap_or_else(|| Arc::clone(&world.domain));
        let spec = QueuePairSpec {
            service: Service::Connection,
            tag: TAGS.fetch_add(1, Ordering::Relaxed),
            domain: Some(domain),
            request_queue: setup.with_requests.then(|| Arc::clone(&parts.queue)),
            receive_queue: setup.with_receives.then(|| Arc::clone(&parts.queue)),
            shared_receives: setup.shared,
            limits: setup.limits,
            ..QueuePairSpec::new(Arc::clone(&recorder) as Arc<dyn ConnectionSink>)
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
        let request =
            ConnectRequest { attempt, address: address.into(), qualifier, private_data, qos };
        self.qp.connect(&request).expect("connect");
        attempt
    }

    pub(crate) fn receive(&self, cookie: u64, segments: &[Segment]) {
        self.try_receive(cookie, segments).expect("post a receive");
    }

    pub(crate) fn try_receive(&self, cookie: u64, segments: &[Segment]) -> Result<()> {
        self.receive_with(cookie, segments, CompletionFlags::empty())
    }

    pub(crate) fn receive_with(
        &self,
        cookie: u64,
        segments: &[Segment],
        flags: CompletionFlags,
    ) -> Result<()> {
        let checked = Epoch::default();
        self.qp.post_receive(&ReceiveRequest { segments, cookie, flags, checked })
    }

    pub(crate) fn send(&self, cookie: u64, segments: &[Segment]) {
        self.try_send(cookie, segments).expect("send");
    }

    /// Sends empty messages with these cookies, each into a receive of the peer.
    pub(crate) fn send_to(&self, peer: &Self, cookies: Range<u64>) {
        for cookie in cookies {
            peer.receive(cookie, &[]);
            self.send(cookie, &[]);
        }
    }

    pub(crate) fn try_send(&self, cookie: u64, segments: &[Segment]) -> Result<()> {
        self.request(Work::Send, cookie, segments, CompletionFlags::empty())
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
        let address = buffer.memory.address() + offset as u64;
        let bind = BindRequest {
            window,
            region: Some(&*buffer.region),
            address,
            remote_address: address,
            length: length as u64,
            privileges,
            key: None,
            cookie,
            flags: CompletionFlags::empty(),
        };
        self.qp.post_bind(&bind).expect("bind")
    }

    /// The log since the last call.
    pub(crate) fn log(&self) -> Vec<Entry> {
        self.recorder.drain();
        self.recorder.take()
    }

    /// The completions since the last call. Fails if there was an event.
    pub(crate) fn completions(&self) -> Vec<Completion> {
        let only = |entry| match entry {
            Entry::Completion(completion) => completion,
            Entry::Event(..) => panic!("an event among the completions: {entry:?}"),
        };
        self.log().into_iter().map(only).collect()
    }

    /// The cookies of the completions since the last call, which belong to this side.
    pub(crate) fn cookies(&self) -> Vec<u64> {
        self.done().into_iter().map(|done| done.1).collect()
    }

    /// Operation, cookie, length and status of the completions since the last call.
    pub(crate) fn done(&self) -> Vec<(Operation, u64, u64, DtoStatus)> {
        let brief = |c: Completion| {
            assert_eq!(c.tag, self.spec.tag);
            (c.operation, c.cookie, c.length, c.status)
        };
        self.completions().into_iter().map(brief).collect()
    }

    /// The completions since the last call, and the event after them.
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

    /// The event since the last call. Fails if there was anything else.
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
