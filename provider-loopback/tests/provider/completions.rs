//! Completion queues: their completions and upcalls.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use crate::common::{Setup, Side, connected, in_world};
use dat_core::flags::CompletionFlags;
use dat_core::provider::{Completion, CompletionSink, Epoch, Notify, QueuePair, Request, Work};
use dat_core::{DtoStatus::*, Operation::*, ReturnType};

fn notify(side: &Side, mode: Notify) -> bool {
    side.recorder.poller.lock().unwrap().notify(mode)
}

fn send_with(side: &Side, cookie: u64, flags: CompletionFlags) {
    side.request(Work::Send, cookie, &[], flags).unwrap();
}

#[test]
fn a_suppressed_success_has_no_completion_and_returns_its_credit() {
    connected(|_, a, b| {
        for cookie in 0..50 {
            b.receive(cookie, &[]);
            send_with(&a, cookie, CompletionFlags::SUPPRESS);
            assert_eq!(b.done(), [(Receive, cookie, 0, Success)]);
        }
        assert_eq!(a.done(), []);
        send_with(&a, 99, CompletionFlags::SUPPRESS);
        a.break_off();
        assert_eq!(a.ended().0, [(Send, 99, Flushed)], "an error is never suppressed");
        send_with(&a, 98, CompletionFlags::SUPPRESS);
        assert_eq!(a.done(), [(Send, 98, 0, Flushed)]);
    });
}

#[test]
fn the_mode_decides_which_completions_make_upcalls() {
    connected(|_, a, b| {
        let round = |flags| {
            b.receive(1, &[]);
            send_with(&a, 2, flags);
            a.done();
            b.done();
            let counts = (a.ready.count(), b.ready.count());
            a.ready.ready.store(0, Ordering::Relaxed);
            b.ready.ready.store(0, Ordering::Relaxed);
            counts
        };
        let (none, quiet) = (CompletionFlags::empty(), CompletionFlags::UNSIGNALLED);
        let solicited = CompletionFlags::SOLICITED_WAIT;
        assert_eq!(round(none), (0, 0), "off at first");
        assert!(!notify(&a, Notify::Signalled) && !notify(&b, Notify::Signalled));
        assert_eq!(round(none), (1, 1));
        assert_eq!(round(none), (1, 1), "every time");
        assert_eq!(round(quiet), (0, 1), "the flag applies to the completion of the send");
        assert!(!notify(&b, Notify::Solicited));
        assert_eq!(round(none), (1, 0));
        assert_eq!(round(solicited), (1, 1));
        assert_eq!(round(solicited | quiet), (0, 1));
        assert!(!notify(&a, Notify::Off));
        assert_eq!(round(none), (0, 0));
        // The flag of the receive.
        notify(&b, Notify::Signalled);
        b.receive_with(3, &[], quiet).unwrap();
        send_with(&a, 4, none);
        assert_eq!(b.ready.count(), 0);
    });
}

#[test]
fn failures_make_upcalls_with_any_flags() {
    in_world(|world| {
        for mode in [Notify::Signalled, Notify::Solicited] {
            let (a, _b) = world.pair();
            notify(&a, mode);
            send_with(&a, 1, CompletionFlags::UNSIGNALLED | CompletionFlags::SUPPRESS);
            assert_eq!(a.ready.count(), 0);
            a.break_off();
            assert_eq!(a.ready.count(), 1);
        }
    });
}

#[test]
fn notify_returns_whether_there_are_completions() {
    connected(|_, a, b| {
        b.receive(1, &[]);
        a.send(2, &[]);
        assert!(notify(&a, Notify::Signalled));
        assert_eq!(a.ready.count(), 0);
        a.done();
        assert!(!notify(&a, Notify::Signalled));
    });
}

#[test]
fn an_overflow_is_reported_and_keeps_earlier_completions() {
    in_world(|world| {
        let small = Setup { depth: 3, ..Setup::default() };
        let (a, b) = world.pair_with(small, Setup::default());
        a.send_to(&b, 0..5);
        assert_eq!(a.ready.overflow.load(Ordering::Relaxed), 2);
        assert_eq!(a.cookies(), [0, 1, 2]);
        // The credits of the lost completions are returned.
        b.done();
        for cookie in 0..8 {
            b.receive(cookie, &[]);
            a.send(cookie, &[]);
            assert_eq!(a.done().len(), 1);
        }
    });
}

#[test]
fn poll_returns_the_oldest_and_resize_loses_none() {
    in_world(|world| {
        let (a, b) = world.pair_with(Setup { depth: 8, ..Setup::default() }, Setup::default());
        let poll = |count: usize| -> Vec<u64> {
            let mut into = vec![Completion::default(); count];
            let found = a.recorder.poller.lock().unwrap().poll(&mut into);
            into[..found].iter().map(|one| one.cookie).collect()
        };
        let resize = |depth| a.recorder.poller.lock().unwrap().resize(depth);
        a.send_to(&b, 0..8);
        b.done();
        assert_eq!(poll(0), []);
        assert_eq!(poll(5), [0, 1, 2, 3, 4]);
        a.send_to(&b, 8..11);
        assert!(resize(5).unwrap_err().is(ReturnType::InvalidState));
        resize(6).unwrap();
        assert_eq!(poll(2), [5, 6]);
        resize(100).unwrap();
        assert_eq!(poll(100), [7, 8, 9, 10]);
        assert_eq!(poll(100), []);
        assert_eq!(a.ready.overflow.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_queue_without_its_poller_discards_completions() {
    connected(|world, a, b| {
        let other = world.adapter.create_completion_queue(1, Arc::clone(&a.ready) as _).unwrap();
        let mut spec = b.spec.clone();
        spec.request_queue = Some(other.queue);
        let c = world.adapter.create_queue_pair(spec).unwrap();
        a.break_off();
        a.log();
        a.qp.reset().unwrap();
        world.connect(&a, &[]);
        world.requests.take().responder.accept(&*c, 1, &[]).unwrap();
        drop(other.poller);
        a.log();
        for cookie in 0..20 {
            a.receive(cookie, &[]);
            let (work, flags, checked) = (Work::Send, CompletionFlags::empty(), Epoch::default());
            let request = Request { work, segments: &[], length: 0, cookie, flags, checked };
            c.post_request(&request).unwrap();
            assert_eq!(a.done().len(), 1);
        }
        assert_eq!(a.ready.overflow.load(Ordering::Relaxed), 0);
    });
}

/// Uses the queue pairs in the upcall, which deadlocks if any of their locks is held.
#[derive(Default)]
struct UsesQueuePairs {
    queue_pairs: OnceLock<[Arc<dyn QueuePair>; 2]>,
    count: AtomicU32,
}

impl CompletionSink for UsesQueuePairs {
    fn completion_ready(&self) {
        for queue_pair in self.queue_pairs.get().unwrap() {
            queue_pair.outstanding();
        }
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    fn completion_overflow(&self) {
        self.completion_ready();
    }
}

#[test]
fn upcalls_are_made_without_locks() {
    in_world(|world| {
        let (a, b) = (world.side(), world.side());
        let sink = Arc::new(UsesQueuePairs::default());
        let parts = world.adapter.create_completion_queue(2, Arc::clone(&sink) as _).unwrap();
        let mut poller = parts.poller;
        for side in [&a, &b] {
            let mut spec = side.spec.clone();
            spec.request_queue = Some(Arc::clone(&parts.queue));
            spec.receive_queue = Some(Arc::clone(&parts.queue));
            side.qp.modify(spec).unwrap();
        }
        assert!(sink.queue_pairs.set([Arc::clone(&a.qp), Arc::clone(&b.qp)]).is_ok());
        poller.notify(Notify::Signalled);
        world.join(&a, &b);
        a.send(1, &[]);
        b.receive(2, &[]);
        assert_eq!(sink.count.load(Ordering::Relaxed), 2, "one for the work queue of each side");
        // The completion queue is full.
        b.receive(3, &[]);
        a.send(4, &[]);
        assert_eq!(sink.count.load(Ordering::Relaxed), 4);
        b.receive(5, &[]);
        a.break_off();
        assert_eq!(sink.count.load(Ordering::Relaxed), 5);
        assert_eq!(poller.poll(&mut [Completion::default(); 9]), 2);
    });
}
