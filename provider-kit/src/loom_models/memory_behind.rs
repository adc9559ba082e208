//! What a slot announces is there: the memory behind it, which is not atomic. loom reports memory that both
//! sides may access at once.
#![allow(unsafe_code, reason = "loom checks the accesses to the memory")]

use std::sync::Arc;

use dat_provider::Segment;
use loom::cell::UnsafeCell;
use loom::thread;

use super::entry;
use crate::completion_ring::CompletionRing;
use crate::receive_ring::{PostedReceive, ReceiveRing};

/// A buffer of the program.
struct Buffer(UnsafeCell<u32>);

// SAFETY: loom checks each access, which is the purpose of the models.
unsafe impl Send for Buffer {}
// SAFETY: as for Send.
unsafe impl Sync for Buffer {}

impl Buffer {
    fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    fn write(&self, value: u32) {
        // SAFETY: loom reports it if this races with another access.
        self.0.with_mut(|place| unsafe { *place = value });
    }

    fn read(&self) -> u32 {
        // SAFETY: as for `write`.
        self.0.with(|place| unsafe { *place })
    }
}

/// Open MPI #5536: the barrier was after the header instead of before it. Here, the payload of a message is complete once
/// its completion is there.
#[test]
fn ompi_5536_a_completion_comes_after_its_payload() {
    loom::model(|| {
        let shared = Arc::new((CompletionRing::new(1).expect("memory"), Buffer::new()));
        let far = Arc::clone(&shared);
        let producer = thread::spawn(move || {
            far.1.write(7);
            assert!(far.0.fill(0, &entry(5)));
        });
        if shared.0.is_filled(0) {
            assert_eq!((shared.1.read(), shared.0.get(0)), (7, Some(entry(5))));
        }
        producer.join().expect("no panic");
    });
}

/// UCX #9819: the load barrier between the mark of a completion and its data was too weak. Here, the sender reads nothing
/// of a receive, and of its buffer, before the mark.
#[test]
fn ucx_9819_nothing_is_read_before_its_mark() {
    loom::model(|| {
        let shared = Arc::new((ReceiveRing::new(1, 1).expect("memory"), Buffer::new()));
        let far = Arc::clone(&shared);
        let segment = Segment { address: 1, length: 64, key: 2 };
        let poster = thread::spawn(move || {
            far.1.write(7);
            let posted = PostedReceive { cookie: 3, length: 64, unsignalled: false, checked: 9 };
            assert!(far.0.fill(0, posted, &[segment]));
        });
        if let Some((posted, found)) = shared.0.get_single(0) {
            assert_eq!((posted.cookie, posted.checked, found), (3, 9, segment));
            assert_eq!(shared.1.read(), 7);
        }
        poster.join().expect("no panic");
    });
}
