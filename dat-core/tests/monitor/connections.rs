//! Connections that are shown.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dat_core::monitor::Watch;
use dat_core::{
    Connect, EpCounter, EpProvision, EpSpec, EvdFlags, EvdOptions, Event, Timeout, WaitCause,
};

use crate::pair::Pair;
use crate::{alone, own};

#[test]
fn a_request_that_is_stalled_says_why() {
    let _alone = alone();
    let pair = Pair::connect("loopback");
    let mut watch = Watch::new();
    let before = pair.view(&mut watch, &pair.client);
    assert_eq!((before.requests, before.credits, before.waits_for), (0, Some(0), None));
    assert_eq!(before.transport, "loopback");

    pair.client.send(&[pair.lmr.triplet(0, 8).expect("in it")], 1).expect("connected");
    let view = pair.stalled(&mut watch);
    assert_eq!((view.requests, view.waits_for), (1, Some(WaitCause::NoReceive)));
    assert!(view.age >= Duration::from_secs(1), "{view:?}");
    let stall = pair.client.stall().expect("it exists").expect("it was seen");
    assert_eq!(stall.cause, WaitCause::NoReceive);
    let all = dat_core::monitor::stalls(10);
    assert!(all.contains(&(pair.ia.id(), pair.client.id(), stall)), "{all:?}");

    pair.server.start_counters().expect("it exists");
    pair.server.receive(&[pair.lmr.triplet(8, 8).expect("in it")], 2).expect("connected");
    let counters = pair.view(&mut watch, &pair.server).counters;
    assert_eq!(counters, [(EpCounter::PostRecv, 1), (EpCounter::PostRecvData, 8)]);
    let view = pair.view(&mut watch, &pair.client);
    assert_eq!(view.counters, []);
    assert_eq!((view.requests, view.completions), (0, 1));
    // On a machine with much to do, the completion may have waited for a second by now.
    assert!(matches!(view.waits_for, None | Some(WaitCause::Consumer)), "{view:?}");
    assert_eq!(view.sent.requests, 1);
    assert!(view.sent.requests_per_second.is_some(), "{view:?}");
    let view = pair.stalled(&mut watch);
    assert_eq!(view.waits_for, Some(WaitCause::Consumer));

    pair.take(2);
    let view = pair.view(&mut watch, &pair.client);
    assert_eq!((view.completions, view.waits_for, view.age), (0, None, Duration::ZERO));
    assert_eq!(pair.client.stall(), Ok(None));
    let server = pair.view(&mut watch, &pair.server);
    assert_eq!((server.received.requests, server.receives), (1, 0));
}

#[test]
fn completions_that_fill_their_queue_are_said() {
    let _alone = alone();
    let pair = Pair::connect("loopback");
    let length = pair.evd.query().expect("it exists").qlen;
    for cookie in 0..u64::from(length / 2) {
        let segment = |at| [pair.lmr.triplet(at, 8).expect("in it")];
        pair.server.receive(&segment(8), cookie).expect("connected");
        pair.client.send(&segment(0), cookie).expect("connected");
    }
    let view = pair.stalled(&mut Watch::new());
    assert_eq!(view.waits_for, Some(WaitCause::CompletionQueueFull), "{view:?}");
    pair.take(length as usize);
}

#[test]
fn a_thousand_endpoints_are_shown_while_other_threads_use_the_processors() {
    let _alone = alone();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let pairs: Vec<Pair> = (0..8).map(|_| Pair::connect("loopback?counters=yes")).collect();
        let ia = &pairs[0].ia;
        let pz = ia.pz_create().expect("a zone");
        let evd = ia.evd_create(&EvdOptions::new(4096, EvdFlags::DEFAULT)).expect("a dispatcher");
        let spec = EpSpec::new(&pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd);
        let psp = ia.psp_create_any(&evd, EpProvision::Consumer).expect("a service point");
        let mut all = Vec::new();
        for _ in 0..500 {
            let client = ia.ep_create(&spec).expect("an endpoint");
            let server = ia.ep_create(&spec).expect("an endpoint");
            client.connect(&Connect::to_psp(&psp)).expect("it starts");
            loop {
                match evd.next_event(Timeout::Infinite).expect("no error") {
                    Some(Event::ConnectionRequest(arrival)) => {
                        arrival.request.accept(Some(&server), b"").expect("it is the first");
                        break;
                    }
                    Some(_) => {}
                    None => panic!("no time-out"),
                }
            }
            all.push((client, server));
        }
        let mut watch = Watch::new();
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let view = own(&mut watch);
            if view.connections.len() == 1016 && view.omitted == 0 {
                break;
            }
            assert!(Instant::now() < deadline, "{}", view.connections.len());
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
