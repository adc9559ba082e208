//! The counters, and a picture of them.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::status::{DtoStatus, Operation};

macro_rules! counts {
    ($($(#[$doc:meta])* $count:ident,)+) => {
        /// What is counted besides posts and completions: calls that succeeded, and upcalls.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum Count {
            $($(#[$doc])* $count,)+
        }

        impl Count {
            /// Every count.
            pub const ALL: &'static [Self] = &[$(Self::$count),+];
        }
    };
}

counts! {
    /// Adapters opened.
    Opens,
    /// Protection domains made.
    Domains,
    /// Completion queues made.
    CompletionQueues,
    /// Queue pairs made.
    QueuePairs,
    /// Shared receive queues made.
    SharedReceiveQueues,
    /// Listeners made.
    Listeners,
    /// Memory windows made.
    Windows,
    /// Registrations of memory.
    Registrations,
    /// Bytes registered, ever.
    RegisteredBytes,
    /// Registrations taken back.
    Deregistrations,
    /// Attempts to connect.
    Connects,
    /// Requests accepted.
    Accepts,
    /// Requests refused on behalf of the consumer.
    Rejects,
    /// Disconnects.
    Disconnects,
    /// Resets of queue pairs.
    Resets,
    /// Changes of queue pairs.
    Modifies,
    /// Ends of queue pairs.
    Retires,
    /// Polls, also in vain.
    Polls,
    /// Polls that found nothing.
    EmptyPolls,
    /// Changes of what a completion queue notifies of.
    Notifies,
    /// Changes of a queue's length.
    Resizes,
    /// Watermarks armed.
    WatermarksArmed,
    /// Calls that failed, of any kind.
    Failures,
    /// Posts among them.
    RefusedPosts,
    /// Upcalls: a completion is ready.
    ReadyUpcalls,
    /// Upcalls: a completion queue overflowed.
    Overflows,
    /// Upcalls: a watermark was reached.
    WatermarksReached,
    /// Upcalls: a request for a connection arrived.
    Requests,
    /// Upcalls: a connection stands.
    Established,
    /// Upcalls: an address for datagrams was resolved.
    Resolved,
    /// Upcalls: an attempt, or an accept, failed.
    FailedAttempts,
    /// Upcalls: a connection was ended.
    Disconnected,
    /// Upcalls: a connection broke.
    Broken,
    /// Upcalls: an asynchronous error.
    AsyncEvents,
}

/// The values that [`Operation`] has, with some to spare.
const OPERATIONS: usize = 16;
/// The statuses that have a value below this are counted apart, the others as one.
const STATUSES: usize = 14;

/// Counters that any number of threads count with.
pub struct Counters {
    counts: [AtomicU64; Count::ALL.len()],
    posts: [AtomicU64; OPERATIONS],
    bytes: [AtomicU64; OPERATIONS],
    completions: [AtomicU64; STATUSES],
}

/// Posts of one operation that were accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Posts {
    /// How many.
    pub count: u64,
    /// The bytes of all of them: of a request its length, of a receive the room that it gives.
    pub bytes: u64,
}

/// The counters at one time. Counts of calls that went on meanwhile may be in it or not.
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot {
    counts: [u64; Count::ALL.len()],
    posts: [u64; OPERATIONS],
    bytes: [u64; OPERATIONS],
    completions: [u64; STATUSES],
}

impl Default for Counters {
    fn default() -> Self {
        let zero = |_| AtomicU64::new(0);
        Self {
            counts: std::array::from_fn(zero),
            posts: std::array::from_fn(zero),
            bytes: std::array::from_fn(zero),
            completions: std::array::from_fn(zero),
        }
    }
}

impl Counters {
    #[inline]
    pub(super) fn add(&self, count: Count, by: u64) {
        self.counts[count as usize].fetch_add(by, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn posted(&self, operation: Operation, bytes: u64) {
        self.posts[operation as usize].fetch_add(1, Ordering::Relaxed);
        self.bytes[operation as usize].fetch_add(bytes, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn completed(&self, status: DtoStatus) {
        self.completions[place(status)].fetch_add(1, Ordering::Relaxed);
    }

    /// The counts now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.picture(|counter| counter.load(Ordering::Relaxed))
    }

    /// The counts until now; they begin again at 0, and none is lost in between.
    pub fn reset(&self) -> Snapshot {
        self.picture(|counter| counter.swap(0, Ordering::Relaxed))
    }

    fn picture(&self, read: impl Fn(&AtomicU64) -> u64) -> Snapshot {
        Snapshot {
            counts: std::array::from_fn(|n| read(&self.counts[n])),
            posts: std::array::from_fn(|n| read(&self.posts[n])),
            bytes: std::array::from_fn(|n| read(&self.bytes[n])),
            completions: std::array::from_fn(|n| read(&self.completions[n])),
        }
    }
}

/// Where a status is counted; the last place is that of the unknown ones.
fn place(status: DtoStatus) -> usize {
    match status {
        DtoStatus::Success => 0,
        DtoStatus::Unknown(_) => STATUSES - 1,
        known => (known.value() as usize).min(STATUSES - 1),
    }
}

impl Snapshot {
    /// How often it happened; bytes where the name says so.
    #[must_use]
    pub fn get(&self, count: Count) -> u64 {
        self.counts[count as usize]
    }

    /// The posts of an operation. All receives, shared ones too, are of [`Operation::Receive`].
    #[must_use]
    pub fn posts(&self, operation: Operation) -> Posts {
        let place = operation as usize;
        Posts { count: self.posts[place], bytes: self.bytes[place] }
    }

    /// The completions with a status that were polled; those with statuses that this version
    /// does not know are one count.
    #[must_use]
    pub fn completions(&self, status: DtoStatus) -> u64 {
        self.completions[place(status)]
    }

    /// All completions that were polled.
    #[must_use]
    pub fn all_completions(&self) -> u64 {
        self.completions.iter().sum()
    }
}

/// What is not 0.
impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for count in Count::ALL.iter().filter(|count| self.get(**count) > 0) {
            map.entry(count, &self.get(*count));
        }
        let posts = self.posts.iter().zip(&self.bytes).enumerate();
        for (operation, (count, bytes)) in posts.filter(|(_, (count, _))| **count > 0) {
            map.entry(&format_args!("posts of operation {operation}"), &(count, bytes));
        }
        for (status, count) in self.completions.iter().enumerate().filter(|(_, n)| **n > 0) {
            map.entry(&format_args!("completions with status {status}"), count);
        }
        map.finish()
    }
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.snapshot().fmt(f)
    }
}
