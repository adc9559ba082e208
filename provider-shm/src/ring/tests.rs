use std::ptr::NonNull;

use std::sync::atomic::Ordering;

use dat_provider::mem::Span;
use dat_provider_kit::frame::{Body, Frame};

use super::*;
use crate::signals::ConsumerSignals;

/// Miri takes its time.
const ROUNDS: u32 = if cfg!(miri) { 12 } else { 3000 };

fn ends() -> (Arc<Segment>, Producer, Consumer) {
    let segment = Arc::new(Segment::for_test());
    let (producer, consumer) = (Producer::new(&segment, 1), Consumer::new(&segment, 1));
    (segment, producer, consumer)
}

fn span(bytes: &mut [u8]) -> Span {
    // SAFETY: the bytes outlive the call that it is made for.
    unsafe { Span::new(NonNull::from(&mut *bytes).cast(), bytes.len()) }
}

fn data(length: u64) -> Frame {
    Frame::new(Body::Data { length, last: true })
}

#[test]
fn frames_of_any_length_cross_the_end_of_the_ring() {
    let (_segment, mut producer, mut consumer) = ends();
    let mut length = 1;
    for round in 0..ROUNDS {
        length = (length * 7 + 13) % (PIECE as usize + 1);
        let mut sent: Vec<u8> = (0..length).map(|at| (at as u32 ^ round) as u8).collect();
        let (one, other) = sent.split_at_mut(length / 3);
        let stored = producer.store(&data(length as u64), &[span(one), span(other)]);
        assert!(matches!(stored, Ok(Stored::Yes { .. })), "{stored:?}");
        let found = consumer.next_frame().expect("a frame").expect("it was stored");
        assert_eq!(found.frame, data(length as u64));
        let mut came = vec![0; length];
        let (one, other) = came.split_at_mut(length / 2);
        assert_eq!(consumer.take(&found, &[span(one), span(other)]), Ok(()));
        consumer.pass(found.length());
        assert!(came == sent, "round {round}");
        assert!(consumer.next_frame().expect("empty").is_none());
    }
}

#[test]
fn a_full_ring_takes_more_once_the_consumer_has_read() {
    let (_segment, mut producer, mut consumer) = ends();
    let mut stored = 0;
    while producer.store(&data(0), &[]) != Ok(Stored::Full) {
        stored += 1;
    }
    assert_eq!(stored, UNITS - 1, "one word behind the last frame stays clear");
    let mut rung = 0;
    while let Some(found) = consumer.next_frame().expect("frames") {
        rung += u32::from(consumer.pass(found.length()));
        stored -= 1;
    }
    assert_eq!((stored, rung), (0, 1), "the consumer rings once for the producer");
    assert!(matches!(producer.store(&data(0), &[]), Ok(Stored::Yes { .. })));
}

#[test]
fn an_invalid_length_word_is_refused() {
    for word in [1, 31, LONGEST as u64 + 1, u64::MAX] {
        let (_segment, _producer, consumer) = ends();
        consumer.slots.word(0).store(word, Ordering::Release);
        assert!(consumer.next_frame().is_err(), "{word}");
    }
}

#[test]
fn garbage_is_refused_or_a_frame_inside_the_ring() {
    let (_segment, mut producer, mut consumer) = ends();
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..ROUNDS * 7 {
        let mut bytes: Vec<u8> = (0..56).map(|_| random.u8(..)).collect();
        bytes[0] = random.u8(..24);
        bytes[1] = random.u8(..4);
        for byte in &mut bytes[18..24] {
            *byte = 0;
        }
        for (word, bytes) in producer.slots.unit(producer.tail)[1..].iter().zip(bytes.chunks(WORD))
        {
            let value = u64::from_ne_bytes(bytes.try_into().expect("whole words"));
            word.store(value, Ordering::Relaxed);
        }
        let word = random.u64(..LONGEST as u64 + 100);
        producer.slots.word(producer.tail).store(word, Ordering::Release);
        if let Ok(Some(found)) = consumer.next_frame() {
            let mut place = vec![0; PIECE as usize];
            assert_eq!(consumer.take(&found, &[span(&mut place)]), Ok(()));
            consumer.pass(found.length());
            producer.tail = consumer.head;
        }
    }
}

#[test]
fn a_head_that_goes_back_or_too_far_is_refused() {
    let (segment, mut producer, mut consumer) = ends();
    while producer.store(&data(0), &[]) != Ok(Stored::Full) {}
    for head in [UNITS + 1, u64::MAX] {
        ConsumerSignals::default().release(segment.signals(1), head);
        assert!(producer.store(&data(0), &[]).is_err(), "{head}");
    }
    while let Some(found) = consumer.next_frame().expect("frames") {
        consumer.pass(found.length());
    }
    while producer.store(&data(0), &[]) != Ok(Stored::Full) {}
    ConsumerSignals::default().release(segment.signals(1), 1);
    assert!(producer.store(&data(0), &[]).is_err(), "back");
}

/// A payload that ends in a page without access.
#[cfg(not(any(miri, loom)))]
#[test]
fn a_payload_that_is_not_readable_leaves_no_trace() {
    const PAGE: usize = 64 << 10;
    dat_provider_kit::fault::Faults::Status.apply();
    let (access, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: the system chooses the place of a new mapping.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), 2 * PAGE, access, flags, -1, 0) };
    assert_ne!(base, libc::MAP_FAILED);
    let start = base.cast::<u8>();
    // SAFETY: the first page is mapped, and nothing else uses it.
    unsafe { start.write_bytes(0xff, PAGE) };
    // SAFETY: the second page belongs to the mapping, and nothing uses it.
    let lost = unsafe { libc::mprotect(start.wrapping_add(PAGE).cast(), PAGE, libc::PROT_NONE) };
    assert_eq!(lost, 0);
    let (_segment, mut producer, mut consumer) = ends();
    // More than a ring, so that each place is that of a failed payload once.
    for _ in 0..2 * UNITS {
        let length = 40 * UNIT;
        let first = NonNull::new(start.wrapping_add(PAGE - length / 2)).expect("mapped");
        // SAFETY: nothing else uses the mapping; that half of the span is lost is reported.
        let span = unsafe { Span::new(first, length) };
        assert_eq!(producer.store(&data(length as u64), &[span]), Ok(Stored::Unreadable));
        assert!(consumer.is_empty());
        assert!(matches!(producer.store(&data(0), &[]), Ok(Stored::Yes { .. })));
        let found = consumer.next_frame().expect("a frame").expect("it was stored");
        assert_eq!(found.frame, data(0));
        consumer.pass(found.length());
        assert!(consumer.is_empty(), "what comes next is clear");
    }
}
