//! The values against which posts are checked: a copy of the endpoint's attributes that is read
//! without a lock. It changes only while nothing but receives can be posted.
//!
//! Most posts have one segment, on a connected endpoint without special settings. One load of a
//! word of [`SlowPathReasons`] decides whether a post may take the fast path. The slow path makes
//! the checks one by one and reports why a post is refused.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::attr::EpAttributes;
use crate::compat::{Compat, Rule};
use crate::flags::CompletionFlags;

use super::state::EpState;

/// In the order of their use: most posts need only the first 24 bytes.
#[derive(Debug)]
#[repr(C)]
pub(super) struct PostChecks {
    requests: SlowPathReasons,
    receives: SlowPathReasons,
    /// The number of the zone in the region table.
    zone: AtomicU32,
    /// The smaller of the two maximum sizes, in bytes, at most what 32 bits can hold.
    short: AtomicU32,
    max_message_size: AtomicU64,
    max_rdma_size: AtomicU64,
    recv_iov: AtomicU8,
    request_iov: AtomicU8,
    read_iov: AtomicU8,
    write_iov: AtomicU8,
    reads_out: AtomicU32,
    /// Completion flags that a request may have.
    request_flags: AtomicU8,
    /// Completion flags that a receive may have.
    recv_flags: AtomicU8,
    datagrams: AtomicBool,
    shared_receives: AtomicBool,
    pub(super) watermarks: Watermarks,
}

/// Kinds of posts that have a fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Post {
    Receive,
    Send,
    Write,
    Read,
}

/// The reasons that keep a post off the fast path: in the low half the completion flags that it must not have,
/// in the high half one bit for each [`SlowPathReason`].
#[derive(Debug)]
struct SlowPathReasons(AtomicU64);

/// Reasons for the slow path.
struct SlowPathReason;

impl SlowPathReason {
    /// The endpoint's state does not allow the post.
    const STATE: u64 = 1 << 32;
    /// Posts are counted.
    const COUNTED: u64 = 1 << 33;
    /// A watermark is set.
    const WATERMARK: u64 = 1 << 34;
    /// The endpoint cannot post receives with one segment; likewise sends, writes and reads below.
    const RECEIVE: u64 = 1 << 35;
    const SEND: u64 = 1 << 36;
    const WRITE: u64 = 1 << 37;
    const READ: u64 = 1 << 38;
    /// The endpoint has no queue pair yet.
    const QUEUE_PAIR: u64 = 1 << 39;
    /// The reasons that apply to every kind of post.
    const ALL: u64 = Self::STATE | Self::COUNTED | Self::WATERMARK | Self::QUEUE_PAIR;
}

impl SlowPathReasons {
    /// The reasons of an endpoint that is not set up yet.
    const fn new() -> Self {
        Self(AtomicU64::new(!(SlowPathReason::COUNTED | SlowPathReason::WATERMARK)))
    }

    /// Returns true if a post of this kind with these flags may take the fast path.
    #[inline(always)]
    fn admit(&self, flags: CompletionFlags, kind: u64) -> bool {
        // Acquire: pairs with `put` and `allow`, and so with the values that were stored before.
        self.0.load(Ordering::Acquire) & (u64::from(flags.bits()) | kind | SlowPathReason::ALL) == 0
    }

    fn put(&self, obstacle: u64, there: bool) {
        if there {
            self.0.fetch_or(obstacle, Ordering::Release);
        } else {
            self.0.fetch_and(!obstacle, Ordering::Release);
        }
    }

    /// Allows exactly these flags.
    fn allow(&self, flags: CompletionFlags) {
        self.0.fetch_or(u64::from(!flags.bits()), Ordering::Release);
        self.0.fetch_and(!u64::from(flags.bits()), Ordering::Release);
    }
}

impl Default for PostChecks {
    fn default() -> Self {
        Self {
            requests: SlowPathReasons::new(),
            receives: SlowPathReasons::new(),
            zone: AtomicU32::default(),
            short: AtomicU32::default(),
            max_message_size: AtomicU64::default(),
            max_rdma_size: AtomicU64::default(),
            recv_iov: AtomicU8::default(),
            request_iov: AtomicU8::default(),
            read_iov: AtomicU8::default(),
            write_iov: AtomicU8::default(),
            request_flags: AtomicU8::default(),
            recv_flags: AtomicU8::default(),
            reads_out: AtomicU32::default(),
            datagrams: AtomicBool::default(),
            shared_receives: AtomicBool::default(),
            watermarks: Watermarks::default(),
        }
    }
}

/// The number of receives at the endpoint above which an event is raised, and above which the
/// connection breaks (dat_ep_set_watermark(3DAT)).
#[derive(Debug)]
pub(super) struct Watermarks {
    soft: AtomicU32,
    hard: AtomicU32,
}

impl Watermarks {
    /// No watermark (`DAT_WATERMARK_INFINITE`).
    pub(super) const NONE: u32 = u32::MAX;

    /// The soft and the hard watermark.
    pub(super) fn get(&self) -> (u32, u32) {
        (self.soft.load(Ordering::Relaxed), self.hard.load(Ordering::Relaxed))
    }

    /// Clears the soft watermark if it is still `soft`; returns whether this call did so.
    pub(super) fn take_soft(&self, soft: u32) -> bool {
        let relaxed = Ordering::Relaxed;
        self.soft.compare_exchange(soft, Self::NONE, relaxed, relaxed).is_ok()
    }

    /// Returns true if at least one is set.
    #[inline]
    pub(super) fn are_set(&self) -> bool {
        let none = self.soft.load(Ordering::Relaxed) & self.hard.load(Ordering::Relaxed);
        none != Self::NONE
    }
}

impl Default for Watermarks {
    fn default() -> Self {
        Self { soft: AtomicU32::new(Self::NONE), hard: AtomicU32::new(Self::NONE) }
    }
}

macro_rules! reads {
    ($($name:ident: $type:ty,)+) => {
        $(#[inline]
        pub(super) fn $name(&self) -> $type {
            self.$name.load(Ordering::Relaxed).into()
        })+
    };
}

/// A number of segments as it is stored: adapters have fewer than 256.
fn few(segments: u32) -> u8 {
    u8::try_from(segments).unwrap_or(u8::MAX)
}

/// Completion flags as they are stored.
fn narrow(flags: CompletionFlags) -> u8 {
    const { assert!(CompletionFlags::all().bits() <= u8::MAX as u32) };
    flags.bits() as u8
}

/// Longer transfers take the slow path.
const SHORT: u64 = u32::MAX as u64;

impl PostChecks {
    /// The checks of an endpoint in that state with those attributes.
    pub(super) fn new(
        state: EpState,
        zone: u32,
        attributes: &EpAttributes,
        shared_receives: bool,
        compat: Compat,
    ) -> Self {
        let post_checks = Self::default();
        post_checks.set(zone, attributes, shared_receives, compat);
        post_checks.set_state(Some(state));
        post_checks
    }

    reads! {
        zone: u32,
        max_message_size: u64,
        max_rdma_size: u64,
        recv_iov: u32,
        request_iov: u32,
        read_iov: u32,
        write_iov: u32,
        request_flags: u32,
        recv_flags: u32,
        reads_out: u32,
    }

    /// Returns true if a message of that length may take the fast path.
    #[inline(always)]
    pub(super) fn is_short_message(&self, length: u64) -> bool {
        self.is_short(length) || length <= self.max_message_size().min(SHORT)
    }

    /// Returns true if an RDMA operation of that length may take the fast path.
    #[inline(always)]
    pub(super) fn is_short_rdma(&self, length: u64) -> bool {
        self.is_short(length) || length <= self.max_rdma_size().min(SHORT)
    }

    #[inline(always)]
    fn is_short(&self, length: u64) -> bool {
        length <= self.short.load(Ordering::Relaxed).into()
    }

    #[inline]
    pub(super) fn has_shared_receives(&self) -> bool {
        self.shared_receives.load(Ordering::Relaxed)
    }

    /// Returns true if the endpoint carries datagrams.
    #[inline]
    pub(super) fn has_datagrams(&self) -> bool {
        self.datagrams.load(Ordering::Relaxed)
    }

    /// Returns true if a post with one segment may take the fast path.
    #[inline(always)]
    pub(super) fn allows_fast_path(&self, post: Post, flags: CompletionFlags) -> bool {
        match post {
            Post::Receive => self.receives.admit(flags, SlowPathReason::RECEIVE),
            Post::Send => self.requests.admit(flags, SlowPathReason::SEND),
            Post::Write => self.requests.admit(flags, SlowPathReason::WRITE),
            Post::Read => {
                let solicited = flags.contains(CompletionFlags::SOLICITED_WAIT);
                self.requests.admit(flags, SlowPathReason::READ) && !solicited
            }
        }
    }

    /// Follows the state of the endpoint; `None` when it was freed.
    pub(super) fn set_state(&self, state: Option<EpState>) {
        let takes_requests = state.is_some_and(EpState::takes_requests);
        let takes_receives = state.is_some_and(|state| !state.is_unconfigured());
        self.requests.put(SlowPathReason::STATE, !takes_requests);
        self.receives.put(SlowPathReason::STATE, !takes_receives);
    }

    /// The endpoint has its queue pair.
    pub(super) fn admit_posts(&self) {
        self.requests.put(SlowPathReason::QUEUE_PAIR, false);
        self.receives.put(SlowPathReason::QUEUE_PAIR, false);
    }

    /// Sets whether posts are counted.
    pub(super) fn set_counted(&self, counted: bool) {
        self.requests.put(SlowPathReason::COUNTED, counted);
        self.receives.put(SlowPathReason::COUNTED, counted);
    }

    /// Sets both watermarks.
    pub(super) fn set_watermarks(&self, soft: Option<u32>, hard: Option<u32>) {
        self.watermarks.soft.store(soft.unwrap_or(Watermarks::NONE), Ordering::Relaxed);
        self.watermarks.hard.store(hard.unwrap_or(Watermarks::NONE), Ordering::Relaxed);
        self.receives.put(SlowPathReason::WATERMARK, self.watermarks.are_set());
    }

    /// Copies the zone and the attributes of an endpoint.
    pub(super) fn set(
        &self,
        zone: u32,
        attributes: &EpAttributes,
        shared_receives: bool,
        compat: Compat,
    ) {
        let own = CompletionFlags::UNSIGNALLED;
        let posted = CompletionFlags::SUPPRESS
            | CompletionFlags::SOLICITED_WAIT
            | CompletionFlags::BARRIER_FENCE;
        let request_flags = posted | (attributes.request_completion_flags & own);
        let relaxed = Ordering::Relaxed;
        self.zone.store(zone, relaxed);
        let short = attributes.max_message_size.min(attributes.max_rdma_size).min(SHORT);
        self.short.store(short as u32, relaxed);
        self.max_message_size.store(attributes.max_message_size, relaxed);
        self.max_rdma_size.store(attributes.max_rdma_size, relaxed);
        self.recv_iov.store(few(attributes.max_recv_iov), relaxed);
        self.request_iov.store(few(attributes.max_request_iov), relaxed);
        self.read_iov.store(few(attributes.max_rdma_read_iov), relaxed);
        self.write_iov.store(few(attributes.max_rdma_write_iov), relaxed);
        self.request_flags.store(narrow(request_flags), relaxed);
        self.recv_flags.store(narrow(attributes.recv_completion_flags & own), relaxed);
        let datagrams = attributes.service_type == EpAttributes::SERVICE_DATAGRAM;
        self.datagrams.store(datagrams, relaxed);
        self.reads_out.store(attributes.max_rdma_read_out, relaxed);
        self.shared_receives.store(shared_receives, relaxed);
        self.requests.allow(request_flags);
        self.receives.allow(attributes.recv_completion_flags & own);
        let no_receives = zone == 0 || shared_receives || attributes.max_recv_iov == 0;
        self.receives.put(SlowPathReason::RECEIVE, no_receives);
        self.requests.put(SlowPathReason::SEND, attributes.max_request_iov == 0);
        self.requests.put(SlowPathReason::WRITE, attributes.max_rdma_write_iov == 0);
        // The fast path transfers as many bytes as the remote buffer has.
        let no_reads = attributes.max_rdma_read_iov == 0
            || attributes.max_rdma_read_out == 0
            || compat.relaxes(Rule::RemoteLength);
        self.requests.put(SlowPathReason::READ, no_reads);
    }
}
