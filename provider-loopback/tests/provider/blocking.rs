//! Waits in steps, and waits that are abandoned.

use dat_core::blocking::{SleepOn, SleepResult, WaitDeadline, WaitStep};
use dat_core::{Evd, EvdFlags, EvdOptions, Event, Timeout, WaitResult};

use crate::common::open_ia;

fn dispatcher() -> Evd {
    open_ia().evd_create(&EvdOptions::new(4, EvdFlags::SOFTWARE)).expect("a dispatcher")
}

#[test]
fn an_abandoned_wait_lets_another_thread_wait() {
    let evd = dispatcher();
    let mut event = Event::default();
    let deadline = WaitDeadline::new(Timeout::Infinite);
    for sleeps in [false, true] {
        let step = evd.start_wait(&deadline, 1, &mut event).expect("it can be waited on");
        let WaitStep::Blocked(mut blocked) = step else { panic!("the queue is empty") };
        assert!(evd.start_wait(&deadline, 1, &mut event).is_err(), "one thread at a time waits");
        assert_eq!(blocked.time_left(), None);
        if sleeps {
            assert!(matches!(blocked.begin_sleep(), Some(SleepOn::Word { .. })));
        }
        evd.post_software_event(7).expect("the queue has space");
        drop(blocked);
        assert_eq!(evd.wait(Timeout::ZERO, 1, &mut event), Ok(WaitResult::Event { more: 0 }));
        assert_eq!(event, Event::Software(7));
    }
    evd.free().expect("no thread waits");
}

#[test]
fn a_blocked_wait_continues_after_a_spurious_wake_up() {
    let evd = dispatcher();
    let mut event = Event::default();
    let deadline = WaitDeadline::new(Timeout::Infinite);
    let step = evd.start_wait(&deadline, 1, &mut event).expect("it can be waited on");
    let WaitStep::Blocked(mut blocked) = step else { panic!("the queue is empty") };
    assert!(blocked.begin_sleep().is_some());
    let step = blocked.resume(SleepResult::Woken, &mut event).expect("it can be waited on");
    let WaitStep::Blocked(mut blocked) = step else { panic!("the queue is empty") };
    evd.post_software_event(8).expect("the queue has space");
    assert!(blocked.begin_sleep().is_none(), "the event came before the sleep");
    let step = blocked.resume(SleepResult::Woken, &mut event).expect("an event");
    assert!(matches!(step, WaitStep::Done(WaitResult::Event { more: 0 })));
    assert_eq!(event, Event::Software(8));
}

#[test]
fn an_abandoned_wait_passes_the_trigger_on() {
    let ia = open_ia();
    let cno = ia.cno_create(None).expect("a notification object");
    let options = EvdOptions::new(4, EvdFlags::SOFTWARE).with_cno(&cno);
    let evd = ia.evd_create(&options).expect("a dispatcher");
    let start = || match cno.start_wait(Timeout::Infinite).expect("it is live") {
        WaitStep::Blocked(blocked) => blocked,
        WaitStep::Done(_) => panic!("nothing triggered it"),
    };
    let (first, mut second) = (start(), start());
    let mut sleeps = || match second.begin_sleep() {
        Some(SleepOn::Word { word, seen }) => {
            word.load(std::sync::atomic::Ordering::Relaxed) == seen
        }
        other => panic!("not a word: {other:?}"),
    };
    assert!(sleeps(), "it would sleep");
    evd.post_software_event(1).expect("the queue has space");
    drop(first);
    assert!(!sleeps(), "it does not sleep on");
    let step = second.resume(SleepResult::Woken).expect("it is live");
    assert!(matches!(step, WaitStep::Done(Some(hint)) if hint == evd));
    evd.free().expect("nothing uses it");
    cno.free().expect("no thread waits");
}
