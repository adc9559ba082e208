//! Consumer notification objects.

use crossbeam_channel::{Sender, unbounded};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::prelude::*;

cases! {
    "dat_cno_create(3DAT)":
        a_new_object_is_not_triggered,
        the_proxy_agent_may_dequeue_and_post,
        the_proxy_agent_may_call_anything_on_the_endpoint_of_its_event;
    "dat_cno_free(3DAT)":
        a_freed_object_is_refused,
        a_free_is_refused_while_a_dispatcher_refers_to_the_object,
        a_free_is_refused_while_a_thread_waits;
    "dat_cno_wait(3DAT)":
        an_event_triggers_the_object_and_stays_on_its_dispatcher,
        many_dispatchers_trigger_one_object,
        every_trigger_wakes_a_waiter,
        waiters_are_unblocked_when_all_dispatchers_are_freed,
        an_object_that_lost_its_dispatchers_can_be_used_again,
        no_waiter_stays_asleep_when_a_trigger_races_with_a_free;
    "dat_evd_wait(3DAT)":
        a_waiter_on_the_dispatcher_takes_precedence;
    "dat_evd_disable(3DAT), dat_evd_enable(3DAT)":
        a_disabled_dispatcher_triggers_nothing;
    "dat_evd_set_unwaitable(3DAT)":
        an_unwaitable_dispatcher_still_triggers;
    "dat_evd_modify_cno(3DAT)":
        a_dispatcher_moves_from_one_object_to_another,
        an_object_of_another_instance_is_refused;
    "dat_cno_modify_agent(3DAT)":
        the_proxy_agent_and_the_waiters_get_the_dispatcher;
    "DAT 2.0, dat_cno_fd_create":
        the_descriptor_is_readable_while_a_trigger_is_pending,
        a_free_makes_the_descriptor_readable;
    "dat_cno_query(3DAT)":
        a_query_returns_the_adapter;
}

/// An open adapter, a notification object on it, and a dispatcher that triggers it.
fn triggering() -> (Ia, Cno, Evd) {
    let ia = open("");
    let cno = ia.cno_create(None).expect("made");
    let evd = attached(&ia, &cno);
    (ia, cno, evd)
}

/// A dispatcher of software events that triggers a notification object.
fn attached(ia: &Ia, cno: &Cno) -> Evd {
    let options = EvdOptions::new(64, EvdFlags::SOFTWARE).with_cno(cno);
    ia.evd_create(&options).expect("a dispatcher")
}

#[track_caller]
fn not_triggered(cno: &Cno) {
    refused(cno.wait(Timeout::ZERO), ReturnType::QueueEmpty);
}

#[track_caller]
fn triggered_by(cno: &Cno, evd: &Evd) {
    assert_eq!(cno.wait(LIMIT.into()), Ok(Some(evd.clone())));
}

fn agent(sender: Sender<Option<Evd>>) -> ProxyAgent {
    Arc::new(move |evd| sender.send(evd).expect("the test listens"))
}

fn a_new_object_is_not_triggered() {
    let cno = open("").cno_create(None).expect("made");
    not_triggered(&cno);
    let began = Instant::now();
    let time = Duration::from_millis(20);
    refused(cno.wait(time.into()), ReturnType::QueueEmpty);
    assert!(began.elapsed() >= time);
}

fn a_freed_object_is_refused() {
    let ia = open("");
    let cno = ia.cno_create(None).expect("made");
    cno.clone().free().expect("unused");
    refused(cno.free(), Subtype::InvalidHandleCno);
    refused(cno.wait(Timeout::ZERO), Subtype::InvalidHandleCno);
    refused(cno.modify_agent(None), Subtype::InvalidHandleCno);
    let evd = ia.evd_create(&EvdOptions::new(1, EvdFlags::SOFTWARE)).expect("made");
    refused(evd.modify_cno(Some(&cno)), Subtype::InvalidHandleCno);
    evd.free().expect("unused");
    ia.close(Close::Graceful).expect("nothing is left");
}

fn a_free_is_refused_while_a_dispatcher_refers_to_the_object() {
    let ia = open("");
    let cno = ia.cno_create(None).expect("made");
    let other = ia.cno_create(None).expect("made");
    let (one, two) = (attached(&ia, &cno), attached(&ia, &cno));
    refused(cno.free(), Subtype::InvalidStateCnoInUse);
    one.free().expect("unused");
    refused(cno.free(), Subtype::InvalidStateCnoInUse);
    two.modify_cno(Some(&other)).expect("live");
    cno.free().expect("nothing refers to it");
    refused(other.free(), Subtype::InvalidStateCnoInUse);
    drop(two);
    other.free().expect("nothing refers to it");
}

fn a_free_is_refused_while_a_thread_waits() {
    let (_ia, cno, evd) = triggering();
    let thread = Background::with(&cno, move |cno| cno.wait(LIMIT.into()));
    until_waited_on(&cno);
    // The page wakes waiters by a software event on an attached dispatcher.
    evd.post_software_event(1).expect("within the limit");
    assert_eq!(thread.join(), Ok(Some(evd.clone())));
    evd.free().expect("unused");
    cno.free().expect("no thread waits");
}

fn an_event_triggers_the_object_and_stays_on_its_dispatcher() {
    let (_ia, cno, evd) = triggering();
    evd.post_software_event(5).expect("within the limit");
    triggered_by(&cno, &evd);
    not_triggered(&cno);
    assert_eq!(drain(&evd), [Event::Software(5)], "waking does not dequeue");
}

fn many_dispatchers_trigger_one_object() {
    let node = Node::new();
    let cno = node.ia.cno_create(None).expect("made");
    let (client, server) = node.pair();
    let own = attached(&node.ia, &cno);
    for evd in [&node.recv, &node.request, &node.connect, &node.requests] {
        evd.modify_cno(Some(&cno)).expect("live");
    }
    // A trigger of an event that is already dequeued may come late: here the events of `pair`. It may take the place of
    // the trigger that is expected, of which then nothing is left.
    let becomes_triggered_by = |evds: &[&Evd]| {
        let mut time = LIMIT;
        until("the trigger", || match cno.wait(time.into()) {
            Ok(hint) => {
                time = Duration::from_millis(100);
                evds.contains(&&hint.expect("a dispatcher"))
            }
            Err(error) => time < LIMIT && error.is(ReturnType::QueueEmpty) || panic!("{error}"),
        });
    };
    own.post_software_event(1).expect("within the limit");
    becomes_triggered_by(&[&own]);
    post_message((&client, 2), (&server, 1));
    becomes_triggered_by(&[&node.recv, &node.request]);
    // The wait returns one of the dispatchers; the consumer has to check all of them.
    assert_eq!(expect_dto(&node.recv, &[]).cookie, 1);
    assert_eq!(expect_dto(&node.request, &[]).cookie, 2);
    // The second event may have triggered it too.
    while cno.wait(Timeout::ZERO).is_ok() {}
    client.disconnect(Close::Abrupt).expect("connected");
    becomes_triggered_by(&[&node.connect]);
    expect_connections(&node.connect, &[&client, &server], ConnectionEventKind::Disconnected);
    while cno.wait(Timeout::ZERO).is_ok() {}
    let psp = node.psp();
    let _ep = node.connecting(psp.qualifier());
    becomes_triggered_by(&[&node.requests]);
}

fn a_waiter_on_the_dispatcher_takes_precedence() {
    let (_ia, cno, evd) = triggering();
    let thread = waiter(&evd, 1);
    until_owned(&evd);
    evd.post_software_event(1).expect("within the limit");
    assert_eq!(thread.join(), Ok((WaitResult::Event { more: 0 }, Event::Software(1))));
    not_triggered(&cno);
    evd.post_software_event(2).expect("within the limit");
    triggered_by(&cno, &evd);
}

fn a_disabled_dispatcher_triggers_nothing() {
    let (_ia, cno, evd) = triggering();
    evd.disable().expect("live");
    evd.disable().expect("no operation");
    evd.post_software_event(1).expect("within the limit");
    not_triggered(&cno);
    assert_eq!(expect_event(&evd, &[]), Event::Software(1), "direct waiters see no difference");
    evd.enable().expect("live");
    evd.enable().expect("no operation");
    evd.post_software_event(2).expect("within the limit");
    triggered_by(&cno, &evd);
}

fn an_unwaitable_dispatcher_still_triggers() {
    let (_ia, cno, evd) = triggering();
    evd.set_unwaitable().expect("live");
    evd.post_software_event(1).expect("within the limit");
    triggered_by(&cno, &evd);
}

fn a_dispatcher_moves_from_one_object_to_another() {
    let ia = open("");
    let (first, second) = (ia.cno_create(None).expect("made"), ia.cno_create(None).expect("made"));
    let evd = attached(&ia, &first);
    evd.modify_cno(Some(&second)).expect("live");
    assert_eq!(evd.query().expect("live").cno.as_ref(), Some(&second));
    evd.post_software_event(1).expect("within the limit");
    not_triggered(&first);
    triggered_by(&second, &evd);
    evd.modify_cno(None).expect("live");
    evd.post_software_event(2).expect("within the limit");
    not_triggered(&second);
    free_all(&[&first, &second]);
}

fn an_object_of_another_instance_is_refused() {
    let ia = open("");
    let foreign = open("").cno_create(None).expect("made");
    let evd = ia.evd_create(&EvdOptions::new(1, EvdFlags::SOFTWARE)).expect("made");
    refused(evd.modify_cno(Some(&foreign)), Subtype::InvalidHandleCno);
    foreign.free().expect("the failure left it unused");
}

/// Takes the next event of a dispatcher, for which the caller waits on its notification object.
fn next_event(evd: &Evd, cno: &Cno) -> Event {
    let mut event = Event::default();
    while !evd.dequeue(&mut event).expect("live") {
        cno.wait(LIMIT.into()).expect("a trigger was lost");
    }
    event
}

fn every_trigger_wakes_a_waiter() {
    const TRIGGERS: u64 = 5_000;
    let ia = open("");
    let cno = ia.cno_create(None).expect("made");
    let (ping, pong) = (attached(&ia, &cno), ia.cno_create(None).expect("made"));
    let answer = attached(&ia, &pong);
    let thread = {
        let (cno, ping, answer) = (cno.clone(), ping.clone(), answer.clone());
        Background::run(move || {
            for value in 0..TRIGGERS {
                assert_eq!(next_event(&ping, &cno), Event::Software(value));
                answer.post_software_event(value).expect("within the limit");
            }
        })
    };
    for value in 0..TRIGGERS {
        ping.post_software_event(value).expect("within the limit");
        assert_eq!(next_event(&answer, &pong), Event::Software(value));
    }
    thread.join();
}

fn the_proxy_agent_and_the_waiters_get_the_dispatcher() {
    let ia = open("");
    let (sender, calls) = unbounded();
    let cno = ia.cno_create(Some(agent(sender))).expect("made");
    let evd = attached(&ia, &cno);
    assert!(calls.try_recv().is_err(), "not before a trigger");
    evd.post_software_event(1).expect("within the limit");
    assert_eq!(calls.recv_timeout(LIMIT), Ok(Some(evd.clone())));
    triggered_by(&cno, &evd);
    let (sender, others) = unbounded();
    cno.modify_agent(Some(agent(sender))).expect("live");
    evd.post_software_event(2).expect("within the limit");
    assert_eq!(others.recv_timeout(LIMIT), Ok(Some(evd.clone())));
    assert!(calls.try_recv().is_err(), "the former agent is not called");
    triggered_by(&cno, &evd);
    cno.modify_agent(None).expect("live");
    evd.post_software_event(3).expect("within the limit");
    triggered_by(&cno, &evd);
    assert!(others.try_recv().is_err());
}

fn the_proxy_agent_may_dequeue_and_post() {
    let ia = open("");
    let other = ia.evd_create(&EvdOptions::new(4, EvdFlags::SOFTWARE)).expect("made");
    let cno = {
        let other = other.clone();
        ia.cno_create(Some(Arc::new(move |evd: Option<Evd>| {
            let mut event = Event::default();
            if let Some(evd) = evd {
                assert_eq!(evd.dequeue(&mut event), Ok(true));
                other.post_software_event(9).expect("within the limit");
            }
        })))
        .expect("made")
    };
    let evd = attached(&ia, &cno);
    evd.post_software_event(1).expect("within the limit");
    assert_eq!(expect_event(&other, &[]), Event::Software(9));
    expect_no_event(&evd);
}

fn the_proxy_agent_may_call_anything_on_the_endpoint_of_its_event() {
    let node = Node::new();
    let ends = [node.ep(), node.ep()];
    let (sender, told) = unbounded();
    let known = ends.clone();
    let agent: ProxyAgent = Arc::new(move |evd: Option<Evd>| {
        let (Some(evd), mut event) = (evd, Event::default()) else { return };
        while evd.dequeue(&mut event) == Ok(true) {
            let Event::Connection(event) = &event else { continue };
            let Some(ep) = known.iter().find(|ep| ep.id() == event.ep) else { continue };
            let state = ep.query().map(|param| param.state);
            let idle = ep.status().map(|status| status.request_idle);
            let reset = ep.reset().is_ok();
            let posted = ep.post_recv(&[], 7, CompletionFlags::empty());
            let _ = sender.send((event.ep, event.kind, state, idle, reset, posted));
        }
    });
    let cno = node.ia.cno_create(Some(agent)).expect("made");
    node.connect.modify_cno(Some(&cno)).expect("live");
    let [client, server] = &ends;
    let psp = node.psp();
    client.connect(&Connect::to(node.address(), psp.qualifier())).expect("unconnected");
    expect_request(&node.requests).request.accept(Some(server), b"").expect("unconnected");
    let expect = |kind, state, reset| {
        let mut ids: Vec<_> = ends.iter().map(Ep::id).collect();
        while !ids.is_empty() {
            let all = told.recv_timeout(LIMIT).expect("the agent returns");
            assert_eq!(all, (all.0, kind, Ok(state), Ok(true), reset, Ok(())));
            ids.retain(|id| *id != all.0);
        }
    };
    expect(ConnectionEventKind::Established, EpState::Connected, false);
    client.disconnect(Close::Abrupt).expect("connected");
    expect(ConnectionEventKind::Disconnected, EpState::Disconnected, true);
    node.connect.modify_cno(None).expect("live");
    drain(&node.recv);
    node.finish_with(&[&cno, &psp, client, server]);
}

fn waiters_are_unblocked_when_all_dispatchers_are_freed() {
    // dat_cno_wait(3DAT): waiters and proxy agent are unblocked without a dispatcher.
    let ia = open("");
    let (sender, calls) = unbounded();
    let cno = ia.cno_create(Some(agent(sender))).expect("made");
    let (one, two) = (attached(&ia, &cno), attached(&ia, &cno));
    let thread = Background::with(&cno, move |cno| cno.wait(LIMIT.into()));
    until_waited_on(&cno);
    one.free().expect("unused");
    until_waited_on(&cno);
    two.free().expect("unused");
    assert_eq!(thread.join(), Ok(None));
    assert_eq!(calls.recv_timeout(LIMIT), Ok(None));
    cno.free().expect("no thread waits and no dispatcher refers to it");
}

fn an_object_that_lost_its_dispatchers_can_be_used_again() {
    let (ia, cno, evd) = triggering();
    evd.post_software_event(1).expect("within the limit");
    evd.free().expect("unused");
    // The dispatcher of the trigger is freed, so the wait cannot return it.
    assert_eq!(cno.wait(LIMIT.into()), Ok(None));
    not_triggered(&cno);
    let next = attached(&ia, &cno);
    not_triggered(&cno);
    next.post_software_event(2).expect("within the limit");
    triggered_by(&cno, &next);
}

fn no_waiter_stays_asleep_when_a_trigger_races_with_a_free() {
    for round in 0..rounds(300) {
        let (ia, cno, evd) = triggering();
        let waiters =
            [(); 3].map(|()| Background::with(&cno, move |cno| cno.wait(Timeout::Infinite)));
        until_waited_on(&cno);
        let poster = Background::with(&evd, move |evd| evd.post_software_event(1));
        if round % 2 == 0 {
            ia.close(Close::Abrupt).expect("always possible");
        } else {
            until("the dispatcher is freed", || evd.free().is_ok());
        }
        // The post may succeed or come too late.
        let _ = poster.join();
        for waiter in waiters {
            // A thread that waits after the dispatchers are freed waits for the next dispatcher.
            until("all waiters return", || {
                if round % 2 == 1 {
                    let next = attached(&ia, &cno);
                    next.post_software_event(2).expect("within the limit");
                }
                waiter.has_ended()
            });
        }
    }
}

fn the_descriptor_is_readable_while_a_trigger_is_pending() {
    let (ia, cno, evd) = triggering();
    assert!(!is_readable(&cno));
    evd.post_software_event(1).expect("within the limit");
    assert!(is_readable(&cno));
    triggered_by(&cno, &evd);
    assert!(!is_readable(&cno));
    let producer = Background::with(&evd, move |evd| evd.post_software_event(2));
    assert!(becomes_readable(&cno));
    producer.join().expect("within the limit");
    // A descriptor that is opened after the trigger is readable too.
    let late = ia.cno_create(None).expect("made");
    evd.modify_cno(Some(&late)).expect("live");
    evd.post_software_event(3).expect("within the limit");
    assert!(is_readable(&late));
}

fn a_query_returns_the_adapter() {
    let (one, two) = (Node::new(), Node::new());
    let cno = one.ia.cno_create(None).expect("made");
    assert_eq!(cno.adapter(), one.ia);
    assert_ne!(cno.adapter(), two.ia);
    one.finish_with(&[&cno]);
    two.finish();
}

fn a_free_makes_the_descriptor_readable() {
    let ia = open("");
    let cno = ia.cno_create(None).expect("made");
    assert!(!is_readable(&cno));
    let other = cno.clone();
    let free = Background::run(move || other.free());
    assert!(becomes_readable(&cno), "the free must wake a thread that polls it");
    assert_eq!(free.join(), Ok(()));
    fails_with(cno.trigger(), ReturnType::InvalidHandle);
}
