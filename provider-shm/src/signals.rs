//! The shared-memory words with which producer and consumer wake each other.
//!
//! Each word but `kept` has one writer, which keeps its own copy and never reads the word back: the peer can write all of the
//! memory.
//!
//! - `wanted` is 0 while the consumer polls, and 1 while it waits for its doorbell, which the producer rings for each
//!   frame. For each other value, the producer also writes to the socket once. The consumer stores a new value and then
//!   reads the ring; the producer stores a frame and then reads `wanted`. With a fence in between, at least one of them
//!   sees the other. A polling consumer announces in `fences_both` that it will execute the fence of both sides when it
//!   arms ([`process_fence`]), because the producer stores frames often and such a consumer rarely arms. While the
//!   consumer waits for the socket, the producer executes its own fence.
//! - `kept` of the passive side is set while its process keeps the segment after the end of the connection
//!   ([`kept_segments`](crate::kept_segments)). Both sides write it.
//! - `starved` changes when the producer finds too little space. The consumer, which releases space by storing `head`,
//!   rings once for each value. The order is the same with the roles exchanged.

use dat_provider_kit::link::Armed;

use crate::process_fence;
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// The values of `wanted` while the consumer polls, without and with a doorbell.
const NOTHING: u32 = 0;
const DOORBELL: u32 = 1;

/// The segment belongs to a connection, or the active side has claimed it for one.
const USED: u32 = 0;
/// The passive side has kept it.
const KEPT: u32 = 1;
/// The passive side no longer keeps it.
const WITHDRAWN: u32 = 2;

/// How the producer wakes the consumer after it has stored a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// Not at all: the consumer finds the frame.
    Nothing,
    /// By the doorbell.
    Doorbell,
    /// By the doorbell and the socket.
    Socket,
}

/// Padding to two cache lines, because processors fetch lines in pairs.
#[repr(C, align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

/// The state that the ends of a ring share besides the slots.
#[repr(C)]
pub(crate) struct Signals {
    consumer: Padded<ConsumerWords>,
    producer: Padded<ProducerWords>,
}

#[repr(C)]
struct ProducerWords {
    starved: AtomicU32,
    /// Of the passive side: [`USED`], [`KEPT`] or [`WITHDRAWN`].
    kept: AtomicU32,
}

#[repr(C)]
struct ConsumerWords {
    /// Number of units that were read.
    head: AtomicU64,
    wanted: AtomicU32,
    /// 1 if the consumer will execute the fence of the producer's process too when it arms next.
    fences_both: AtomicU32,
}

impl Signals {
    #[cfg(test)]
    pub(crate) fn new() -> Self {
        let words = ConsumerWords {
            head: AtomicU64::new(0),
            wanted: AtomicU32::new(0),
            fences_both: AtomicU32::new(0),
        };
        let producer = ProducerWords { starved: AtomicU32::new(0), kept: AtomicU32::new(USED) };
        Self { consumer: Padded(words), producer: Padded(producer) }
    }

    /// Stores the position at which a new ring begins.
    pub(crate) fn begin(&self, position: u64) {
        self.consumer.0.head.store(position, Ordering::Relaxed);
    }

    /// The passive side has kept the segment, and does not use it any more.
    pub(crate) fn set_kept(&self) {
        // Release: pairs with `claim`. All accesses of this process come before it.
        self.producer.0.kept.store(KEPT, Ordering::Release);
    }

    /// The active side claims a segment that the passive side has kept. Returns true on success.
    pub(crate) fn claim(&self) -> bool {
        self.change_kept(USED)
    }

    /// The passive side no longer keeps the segment. Returns false if the active side has claimed it.
    pub(crate) fn withdraw(&self) -> bool {
        self.change_kept(WITHDRAWN)
    }

    fn change_kept(&self, to: u32) -> bool {
        let kept = &self.producer.0.kept;
        kept.compare_exchange(KEPT, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Returns true if the consumer announces that it polls.
    pub(crate) fn is_polled(&self) -> bool {
        self.consumer.0.wanted.load(Ordering::Relaxed) <= DOORBELL
    }

    /// The position that the peer claims to have read; the caller must check it.
    pub(crate) fn head(&self) -> u64 {
        // Pairs with `release`.
        self.consumer.0.head.load(Ordering::Acquire)
    }
}

/// The private state of the producer.
#[derive(Debug, Default)]
pub(crate) struct ProducerSignals {
    rung: u32,
    starved: u32,
}

impl ProducerSignals {
    /// A frame was stored. Returns how to wake the consumer.
    #[inline]
    pub(crate) fn stored(&mut self, signals: &Signals) -> Wake {
        let consumer = &signals.consumer.0;
        // Pairs with the fence of `arm`. Acquire: `wanted` is at least as recent as this.
        if process_fence::is_available() && consumer.fences_both.load(Ordering::Acquire) != 0 {
            process_fence::light();
        } else {
            fence(Ordering::SeqCst);
        }
        // Acquire: the next frame is stored with a `fences_both` at least as recent as this.
        match consumer.wanted.load(Ordering::Acquire) {
            NOTHING => Wake::Nothing,
            DOORBELL => Wake::Doorbell,
            wanted if std::mem::replace(&mut self.rung, wanted) != wanted => Wake::Socket,
            _ => Wake::Nothing,
        }
    }

    /// The ring lacks space. The caller must then read the head again.
    #[cold]
    pub(crate) fn starve(&mut self, signals: &Signals) {
        self.starved = self.starved.wrapping_add(1);
        signals.producer.0.starved.store(self.starved, Ordering::Relaxed);
        // Pairs with the fence of `release`.
        fence(Ordering::SeqCst);
    }
}

/// The private state of the consumer.
#[derive(Debug, Default)]
pub(crate) struct ConsumerSignals {
    epoch: u32,
    answered: u32,
    /// The last value of `fences_both`.
    fences_both: bool,
}

impl ConsumerSignals {
    /// Announces the event that the consumer awaits from the next frame on. The caller must then read the ring again.
    pub(crate) fn arm(&mut self, signals: &Signals, armed: Armed) {
        let wanted = match armed {
            Armed::Nothing => NOTHING,
            Armed::Doorbell => DOORBELL,
            Armed::Descriptor => {
                self.epoch = self.epoch.wrapping_add(1).max(DOORBELL + 1);
                self.epoch
            }
        };
        let words = &signals.consumer.0;
        let fenced_both = self.fences_both;
        self.fences_both = armed != Armed::Descriptor && process_fence::is_available();
        if !self.fences_both {
            words.fences_both.store(0, Ordering::Relaxed);
        }
        words.wanted.store(wanted, Ordering::Release);
        if self.fences_both {
            words.fences_both.store(1, Ordering::Release);
        }
        // Pairs with the fence of `stored`.
        match armed {
            Armed::Nothing => {}
            Armed::Doorbell | Armed::Descriptor if fenced_both => process_fence::heavy(),
            Armed::Doorbell | Armed::Descriptor => fence(Ordering::SeqCst),
        }
    }

    /// Releases the space up to `head`. Returns true if the producer must be rung for.
    pub(crate) fn release(&mut self, signals: &Signals, head: u64) -> bool {
        // Release: the space was read.
        signals.consumer.0.head.store(head, Ordering::Release);
        // Pairs with the fence of `starve`.
        fence(Ordering::SeqCst);
        let starved = signals.producer.0.starved.load(Ordering::Relaxed);
        std::mem::replace(&mut self.answered, starved) != starved
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_producer_rings_once_each_time_it_is_wanted() {
        let signals = Signals::new();
        let (mut producer, mut consumer) = (ProducerSignals::default(), ConsumerSignals::default());
        assert_eq!(producer.stored(&signals), Wake::Nothing, "a consumer that polls");
        consumer.arm(&signals, Armed::Descriptor);
        assert_eq!(producer.stored(&signals), Wake::Socket);
        assert_eq!(producer.stored(&signals), Wake::Nothing, "it was rung for already");
        consumer.arm(&signals, Armed::Descriptor);
        assert_eq!(producer.stored(&signals), Wake::Socket);
        consumer.arm(&signals, Armed::Doorbell);
        assert!(signals.is_polled());
        assert_eq!([(); 2].map(|()| producer.stored(&signals)), [Wake::Doorbell; 2]);
        consumer.arm(&signals, Armed::Nothing);
        assert_eq!(producer.stored(&signals), Wake::Nothing);
    }

    /// While the consumer waits for the socket, the producer runs its own fence.
    #[test]
    fn only_a_consumer_that_polls_fences_both_sides() {
        let signals = Signals::new();
        let mut consumer = ConsumerSignals::default();
        let mut fences_both = |armed| {
            consumer.arm(&signals, armed);
            signals.consumer.0.fences_both.load(Ordering::Relaxed) != 0
        };
        let available = process_fence::is_available();
        let polled = [Armed::Nothing, Armed::Doorbell, Armed::Nothing].map(&mut fences_both);
        assert_eq!(polled, [available; 3]);
        assert_eq!([Armed::Descriptor; 2].map(&mut fences_both), [false; 2]);
        assert_eq!(fences_both(Armed::Doorbell), available);
    }

    #[test]
    fn the_consumer_rings_once_for_a_producer_without_space() {
        let signals = Signals::new();
        let (mut producer, mut consumer) = (ProducerSignals::default(), ConsumerSignals::default());
        assert!(!consumer.release(&signals, 1));
        producer.starve(&signals);
        assert!(consumer.release(&signals, 2));
        assert!(!consumer.release(&signals, 3));
        assert_eq!(signals.head(), 3);
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// A frame that is stored while the consumer arms is seen, or the producer wakes the consumer.
    fn is_seen_or_rung_for(armed: Armed) {
        loom::model(move || {
            let shared = Arc::new((Signals::new(), AtomicU64::new(0)));
            let far = Arc::clone(&shared);
            let producer = thread::spawn(move || {
                far.1.store(1, Ordering::Release);
                ProducerSignals::default().stored(&far.0)
            });
            let mut consumer = ConsumerSignals::default();
            consumer.arm(&shared.0, Armed::Nothing);
            consumer.arm(&shared.0, armed);
            let is_seen = shared.1.load(Ordering::Acquire) == 1;
            let wake = producer.join().expect("no panic");
            assert!(is_seen || wake != Wake::Nothing);
        });
    }

    #[test]
    fn no_frame_is_slept_through() {
        is_seen_or_rung_for(Armed::Descriptor);
    }

    #[test]
    fn no_frame_waits_for_a_doorbell() {
        is_seen_or_rung_for(Armed::Doorbell);
    }

    /// The consumer arms again while frames are stored; it sees the last one, or is woken for it.
    #[test]
    fn no_frame_is_lost_when_the_consumer_arms_again() {
        loom::model(|| {
            let shared = Arc::new((Signals::new(), AtomicU64::new(0)));
            let far = Arc::clone(&shared);
            let producer = thread::spawn(move || {
                let mut signals = ProducerSignals::default();
                far.1.store(1, Ordering::Release);
                let _ = signals.stored(&far.0);
                far.1.store(2, Ordering::Release);
                let _ = signals.stored(&far.0);
                signals.rung
            });
            let mut consumer = ConsumerSignals::default();
            consumer.arm(&shared.0, Armed::Descriptor);
            let _ = shared.1.load(Ordering::Acquire);
            consumer.arm(&shared.0, Armed::Descriptor);
            let is_seen = shared.1.load(Ordering::Acquire) == 2;
            let rung = producer.join().expect("no panic");
            assert!(is_seen || rung == consumer.epoch);
        });
    }

    /// A kept segment is withdrawn or claimed, and a side that claims it sees what was written before it was kept.
    #[test]
    fn a_kept_segment_has_one_user() {
        loom::model(|| {
            let shared = Arc::new((Signals::new(), AtomicU64::new(0)));
            let far = Arc::clone(&shared);
            let passive = thread::spawn(move || {
                far.1.store(1, Ordering::Relaxed);
                far.0.set_kept();
                far.0.withdraw()
            });
            let is_claimed = shared.0.claim();
            assert!(!is_claimed || shared.1.load(Ordering::Relaxed) == 1);
            assert_ne!(is_claimed, passive.join().expect("no panic"));
        });
    }

    /// Space that is released while the producer starves is seen, or the bell rings.
    #[test]
    fn a_full_ring_is_not_slept_through() {
        loom::model(|| {
            let signals = Arc::new(Signals::new());
            let far = Arc::clone(&signals);
            let producer = thread::spawn(move || {
                ProducerSignals::default().starve(&far);
                far.head() == 7
            });
            let is_rung = ConsumerSignals::default().release(&signals, 7);
            let is_seen = producer.join().expect("no panic");
            assert!(is_seen || is_rung);
        });
    }
}
