//! Two sides with a queue pair each, in one process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dat_provider::mem::Memory;
use dat_soft_verbs::*;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long a test waits for something.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// Length of the memory of a side.
pub(crate) const BYTES: usize = 1 << 16;

/// One side: a context with one object of each kind.
pub(crate) struct Side {
    pub(crate) context: Arc<Context>,
    pub(crate) domain: Arc<Domain>,
    pub(crate) channel: Arc<CompletionChannel>,
    pub(crate) queue: Arc<CompletionQueue>,
    pub(crate) qp: Arc<QueuePair>,
    pub(crate) memory: Memory,
    pub(crate) region: Arc<Region>,
}

/// The number that a queue is created with.
pub(crate) const QUEUE: u64 = 77;
/// The number that a queue pair is created with.
pub(crate) const QUEUE_PAIR: u64 = 88;

pub(crate) fn context() -> Arc<Context> {
    devices()[0].open().expect("the device")
}

/// Registers memory.
pub(crate) fn register(domain: &Arc<Domain>, memory: &Memory, access: Access) -> Arc<Region> {
    let (address, length) = (memory.address(), memory.len() as u64);
    // SAFETY: the memory outlives the region in each test, or the region is deregistered before.
    let region = unsafe { domain.register(address, length, address, access) };
    region.expect("memory of the process")
}

pub(crate) fn all_access() -> Access {
    Access::LOCAL_WRITE | Access::REMOTE | Access::MW_BIND
}

/// The attributes for a queue pair of `queue`.
pub(crate) fn init(queue: &Arc<CompletionQueue>, kind: QueuePairType) -> QueuePairInit {
    QueuePairInit {
        user: QUEUE_PAIR,
        send_queue: Arc::clone(queue),
        receive_queue: Arc::clone(queue),
        shared_receives: None,
        capacity: QueuePairCapacity {
            max_send_wr: 16,
            max_recv_wr: 16,
            max_send_sge: 30,
            max_recv_sge: 30,
            max_inline_data: 256,
        },
        kind,
        signals_all: false,
    }
}

impl Side {
    pub(crate) fn new(kind: QueuePairType) -> Self {
        Self::with(kind, |_, _| {})
    }

    /// A side whose queue pair is created with other attributes.
    pub(crate) fn with(
        kind: QueuePairType,
        change: impl FnOnce(&Arc<Domain>, &mut QueuePairInit),
    ) -> Self {
        let context = context();
        let domain = context.create_domain().expect("a domain");
        let channel = context.create_channel().expect("a channel");
        let queue = context.create_completion_queue(64, QUEUE, Some(&channel)).expect("a queue");
        let mut init = init(&queue, kind);
        change(&domain, &mut init);
        let qp = domain.create_queue_pair(&init).expect("a queue pair");
        let memory = Memory::zeroed(BYTES).expect("memory");
        let region = register(&domain, &memory, all_access());
        Self { context, domain, channel, queue, qp, memory, region }
    }

    /// Moves the queue pair to INIT.
    pub(crate) fn init(&self) {
        self.init_granting(all_access());
    }

    /// Moves the queue pair to INIT, with the accesses that it grants its peer.
    pub(crate) fn init_granting(&self, qp_access_flags: Access) {
        let attributes = QueuePairAttributes {
            qp_state: QueuePairState::Init,
            port_num: 1,
            qp_access_flags,
            ..QueuePairAttributes::default()
        };
        self.qp.modify(&attributes, to_init()).expect("INIT");
    }

    /// The attributes that connect the queue pair to another one of this machine.
    pub(crate) fn towards(&self, peer: u32) -> QueuePairAttributes {
        let local = gid_of([127, 0, 0, 1].into());
        let gids = self.context.gids();
        let index = gids.iter().position(|entry| entry.gid == local).expect("loopback");
        QueuePairAttributes {
            path_mtu: 5,
            dest_qp_num: peer,
            max_dest_rd_atomic: 1,
            max_rd_atomic: 1,
            min_rnr_timer: 12,
            timeout: 14,
            retry_cnt: 7,
            rnr_retry: 7,
            ah_attr: AddressVector {
                dgid: local,
                sgid_index: index as u8,
                is_global: true,
                port_num: 1,
                ..AddressVector::default()
            },
            ..QueuePairAttributes::default()
        }
    }

    pub(crate) fn rtr(&self, peer: u32) {
        let qp_state = QueuePairState::Rtr;
        let attributes = QueuePairAttributes { qp_state, ..self.towards(peer) };
        self.qp.modify(&attributes, to_rtr(self.qp.kind())).expect("RTR");
    }

    pub(crate) fn rts(&self) {
        let qp_state = QueuePairState::Rts;
        let attributes = QueuePairAttributes { qp_state, ..self.towards(1) };
        self.qp.modify(&attributes, to_rts(self.qp.kind())).expect("RTS");
    }

    /// Moves to a state that takes no attributes.
    pub(crate) fn move_to(&self, qp_state: QueuePairState) -> Result<()> {
        let attributes = QueuePairAttributes { qp_state, ..QueuePairAttributes::default() };
        self.qp.modify(&attributes, AttributeMask::STATE)
    }

    /// A piece of the memory.
    pub(crate) fn sge(&self, offset: usize, length: u32) -> Sge {
        let address = self.memory.address() + offset as u64;
        Sge { address, length, key: self.region.local_key() }
    }

    /// The peer's name for a piece of the memory.
    pub(crate) fn remote(&self, offset: usize) -> Remote {
        Remote { address: self.memory.address() + offset as u64, key: self.region.remote_key() }
    }

    pub(crate) fn receive(&self, wr_id: u64, sge: Sge) {
        self.qp.post_receive(wr_id, &[sge]).expect("a receive");
    }

    /// Posts a signaled request with one segment.
    pub(crate) fn post(&self, wr_id: u64, operation: SendOperation<'_>, sge: Sge) {
        self.post_with(wr_id, operation, &[sge], SendFlags::SIGNALED).expect("a request");
    }

    pub(crate) fn post_with(
        &self,
        wr_id: u64,
        operation: SendOperation<'_>,
        sges: &[Sge],
        flags: SendFlags,
    ) -> Result<()> {
        let data = Data::Segments(sges);
        self.qp.post_send(&SendRequest { wr_id, operation, flags, data, destination: None })
    }

    /// The next completions.
    pub(crate) fn done(&self, count: usize) -> Vec<WorkCompletion> {
        let begun = Instant::now();
        let mut found = Vec::new();
        while found.len() < count {
            let mut some = [WorkCompletion::default(); 4];
            let wanted = (count - found.len()).min(4);
            let polled = self.queue.poll(&mut some[..wanted]);
            found.extend_from_slice(&some[..polled]);
            assert!(begun.elapsed() < PATIENCE, "{found:?} of {count}; {:?}", self.qp);
            if polled == 0 {
                std::thread::yield_now();
            }
        }
        found
    }

    /// The next completion.
    pub(crate) fn one(&self) -> WorkCompletion {
        self.done(1)[0]
    }

    /// The next completions, without the fields that tests seldom check.
    pub(crate) fn brief(&self, count: usize) -> Vec<(u64, WcStatus)> {
        self.done(count).iter().map(|one| (one.wr_id, one.status)).collect()
    }

    /// As [`brief`](Self::brief), in the order of the numbers: requests and receives complete independently.
    pub(crate) fn sorted(&self, count: usize) -> Vec<(u64, WcStatus)> {
        let mut done = self.brief(count);
        done.sort_by_key(|(wr_id, _)| *wr_id);
        done
    }

    /// Nothing completes within some milliseconds.
    pub(crate) fn expect_nothing(&self) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(30) {
            let mut one = [WorkCompletion::default()];
            assert_eq!(self.queue.poll(&mut one), 0, "{one:?}");
        }
    }

    /// The next asynchronous event.
    pub(crate) fn event(&self) -> AsyncEvent {
        let wait = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
        let events = self.context.async_events();
        let mut fds = [PollFd::from_borrowed_fd(events.descriptor(), PollFlags::IN)];
        assert_eq!(poll(&mut fds, Some(&wait)), Ok(1), "no event; {:?}", self.qp);
        self.context.async_events().next().expect("an event")
    }
}

pub(crate) fn to_init() -> AttributeMask {
    type M = AttributeMask;
    M::STATE | M::PKEY_INDEX | M::PORT | M::ACCESS_FLAGS
}

pub(crate) fn to_rtr(kind: QueuePairType) -> AttributeMask {
    type M = AttributeMask;
    let both = M::STATE | M::AV | M::PATH_MTU | M::DEST_QPN | M::RQ_PSN;
    if kind == QueuePairType::Rc { both | M::MAX_DEST_RD_ATOMIC | M::MIN_RNR_TIMER } else { both }
}

pub(crate) fn to_rts(kind: QueuePairType) -> AttributeMask {
    type M = AttributeMask;
    let both = M::STATE | M::SQ_PSN;
    let of_rc = M::TIMEOUT | M::RETRY_CNT | M::RNR_RETRY | M::MAX_QP_RD_ATOMIC;
    if kind == QueuePairType::Rc { both | of_rc } else { both }
}

/// Two sides that are ready to send to each other.
pub(crate) fn pair() -> [Side; 2] {
    connected([Side::new(QueuePairType::Rc), Side::new(QueuePairType::Rc)])
}

/// Connects two sides by their numbers.
pub(crate) fn connected(sides: [Side; 2]) -> [Side; 2] {
    let numbers = [0, 1].map(|side: usize| sides[side].qp.number());
    sides.iter().for_each(Side::init);
    sides[0].rtr(numbers[1]);
    sides[1].rtr(numbers[0]);
    sides.iter().for_each(Side::rts);
    sides
}

/// Connects a side that is in INIT to a queue pair of this machine.
pub(crate) fn connected_to(side: &Side, number: u32) {
    side.rtr(number);
    side.rts();
}
