//! Threads that post to the same queue pairs.

use std::collections::HashMap;
use std::sync::Mutex;

use super::*;
use dat_core::{DtoStatus, ReturnType};

/// The cookies of the successful posts of one thread, in order.
#[derive(Default)]
struct Posted {
    receives: Vec<u64>,
    requests: Vec<u64>,
}

/// Posts receives, sends, writes and reads until `stop` is set.
fn post(side: &Side, buffer: &Buffer, cookies: &AtomicU64, stop: &AtomicBool) -> Posted {
    let mut posted = Posted::default();
    let check_refused = |error: dat_core::Error| {
        let is_full = error.is(ReturnType::InsufficientResources);
        assert!(is_full || error.is(ReturnType::InvalidState), "{error}");
        side.recorder.drain();
    };
    while !stop.load(Ordering::Relaxed) {
        let cookie = cookies.fetch_add(1, Ordering::Relaxed);
        match side.try_receive(cookie, &[buffer.segment(0, 16)]) {
            Ok(()) => posted.receives.push(cookie),
            Err(error) => check_refused(error),
        }
        let cookie = cookies.fetch_add(1, Ordering::Relaxed);
        let work = match cookie % 6 {
            0 => Work::RdmaWrite { remote: buffer.remote(32, 16) },
            1 => Work::RdmaRead { remote: buffer.remote(48, 16) },
            _ => Work::Send,
        };
        match side.request(work, cookie, &[buffer.segment(16, 16)], CompletionFlags::empty()) {
            Ok(()) => posted.requests.push(cookie),
            Err(error) => check_refused(error),
        }
    }
    posted
}

#[test]
fn every_cookie_completes_once_and_in_order() {
    in_world(|world| {
        let succeeded = AtomicU64::new(0);
        thread::scope(|scope| {
            for pair in 0..3_u64 {
                let (a, b) = (world.side(), world.side());
                let (world, succeeded) = (world, &succeeded);
                scope.spawn(move || {
                    let buffer = world.buffer(64);
                    for round in 0..rounds(40) {
                        exchange(world, (&a, &b), &buffer, pair + round, succeeded);
                    }
                });
            }
        });
        assert!(succeeded.into_inner() > 0);
    });
}

/// Connects, posts from two threads on each side, ends the connection, and checks the completions.
fn exchange(
    world: &World,
    (a, b): (&Side, &Side),
    buffer: &Buffer,
    number: u64,
    succeeded: &AtomicU64,
) {
    // All pairs use the same listener, so they connect one at a time.
    static JOIN: Mutex<()> = Mutex::new(());
    {
        let _one = JOIN.lock().unwrap();
        world.join(a, b);
    }
    let (stop, cookies) = (AtomicBool::new(false), AtomicU64::new(0));
    let posted: Vec<(bool, Posted)> = thread::scope(|scope| {
        let posters: Vec<_> = [true, true, false, false]
            .into_iter()
            .map(|active| {
                let side = if active { a } else { b };
                let (stop, cookies) = (&stop, &cookies);
                (active, scope.spawn(move || post(side, buffer, cookies, stop)))
            })
            .collect();
        thread::sleep(Duration::from_millis(2 + number % 3));
        if number % 2 == 0 { a } else { b }.qp.disconnect(close(number / 2));
        thread::sleep(Duration::from_millis(1));
        b.break_off();
        stop.store(true, Ordering::Relaxed);
        posters.into_iter().map(|(active, thread)| (active, thread.join().unwrap())).collect()
    });
    for (active, side) in [(true, a), (false, b)] {
        assert!(side.qp.outstanding().receives == 0 && side.qp.outstanding().requests == 0);
        let (completions, events) = split(side.log());
        assert_eq!(events, [Event::Disconnected]);
        let positions: HashMap<u64, usize> =
            completions.iter().enumerate().map(|(at, one)| (one.cookie, at)).collect();
        assert_eq!(positions.len(), completions.len(), "a cookie completed twice");
        let mine = || posted.iter().filter(|one| one.0 == active).map(|one| &one.1);
        let posts: usize = mine().map(|one| one.receives.len() + one.requests.len()).sum();
        assert_eq!(posts, completions.len(), "a cookie did not complete");
        for stream in mine().flat_map(|one| [&one.receives, &one.requests]) {
            let order: Vec<_> = stream.iter().map(|cookie| positions[cookie]).collect();
            assert!(order.is_sorted(), "out of order");
        }
        let good = completions.iter().filter(|one| one.status == DtoStatus::Success).count();
        succeeded.fetch_add(good as u64, Ordering::Relaxed);
        side.qp.reset().unwrap();
    }
}
