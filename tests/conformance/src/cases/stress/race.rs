//! A race between an accept and a disconnect.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use fastrand::Rng;

use super::threads::ENOUGH;
use crate::prelude::*;

/// One side disconnects while the other accepts. Each side gets one established event, if its
/// connection was established, and then one event for the end.
pub(super) fn an_accept_races_with_a_disconnect() {
    const ROUNDS: u64 = 800;
    const OVER: u64 = u64::MAX;
    let (node, psp) = with_psp();
    let (far, heard) = (node.evd(EvdFlags::CONNECTION), node.evd(EvdFlags::CONNECTION));
    let client = node.ep_of(&node.spec().connect_evd(&far));
    let server = node.ep_of(&node.spec().connect_evd(&heard));
    let round = Arc::new(AtomicU64::new(0));
    let (gone, turn) = (client.clone(), Arc::clone(&round));
    let start = Instant::now();
    let other = Background::run(move || {
        let mut random = Rng::with_seed(5);
        for number in 1.. {
            while turn.load(Ordering::Acquire) < number {
                assert!(start.elapsed() < LIMIT, "the other thread gave up");
                std::thread::yield_now();
            }
            if turn.load(Ordering::Acquire) == OVER {
                return;
            }
            // Spread the disconnect from long before to long after the accept of the other thread.
            let spins = 50 << random.u32(..10);
            for _ in 0..random.u32(..spins) {
                std::hint::spin_loop();
            }
            gone.disconnect(Close::Abrupt).expect("an attempt or a connection");
        }
    });
    let story = |evd: &Evd, ep: &Ep| {
        let mut story = Vec::new();
        until("the end of the connection", || {
            story.extend(drain(evd).into_iter().map(|event| match event {
                Event::Connection(event) if event.ep == ep.id() => event.kind,
                other => panic!("unexpected event {other:?}"),
            }));
            story.last().is_some_and(|kind| *kind != ConnectionEventKind::Established)
        });
        story
    };
    for number in 1..=ROUNDS {
        if start.elapsed() > ENOUGH {
            break;
        }
        client.connect(&Connect::to(node.address(), psp.qualifier())).expect("unconnected");
        let request = expect_request(&node.requests).request;
        round.store(number, Ordering::Release);
        request.accept(Some(&server), b"").expect("an unanswered request");
        let (here, there) = (story(&far, &client), story(&heard, &server));
        let is_end = |kinds: &[ConnectionEventKind]| {
            kinds.strip_prefix(&[ConnectionEventKind::Established]).unwrap_or(kinds).to_vec()
        };
        assert_eq!(is_end(&here), [ConnectionEventKind::Disconnected], "round {number}: {here:?}");
        let fine = match &there[..] {
            [ConnectionEventKind::AcceptCompletionError] => here.len() == 1,
            [ConnectionEventKind::Established, ConnectionEventKind::Disconnected] => true,
            _ => false,
        };
        assert!(fine, "round {number}: {there:?}, and at the other side {here:?}");
        for ep in [&client, &server] {
            until("the end", || state(ep) == EpState::Disconnected);
            ep.reset().expect("disconnected");
        }
        expect_no_events(&[&far, &heard]);
    }
    round.store(OVER, Ordering::Release);
    other.join();
    node.finish_with(&[&client, &server, &psp, &far, &heard]);
}
