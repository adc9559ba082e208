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
        length = (length * 7 + 13) % (MAX_PIECE as usize + 1);
        let mut sent: Vec<u8> = (0..length).map(|at| (at as u32 ^ round) as u8).collect();
        let (one, other) = sent.split_at_mut(length / 3);
        let stored = producer.store(&data(length as u64), &[span(one), span(other)]);
        assert!(matches!(stored, Ok(Stored::Yes { .. })), "{stored:?}");
        let found = consumer.next_frame().expect("a frame").expect("it was stored");
        assert_eq!(found.frame, data(length as u64));
        let mut came = vec![0; length];
        let (one, other) = came.split_at_mut(length / 2);
        consumer.take(&found, &[span(one), span(other)]);
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
            let mut place = vec![0; MAX_PIECE as usize];
            consumer.take(&found, &[span(&mut place)]);
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
