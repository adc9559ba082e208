//! Models of producers and consumers that wake each other.

use super::*;
use loom::sync::Arc;
use loom::thread;

/// Stores two frames, and wakes the consumer for them.
fn store_two((signals, frame): &(Signals, AtomicU64)) -> ProducerSignals {
    let mut producer = ProducerSignals::default();
    for number in 1..=2 {
        frame.store(number, Ordering::Release);
        let _ = producer.stored(signals);
    }
    producer
}

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
fn no_frame_waits_for_a_word() {
    is_seen_or_rung_for(Armed::Word);
}

/// A waiter that sleeps again and again on the word sees the last frame, or the word changes after it was read.
#[test]
fn no_frame_is_slept_through_on_the_word() {
    loom::model(|| {
        let shared = Arc::new((Signals::new(), AtomicU64::new(0)));
        let far = Arc::clone(&shared);
        let producer = thread::spawn(move || store_two(&far));
        let mut consumer = ConsumerSignals::default();
        let word = || shared.0.wake_ups().load(Ordering::Relaxed);
        let mut seen = word();
        consumer.arm(&shared.0, Armed::Word);
        let mut frame = shared.1.load(Ordering::Acquire);
        let now = word();
        // As a waiter that was woken before: it arms again only if the word has changed.
        if now != seen {
            seen = now;
            consumer.arm(&shared.0, Armed::Word);
            frame = shared.1.load(Ordering::Acquire);
        }
        producer.join().expect("no panic");
        assert!(frame == 2 || word() != seen);
    });
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
        let producer = thread::spawn(move || store_two(&far).rung);
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
