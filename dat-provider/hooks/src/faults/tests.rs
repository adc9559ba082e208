//! The parts of the faults that need no transport.

use std::net::Ipv4Addr;
use std::sync::Arc;

use dat_sync::Mutex;
use proptest::prelude::*;

use super::completion::hold;
use super::connection::Link;
use super::*;
use dat_provider::error::ReturnType;
use dat_provider::status::Operation;
use dat_provider::{Address, Completion, CompletionPoller, Notify};

#[test]
fn parameters_change_the_plan_and_leave_the_rest_unchanged() {
    let text = " a=1,\tfault.delay=3 , b = 2  fault.connect=silent,fault.reorder=0 fault.delay=4";
    let (plan, rest) = FaultPlan::new().post_nth(9).with_parameters(text).unwrap();
    let expected = FaultPlan::new().post_nth(9).delay(4).reorder(0).connect(ConnectFault::Silent);
    assert_eq!(plan, expected);
    assert_eq!(rest, " a=1,\tb = 2  ");
    for text in ["", "x", " , ", "afault.delay=3", "fault", "nofault.x=1,y"] {
        let parsed = FaultPlan::new().with_parameters(text).unwrap();
        assert_eq!(parsed, (FaultPlan::new(), text.to_owned()));
    }
}

#[test]
fn every_key_sets_its_own_place() {
    let all = "fault.connect=unreachable fault.connect_nth=1 fault.break_after=2 \
               fault.register_nth=3 fault.post_nth=4 fault.create_nth=5 fault.delay=6 \
               fault.reorder=7 fault.async=ep_broken fault.async_after=8";
    let expected = FaultPlan::new()
        .connect(ConnectFault::Unreachable)
        .connect_nth(1)
        .break_after(2)
        .register_nth(3)
        .post_nth(4)
        .create_nth(5)
        .delay(6)
        .reorder(7)
        .async_after(AsyncFault::EpBroken, 8);
    assert_eq!(FaultPlan::new().with_parameters(all).unwrap(), (expected, String::new()));
    let parsed = |text| FaultPlan::new().with_parameters(text).unwrap().0;
    let once = FaultPlan::new().async_after(AsyncFault::Internal, 1);
    assert_eq!(parsed("fault.async=internal"), once);
    let never = FaultPlan::new().async_after(AsyncFault::Internal, 0);
    assert_eq!(parsed("fault.async=internal,fault.async_after=0"), never);
}

#[test]
fn nothing_that_is_not_known_is_taken() {
    for text in ["fault.", "fault.=", "fault.delay", "fault.delay=", "fault.connect=Refuse"] {
        let error = FaultPlan::new().with_parameters(text).unwrap_err();
        assert!(error.is(ReturnType::InvalidParameter), "{text:?}: {error}");
    }
}

#[test]
fn both_sides_of_a_connection_find_the_same_link() {
    let side = |last, port| (Address::from(Ipv4Addr::new(192, 0, 2, last)), port);
    let one = Link::between(side(1, 10), side(2, 20));
    let other = Link::between(side(2, 20), side(1, 10));
    assert!(Arc::ptr_eq(&one, &other));
    assert!(!Arc::ptr_eq(&one, &Link::between(side(1, 11), side(2, 20))));
    other.break_off();
    assert!(one.is_broken());
    drop((one, other));
    assert!(!Link::between(side(1, 10), side(2, 20)).is_broken(), "another connection");
}

/// A queue that a test fills.
#[derive(Clone, Default)]
struct Source(Arc<Mutex<Vec<Completion>>>);

impl Source {
    fn push(&self, tag: u64, cookie: u64, operation: Operation) {
        self.0.lock().push(Completion { tag, cookie, operation, ..Completion::default() });
    }
}

impl CompletionPoller for Source {
    fn poll(&mut self, into: &mut [Completion]) -> usize {
        let mut waiting = self.0.lock();
        let count = waiting.len().min(into.len());
        for (place, one) in into.iter_mut().zip(waiting.drain(..count)) {
            *place = one;
        }
        count
    }

    fn notify(&mut self, _mode: Notify) -> bool {
        !self.0.lock().is_empty()
    }

    fn resize(&mut self, _depth: usize) -> Result<()> {
        Ok(())
    }
}

#[test]
fn no_more_is_held_back_than_the_queue_is_deep_and_a_release_frees_all() {
    let source = Source::default();
    let faults = Faults::new(FaultPlan::new().delay(1000));
    let (queue, mut poller) = hold(&faults, Box::new(source.clone()), 4);
    for cookie in 0..10 {
        source.push(1, cookie, Operation::Send);
    }
    let mut found = [Completion::default(); 3];
    assert_eq!(poller.poll(&mut found), 0);
    assert_eq!(source.0.lock().len(), 6);
    queue.release();
    source.push(1, 10, Operation::Send);
    let mut cookies = Vec::new();
    loop {
        let count = poller.poll(&mut found);
        cookies.extend(found[..count].iter().map(|one| one.cookie));
        if count == 0 {
            break;
        }
    }
    assert_eq!(cookies, (0..10).collect::<Vec<_>>(), "what came later is held back");
    // Held back, but reported and released when a waiter must be notified.
    assert!(poller.notify(Notify::Signalled));
    assert_eq!(poller.poll(&mut found), 1);
    assert!(!poller.notify(Notify::Off));
    drop(poller);
    queue.release();
    assert_eq!(Arc::strong_count(&source.0), 1, "the queue below is gone with its poller");
}

proptest! {
    /// Whatever the plan, the arrivals, the polls and the releases are, each completion is
    /// delivered once and in the order of its stream.
    #[test]
    fn streams_stay_whole(
        steps in prop::collection::vec((0_u8..5, 0_u64..4, 1_usize..6), 1..120),
        seed in any::<Option<u64>>(),
        delay in 0_u64..4,
        depth in 1_usize..20,
    ) {
        let source = Source::default();
        let plan = FaultPlan { reorder: seed, ..FaultPlan::new().delay(delay) };
        let faults = Faults::new(plan);
        let (queue, mut poller) = hold(&faults, Box::new(source.clone()), depth);
        let mut found = vec![Completion::default(); 6];
        let (mut pushed, mut polled) = (Vec::new(), Vec::new());
        for (step, tag, count) in steps {
            match step {
                0 | 1 => for _ in 0..count {
                    let cookie = pushed.len() as u64;
                    let operation =
                        if cookie % 3 == 0 { Operation::Receive } else { Operation::Send };
                    source.push(tag, cookie, operation);
                    pushed.push(((tag, operation), cookie));
                },
                2 | 3 => {
                    let count = poller.poll(&mut found[..count]);
                    polled.extend(found[..count].iter().map(|one| ((one.tag, one.operation), one.cookie)));
                }
                _ if tag == 0 => queue.release(),
                _ => {
                    let waiting = pushed.len() > polled.len();
                    prop_assert_eq!(poller.notify(Notify::Off), waiting);
                }
            }
        }
        for _ in 0..pushed.len() + 10 {
            let count = poller.poll(&mut found);
            polled.extend(found[..count].iter().map(|one| ((one.tag, one.operation), one.cookie)));
        }
        if seed.is_none() {
            prop_assert_eq!(&polled, &pushed);
        }
        for stream in pushed.iter().map(|one| one.0) {
            let of = |all: &[((u64, Operation), u64)]| -> Vec<u64> {
                all.iter().filter(|one| one.0 == stream).map(|one| one.1).collect()
            };
            prop_assert_eq!(of(&polled), of(&pushed));
        }
    }
}
