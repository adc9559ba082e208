//! A producer and a consumer in two threads; see the module of this name in dat-sync.

use std::ptr::NonNull;
use std::thread;

use dat_provider::mem::Span;
use dat_provider_kit::frame::{Body, Frame};
use dat_provider_kit::link::Armed;

use super::*;
use crate::signals::Wake;

fn span(bytes: &mut [u8]) -> Span {
    // SAFETY: the bytes outlive the call that it is made for.
    unsafe { Span::new(NonNull::from(&mut *bytes).cast(), bytes.len()) }
}

fn frame(length: usize) -> Frame {
    Frame::new(Body::Data { length: length as u64, last: true })
}

/// Lengths of frames: within a unit, across the next ones, and long enough that four of them fill the ring.
fn lengths(frames: usize) -> impl Iterator<Item = usize> {
    (0..frames).map(|at| [3, 200, PIECE as usize][at % 3])
}

/// Open MPI #5536 and UCX #9819: payload and head of a frame are complete once its first word is there, and space is
/// written again only after it was read.
#[test]
fn ompi_5536_a_frame_is_complete_once_it_is_there() {
    // Under Miri, just more than the ring holds.
    const FRAMES: usize = if cfg!(miri) { 18 } else { 120 };
    let segment = Arc::new(Segment::for_test());
    let (mut producer, mut consumer) = (Producer::new(&segment, 1), Consumer::new(&segment, 1));
    thread::scope(|scope| {
        scope.spawn(move || {
            for (number, length) in lengths(FRAMES).enumerate() {
                let mut payload = vec![number as u8; length];
                while producer.store(&frame(length), &[span(&mut payload)]) == Ok(Stored::Full) {
                    thread::yield_now();
                }
            }
        });
        for (number, length) in lengths(FRAMES).enumerate() {
            let found = loop {
                if let Some(found) = consumer.next_frame().expect("a frame") {
                    break found;
                }
                thread::yield_now();
            };
            assert_eq!(found.frame, frame(length));
            let mut came = vec![0; length];
            assert_eq!(consumer.take(&found, &[span(&mut came)]), Ok(()));
            // Not byte by byte, for which Miri takes minutes.
            assert!(came == vec![number as u8; length], "frame {number}");
            consumer.pass(found.length());
        }
    });
}

/// Open MPI #13761: a consumer that arms is woken for a frame that it does not find.
#[test]
fn ompi_13761_a_frame_is_found_or_the_consumer_is_woken() {
    for armed in [Armed::Doorbell, Armed::Descriptor, Armed::Word] {
        let segment = Arc::new(Segment::for_test());
        let (mut producer, mut consumer) = (Producer::new(&segment, 0), Consumer::new(&segment, 0));
        consumer.arm(Armed::Nothing);
        let (wake, is_found) = thread::scope(|scope| {
            let stored = scope.spawn(move || producer.store(&frame(0), &[]));
            let is_found = consumer.arm(armed);
            (stored.join().expect("no panic").expect("room"), is_found)
        });
        assert!(is_found || wake != Stored::Yes { wake: Wake::Nothing }, "{armed:?}");
    }
}
