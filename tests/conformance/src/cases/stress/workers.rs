//! What the threads do to the shared endpoints, and what they did.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::arena::{Arena, UNUSED_QUALIFIER};
use super::threads::ENOUGH;
use crate::prelude::*;

const STEPS: u32 = 12_000;

/// The successful operations of a thread.
#[derive(Debug, Default)]
pub(super) struct Deeds {
    /// Cookies, with their endpoints.
    pub(super) posted: Vec<(u64, u64)>,
    /// Endpoints that were connected, accepted on, or freed.
    pub(super) attempts: Vec<u64>,
    pub(super) freed: Vec<u64>,
}

impl Deeds {
    pub(super) fn merge(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().fold(Self::default(), |mut sum, deeds| {
            sum.posted.extend(deeds.posted);
            sum.attempts.extend(deeds.attempts);
            sum.freed.extend(deeds.freed);
            sum
        })
    }
}

impl Arena {
    fn pick(&self, random: &mut Rng) -> Ep {
        self.slots[random.usize(..self.slots.len())].lock().clone()
    }

    /// Posts with a cookie of its own.
    fn post(&self, deeds: &mut Deeds, ep: &Ep, post: impl FnOnce(u64) -> Result<()>) {
        let cookie = self.next_cookie.fetch_add(1, Ordering::Relaxed);
        if tolerated(post(cookie)) {
            deeds.posted.push((cookie, ep.id()));
        }
    }

    /// Makes a random call on a random endpoint.
    fn act(&self, random: &mut Rng, deeds: &mut Deeds) {
        let slot = &self.slots[random.usize(..self.slots.len())];
        let ep = slot.lock().clone();
        let len = random.usize(..64);
        let local = [self.buffer.piece(random.usize(..2_000), len)];
        let remote = self.buffer.remote(2_048 + random.usize(..1_000), 64);
        let how = if random.u32(..3) == 0 { Close::Graceful } else { Close::Abrupt };
        match random.u32(..32) {
            0..=4 => {
                let qualifier =
                    if random.u32(..8) == 0 { UNUSED_QUALIFIER } else { self.qualifier };
                let to = Connect::to(self.node.address(), qualifier);
                if tolerated(ep.connect(&to)) {
                    deeds.attempts.push(ep.id());
                }
            }
            5..=10 => {
                let whole = [self.buffer.piece(64, 64)];
                self.post(deeds, &ep, |cookie| ep.post_recv(&whole, cookie, NONE));
            }
            11..=16 => self.post(deeds, &ep, |cookie| ep.post_send(&local, cookie, NONE)),
            17..=18 => {
                self.post(deeds, &ep, |cookie| ep.post_rdma_write(&local, cookie, remote, NONE));
            }
            19..=20 => {
                let whole = [self.buffer.piece(64, 64)];
                self.post(deeds, &ep, |cookie| ep.post_rdma_read(&whole, cookie, remote, NONE));
            }
            21..=23 => _ = tolerated(ep.disconnect(how)),
            24..=28 => _ = tolerated(ep.reset()),
            29 => {
                // Posts of other threads may complete or be lost with the endpoint.
                if tolerated(ep.free()) {
                    deeds.freed.push(ep.id());
                    self.ends.lock().entry(ep.id()).or_default().freed = true;
                    *slot.lock() = self.endpoint();
                }
            }
            30 => {
                let _ = tolerated(ep.modify(&EpUpdate::new().connect_evd(Some(&self.connect))));
            }
            _ => {
                let asked = (ep.query().map(drop), ep.status().map(drop), ep.recv_query());
                let _ = (tolerated(asked.0), tolerated(asked.1), tolerated(asked.2.map(drop)));
            }
        }
    }

    pub(super) fn work(&self, number: u64) -> Deeds {
        let mut random = Rng::with_seed(number);
        let mut deeds = Deeds::default();
        let start = Instant::now();
        for _ in 0..STEPS {
            if start.elapsed() > ENOUGH {
                break;
            }
            self.act(&mut random, &mut deeds);
        }
        deeds
    }

    /// Answers requests with endpoints at random, until the workers are done and no more come.
    pub(super) fn answer(&self) -> Deeds {
        let mut random = Rng::with_seed(1_000);
        let mut deeds = Deeds::default();
        let mut event = Event::default();
        loop {
            let last = self.workers_done.load(Ordering::Acquire);
            let waited = self.requests.wait(Duration::from_millis(2).into(), 1, &mut event);
            if !waited.expect("no other thread waits").is_event() {
                if last {
                    return deeds;
                }
                continue;
            }
            let Event::ConnectionRequest(arrival) = &event else { panic!("{event:?}") };
            let mut open = !last && random.u32(..10) != 0;
            for _ in 0..6 {
                let ep = self.pick(&mut random);
                if open && tolerated(arrival.request.accept(Some(&ep), b"")) {
                    deeds.attempts.push(ep.id());
                    open = false;
                }
            }
            // Has no effect if the request was accepted.
            let _ = tolerated(arrival.request.reject(b""));
        }
    }
}

/// Returns true if a call succeeded. Other threads may have changed the object, so it may fail.
#[track_caller]
pub(super) fn tolerated(result: Result<()>) -> bool {
    let meanwhile = |error: &Error| {
        matches!(
            error.return_type(),
            ReturnType::InvalidState
                | ReturnType::InvalidHandle
                | ReturnType::InsufficientResources
        )
    };
    match result {
        Ok(()) => true,
        Err(error) if meanwhile(&error) => false,
        Err(error) => panic!("{error}"),
    }
}
