//! Planned faults, as a consumer of the DAT API meets them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::bounded;
use crate::dat::{End, LONG, Site, next, open, poll};
use dat_core::provider::AsyncUpcall;
use dat_core::provider::decorate::faults::{AsyncFault, ConnectFault, FaultPlan, FaultyProvider};
use dat_core::{
    AsyncErrorKind, Close, CompletionFlags, ConnectionEventKind as Kind, DatagramEventKind,
    DtoStatus, EpSpec, EpState, EvdFlags, EvdOptions, Event, MemorySource, Operation, Privileges,
    PspMaker, ReturnType, SrqAttributes, Subtype, Timeout,
};
use {DtoStatus::*, Operation::*};

fn faulty(plan: FaultPlan) -> FaultyProvider {
    FaultyProvider::new(dat_provider_loopback::provider(), plan)
}

/// Two sites: one whose provider has a plan that can be changed, and its handle.
fn planned(plan: FaultPlan) -> (Site, Arc<dat_core::provider::decorate::faults::Faults>) {
    let provider = faulty(FaultPlan::new());
    let faults = provider.faults();
    let site = Site::over(Arc::new(provider));
    faults.set(plan);
    (site, faults)
}

#[test]
fn every_attempt_is_refused_after_the_flush_and_a_reset_leads_back() {
    bounded(|| {
        for (value, kind) in [("refuse", Kind::NonPeerRejected), ("unreachable", Kind::Unreachable)]
        {
            let site = Site::with(&format!("fault.connect={value}"));
            let end = site.end();
            for round in 0..3 {
                end.receive(round).unwrap();
                site.connect(&end, LONG);
                assert_eq!(end.event(), kind);
                assert_eq!(end.state(), EpState::Disconnected);
                assert_eq!(end.done(), [(Receive, round, Flushed)]);
                // Disconnected as after any failure: posts are flushed at once.
                end.send(7).unwrap();
                assert_eq!(end.done(), [(Send, 7, Flushed)]);
                end.ep.reset().unwrap();
                assert_eq!(end.state(), EpState::Unconnected);
            }
            assert!(!end.has_event());
            assert!(!site.has_request(), "no request arrived");
        }
    });
}

#[test]
fn only_the_nth_attempt_fails() {
    bounded(|| {
        let site = Site::with("fault.connect=refuse,fault.connect_nth=2");
        let (_a, _b) = site.pair();
        let (c, d) = (site.end(), site.end());
        site.connect(&c, LONG);
        assert_eq!(c.event(), Kind::NonPeerRejected);
        c.ep.reset().unwrap();
        site.join(&c, &d);
    });
}

#[test]
fn a_silent_attempt_ends_with_the_time_out() {
    bounded(|| {
        let site = Site::with("fault.connect=silent");
        let end = site.end();
        end.receive(1).unwrap();
        let start = Instant::now();
        site.connect(&end, Timeout::After(Duration::from_millis(30)));
        assert_eq!(end.state(), EpState::ActiveConnectionPending);
        assert_eq!(end.event(), Kind::TimedOut);
        assert!(start.elapsed() >= Duration::from_millis(30));
        assert_eq!(end.state(), EpState::Disconnected);
        assert_eq!(end.done(), [(Receive, 1, Flushed)]);
        assert!(!end.has_event() && !site.has_request());
        end.ep.reset().unwrap();
        end.ep.free().unwrap();
    });
}

#[test]
fn a_silent_attempt_can_be_given_up_and_tried_again() {
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new().connect(ConnectFault::Silent));
        let (a, b) = (site.end(), site.end());
        site.connect(&a, Timeout::Infinite);
        assert!(!a.has_event());
        a.disconnect();
        assert_eq!(a.event(), Kind::Disconnected);
        assert!(!a.has_event(), "one outcome");
        a.ep.reset().unwrap();
        faults.set(FaultPlan::new());
        site.join(&a, &b);
        assert_eq!(a.ep.query().unwrap().ignored_events, 0);
        // One that is pending when all is closed.
        faults.set(FaultPlan::new().connect(ConnectFault::Silent));
        let c = site.end();
        site.connect(&c, Timeout::Infinite);
        site.ia.close(Close::Abrupt).unwrap();
    });
}

#[test]
fn attempts_to_resolve_fail_each_for_itself() {
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new().connect(ConnectFault::Silent));
        let (a, b) = (site.datagram_end(), site.datagram_end());
        let soon = Timeout::After(Duration::from_millis(20));
        site.connect(&a, Timeout::Infinite);
        site.connect(&a, soon);
        assert_eq!(a.datagram_event().kind, DatagramEventKind::Error);
        for fault in [ConnectFault::Refuse, ConnectFault::Unreachable] {
            faults.set(FaultPlan::new().connect(fault));
            site.connect(&a, LONG);
            assert_eq!(a.datagram_event().kind, DatagramEventKind::Error);
        }
        assert!(!a.has_event() && !site.has_request());
        // Unanswered attempts hinder no other one, and none of them breaks.
        faults.set(FaultPlan::new().break_after(1));
        site.connect(&a, LONG);
        site.request().accept(Some(&b.ep), b"").unwrap();
        let to = a.datagram_event().remote.unwrap();
        assert_eq!(b.datagram_event().kind, DatagramEventKind::Established);
        for cookie in 0..3 {
            a.ep.post_send_datagram(&[], &to, cookie, CompletionFlags::empty()).unwrap();
        }
        assert_eq!(a.done(), [0, 1, 2].map(|cookie| (SendDatagram, cookie, Success)));
        assert!(!a.has_event() && !b.has_event());
        faults.set(FaultPlan::new().post_nth(1));
        let refused = a.ep.post_send_datagram(&[], &to, 3, CompletionFlags::empty());
        assert!(refused.unwrap_err().is(ReturnType::InsufficientResources));
    });
}

/// An address lives as long as any object of the provider's at it: nothing must be left behind.
#[test]
fn a_silent_attempt_leaves_nothing_behind() {
    bounded(|| {
        let target = {
            let (site, faults) = planned(FaultPlan::new().connect(ConnectFault::Silent));
            let (freed, dropped, given_up) = (site.end(), site.end(), site.end());
            let datagrams = site.datagram_end();
            for end in [&freed, &dropped, &given_up, &datagrams, &datagrams] {
                site.connect(end, Timeout::Infinite);
            }
            freed.ep.free().unwrap();
            given_up.disconnect();
            drop((faults, dropped));
            site.ia.close(Close::Abrupt).unwrap();
            (site.ia.attributes().address, site.psp.qualifier())
        };
        let other = Site::with("");
        let end = other.end();
        end.ep.connect(&dat_core::Connect::to(target.0, target.1).timeout(LONG)).unwrap();
        assert_eq!(end.event(), Kind::Unreachable);
    });
}

/// Both ends of a connection that broke after three requests of the first.
fn check_broken(a: &End, b: &End) {
    for cookie in 1..=4 {
        b.receive(cookie).unwrap();
    }
    b.send(50).unwrap();
    a.receive(51).unwrap();
    for cookie in 11..=13 {
        assert_eq!(a.state(), EpState::Connected);
        a.send(cookie).unwrap();
    }
    for end in [a, b] {
        assert_eq!(end.event(), Kind::Broken);
        assert_eq!(end.state(), EpState::Disconnected);
        assert!(!end.has_event(), "one end");
    }
    let done = [(Receive, 51), (Send, 11), (Send, 12), (Send, 13)];
    assert_eq!(a.done(), done.map(|(operation, cookie)| (operation, cookie, Success)));
    let mut done = vec![(Send, 50, Success)];
    done.extend([1, 2, 3].map(|cookie| (Receive, cookie, Success)));
    done.push((Receive, 4, Flushed));
    assert_eq!(b.done(), done);
}

#[test]
fn a_connection_breaks_after_the_nth_request_on_both_sides() {
    bounded(|| {
        let site = Site::with("fault.break_after=3");
        let (a, b) = site.pair();
        check_broken(&a, &b);
        // Each connection counts from zero, and either side can be the one.
        for end in [&a, &b] {
            end.ep.reset().unwrap();
        }
        site.join(&a, &b);
        check_broken(&b, &a);
    });
}

#[test]
fn a_break_reaches_the_peer_on_another_faulty_adapter() {
    bounded(|| {
        let here = Site::with("fault.break_after=3");
        let there = Site::with("fault.break_after=100");
        let (a, b) = (here.end(), there.end());
        there.join(&a, &b);
        check_broken(&a, &b);
        let (c, d) = (here.end(), there.end());
        here.join(&d, &c);
        check_broken(&c, &d);
    });
}

#[test]
fn a_peer_without_faults_hears_of_a_disconnect() {
    bounded(|| {
        let here = Site::with("fault.break_after=1");
        let there = Site::with("");
        let (a, b) = (here.end(), there.end());
        there.join(&a, &b);
        b.receive(1).unwrap();
        a.send(2).unwrap();
        assert_eq!((a.event(), b.event()), (Kind::Broken, Kind::Disconnected));
        assert_eq!(a.done(), [(Send, 2, Success)]);
        assert_eq!(b.done(), [(Receive, 1, Success)]);
    });
}

#[test]
fn what_waits_at_the_break_is_flushed_and_an_ordinary_end_stays_one() {
    bounded(|| {
        let site = Site::with("fault.break_after=2");
        let (a, b) = site.pair();
        a.send(1).unwrap();
        a.send(2).unwrap();
        assert_eq!((a.event(), b.event()), (Kind::Broken, Kind::Broken));
        assert_eq!(a.done(), [(Send, 1, Flushed), (Send, 2, Flushed)]);
        let (c, d) = site.pair();
        d.receive(3).unwrap();
        c.send(4).unwrap();
        c.disconnect();
        assert_eq!((c.event(), d.event()), (Kind::Disconnected, Kind::Disconnected));
    });
}

#[test]
fn the_nth_registration_fails_once() {
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new().register_nth(2));
        let register = || {
            let source = MemorySource::Memory(&site.memory);
            site.ia.lmr_create(source, &site.pz, Privileges::ALL)
        };
        for _ in 0..2 {
            assert!(register().is_ok());
            let error = register().unwrap_err();
            assert!(error.is(ReturnType::InsufficientResources), "{error}");
            assert_eq!(error.subtype(), Subtype::ResourceMemoryRegion);
            assert!(error.to_string().contains("fault.register_nth=2"), "{error}");
            assert!(register().is_ok() && register().is_ok());
            // The counts begin again.
            faults.set(FaultPlan::new().register_nth(2));
        }
    });
}

#[test]
fn the_nth_post_fails_once_and_leaves_no_trace() {
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new());
        let (a, b) = site.pair();
        faults.set(FaultPlan::new().post_nth(3));
        b.receive(1).unwrap();
        a.send(2).unwrap();
        let error = a.send(3).unwrap_err();
        assert!(error.is(ReturnType::InsufficientResources), "{error}");
        assert_eq!(error.subtype(), Subtype::ResourceCredits);
        assert!(!b.has_event(), "still connected");
        b.receive(4).unwrap();
        a.send(5).unwrap();
        assert_eq!(a.done(), [(Send, 2, Success), (Send, 5, Success)]);
        assert_eq!(b.done(), [(Receive, 1, Success), (Receive, 4, Success)]);
        faults.set(FaultPlan::new().post_nth(1));
        assert!(b.receive(6).unwrap_err().is(ReturnType::InsufficientResources));
        b.receive(7).unwrap();
    });
}

#[test]
fn the_nth_creation_fails_with_its_resource() {
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new());
        let ia = &site.ia;
        let evd = || ia.evd_create(&EvdOptions::new(4, EvdFlags::DTO)).map(drop);
        let srq = SrqAttributes { max_recv_dtos: 4, max_recv_iov: 1, low_watermark: 0 };
        let psp = || ia.psp_create_any(&site.requests, PspMaker::Consumer).map(drop);
        let creations: [(&dyn Fn() -> dat_core::Result<()>, Subtype); 5] = [
            (&|| ia.pz_create().map(drop), Subtype::ResourceProtectionDomain),
            (&evd, Subtype::ResourceTevd),
            (&|| ia.ep_create(&EpSpec::new(&site.pz)).map(drop), Subtype::ResourceTep),
            (&|| ia.srq_create(&site.pz, srq).map(drop), Subtype::ResourceSrq),
            (&psp, Subtype::ResourceDevice),
        ];
        for (create, resource) in creations {
            faults.set(FaultPlan::new().create_nth(2));
            create().unwrap();
            let error = create().unwrap_err();
            assert!(error.is(ReturnType::InsufficientResources), "{error}");
            assert_eq!(error.subtype(), resource);
            create().unwrap();
        }
    });
}

#[test]
fn completions_come_so_many_polls_later() {
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new());
        let (a, b) = site.pair();
        faults.set(FaultPlan::new().delay(4));
        b.receive(1).unwrap();
        a.send(2).unwrap();
        for _ in 0..4 {
            assert_eq!(poll(&a.dto), None);
        }
        assert_eq!(poll(&a.dto).map(|one| one.cookie), Some(2));
        assert_eq!(poll(&a.dto), None);
        // Each from when it was found, in order; a plan without a delay lets them go.
        assert_eq!(poll(&b.dto), None);
        b.receive(3).unwrap();
        a.send(4).unwrap();
        for _ in 0..3 {
            assert_eq!(poll(&b.dto), None);
        }
        assert_eq!(poll(&b.dto).map(|one| one.cookie), Some(1));
        faults.set(FaultPlan::new());
        assert_eq!(poll(&b.dto).map(|one| one.cookie), Some(3));
    });
}

#[test]
fn nobody_sleeps_on_a_completion_that_is_held_back() {
    use std::os::fd::AsFd;
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new());
        let (a, b) = site.pair();
        faults.set(FaultPlan::new().delay(1_000_000));
        // One that is there before the wait, and one that comes into it.
        b.receive(1).unwrap();
        b.receive(2).unwrap();
        a.send(3).unwrap();
        assert_eq!(poll(&b.dto), None);
        assert!(matches!(next(&b.dto), Event::Dto(one) if one.cookie == 1));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                a.send(4).unwrap();
            });
            assert!(matches!(next(&b.dto), Event::Dto(one) if one.cookie == 2));
        });
        // An armed descriptor.
        assert_eq!(poll(&a.dto), None);
        assert!(a.dto.arm().unwrap(), "two are waiting");
        assert_eq!(poll(&a.dto).map(|one| one.cookie), Some(3));
        assert_eq!(poll(&a.dto).map(|one| one.cookie), Some(4));
        assert!(!a.dto.arm().unwrap());
        let _ = a.dto.as_fd();
        b.receive(5).unwrap();
        a.send(6).unwrap();
        assert_eq!(poll(&a.dto).map(|one| one.cookie), Some(6), "armed still");
        // A notification object.
        let cno = site.ia.cno_create(None).unwrap();
        a.dto.disarm();
        a.dto.modify_cno(Some(&cno)).unwrap();
        b.receive(7).unwrap();
        a.send(8).unwrap();
        assert_eq!(cno.wait(LONG).unwrap(), Some(a.dto.clone()));
        assert_eq!(poll(&a.dto).map(|one| one.cookie), Some(8));
    });
}

#[test]
fn a_connection_event_comes_after_what_was_held_back() {
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new());
        let both = site.evd(EvdFlags::COMPLETIONS | EvdFlags::CONNECTION);
        let spec = EpSpec::new(&site.pz).recv_evd(&both).request_evd(&both).connect_evd(&both);
        let a = End { ep: site.ia.ep_create(&spec).unwrap(), dto: both.clone(), events: both };
        let b = site.end();
        site.join(&a, &b);
        faults.set(FaultPlan::new().delay(1_000_000).reorder(3));
        a.receive(1).unwrap();
        a.receive(2).unwrap();
        b.send(3).unwrap();
        assert!(!a.has_event(), "held back");
        b.disconnect();
        let events: Vec<_> = std::iter::from_fn(|| {
            let mut event = Event::default();
            a.dto.dequeue(&mut event).unwrap().then_some(event)
        })
        .collect();
        let [Event::Dto(first), Event::Dto(second), Event::Connection(end)] = &events[..] else {
            panic!("{events:?}")
        };
        assert_eq!((first.cookie, first.status), (1, Success));
        assert_eq!((second.cookie, second.status), (2, Flushed));
        assert_eq!(end.kind, Kind::Disconnected);
        // The other side's too, on a dispatcher of its own.
        assert_eq!(b.event(), Kind::Disconnected);
        assert_eq!(b.done(), [(Send, 3, Success)]);
        // And when the endpoint is freed.
        let (c, d) = site.pair();
        c.send(4).unwrap();
        assert_eq!(poll(&c.dto), None);
        c.ep.free().unwrap();
        assert_eq!(c.done(), [(Send, 4, Flushed)]);
        drop(d);
    });
}

#[test]
fn an_endpoint_with_other_dispatchers_flushes_those() {
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new());
        let (a, b, dto) = (site.end(), site.end(), site.evd(EvdFlags::COMPLETIONS));
        let change = dat_core::EpChange::new().recv_evd(Some(&dto)).request_evd(Some(&dto));
        a.ep.modify(&change).unwrap();
        let a = End { dto, ..a };
        site.join(&a, &b);
        faults.set(FaultPlan::new().delay(1_000_000));
        b.receive(1).unwrap();
        a.send(2).unwrap();
        assert_eq!(poll(&a.dto), None);
        b.disconnect();
        assert_eq!(a.event(), Kind::Disconnected);
        assert_eq!(a.done(), [(Send, 2, Success)]);
    });
}

#[test]
fn a_queue_shrinks_only_below_nothing_held_back() {
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new());
        let (a, b) = site.pair();
        faults.set(FaultPlan::new().delay(100));
        for cookie in 0..3 {
            b.receive(cookie).unwrap();
            a.send(cookie).unwrap();
        }
        assert_eq!(poll(&a.dto), None);
        assert!(a.dto.resize(2).unwrap_err().is(ReturnType::InvalidState));
        a.dto.resize(3).unwrap();
        faults.set(FaultPlan::new());
        assert_eq!(a.done(), [0, 1, 2].map(|cookie| (Send, cookie, Success)));
    });
}

/// The cookies that arrive when four senders send in turn, to one dispatcher.
fn arrivals(plan: FaultPlan) -> Vec<(u64, u64)> {
    let (site, faults) = planned(FaultPlan::new());
    let dto = site.evd(EvdFlags::COMPLETIONS);
    let pairs: Vec<_> = (0..4)
        .map(|_| {
            let (from, to) = (site.end(), site.end_on(&dto));
            site.join(&from, &to);
            (from, to)
        })
        .collect();
    faults.set(plan);
    for cookie in 0..10 {
        for (from, to) in &pairs {
            to.receive(cookie).unwrap();
            from.send(cookie).unwrap();
        }
    }
    let number = |ep| pairs.iter().position(|pair| pair.1.ep.id() == ep).unwrap() as u64;
    let found: Vec<_> =
        crate::dat::drain(&dto).into_iter().map(|one| (number(one.ep), one.cookie)).collect();
    for pair in 0..4 {
        let own: Vec<_> = found.iter().filter(|one| one.0 == pair).map(|one| one.1).collect();
        assert_eq!(own, (0..10).collect::<Vec<_>>(), "the order of a stream");
    }
    assert_eq!(found.len(), 40);
    found
}

#[test]
fn streams_change_places_and_each_keeps_its_order() {
    bounded(|| {
        let plain = arrivals(FaultPlan::new());
        assert_eq!(plain[..5], [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1)]);
        let one = arrivals(FaultPlan::new().reorder(1));
        assert_ne!(one, plain);
        assert_eq!(arrivals(FaultPlan::new().reorder(1)), one, "the same seed");
        assert_ne!(arrivals(FaultPlan::new().reorder(2)), one, "another seed");
    });
}

#[test]
fn every_cookie_completes_once_whatever_the_delay_and_order() {
    const SENDERS: u64 = 4;
    const MESSAGES: u64 = 400;
    bounded(|| {
        let site = Site::with("fault.delay=3 fault.reorder=99");
        let dto = site.evd(EvdFlags::COMPLETIONS);
        let pairs: Vec<_> = (0..SENDERS)
            .map(|_| {
                let (from, to) = (site.end(), site.end_on(&dto));
                site.join(&from, &to);
                (from, to)
            })
            .collect();
        let start = Instant::now();
        let in_time = || assert!(start.elapsed() < Duration::from_secs(50), "no progress");
        // One thread posts and polls for each sender, one posts the receives of each
        // receiver, and one polls for all receivers.
        let received: Vec<_> = std::thread::scope(|scope| {
            for (from, to) in &pairs {
                scope.spawn(move || {
                    let (mut sent, mut done) = (0, 0);
                    while done < MESSAGES {
                        in_time();
                        if sent < MESSAGES && sent - done < 32 && from.send(sent).is_ok() {
                            sent += 1;
                        }
                        while let Some(one) = poll(&from.dto) {
                            assert_eq!((one.cookie, one.status), (done, Success));
                            done += 1;
                        }
                    }
                });
                scope.spawn(move || {
                    let mut posted = 0;
                    while posted < MESSAGES {
                        in_time();
                        match to.receive(posted) {
                            Ok(()) => posted += 1,
                            Err(full) => {
                                assert!(full.is(ReturnType::InsufficientResources), "{full}");
                                std::thread::yield_now();
                            }
                        }
                    }
                });
            }
            let mut received = Vec::new();
            while (received.len() as u64) < SENDERS * MESSAGES {
                in_time();
                match poll(&dto) {
                    Some(one) => received.push((one.ep, one.cookie, one.status)),
                    None => std::thread::yield_now(),
                }
            }
            received
        });
        for (_, to) in &pairs {
            let own: Vec<_> = received.iter().filter(|one| one.0 == to.ep.id()).collect();
            assert_eq!(own.len() as u64, MESSAGES);
            for (expected, one) in (0..).zip(own) {
                assert_eq!((one.1, one.2), (expected, Success));
            }
        }
        assert_eq!(poll(&dto), None);
    });
}

/// Connections end at any time; every post completes before that, once.
#[test]
fn ends_among_late_completions_lose_nothing() {
    bounded(|| {
        let site = Site::with("fault.delay=7,fault.reorder=5,fault.break_after=20");
        let (a, b) = (site.end(), site.end());
        for round in 0..40 {
            site.join(&a, &b);
            std::thread::scope(|scope| {
                for (from, to) in [(&a, &b), (&b, &a)] {
                    scope.spawn(move || {
                        let mut posted = (Vec::new(), Vec::new());
                        for cookie in 0..24 {
                            if from.send(cookie).is_ok() {
                                posted.0.push(cookie);
                            }
                            if from.receive(cookie).is_ok() {
                                posted.1.push(cookie);
                            }
                        }
                        if round % 4 == 0 {
                            to.disconnect();
                        }
                        let end = from.event();
                        assert!(matches!(end, Kind::Broken | Kind::Disconnected), "{end:?}");
                        // What was posted after the end is late as well.
                        let mut done = (Vec::new(), Vec::new());
                        let start = Instant::now();
                        while done.0.len() < posted.0.len() || done.1.len() < posted.1.len() {
                            assert!(start.elapsed() < Duration::from_secs(20), "{done:?}");
                            for (operation, cookie, _) in from.done() {
                                let request = operation.is_request();
                                if request { &mut done.0 } else { &mut done.1 }.push(cookie);
                            }
                        }
                        assert_eq!(done, posted);
                    });
                }
            });
            for end in [&a, &b] {
                assert!(!end.has_event(), "one end");
                assert_eq!(end.done(), []);
                end.ep.reset().unwrap();
            }
        }
    });
}

#[test]
fn asynchronous_errors_come_on_demand() {
    bounded(|| {
        let provider = Arc::new(faulty(FaultPlan::new()));
        let faults = provider.faults();
        let sites = [Site::over(Arc::clone(&provider) as _), Site::over(provider)];
        let (a, _b) = sites[0].pair();
        let tag = a.ep.id();
        for (event, kind) in [
            (AsyncUpcall::Catastrophic, AsyncErrorKind::IaCatastrophic),
            (AsyncUpcall::ProviderInternal, AsyncErrorKind::ProviderInternal),
            (AsyncUpcall::QueuePairBroken { tag }, AsyncErrorKind::EpBroken),
        ] {
            assert_eq!(faults.raise(event), 2);
            for site in &sites {
                let error = site.async_error().unwrap();
                let object = if kind == AsyncErrorKind::EpBroken { tag } else { site.ia.id() };
                assert_eq!((error.kind, error.object), (kind, object));
                assert_eq!(site.async_error(), None);
            }
        }
        for site in &sites {
            site.ia.close(Close::Abrupt).unwrap();
        }
        assert_eq!(faults.raise(AsyncUpcall::Catastrophic), 0, "nothing is open");
    });
}

#[test]
fn an_asynchronous_error_comes_after_the_nth_post() {
    bounded(|| {
        for (value, kind) in [
            ("catastrophic", AsyncErrorKind::IaCatastrophic),
            ("internal", AsyncErrorKind::ProviderInternal),
            ("ep_broken", AsyncErrorKind::EpBroken),
        ] {
            let site = Site::with(&format!("fault.async={value} fault.async_after=2"));
            let (a, b) = site.pair();
            b.receive(1).unwrap();
            assert_eq!(site.async_error(), None);
            a.send(2).unwrap();
            let error = site.async_error().unwrap();
            assert_eq!(error.kind, kind);
            let object = if value == "ep_broken" { a.ep.id() } else { site.ia.id() };
            assert_eq!(error.object, object);
            b.receive(3).unwrap();
            assert_eq!(site.async_error(), None, "once");
        }
        // Without a number it is the first.
        let site = Site::with("fault.async=internal");
        site.end().receive(1).unwrap();
        assert!(site.async_error().is_some());
        let (site, faults) = planned(FaultPlan::new().async_after(AsyncFault::Internal, 1));
        site.end().receive(1).unwrap();
        assert!(site.async_error().is_some());
        faults.set(FaultPlan::new().async_after(AsyncFault::Internal, 0));
        site.end().receive(1).unwrap();
        assert_eq!(site.async_error(), None);
    });
}

#[test]
fn bad_parameters_are_named_with_what_would_do() {
    for (parameters, words) in [
        (
            "fault.connect=maybe",
            &["fault.connect", "\"maybe\"", "refuse, unreachable or silent"][..],
        ),
        ("fault.delay=soon", &["fault.delay", "\"soon\"", "whole number"]),
        ("fault.delay=-1", &["fault.delay", "\"-1\""]),
        ("fault.post_nth=18446744073709551616", &["fault.post_nth", "18446744073709551615"]),
        ("fault.async=x", &["fault.async", "\"x\"", "catastrophic, internal or ep_broken"]),
        ("fault.colour=blue", &["fault.colour", "\"blue\"", "fault.connect", "fault.async_after"]),
        ("fault.delay", &["\"fault.delay\"", "KEY=VALUE"]),
        ("fault.=1", &["\"fault.\"", "\"1\""]),
        ("fault.connect_nth=2", &["fault.connect_nth=2", "use fault.connect as well"]),
        ("fault.async_after=2", &["fault.async_after=2", "use fault.async as well"]),
        ("max_eps=2 fault.delay=1,max_ep=3", &["\"max_ep\"", "max_eps=3?"]),
    ] {
        let error = open(dat_provider_loopback::provider(), parameters).unwrap_err();
        assert!(error.is(ReturnType::InvalidParameter), "{error}");
        assert_eq!(error.operation(), "dat_ia_open");
        let said = error.to_string();
        for word in words {
            assert!(said.contains(word), "{parameters:?} gives {said:?} without {word:?}");
        }
    }
}

#[test]
fn other_parameters_reach_the_provider() {
    let parameters = "max_eps=3,fault.delay=0 max_lmrs=5, fault.reorder=1";
    let ia = open(dat_provider_loopback::provider(), parameters).unwrap();
    assert_eq!((ia.attributes().max_eps, ia.attributes().max_lmrs), (3, 5));
    let provider = Arc::new(faulty(FaultPlan::new().create_nth(1)));
    let ia = open(provider, "max_eps=3 fault.create_nth=2").unwrap();
    assert_eq!(ia.attributes().max_eps, 3);
    ia.pz_create().unwrap();
    assert!(ia.pz_create().is_err(), "parameters change the plan of the provider");
}

#[test]
fn a_plan_without_faults_changes_nothing() {
    bounded(|| {
        let site = Site::over(Arc::new(faulty(FaultPlan::new())));
        let (a, b) = site.pair();
        site.memory.write(0, b"hello").unwrap();
        b.ep.post_recv(&site.iov(100, 5), 1, CompletionFlags::empty()).unwrap();
        a.ep.post_send(&site.iov(0, 5), 2, CompletionFlags::empty()).unwrap();
        assert_eq!(a.done(), [(Send, 2, Success)]);
        assert_eq!(b.done(), [(Receive, 1, Success)]);
        assert_eq!(site.memory.to_vec(100, 5).unwrap(), b"hello");
        a.ep.disconnect(Close::Graceful).unwrap();
        assert_eq!((a.event(), b.event()), (Kind::Disconnected, Kind::Disconnected));
        assert_eq!(site.async_error(), None);
    });
}
