//! Threads that share rings and words without a lock; see the module of this name in dat-sync.
#![allow(unsafe_code, reason = "memory that a word protects is shared between threads")]

use std::cell::UnsafeCell;
use std::thread;

use dat_provider::{Completion, Segment};

use crate::completion_ring::{CompletionRing, Entry};
use crate::credits::PollCount;
use crate::doorbell::{self, Board, Doorbell, Doorbells, tests::LocalBoard};
use crate::polled_links::leases::Leases;
use crate::receive_ring::{PostedReceive, ReceiveRing};
use crate::receive_wakeup::{PostAction, ReceiveWakeup};
use crate::sync::BiasedLock;
use crate::sync::atomic::{AtomicU64, Ordering};

/// A buffer of the program: Miri reports two accesses that are not ordered.
#[derive(Default)]
struct Buffer(UnsafeCell<[u8; 16]>);

// SAFETY: each test orders the accesses, which Miri checks.
unsafe impl Sync for Buffer {}

impl Buffer {
    fn fill(&self, value: u8) {
        // SAFETY: as for `Sync`.
        unsafe { *self.0.get() = [value; 16] };
    }

    fn is_full_of(&self, value: u8) -> bool {
        // SAFETY: as for `Sync`.
        unsafe { *self.0.get() == [value; 16] }
    }
}

/// Open MPI #5536 and UCX #9819.
#[test]
fn ompi_5536_a_completion_comes_after_its_payload_and_is_read_before_its_slot_is_reused() {
    const DEPTH: u64 = 2;
    const COUNT: u64 = 6;
    let (ring, polled) =
        (CompletionRing::new(DEPTH as usize).expect("memory"), PollCount::default());
    let buffers: [Buffer; DEPTH as usize] = Default::default();
    let entry = |position: u64| Entry {
        // Some of them are special.
        completion: Completion {
            cookie: position,
            length: 16,
            extra: position % 3,
            ..Completion::default()
        },
        work_queue: 1,
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            for position in 0..COUNT {
                while polled.taken() + DEPTH <= position {
                    thread::yield_now();
                }
                buffers[(position % DEPTH) as usize].fill(position as u8);
                assert!(ring.fill(position, &entry(position)));
            }
        });
        for position in 0..COUNT {
            while !ring.is_filled(position) {
                thread::yield_now();
            }
            assert_eq!(ring.get(position), Some(entry(position)));
            assert!(buffers[(position % DEPTH) as usize].is_full_of(position as u8));
            polled.set(position + 1);
        }
    });
}

#[test]
fn a_frame_is_read_or_its_doorbell_rings() {
    let board = std::sync::Arc::new(LocalBoard::default());
    let bell = Doorbell::new(std::sync::Arc::clone(&board) as _, 5);
    let mut bells = Doorbells::default();
    bells.insert(&bell, 1);
    let (frames, buffer) = (AtomicU64::new(0), Buffer::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            buffer.fill(1);
            for frame in 1..=2 {
                frames.store(frame, Ordering::Release);
                doorbell::ring(board.words(), 5);
            }
        });
        let mut read = 0;
        while read != 2 {
            // A frame whose ring is lost is waited for without end.
            bells.take(|_| read = frames.load(Ordering::Acquire));
            thread::yield_now();
        }
        assert!(buffer.is_full_of(1));
    });
}

#[test]
fn a_waiting_request_gets_the_receive_that_is_posted() {
    let (ring, wakeup) = (ReceiveRing::new(2, 1).expect("memory"), ReceiveWakeup::new());
    let (direction, buffer) = (BiasedLock::new(0_u32), Buffer::default());
    let matched = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            buffer.fill(9);
            let segment = Segment { address: 1, length: 64, key: 2 };
            let posted = PostedReceive { cookie: 3, length: 64, unsignalled: false, checked: 9 };
            assert!(ring.fill(0, posted, &[segment]));
            if wakeup.is_requested() && wakeup.action() == PostAction::Execute {
                let mut waiting = direction.lock();
                matched.fetch_add((*waiting).into(), Ordering::Relaxed);
                *waiting = 0;
                wakeup.settle();
            }
        });
        let mut waiting = direction.lock();
        wakeup.request();
        if ring.get_single(0).is_some() {
            assert!(buffer.is_full_of(9));
            wakeup.settle();
            matched.fetch_add(1, Ordering::Relaxed);
        } else {
            *waiting = 1;
        }
    });
    assert_eq!(matched.load(Ordering::Relaxed), 1);
}

#[test]
fn no_link_is_lent_to_a_poller_that_sleeps() {
    let leases = Leases::new();
    let (is_lent, has_lease) = thread::scope(|scope| {
        let lender = scope.spawn(|| leases.lend());
        let has_lease = leases.begin_sleep();
        (lender.join().expect("no panic"), has_lease)
    });
    assert!(!is_lent || has_lease);
}
