//! Completions in another order.

use super::*;
use dat_core::Evd;

/// Connected pairs, whose second endpoints complete on one dispatcher.
fn pairs(site: &Site, dto: &Evd, count: u64) -> Vec<(End, End)> {
    let pair = |_| {
        let (from, to) = (site.end(), site.end_on(dto));
        site.join(&from, &to);
        (from, to)
    };
    (0..count).map(pair).collect()
}

/// The sender and cookie of each arrival, when four senders send in turn to one dispatcher.
fn arrivals(plan: FaultPlan) -> Vec<(u64, u64)> {
    let (site, faults) = planned(FaultPlan::new());
    let dto = site.evd(EvdFlags::COMPLETIONS);
    let pairs = pairs(&site, &dto, 4);
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
fn completions_of_different_endpoints_change_order_and_those_of_one_do_not() {
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
fn every_cookie_completes_once_with_any_delay_and_order() {
    const SENDERS: u64 = 4;
    const MESSAGES: u64 = 400;
    bounded(|| {
        let site = Site::with("fault.delay=3 fault.reorder=99");
        let dto = site.evd(EvdFlags::COMPLETIONS);
        let pairs = pairs(&site, &dto, SENDERS);
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

/// Connections end at any time. Each post completes once.
#[test]
fn disconnects_among_delayed_completions_lose_none() {
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
                        // The flushes of later posts are delayed as well.
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
