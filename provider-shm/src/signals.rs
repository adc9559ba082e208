//! The shared-memory words with which producer and consumer wake each other.
//!
//! Each word but `kept` has one writer, which keeps its own copy and never reads the word back: the peer can write all of the
//! memory.
//!
//! - `wanted` is 0 while the consumer polls, and 1 while it waits for its doorbell, which the producer rings for each
//!   frame. For each other value, the producer also wakes the consumer once: through the socket if the value is even,
//!   and by `wake_ups` if it is odd. The consumer stores a new value and then reads the ring; the producer stores a
//!   frame and then reads `wanted`. With a fence in between, at least one of them sees the other. A polling consumer
//!   announces in `fences_both` that it will execute the fence of both sides when it arms ([`process_fence`]), because
//!   the producer stores frames often and such a consumer rarely arms. While the consumer waits for the socket, the
//!   producer executes its own fence.
//! - `wake_ups` counts the times that the producer has woken a thread that sleeps on this word with futex(2). The
//!   thread reads it before the consumer stores the value of `wanted`, and sleeps while it is unchanged. So if the
//!   producer sees the value of `wanted`, it changes the word, and the thread does not fall asleep, or is woken.
//! - `kept` of the passive side is set while its process keeps the segment after the end of the connection
//!   ([`kept_segments`](crate::kept_segments)). Both sides write it.
//! - `starved` changes when the producer finds too little space. The consumer, which releases space by storing `head`,
//!   rings once for each value. The order is the same with the roles exchanged.

#[cfg(all(test, loom))]
mod loom_models;

use dat_provider_kit::link::Armed;

use crate::process_fence;
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// The values of `wanted` while the consumer polls, without and with a doorbell.
const NOTHING: u32 = 0;
const DOORBELL: u32 = 1;
/// The bit of other values that requests a wake-up by the word.
const BY_WORD: u32 = 1;
/// The difference of such values.
const STEP: u32 = 2;

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
    /// By the doorbell and the word, which was changed.
    Word,
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
    /// On which a thread of the consumer sleeps.
    wake_ups: AtomicU32,
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
        let producer = ProducerWords {
            starved: AtomicU32::new(0),
            kept: AtomicU32::new(USED),
            wake_ups: AtomicU32::new(0),
        };
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

    /// The word on which a thread of the consumer sleeps.
    pub(crate) fn wake_ups(&self) -> &AtomicU32 {
        &self.producer.0.wake_ups
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
    wake_ups: u32,
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
            wanted if std::mem::replace(&mut self.rung, wanted) == wanted => Wake::Nothing,
            wanted if wanted & BY_WORD == 0 => Wake::Socket,
            _ => {
                self.wake_ups = self.wake_ups.wrapping_add(1);
                // Relaxed: the fences of both sides order the frame, and futex(2) the sleep.
                signals.producer.0.wake_ups.store(self.wake_ups, Ordering::Relaxed);
                Wake::Word
            }
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
            Armed::Descriptor => self.next_epoch(),
            Armed::Word => self.next_epoch() | BY_WORD,
        };
        let words = &signals.consumer.0;
        let fenced_both = self.fences_both;
        let is_polling = matches!(armed, Armed::Nothing | Armed::Doorbell);
        self.fences_both = is_polling && process_fence::is_available();
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
            Armed::Doorbell | Armed::Descriptor | Armed::Word if fenced_both => {
                process_fence::heavy()
            }
            Armed::Doorbell | Armed::Descriptor | Armed::Word => fence(Ordering::SeqCst),
        }
    }

    /// A value that differs from the last ones.
    fn next_epoch(&mut self) -> u32 {
        self.epoch = self.epoch.wrapping_add(STEP).max(STEP);
        self.epoch
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

    #[test]
    fn the_producer_changes_the_word_once_each_time_it_is_wanted() {
        let signals = Signals::new();
        let (mut producer, mut consumer) = (ProducerSignals::default(), ConsumerSignals::default());
        let wake_ups = || signals.wake_ups().load(Ordering::Relaxed);
        for round in 0..3 {
            consumer.arm(&signals, Armed::Descriptor);
            assert_eq!((producer.stored(&signals), wake_ups()), (Wake::Socket, round));
            consumer.arm(&signals, Armed::Word);
            assert!(!signals.is_polled());
            assert_eq!((producer.stored(&signals), wake_ups()), (Wake::Word, round + 1));
            assert_eq!((producer.stored(&signals), wake_ups()), (Wake::Nothing, round + 1));
        }
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
        assert_eq!([Armed::Descriptor, Armed::Word].map(&mut fences_both), [false; 2]);
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
