//! Many concurrent threads, on their own objects and on shared ones. Every posted operation
//! completes once, every connection ends once on each side, and no object is left at the end.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::prelude::*;
use fastrand::Rng;
use parking_lot::Mutex;

cases! {
    "semantics, endpoints: every operation completes once, every connection ends once":
        shared_endpoints, own_endpoints;
    "dat_cr_accept, dat_ep_disconnect(3DAT): which comes first": an_accept_races_with_a_disconnect;
    "dat_srq_create(3DAT): buffers are used once": a_shared_receive_queue;
    "dat_ia_close(3DAT): nothing is left": objects_are_created_and_freed_concurrently;
}

const THREADS: u64 = 6;
/// The time after which threads stop even if they have work left.
const ENOUGH: Duration = Duration::from_millis(1_500);

fn evd(node: &Node, qlen: u32, flags: EvdFlags) -> EventDispatcher {
    let most = node.ia.attributes().max_evd_qlen;
    node.ia.evd_create(&EvdOptions::new(qlen.min(most), flags)).expect("a dispatcher")
}

/// Runs a function in `threads` threads, with the index of each, and waits for all of them.
fn in_threads<T: Send + 'static>(
    threads: u64,
    work: impl Fn(u64) -> T + Send + Sync + 'static,
) -> Vec<T> {
    let work = Arc::new(work);
    let run = |number| {
        let work = Arc::clone(&work);
        Background::run(move || work(number))
    };
    let running: Vec<_> = (0..threads).map(run).collect();
    running.into_iter().map(Background::join).collect()
}

/// The connection attempts of an endpoint, by its events.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    connected: bool,
    ended: u32,
    /// An endpoint of that number was freed. Its connection ended with no event, and another may
    /// have the number by now: handles of C are used again.
    freed: bool,
}

/// The state that all threads share.
struct Arena {
    node: Node,
    buffer: Buffer,
    recv: EventDispatcher,
    request: EventDispatcher,
    connect: EventDispatcher,
    /// Long enough for the requests of endpoints that were abandoned meanwhile.
    requests: EventDispatcher,
    slots: Vec<Mutex<Endpoint>>,
    qualifier: u64,
    /// How many times each cookie completed.
    completed: Vec<AtomicU8>,
    next_cookie: AtomicU64,
    ends: Mutex<HashMap<u64, Ends>>,
    workers_done: AtomicBool,
    all_done: AtomicBool,
}

/// The successful operations of a thread.
#[derive(Debug, Default)]
struct Deeds {
    /// Cookies, with their endpoints.
    posted: Vec<(u64, u64)>,
    /// Endpoints that were connected, accepted on, or freed.
    attempts: Vec<u64>,
    freed: Vec<u64>,
}

impl Deeds {
    fn merge(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().fold(Self::default(), |mut sum, deeds| {
            sum.posted.extend(deeds.posted);
            sum.attempts.extend(deeds.attempts);
            sum.freed.extend(deeds.freed);
            sum
        })
    }
}

const SLOTS: usize = 10;
const STEPS: u32 = 12_000;
/// A qualifier without a service point.
const NOBODY: u64 = 66;

impl Arena {
    fn new() -> (Arc<Self>, Psp) {
        let node = Node::new();
        let requests = evd(&node, 8_192, EvdFlags::CONNECTION_REQUEST);
        let psp = node.ia.psp_create_any(&requests, PspMaker::Consumer).expect("a point");
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

    fn endpoint(&self) -> Endpoint {
        let spec = self.node.spec().recv_evd(&self.recv).request_evd(&self.request);
        self.node.ia.ep_create(&spec.connect_evd(&self.connect)).expect("an endpoint")
    }

    fn pick(&self, random: &mut Rng) -> Endpoint {
        self.slots[random.usize(..self.slots.len())].lock().clone()
    }

    /// Posts with a cookie of its own.
    fn post(&self, deeds: &mut Deeds, ep: &Endpoint, post: impl FnOnce(u64) -> Result<()>) {
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
                let qualifier = if random.u32(..8) == 0 { NOBODY } else { self.qualifier };
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
                let change = EpChange::new().connect_evd(Some(&self.connect));
                let _ = tolerated(ep.modify(&change));
            }
            _ => {
                let asked = (ep.query().map(drop), ep.status().map(drop), ep.recv_query());
                let _ = (tolerated(asked.0), tolerated(asked.1), tolerated(asked.2.map(drop)));
            }
        }
    }

    fn work(&self, number: u64) -> Deeds {
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
    fn answer(&self) -> Deeds {
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

    /// Takes events until the workers are done and no event is left.
    fn take(&self, evd: &EventDispatcher) {
        let mut event = Event::default();
        loop {
            let last = self.all_done.load(Ordering::Acquire);
            match evd.wait(Duration::from_millis(2).into(), 1, &mut event) {
                Ok(Waited::Event { .. }) => self.note(&event),
                Ok(Waited::TimedOut { .. }) if last => return,
                Ok(Waited::TimedOut { .. }) => {}
                Err(error) => panic!("{error}"),
            }
            while evd.dequeue(&mut event).expect("no thread waits") {
                self.note(&event);
            }
        }
    }

    fn note(&self, event: &Event) {
        match event {
            Event::Dto(done) => {
                let fine = matches!(done.status, DtoStatus::Success | DtoStatus::Flushed);
                assert!(fine, "nothing that was posted can fail otherwise: {done:?}");
                let before = self.completed[done.cookie as usize].fetch_add(1, Ordering::Relaxed);
                assert_eq!(before, 0, "it completed twice: {done:?}");
            }
            Event::Connection(event) => self.note_connection(event),
            other => panic!("unexpected event {other:?}"),
        }
    }

    fn note_connection(&self, event: &ConnectionEvent) {
        let mut ends = self.ends.lock();
        let ends = ends.entry(event.ep).or_default();
        match event.kind {
            ConnectionEventKind::Established => {
                assert!(!ends.connected || ends.freed, "it was connected already: {event:?}");
                ends.connected = true;
            }
            ConnectionEventKind::Disconnected => {
                // Includes the end of an abandoned attempt.
                ends.connected = false;
                ends.ended += 1;
            }
            ConnectionEventKind::Broken => {
                assert!(ends.connected || ends.freed, "there was no connection: {event:?}");
                ends.connected = false;
                ends.ended += 1;
            }
            _ => {
                assert!(!ends.connected || ends.freed, "a connection stood: {event:?}");
                ends.ended += 1;
            }
        }
    }

    /// Ends the connection of an endpoint and waits until nothing is outstanding.
    fn calm(&self, ep: &Endpoint, deeds: &mut Deeds) {
        let _ = tolerated(ep.disconnect(Close::Abrupt));
        until("the endpoint comes to rest", || {
            matches!(state(ep), EpState::Unconnected | EpState::Disconnected)
        });
        if state(ep) == EpState::Unconnected {
            // A failed attempt flushes the receives.
            ep.connect(&Connect::to(self.node.address(), NOBODY)).expect("unconnected");
            deeds.attempts.push(ep.id());
        }
        until("all is flushed", || {
            let status = ep.status().expect("live");
            status.state == EpState::Disconnected && status.recv_idle && status.request_idle
        });
    }
}

/// Whether a call succeeded. Other threads may have changed the object, so it may fail.
#[track_caller]
fn tolerated(result: Result<()>) -> bool {
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

fn shared_endpoints() {
    let (arena, psp) = Arena::new();
    let take = |evd: fn(&Arena) -> &EventDispatcher| {
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

/// Every thread has its own adapters, connections and memory, and knows which events must arrive.
fn own_endpoints() {
    in_threads(THREADS, |number| {
        let mut random = Rng::with_seed(number);
        let (here, there) = (Node::new(), Node::new());
        let (near, far) = (here.buffer(256), there.buffer(256));
        let (client, server) = (here.ep(), there.ep());
        let start = Instant::now();
        for round in 0..200 {
            if start.elapsed() > ENOUGH {
                break;
            }
            link(&here, &client, &there, &server);
            exchange(&mut random, &here, &client, &near, &there, &server, &far);
            let extra = 1 + random.u32(..5);
            for cookie in 0..extra {
                server.post_recv(&[far.piece(0, 8)], cookie.into(), NONE).expect("any state");
            }
            part(&mut random, &client, &server);
            for (node, ep) in [(&here, &client), (&there, &server)] {
                expect_connection(&node.connect, ep, ConnectionEventKind::Disconnected);
            }
            for cookie in 0..extra {
                expect_completion(&there.recv, &[&server], cookie.into(), DtoStatus::Flushed);
            }
            for (node, ep) in [(&here, &client), (&there, &server)] {
                expect_no_events(&[&node.recv, &node.request, &node.connect, &node.requests]);
                ep.reset().unwrap_or_else(|error| panic!("round {round}: {error}"));
            }
        }
        here.finish_with(&[&client, &server, &near, &far]);
        there.finish();
    });
}

/// Sends messages from one side to the other, and checks their data and order.
fn exchange(
    random: &mut Rng,
    here: &Node,
    client: &Endpoint,
    near: &Buffer,
    there: &Node,
    server: &Endpoint,
    far: &Buffer,
) {
    for cookie in 0..u64::from(random.u32(..12)) {
        let len = random.usize(..64);
        let bytes: Vec<u8> = (0..len).map(|_| random.u8(..)).collect();
        near.fill(0, &bytes);
        match random.u32(..3) {
            0 => {
                let receive_first = random.u32(..2) == 0;
                let receive = || server.post_recv(&[far.piece(64, 64)], cookie, NONE);
                if receive_first {
                    receive().expect("connected");
                }
                client.post_send(&[near.piece(0, len)], cookie, NONE).expect("connected");
                if !receive_first {
                    receive().expect("connected");
                }
                let done = expect_dto(&there.recv, &[server]);
                assert_eq!((done.cookie, done.length), (cookie, len as u64));
            }
            1 => {
                let remote = far.remote(64, 64);
                client.post_rdma_write(&[near.piece(0, len)], cookie, remote, NONE).expect("up");
            }
            _ => {
                far.fill(64, &bytes);
                let local = [near.piece(128, len)];
                client.post_rdma_read(&local, cookie, far.remote(64, len), NONE).expect("up");
            }
        }
        let done = expect_completion(&here.request, &[client], cookie, DtoStatus::Success);
        let (memory, at) = match done.operation {
            Operation::RdmaRead => (near, 128),
            _ => (far, 64),
        };
        assert_eq!(memory.bytes(at, len), bytes);
    }
}

/// Ends a connection: from one side, or from both at once.
fn part(random: &mut Rng, client: &Endpoint, server: &Endpoint) {
    let how = |graceful| if graceful { Close::Graceful } else { Close::Abrupt };
    let (one, other) = (how(random.u32(..2) == 0), how(random.u32(..2) == 0));
    match random.u32(..3) {
        0 => client.disconnect(one).expect("connected"),
        1 => server.disconnect(one).expect("connected"),
        _ => {
            let far = server.clone();
            // The other side may have ended the connection; then the call has no effect.
            let at_once = Background::run(move || far.disconnect(other));
            client.disconnect(one).expect("connected, or disconnected by the other side");
            at_once.join().expect("connected, or disconnected by the other side");
        }
    }
}

/// One side disconnects while the other accepts. Each side gets one established event, if its
/// connection was established, and then one event for the end.
fn an_accept_races_with_a_disconnect() {
    const ROUNDS: u64 = 800;
    const OVER: u64 = u64::MAX;
    let node = Node::new();
    let psp = node.psp();
    let (far, heard) = (node.evd(EvdFlags::CONNECTION), node.evd(EvdFlags::CONNECTION));
    let client = node.ia.ep_create(&node.spec().connect_evd(&far)).expect("an endpoint");
    let server = node.ia.ep_create(&node.spec().connect_evd(&heard)).expect("an endpoint");
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
    let story = |evd: &EventDispatcher, ep: &Endpoint| {
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
        expect_no_event(&far);
        expect_no_event(&heard);
    }
    round.store(OVER, Ordering::Release);
    other.join();
    node.finish_with(&[&client, &server, &psp, &far, &heard]);
}

/// Several threads send on separate connections into the buffers of one shared receive queue.
fn a_shared_receive_queue() {
    const EACH: u64 = 1_500;
    const DEPTH: u32 = 32;
    let node = Node::new();
    let srq = node.srq(DEPTH);
    let (buffer, source) = (node.buffer(DEPTH as usize * 8), node.buffer(THREADS as usize * 8));
    let place = |slot: u64| buffer.piece(slot as usize * 8, 8);
    for slot in 0..DEPTH.into() {
        srq.post_recv(&[place(slot)], slot).expect("within the queue");
    }
    let pairs: Vec<_> = (0..THREADS)
        .map(|_| {
            let client = node.ep();
            let requests = node.evd(EvdFlags::COMPLETIONS);
            client.modify(&EpChange::new().request_evd(Some(&requests))).expect("unconnected");
            let server = node.ia.ep_create(&node.spec().srq(&srq)).expect("an endpoint");
            link(&node, &client, &node, &server);
            (client, server, requests)
        })
        .collect();
    let senders: Vec<_> = (0..THREADS)
        .map(|number| {
            let (client, _, requests) = pairs[number as usize].clone();
            let piece = source.piece(number as usize * 8, 8);
            let memory = source.memory.clone();
            Background::run(move || {
                for count in 0..EACH {
                    memory.write(number as usize * 8, &count.to_ne_bytes()).expect("inside");
                    client.post_send(&[piece], count, NONE).expect("connected");
                    expect_completion(&requests, &[&client], count, DtoStatus::Success);
                }
            })
        })
        .collect();
    let mut next: HashMap<u64, u64> = pairs.iter().map(|pair| (pair.1.id(), 0)).collect();
    for _ in 0..EACH * THREADS {
        let done = expect_dto(&node.recv, &[]);
        assert_eq!((done.status, done.length), (DtoStatus::Success, 8), "{done:?}");
        let count = next.get_mut(&done.ep).expect("one of the servers");
        let bytes = buffer.bytes(done.cookie as usize * 8, 8);
        assert_eq!(bytes, count.to_ne_bytes(), "the order of EP {}", done.ep);
        *count += 1;
        srq.post_recv(&[place(done.cookie)], done.cookie).expect("within the limit again");
    }
    for sender in senders {
        sender.join();
    }
    finish_shared(&srq, DEPTH, &pairs);
    expect_no_event(&node.recv);
    assert!(next.values().all(|count| *count == EACH));
    srq.free().expect("no endpoint uses it");
    buffer.lmr.free().expect("unused");
    source.lmr.free().expect("unused");
    drain(&node.connect);
    node.finish();
}

/// The sender, the receiver, and the dispatcher of the sends.
type Pair = (Endpoint, Endpoint, EventDispatcher);

/// Checks that all buffers are on the queue again, and stay there when the connections end.
fn finish_shared(srq: &SharedReceiveQueue, depth: u32, pairs: &[Pair]) {
    let counts = || {
        let param = srq.query().expect("live");
        (param.available_dto_count, param.outstanding_dto_count)
    };
    assert_eq!(counts(), (depth, depth));
    for (client, server, requests) in pairs {
        client.disconnect(Close::Abrupt).expect("connected");
        until("the other side gets the event", || state(server) == EpState::Disconnected);
        client.free().expect("disconnected");
        server.free().expect("disconnected");
        expect_no_event(requests);
        requests.free().expect("unused");
    }
    assert_eq!(counts(), (depth, depth));
}

/// A function that frees an object.
type Free = Box<dyn Fn() -> Result<()> + Send>;

fn make(random: &mut Rng, node: &Node, memory: &Memory) -> Result<Free> {
    fn frees<T: Send + 'static>(made: Result<T>, free: fn(&T) -> Result<()>) -> Result<Free> {
        made.map(|object| Box::new(move || free(&object)) as Free)
    }
    let ia: &InterfaceAdapter = &node.ia;
    let offers = ia.provider_attributes();
    match random.u32(..9) {
        0 => frees(ia.pz_create(), |pz| pz.free()),
        1 => {
            let options = EvdOptions::new(1 + random.u32(..64), EvdFlags::DEFAULT);
            frees(ia.evd_create(&options), |evd| evd.free())
        }
        2 => frees(ia.cno_create(None), |cno| cno.free()),
        3 => frees(ia.ep_create(&node.spec()), |ep| ep.free()),
        4 => {
            let source = MemorySource::Memory(memory);
            frees(ia.lmr_create(source, &node.pz, Privileges::ALL), |lmr| lmr.free())
        }
        5 if offers.rmr_supported => frees(ia.rmr_create(&node.pz), |rmr| rmr.free()),
        6 if offers.srq_supported => {
            let attributes = SrqAttributes { max_recv_dtos: 4, max_recv_iov: 1, low_watermark: 0 };
            frees(ia.srq_create(&node.pz, attributes), |srq| srq.free())
        }
        7 => {
            let made = ia.psp_create_any(&node.requests, PspMaker::Consumer);
            frees(made, |psp| psp.free())
        }
        _ => {
            let ep = ia.ep_create(&node.spec())?;
            let qualifier = 30_000 + u64::from(random.u32(..20_000));
            match ia.rsp_create(qualifier, Some(&ep), &node.requests) {
                Ok(rsp) => Ok(Box::new(move || rsp.free().and_then(|()| ep.free()))),
                Err(error) if error.is(ReturnType::ConnQualInUse) => {
                    Ok(Box::new(move || ep.free()))
                }
                Err(error) => Err(error),
            }
        }
    }
}

/// Threads create and free objects of all kinds on one adapter.
fn objects_are_created_and_freed_concurrently() {
    let node = Arc::new(Node::new());
    let shared = Arc::clone(&node);
    in_threads(THREADS, move |number| {
        let mut random = Rng::with_seed(number);
        let memory = Memory::zeroed(4_096).expect("memory");
        let mut objects: Vec<Free> = Vec::new();
        let start = Instant::now();
        for _ in 0..6_000 {
            if start.elapsed() > ENOUGH {
                break;
            }
            if objects.len() < 24 && random.u32(..3) != 0 {
                objects.push(make(&mut random, &shared, &memory).expect("within the limits"));
            } else if !objects.is_empty() {
                let at = random.usize(..objects.len());
                objects.swap_remove(at)().expect("nothing uses it");
            }
        }
        for free in objects {
            free().expect("nothing uses it");
        }
    });
    // A graceful close fails if an object is left.
    Arc::into_inner(node).expect("all threads ended").finish();
}
