//! Waits on an adapter whose progress a waiter can claim: which waiter has the claim, and what ends its wait.

mod altered_stub;

use crossbeam_channel::unbounded;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use altered_stub::AlteredStub;
use dat_core::provider::WaiterProgress;
use dat_core::{Evd, EvdFlags, EvdOptions, Event, Ia, Timeout, WaitResult};
use nix::sys::eventfd::{EfdFlags, EventFd};

const LIMIT: Timeout = Timeout::After(Duration::from_secs(20));
const SHORT: Timeout = Timeout::After(Duration::from_millis(5));

/// Progress that the tests control.
struct Links {
    is_claimed: AtomicBool,
    claims: AtomicU32,
    advances: AtomicU32,
    /// Number of polls that found nothing.
    polls: AtomicU32,
    /// The adapter's own thread is making progress.
    is_busy: AtomicBool,
    /// Readable while there is progress to make; it is never made.
    ready: EventFd,
}

impl Links {
    fn new() -> Arc<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Arc::new(Self {
            is_claimed: AtomicBool::new(false),
            claims: AtomicU32::new(0),
            advances: AtomicU32::new(0),
            polls: AtomicU32::new(0),
            is_busy: AtomicBool::new(false),
            ready: EventFd::from_flags(flags).expect("a descriptor"),
        })
    }

    fn set_ready(&self) {
        self.ready.write(1).expect("room");
    }

    fn is_claimed(&self) -> bool {
        self.is_claimed.load(Ordering::SeqCst)
    }

    fn claims(&self) -> u32 {
        self.claims.load(Ordering::SeqCst)
    }

    fn until_claimed(&self) {
        while !self.is_claimed() {
            std::thread::yield_now();
        }
    }
}

impl WaiterProgress for Links {
    fn claim(&self) -> bool {
        let is_free = !self.is_claimed.swap(true, Ordering::SeqCst);
        self.claims.fetch_add(is_free.into(), Ordering::SeqCst);
        is_free
    }

    fn release(&self) {
        assert!(self.is_claimed.swap(false, Ordering::SeqCst), "only its holder gives it back");
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }

    fn advance(&self) -> bool {
        assert!(self.is_claimed(), "only the holder of the claim makes progress");
        self.advances.fetch_add(1, Ordering::SeqCst);
        !self.is_busy.load(Ordering::SeqCst)
    }

    fn poll(&self) {
        self.polls.fetch_add(1, Ordering::SeqCst);
    }
}

fn open() -> (Ia, Arc<Links>) {
    let links = Links::new();
    let progress = Some(Arc::clone(&links) as Arc<dyn WaiterProgress>);
    let provider = AlteredStub { progress, ..AlteredStub::default() };
    (altered_stub::open(Arc::new(provider)), links)
}

fn dispatcher(ia: &Ia) -> Evd {
    ia.evd_create(&EvdOptions::new(8, EvdFlags::SOFTWARE)).expect("a dispatcher")
}

fn wait(evd: &Evd, timeout: Timeout) -> WaitResult {
    evd.wait(timeout, 1, &mut Event::default()).expect("no other waiter")
}

const TIMED_OUT: WaitResult = WaitResult::TimedOut { queued: 0 };
const ONE_EVENT: WaitResult = WaitResult::Event { more: 0 };

#[test]
fn an_event_of_another_thread_wakes_the_holder_which_gives_the_claim_back() {
    let (ia, links) = open();
    let evd = dispatcher(&ia);
    for round in 1..=100 {
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| wait(&evd, LIMIT));
            links.until_claimed();
            evd.post_software_event(round).expect("room");
            assert_eq!(waiter.join().expect("no panic"), ONE_EVENT);
        });
        assert!(!links.is_claimed());
        assert_eq!(links.claims(), round as u32);
    }
    assert!(links.advances.load(Ordering::SeqCst) > 0);
}

/// Otherwise the traffic of other connections would prolong the wait.
#[test]
fn a_holder_that_is_woken_all_the_time_returns_at_its_time_out() {
    let (ia, links) = open();
    let evd = dispatcher(&ia);
    links.set_ready();
    let (returned, waited) = unbounded();
    std::thread::spawn(move || returned.send(wait(&evd, SHORT)));
    assert_eq!(waited.recv_timeout(Duration::from_secs(20)), Ok(TIMED_OUT));
    assert!(links.advances.load(Ordering::SeqCst) > 0);
    assert!(!links.is_claimed());
}

#[test]
fn a_waiter_that_does_not_get_the_claim_is_woken_by_other_threads() {
    let (ia, links) = open();
    let (first, second) = (dispatcher(&ia), dispatcher(&ia));
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| wait(&first, LIMIT));
        links.until_claimed();
        assert_eq!(wait(&second, SHORT), TIMED_OUT);
        let other = scope.spawn(|| wait(&second, LIMIT));
        second.post_software_event(1).expect("room");
        assert_eq!(other.join().expect("no panic"), ONE_EVENT);
        assert!(links.is_claimed());
        first.post_software_event(1).expect("room");
        assert_eq!(holder.join().expect("no panic"), ONE_EVENT);
    });
    assert_eq!(links.claims(), 1);
}

/// The thread may be in an upcall for long.
#[test]
fn a_holder_that_finds_the_thread_of_the_adapter_busy_gives_the_claim_back() {
    let (ia, links) = open();
    let evd = dispatcher(&ia);
    links.set_ready();
    links.is_busy.store(true, Ordering::SeqCst);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| wait(&evd, LIMIT));
        while links.claims() == 0 || links.is_claimed() {
            std::thread::yield_now();
        }
        evd.post_software_event(1).expect("room");
        assert_eq!(waiter.join().expect("no panic"), ONE_EVENT);
    });
    assert_eq!(links.claims(), 1);
}

#[test]
fn a_wait_that_need_not_sleep_claims_nothing() {
    let (ia, links) = open();
    let evd = dispatcher(&ia);
    evd.post_software_event(1).expect("room");
    assert_eq!(wait(&evd, LIMIT), ONE_EVENT);
    assert_eq!(wait(&evd, Timeout::ZERO), TIMED_OUT);
    assert_eq!(links.claims(), 0);
}

#[test]
fn a_trigger_wakes_the_waiter_on_a_notification_object_that_has_the_claim() {
    let (ia, links) = open();
    let cno = ia.cno_create(None).expect("an object");
    let evd = ia.evd_create(&EvdOptions::new(8, EvdFlags::SOFTWARE).with_cno(&cno));
    let evd = evd.expect("a dispatcher");
    for round in 1..=100 {
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| cno.wait(LIMIT));
            links.until_claimed();
            evd.post_software_event(round).expect("room");
            assert_eq!(waiter.join().expect("no panic"), Ok(Some(evd.clone())));
        });
        assert!(evd.dequeue(&mut Event::default()).expect("no waiter"));
        assert!(!links.is_claimed());
        assert_eq!(links.claims(), round as u32);
    }
    assert!(cno.wait(SHORT).is_err(), "no trigger is left");
}

/// Each trigger wakes one waiter. The one with the claim comes first; when it has left, or gave the
/// claim back, the others are woken.
#[test]
fn triggers_wake_the_waiters_on_a_notification_object_with_and_without_the_claim() {
    for is_busy in [false, true] {
        let (ia, links) = open();
        let cno = ia.cno_create(None).expect("an object");
        let evd = ia.evd_create(&EvdOptions::new(8, EvdFlags::SOFTWARE).with_cno(&cno));
        let evd = evd.expect("a dispatcher");
        std::thread::scope(|scope| {
            let waiters = [(); 3].map(|()| scope.spawn(|| cno.wait(LIMIT)));
            links.until_claimed();
            if is_busy {
                links.is_busy.store(true, Ordering::SeqCst);
                links.set_ready();
                while links.is_claimed() {
                    std::thread::yield_now();
                }
            }
            for woken in 1..=waiters.len() {
                evd.post_software_event(1).expect("room");
                // After its time-out a waiter returns, too, with an error.
                while waiters.iter().filter(|waiter| waiter.is_finished()).count() < woken {
                    std::thread::yield_now();
                }
                assert!(evd.dequeue(&mut Event::default()).expect("no waiter"));
            }
            for waiter in waiters {
                assert_eq!(waiter.join().expect("no panic"), Ok(Some(evd.clone())));
            }
        });
    }
}

#[test]
fn a_waiter_with_the_claim_returns_when_the_last_dispatcher_of_its_object_is_freed() {
    let (ia, links) = open();
    let cno = ia.cno_create(None).expect("an object");
    let evd = ia.evd_create(&EvdOptions::new(8, EvdFlags::SOFTWARE).with_cno(&cno));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| cno.wait(LIMIT));
        links.until_claimed();
        evd.expect("a dispatcher").free().expect("unused");
        assert_eq!(waiter.join().expect("no panic"), Ok(None));
    });
    // The wake-up is over: the next holder of the claim sleeps until its time-out.
    let evd = dispatcher(&ia);
    assert_eq!(wait(&evd, SHORT), TIMED_OUT);
    assert!(cno.wait(SHORT).is_err());
}

/// An agent is called by the thread that makes progress. The waiter may hold what the agent needs.
#[test]
fn with_a_proxy_agent_no_waiter_claims_the_progress() {
    for is_late in [false, true] {
        let (ia, links) = open();
        let evd = dispatcher(&ia);
        let agent = || Some(Arc::new(|_| ()) as dat_core::ProxyAgent);
        let cno = ia.cno_create(if is_late { None } else { agent() }).expect("an object");
        if is_late {
            assert_eq!(wait(&evd, SHORT), TIMED_OUT);
            assert_eq!(links.claims(), 1);
            cno.modify_agent(agent()).expect("live");
        }
        assert_eq!(wait(&evd, SHORT), TIMED_OUT);
        assert_eq!(links.claims(), is_late.into());
    }
}

/// MPI libraries poll such a dispatcher while they await what the peer writes to memory.
#[test]
fn empty_polls_of_a_dispatcher_for_connections_offer_to_make_progress() {
    let (ia, links) = open();
    let polls_of = |flags: EvdFlags| {
        let evd = ia.evd_create(&EvdOptions::new(8, flags)).expect("a dispatcher");
        let before = links.polls.load(Ordering::SeqCst);
        for _ in 0..3 {
            assert!(!evd.dequeue(&mut Event::default()).expect("no waiter"));
        }
        if flags == (EvdFlags::CONNECTION | EvdFlags::SOFTWARE) {
            evd.post_software_event(1).expect("room");
            assert!(evd.dequeue(&mut Event::default()).expect("no waiter"));
        }
        links.polls.load(Ordering::SeqCst) - before
    };
    assert_eq!(polls_of(EvdFlags::CONNECTION), 3);
    assert_eq!(polls_of(EvdFlags::CONNECTION_REQUEST), 3);
    assert_eq!(polls_of(EvdFlags::CONNECTION | EvdFlags::SOFTWARE), 3, "one found an event");
    assert_eq!(polls_of(EvdFlags::SOFTWARE), 0, "no progress brings such an event");
    let agent = Some(Arc::new(|_| ()) as dat_core::ProxyAgent);
    let _cno = ia.cno_create(agent).expect("an object");
    assert_eq!(polls_of(EvdFlags::CONNECTION), 0, "an agent may need what the caller holds");
}
