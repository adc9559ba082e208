//! `EventStream`: the events of a dispatcher, for tokio tasks.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use dat_core::{
    Close, CompletionFlags, Connect, Ep, EpProvision, EpSpec, Evd, EvdFlags, EvdOptions, Event,
    EventStream, Ia, Registry, ReturnType, Timeout,
};
use futures_core::Stream;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{LocalSet, spawn_local, yield_now};

const NONE: CompletionFlags = CompletionFlags::empty();

fn adapter() -> Ia {
    let registry = Registry::new();
    registry.add_provider(dat_provider_loopback::provider()).expect("an empty registry");
    registry.open("loopback").expect("always there")
}

fn dispatcher() -> Evd {
    adapter().evd_create(&EvdOptions::new(512, EvdFlags::SOFTWARE)).expect("a dispatcher")
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_io().build().expect("a runtime")
}

/// Two connected endpoints of an adapter, each with the dispatcher of its receives.
fn pair(ia: &Ia) -> [(Ep, Evd); 2] {
    let evd = |flags| ia.evd_create(&EvdOptions::new(64, flags)).expect("a dispatcher");
    let pz = ia.pz_create().expect("a zone");
    let other = evd(EvdFlags::DEFAULT);
    let side = || {
        let received = evd(EvdFlags::DTO);
        let spec = EpSpec::new(&pz).recv_evd(&received).connect_evd(&other);
        (ia.ep_create(&spec).expect("an endpoint"), received)
    };
    let (active, passive) = (side(), side());
    let psp = ia.psp_create_any(&other, EpProvision::Consumer).expect("a service point");
    let to = Connect::to(ia.attributes().address, psp.qualifier());
    active.0.connect(&to).expect("an attempt");
    let mut event = Event::default();
    assert!(other.dequeue(&mut event).expect("live"));
    let Event::ConnectionRequest(arrival) = &event else { panic!("no request: {event:?}") };
    arrival.request.accept(Some(&passive.0), b"").expect("unconnected");
    for (ep, _) in [&active, &passive] {
        ep.post_recv(&[], 0, NONE).expect("room");
    }
    [active, passive]
}

#[test]
fn two_threads_of_tasks_answer_each_other() {
    const ROUNDS: u64 = 5000;
    let ia = adapter();
    let [active, passive] = pair(&ia);
    let talk = |(ep, received): (Ep, Evd), first: bool| {
        runtime().block_on(async move {
            let mut events = EventStream::new(received).expect("a runtime");
            for round in 0..ROUNDS {
                if first {
                    ep.post_send(&[], round, CompletionFlags::SUPPRESS).expect("connected");
                }
                let event = events.next().await.expect("live");
                let Event::Dto(done) = event else { panic!("no completion: {event:?}") };
                assert_eq!(done.cookie, round);
                ep.post_recv(&[], round + 1, NONE).expect("room");
                if !first {
                    ep.post_send(&[], round, CompletionFlags::SUPPRESS).expect("connected");
                }
            }
        });
    };
    std::thread::scope(|scope| {
        scope.spawn(|| talk(active, true));
        talk(passive, false);
    });
}

#[test]
fn events_arrive_in_order_while_another_thread_posts_them() {
    const EVENTS: u64 = 20_000;
    let evd = dispatcher();
    let poster = evd.clone();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for value in 0..EVENTS {
                while let Err(error) = poster.post_software_event(value) {
                    assert_eq!(error.return_type(), ReturnType::QueueFull);
                    std::thread::yield_now();
                }
                if value % 100 == 0 {
                    // Long enough for the task to sleep.
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
        });
        runtime().block_on(async {
            let mut events = EventStream::new(evd).expect("a runtime");
            for value in 0..EVENTS {
                assert_eq!(events.next().await.expect("live"), Event::Software(value));
            }
        });
    });
}

/// Checks that a sleeping task gets an error when another thread runs `end`.
fn ended_by(end: impl FnOnce(&Ia, &Evd) + Send) {
    let evd = dispatcher();
    let stream = evd.clone();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            end(&evd.adapter(), &evd);
        });
        let error = runtime().block_on(async {
            EventStream::new(stream).expect("a runtime").next().await.expect_err("freed")
        });
        assert_eq!(error.return_type(), ReturnType::InvalidHandle, "{error}");
    });
}

#[test]
fn freeing_the_dispatcher_ends_the_sleep() {
    ended_by(|_, evd| evd.free().expect("nothing uses it"));
}

#[test]
fn closing_the_adapter_ends_the_sleep() {
    ended_by(|ia, _| ia.close(Close::Abrupt).expect("open"));
}

#[test]
fn an_abandoned_sleep_takes_no_event() {
    let evd = dispatcher();
    runtime().block_on(async {
        let mut events = EventStream::new(evd.clone()).expect("a runtime");
        for value in 0..100 {
            {
                let sleep = std::pin::pin!(events.next());
                let mut context = Context::from_waker(Waker::noop());
                assert!(sleep.poll(&mut context).is_pending(), "there is no event");
            }
            evd.post_software_event(value).expect("room");
            assert_eq!(events.next().await.expect("live"), Event::Software(value));
        }
    });
}

#[test]
fn a_task_that_always_finds_an_event_lets_other_tasks_run() {
    let evd = dispatcher();
    for value in 0..500 {
        evd.post_software_event(value).expect("room");
    }
    runtime().block_on(LocalSet::new().run_until(async {
        let turns = Rc::new(Cell::new(0));
        let counted = Rc::clone(&turns);
        let other = spawn_local(async move {
            loop {
                counted.set(counted.get() + 1);
                yield_now().await;
            }
        });
        let mut events = EventStream::new(evd).expect("a runtime");
        let task = spawn_local(async move {
            for _ in 0..500 {
                events.next().await.expect("live");
            }
        });
        task.await.expect("no panic");
        assert!(turns.get() >= 2, "the other ran {} times", turns.get());
        other.abort();
    }));
}

#[test]
fn creating_a_stream_outside_a_runtime_fails_with_advice() {
    let error = EventStream::new(dispatcher()).expect_err("no runtime");
    assert_eq!(error.return_type(), ReturnType::InvalidState);
    assert!(error.to_string().contains("runtime"), "{error}");
}

#[test]
fn a_second_stream_of_a_dispatcher_fails_without_effect_on_the_first() {
    let evd = dispatcher();
    runtime().block_on(async {
        let mut first = EventStream::new(evd.clone()).expect("a runtime");
        let mut context = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut first).poll_next(&mut context).is_pending());
        let error = EventStream::new(evd.clone()).expect_err("there is one");
        assert_eq!(error.return_type(), ReturnType::InvalidState, "{error}");
        let poster = std::thread::spawn({
            let evd = evd.clone();
            move || {
                std::thread::sleep(Duration::from_millis(20));
                evd.post_software_event(7).expect("room");
            }
        });
        assert_eq!(first.next().await.expect("live"), Event::Software(7));
        poster.join().expect("no panic");
        drop(first);
        let mut again = EventStream::new(evd.clone()).expect("the first is gone");
        evd.post_software_event(8).expect("room");
        assert_eq!(again.next().await.expect("live"), Event::Software(8));
    });
}

#[test]
fn a_stream_ends_after_an_error() {
    let evd = dispatcher();
    runtime().block_on(async {
        let mut events = EventStream::new(evd.clone()).expect("a runtime");
        evd.free().expect("nothing uses it");
        let mut context = Context::from_waker(Waker::noop());
        let mut items = || Pin::new(&mut events).poll_next(&mut context);
        let first = items();
        assert!(
            matches!(&first, Poll::Ready(Some(Err(error)))
                if error.return_type() == ReturnType::InvalidHandle),
            "{first:?}"
        );
        assert!(matches!(items(), Poll::Ready(None)));
    });
}

#[test]
fn a_waiting_thread_excludes_streams() {
    let evd = dispatcher();
    let (waiter, poster) = (evd.clone(), evd.clone());
    std::thread::scope(|scope| {
        let waits = scope.spawn(move || {
            let mut event = Event::default();
            waiter.wait(Timeout::After(Duration::from_secs(20)), 1, &mut event).expect("an event");
            event
        });
        runtime().block_on(async {
            let mut events = EventStream::new(evd).expect("a runtime");
            let start = Instant::now();
            let error = loop {
                let mut context = Context::from_waker(Waker::noop());
                match Pin::new(&mut events).poll_next(&mut context) {
                    Poll::Ready(Some(Err(error))) => break error,
                    other => assert!(other.is_pending(), "{other:?}"),
                }
                assert!(start.elapsed() < Duration::from_secs(20), "no thread waits");
                std::thread::yield_now();
            };
            assert_eq!(error.return_type(), ReturnType::InvalidState, "{error}");
        });
        poster.post_software_event(1).expect("room");
        assert_eq!(waits.join().expect("no panic"), Event::Software(1));
    });
}
