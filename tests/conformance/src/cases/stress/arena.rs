//! Endpoints that all threads share, and what must be true when the threads have ended.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::events::Ends;
use super::threads::{THREADS, in_threads};
use super::workers::{Deeds, tolerated};
use crate::prelude::*;

const SLOTS: usize = 10;
/// A qualifier without a service point.
pub(super) const UNUSED_QUALIFIER: u64 = 66;

fn evd(node: &Node, qlen: u32, flags: EvdFlags) -> Evd {
    let most = node.ia.attributes().max_evd_qlen;
    node.ia.evd_create(&EvdOptions::new(qlen.min(most), flags)).expect("a dispatcher")
}

/// The state that all threads share.
pub(super) struct Arena {
    pub(super) node: Node,
    pub(super) buffer: Buffer,
    recv: Evd,
    request: Evd,
    pub(super) connect: Evd,
    /// Long enough for the requests of endpoints that were abandoned meanwhile.
    pub(super) requests: Evd,
    pub(super) slots: Vec<Mutex<Ep>>,
    pub(super) qualifier: u64,
    /// How many times each cookie completed.
    pub(super) completed: Vec<AtomicU8>,
    pub(super) next_cookie: AtomicU64,
    pub(super) ends: Mutex<HashMap<u64, Ends>>,
    pub(super) workers_done: AtomicBool,
    pub(super) all_done: AtomicBool,
}

impl Arena {
    fn new() -> (Arc<Self>, Psp) {
        let node = Node::new();
        let requests = evd(&node, 8_192, EvdFlags::CONNECTION_REQUEST);
        let psp = node.ia.psp_create_any(&requests, EpProvision::Consumer).expect("a point");
        let (recv, request) =
            (evd(&node, 8_192, EvdFlags::DTO), evd(&node, 8_192, EvdFlags::COMPLETIONS));
        let connect = evd(&node, 8_192, EvdFlags::CONNECTION);
        let mut arena = Self {
            buffer: node.buffer(4_096),
            slots: Vec::new(),
            qualifier: psp.qualifier(),
            completed: std::iter::repeat_with(AtomicU8::default).take(1 << 17).collect(),
            next_cookie: AtomicU64::new(0),
            ends: Mutex::default(),
            workers_done: AtomicBool::new(false),
            all_done: AtomicBool::new(false),
            recv,
            request,
            connect,
            requests,
            node,
        };
        arena.slots = (0..SLOTS).map(|_| Mutex::new(arena.endpoint())).collect();
        (Arc::new(arena), psp)
    }

    pub(super) fn endpoint(&self) -> Ep {
        let spec = self.node.spec().recv_evd(&self.recv).request_evd(&self.request);
        self.node.ep_of(&spec.connect_evd(&self.connect))
    }

    /// Ends the connection of an endpoint and waits until nothing is outstanding.
    fn calm(&self, ep: &Ep, deeds: &mut Deeds) {
        let _ = tolerated(ep.disconnect(Close::Abrupt));
        until("the endpoint comes to rest", || {
            matches!(state(ep), EpState::Unconnected | EpState::Disconnected)
        });
        if state(ep) == EpState::Unconnected {
            // A failed attempt flushes the receives.
            ep.connect(&Connect::to(self.node.address(), UNUSED_QUALIFIER)).expect("unconnected");
            deeds.attempts.push(ep.id());
        }
        until("all is flushed", || {
            let status = ep.status().expect("live");
            status.state == EpState::Disconnected && status.recv_idle && status.request_idle
        });
    }
}

pub(super) fn shared_endpoints() {
    let (arena, psp) = Arena::new();
    let take = |evd: fn(&Arena) -> &Evd| {
        let arena = Arc::clone(&arena);
        Background::run(move || arena.take(evd(&arena)))
    };
    let takers =
        [take(|arena| &arena.recv), take(|arena| &arena.request), { take(|arena| &arena.connect) }];
    let answering = Arc::clone(&arena);
    let answers = Background::run(move || answering.answer());
    let working = Arc::clone(&arena);
    let mut all = in_threads(THREADS, move |number| working.work(number));
    arena.workers_done.store(true, Ordering::Release);
    all.push(answers.join());
    psp.free().expect("live");
    let mut last = Deeds::default();
    for slot in &arena.slots {
        arena.calm(&slot.lock(), &mut last);
    }
    all.push(last);
    arena.all_done.store(true, Ordering::Release);
    for taker in takers {
        taker.join();
    }
    let deeds = Deeds::merge(all);
    let freed: HashSet<u64> = deeds.freed.iter().copied().collect();
    let mut posted = HashSet::new();
    for (cookie, ep) in &deeds.posted {
        posted.insert(*cookie);
        let times = arena.completed[*cookie as usize].load(Ordering::Relaxed);
        let fine = times == 1 || (times == 0 && freed.contains(ep));
        assert!(fine, "the cookie {cookie} of EP {ep} completed {times} times");
    }
    for (cookie, times) in (0..).zip(&arena.completed) {
        let times = times.load(Ordering::Relaxed);
        assert!(times == 0 || posted.contains(&cookie), "{cookie} completed, not posted");
    }
    let mut attempts: HashMap<u64, u32> = HashMap::new();
    for ep in &deeds.attempts {
        *attempts.entry(*ep).or_default() += 1;
    }
    let ends = arena.ends.lock().clone();
    for (ep, attempts) in &attempts {
        let ends = ends.get(ep).copied().unwrap_or_default();
        let fine = ends.ended == *attempts || (ends.ended < *attempts && freed.contains(ep));
        assert!(fine, "EP {ep} began {attempts} connections: {ends:?}");
        assert!(!ends.connected || freed.contains(ep), "EP {ep}: {ends:?}");
    }
    let quiet = |ends: &Ends| !ends.connected && ends.ended == 0;
    let begun = ends.iter().all(|(ep, ends)| quiet(ends) || attempts.contains_key(ep));
    assert!(begun, "ends without a beginning");
    expect_no_event(&arena.node.ia.async_evd().expect("the adapter made one"));
    let arena = Arc::into_inner(arena).expect("all threads ended");
    for slot in &arena.slots {
        slot.lock().free().expect("disconnected");
    }
    arena.buffer.lmr.free().expect("unused");
    arena.node.finish_with(&[&arena.recv, &arena.request, &arena.connect, &arena.requests]);
}
