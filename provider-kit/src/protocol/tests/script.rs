//! What the consumers of both sides do, and how the link between them behaves.

use dat_provider::flags::CompletionFlags;

/// A post of a consumer. Lengths are in bytes. Request `n` of a side sends from its source `n`, or has the answer put
/// into its result `n`; `slot` is a target of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A receive of this length.
    Receive(usize),
    Send(usize),
    Write {
        length: usize,
        slot: usize,
    },
    SendImmediate {
        length: usize,
        value: u32,
    },
    WriteImmediate {
        length: usize,
        slot: usize,
        value: u32,
    },
    Read {
        length: usize,
        slot: usize,
    },
    /// Adds to the word at the start of the slot.
    Add {
        slot: usize,
        add: u64,
    },
    /// Replaces the word at the start of the slot by the value if it is the initial one.
    Swap {
        slot: usize,
        value: u64,
    },
    /// Binds the window of this side to its target `slot`.
    Bind {
        slot: usize,
    },
    /// Writes to the window of the peer, through its current key.
    WriteWindow {
        length: usize,
        slot: usize,
    },
    /// A send that invalidates the window of the peer.
    SendInvalidate(usize),
    /// A write with a key that does not exist.
    WrongKey,
    /// A send of memory that is not registered.
    WrongMemory,
    /// The next post waits until this many receives have completed.
    After(usize),
    /// The consumer disconnects abruptly.
    Disconnect,
}

impl Step {
    pub(super) const fn is_request(self) -> bool {
        !matches!(self, Self::Receive(_) | Self::After(_) | Self::Disconnect)
    }
}

/// A post with its flags.
pub(super) type Post = (Step, CompletionFlags);

/// Posts without flags.
pub(super) fn plain(steps: &[Step]) -> Vec<Post> {
    steps.iter().map(|step| (*step, CompletionFlags::empty())).collect()
}

/// When a side acknowledges requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acks {
    /// At once.
    Now,
    /// Some time later, in a frame of its own if no other one carries the acknowledgement.
    Later,
}

/// What both sides do.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) steps: [Vec<Post>; 2],
    /// Number of steps that each side has done before the connection is established.
    pub(super) before: [usize; 2],
    /// Number of bytes of a source, result, target or receive.
    pub(super) slot: usize,
    /// Number of areas of each kind.
    pub(super) slots: usize,
    /// Which sides use a shared receive queue.
    pub(super) shared: [bool; 2],
    pub(super) acks: Acks,
    pub(super) is_unreliable: bool,
    /// Number of writes of each side that find the link full.
    pub(super) refusals: u32,
    /// True if the link holds requests while others are in flight.
    pub(super) holds: bool,
    /// True if frames may be read without progress between them.
    pub(super) reads_several: bool,
    /// True if plain posts and frames take the fast paths, where those apply.
    pub(super) is_fast: bool,
    /// True if the frames of the handshake are delivered between the posts.
    pub(super) has_handshake: bool,
    /// True if messages are offered, and true if a fetch may fail.
    pub(super) offers: Option<bool>,
    /// True if RDMA operations may be executed directly.
    pub(super) accesses: bool,
    /// Maximum number of reads and atomics in flight.
    pub(super) reads: u32,
    /// Maximum payload of frames that do not begin a request.
    pub(super) piece: u64,
    /// The number of the first request and receive, so that the numbers can wrap.
    pub(super) first: u32,
}

impl Scenario {
    /// The steps of both sides, over a link that takes each frame.
    pub(super) fn new(name: &'static str, one: &[Step], other: &[Step]) -> Self {
        Self {
            name,
            steps: [plain(one), plain(other)],
            before: [0; 2],
            slot: 64,
            slots: 5,
            shared: [false; 2],
            acks: Acks::Now,
            is_unreliable: false,
            refusals: 0,
            holds: false,
            reads_several: false,
            is_fast: false,
            has_handshake: false,
            offers: None,
            accesses: false,
            reads: 2,
            piece: 16,
            first: u32::MAX,
        }
    }

    /// With flags for one step.
    pub(super) fn with_flags(mut self, side: usize, step: usize, flags: CompletionFlags) -> Self {
        self.steps[side][step].1 = flags;
        self
    }

    /// The requests of a side, with their flags.
    pub(super) fn requests(&self, side: usize) -> impl Iterator<Item = Post> + '_ {
        self.steps[side].iter().copied().filter(|(step, _)| step.is_request())
    }

    /// The lengths of the receives of a side.
    pub(super) fn receives(&self, side: usize) -> Vec<usize> {
        let length = |(step, _): &Post| match step {
            Step::Receive(length) => Some(*length),
            _ => None,
        };
        self.steps[side].iter().filter_map(length).collect()
    }

    /// Returns true if a consumer disconnects.
    pub(super) fn disconnects(&self) -> bool {
        self.steps.iter().flatten().any(|(step, _)| *step == Step::Disconnect)
    }
}
