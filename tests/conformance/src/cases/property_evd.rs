//! Property test of an event dispatcher against a model: for any order of calls and arrivals, it
//! delivers the events that a simple queue would.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fastrand::Rng;

use crate::prelude::*;
use crate::random::for_seeds;

cases! {
    "dat_evd_wait(3DAT), semantics: event dispatchers": a_dispatcher_is_a_queue;
    "dat_evd_wait(3DAT): order of a stream": streams_of_many_threads_keep_their_order;
}

const SEEDS: u32 = 24;
const STEPS: u32 = 400;
/// Maximum number of outstanding operations of the endpoint in each direction.
const DEPTH: u32 = 6;
const LENGTH: u32 = 24;

/// The expected event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Software(u64),
    Sent(u64),
    Received(u64, u64),
    Connection(ConnectionEventKind),
}

/// The dispatcher under test, the objects that raise events on it, and the model of its queue.
struct Bench {
    evd: Evd,
    cno: Cno,
    /// The endpoint whose receives and requests complete on the dispatcher.
    near: Ep,
    /// The peer of `near`, which completes on other dispatchers.
    far: Ep,
    /// The endpoint whose connection events go to the dispatcher.
    caller: Ep,
    callee: Ep,
    psp: Psp,
    buffer: Buffer,
    node: Node,
    model: VecDeque<Expected>,
    capacity: u32,
    enabled: bool,
    cookie: u64,
}

fn merged(node: &Node) -> EvdFlags {
    let flags = EvdFlags::SOFTWARE | EvdFlags::COMPLETIONS | EvdFlags::CONNECTION;
    if let Some(conflict) = node.ia.provider_attributes().evd_stream_merging.conflict(flags) {
        skip(format!("the provider can't merge the streams {conflict:?}"));
    }
    flags
}

impl Bench {
    fn new() -> Self {
        let node = Node::new();
        let cno = node.ia.cno_create(None).expect("a notification object");
        let options = EvdOptions::new(LENGTH, merged(&node)).with_cno(&cno);
        let evd = node.ia.evd_create(&options).expect("a dispatcher");
        let attributes = node.attributes_with(|it| {
            it.max_recv_dtos = DEPTH;
            it.max_request_dtos = DEPTH;
        });
        let spec = node.spec().recv_evd(&evd).request_evd(&evd).attributes(&attributes);
        let near = node.ep_of(&spec);
        let far = node.linked_to(&near);
        let caller = node.ep_of(&node.spec().connect_evd(&evd));
        Self {
            capacity: evd.query().expect("live").qlen,
            psp: node.psp(),
            buffer: node.buffer(64),
            callee: node.ep(),
            model: VecDeque::new(),
            enabled: true,
            cookie: 0,
            evd,
            cno,
            near,
            far,
            caller,
            node,
        }
    }

    fn len(&self) -> u32 {
        self.model.len() as u32
    }

    /// Returns true if a transport event can be raised, and observed without being dequeued.
    fn has_room(&self) -> bool {
        self.len() + 2 <= self.capacity
    }

    fn queued(&self, is_it: fn(&Expected) -> bool) -> u32 {
        self.model.iter().filter(|event| is_it(event)).count() as u32
    }

    fn fresh(&mut self) -> u64 {
        self.cookie += 1;
        self.cookie
    }

    /// Checks that the event is the first of the model.
    fn takes(&mut self, event: &Event) {
        let expected = self.model.pop_front();
        let found = match event {
            Event::Software(value) => Expected::Software(*value),
            Event::Connection(event) => {
                assert_eq!(event.ep, self.caller.id());
                Expected::Connection(event.kind)
            }
            Event::Dto(done) => {
                assert_eq!((done.ep, done.status), (self.near.id(), DtoStatus::Success));
                match done.operation {
                    Operation::Send => Expected::Sent(done.cookie),
                    Operation::Receive => Expected::Received(done.cookie, done.length),
                    other => panic!("an event that was not posted: {other:?}"),
                }
            }
            other => panic!("an unexpected event: {other:?}"),
        };
        assert_eq!(Some(found), expected, "the first event; after it: {:?}", self.model);
    }

    /// Waits, without dequeuing, until the dispatcher holds as many events as the model. Sometimes
    /// does not check at all, so that a later call is the first to see the events.
    fn settle(&self, random: &mut Rng) {
        if self.enabled && random.u32(..2) == 0 {
            until("the trigger", || self.cno.trigger().is_ok());
            return;
        }
        let len = self.len();
        until("the event arrives", || {
            let mut event = Event::default();
            match self.evd.wait(Timeout::ZERO, len + 1, &mut event) {
                Ok(WaitResult::TimedOut { queued }) => {
                    assert!(queued <= len, "{queued} events, of {len}");
                    queued == len
                }
                other => panic!("more than {len} events: {other:?}, {event:?}"),
            }
        });
        // An arrival triggers the notification object, if the dispatcher is enabled.
        if self.enabled {
            until("the trigger", || self.cno.trigger().is_ok());
        }
        refused(self.cno.trigger(), ReturnType::QueueEmpty);
    }

    fn step(&mut self, random: &mut Rng) {
        match random.u32(..14) {
            0..=2 => self.post_software(random),
            3 => self.send(random),
            4 => self.receive(random),
            5 => self.connection(random),
            6..=7 => self.dequeue(),
            8..=9 => self.poll(random),
            10 => self.resize(random),
            11 => self.toggle(random),
            12 => self.arm(random),
            _ if random.u32(..4) == 0 => self.wait_for_more(random),
            _ => self.unwaitable(),
        }
        let param = self.evd.query().expect("live");
        assert_eq!((param.qlen, param.enabled), (self.capacity, self.enabled));
    }

    fn post_software(&mut self, random: &mut Rng) {
        let value = self.fresh();
        if self.len() == self.capacity {
            refused(self.evd.post_software_event(value), ReturnType::QueueFull);
            return;
        }
        self.evd.post_software_event(value).expect("the queue has space");
        self.model.push_back(Expected::Software(value));
        if self.has_room() {
            self.settle(random);
        } else {
            let _ = self.cno.trigger();
        }
    }

    fn send(&mut self, random: &mut Rng) {
        if !self.has_room() || self.queued(|event| matches!(event, Expected::Sent(_))) == DEPTH {
            return;
        }
        let (cookie, len) = (self.fresh(), random.usize(..17));
        self.far.post_recv(&[self.buffer.piece(32, 16)], cookie, NONE).expect("any state");
        self.near.post_send(&[self.buffer.piece(0, len.min(16))], cookie, NONE).expect("connected");
        self.model.push_back(Expected::Sent(cookie));
        assert_eq!(expect_dto(&self.node.recv, &[&self.far]).cookie, cookie);
        self.settle(random);
    }

    fn receive(&mut self, random: &mut Rng) {
        let receives = self.queued(|event| matches!(event, Expected::Received(..)));
        if !self.has_room() || receives == DEPTH {
            return;
        }
        let (cookie, len) = (self.fresh(), random.usize(..16));
        self.near.post_recv(&[self.buffer.piece(0, 16)], cookie, NONE).expect("any state");
        self.far.post_send(&[self.buffer.piece(32, len)], cookie, NONE).expect("connected");
        self.model.push_back(Expected::Received(cookie, len as u64));
        assert_eq!(expect_dto(&self.node.request, &[&self.far]).cookie, cookie);
        self.settle(random);
    }

    fn connection(&mut self, random: &mut Rng) {
        if !self.has_room() {
            return;
        }
        let (caller, callee) = (self.caller.clone(), self.callee.clone());
        if state(&caller) == EpState::Unconnected {
            let to = Connect::to(self.node.address(), self.psp.qualifier());
            caller.connect(&to).expect("unconnected");
            let request = expect_request(&self.node.requests).request;
            if random.u32(..4) == 0 {
                request.reject(b"").expect("waiting");
                self.model.push_back(Expected::Connection(ConnectionEventKind::PeerRejected));
                until("the refusal", || state(&caller) == EpState::Disconnected);
                caller.reset().expect("disconnected");
            } else {
                request.accept(Some(&callee), b"").expect("unconnected");
                self.model.push_back(Expected::Connection(ConnectionEventKind::Established));
                let established = ConnectionEventKind::Established;
                expect_connection(&self.node.connect, &callee, established);
            }
        } else {
            let side = if random.u32(..2) == 0 { &caller } else { &callee };
            let how = if random.u32(..2) == 0 { Close::Abrupt } else { Close::Graceful };
            side.disconnect(how).expect("connected");
            self.model.push_back(Expected::Connection(ConnectionEventKind::Disconnected));
            let disconnected = ConnectionEventKind::Disconnected;
            expect_connection(&self.node.connect, &callee, disconnected);
            for ep in [&caller, &callee] {
                until("the end of the connection", || state(ep) == EpState::Disconnected);
                ep.reset().expect("disconnected");
            }
        }
        self.settle(random);
    }

    fn dequeue(&mut self) {
        let mut event = Event::default();
        let found = self.evd.dequeue(&mut event);
        assert_eq!(found, Ok(!self.model.is_empty()), "{event:?}");
        if found == Ok(true) {
            self.takes(&event);
        }
    }

    /// A wait with no time-out or a short one.
    fn poll(&mut self, random: &mut Rng) {
        let threshold = random.u32(..self.capacity + 2);
        let timeout = if random.u32(..16) == 0 {
            Timeout::After(Duration::from_micros(300))
        } else {
            Timeout::ZERO
        };
        let mut event = Event::default();
        let waited = self.evd.wait(timeout, threshold, &mut event);
        if threshold == 0 || threshold > self.capacity {
            refused(waited, Subtype::InvalidArg3);
        } else if threshold <= self.len() {
            assert_eq!(waited, Ok(WaitResult::Event { more: self.len() - 1 }));
            self.takes(&event);
        } else {
            assert_eq!(waited, Ok(WaitResult::TimedOut { queued: self.len() }));
        }
    }

    fn resize(&mut self, random: &mut Rng) {
        let wanted = random.u32(..LENGTH + 8);
        let resized = self.evd.resize(wanted);
        if wanted == 0 {
            refused(resized, Subtype::InvalidArg2);
        } else if wanted < self.len() {
            refused(resized, Subtype::InvalidStateEvdInUse);
        } else {
            resized.expect("the length holds every queued event");
            self.capacity = self.evd.query().expect("live").qlen;
            assert!(self.capacity >= wanted);
        }
    }

    fn toggle(&mut self, random: &mut Rng) {
        self.enabled = random.u32(..2) == 0;
        if self.enabled {
            self.evd.enable().expect("live");
            // The page does not say whether earlier events trigger now.
            let _ = self.cno.trigger();
        } else {
            self.evd.disable().expect("live");
        }
    }

    /// The descriptor must become readable after an arrival that `arm` did not report.
    fn arm(&mut self, random: &mut Rng) {
        let ready = self.evd.arm().expect("no thread waits");
        assert_eq!(ready, !self.model.is_empty());
        if !ready {
            assert!(!is_readable(&self.evd), "nothing arrived");
            self.post_software(random);
            assert!(becomes_readable(&self.evd), "an event arrived");
        }
        self.evd.disarm();
    }

    /// A waiter owns the queue, and wakes up when the threshold is reached.
    fn wait_for_more(&mut self, random: &mut Rng) {
        let missing = 1 + random.u32(..3);
        let threshold = self.len() + missing;
        if threshold > self.capacity {
            return;
        }
        let waiter = waiter(&self.evd, threshold);
        until("the thread waits", || {
            let mut event = Event::default();
            match self.evd.wait(Timeout::ZERO, self.capacity, &mut event) {
                Ok(WaitResult::TimedOut { .. }) => false,
                Err(error) => {
                    assert_eq!(error.subtype(), Subtype::InvalidStateEvdWaiter, "{error}");
                    true
                }
                taken => panic!("{taken:?} {event:?}"),
            }
        });
        refused(self.evd.dequeue(&mut Event::default()), Subtype::InvalidStateEvdWaiter);
        for _ in 0..missing {
            let value = self.fresh();
            self.evd.post_software_event(value).expect("a waiter does not keep events out");
            self.model.push_back(Expected::Software(value));
        }
        let (waited, event) = waiter.join().expect("woken");
        assert_eq!(waited, WaitResult::Event { more: threshold - 1 });
        self.takes(&event);
        // The waiter may have returned before the last arrival.
        let _ = self.cno.trigger();
    }

    fn unwaitable(&mut self) {
        self.evd.set_unwaitable().expect("live");
        let waited = self.evd.wait(Timeout::ZERO, 1, &mut Event::default());
        refused(waited, Subtype::InvalidStateEvdUnwaitable);
        self.dequeue();
        self.evd.clear_unwaitable().expect("live");
    }

    /// Dequeues the rest and checks that nothing else is queued.
    fn finish(mut self) {
        while !self.model.is_empty() {
            self.dequeue();
        }
        expect_no_event(&self.evd);
        let Self { near, far, caller, callee, buffer, psp, evd, cno, node, .. } = self;
        free_all(&[&near, &far, &caller, &callee, &buffer, &psp, &evd, &cno]);
        drain(&node.connect);
        node.finish();
    }
}

fn a_dispatcher_is_a_queue() {
    for_seeds(0..rounds(SEEDS).into(), |random| {
        let mut bench = Bench::new();
        for _ in 0..STEPS {
            bench.step(random);
        }
        bench.finish();
    });
}

/// Several threads post software events, another one sends, and one takes events by every call.
/// The events of each stream arrive in order, and none is lost or duplicated.
fn streams_of_many_threads_keep_their_order() {
    const POSTERS: u64 = 3;
    const EACH: u64 = 600;
    const MESSAGES: u64 = 400;
    for_seeds(100..102, |random| {
        let node = Node::new();
        merged(&node);
        let flags = EvdFlags::SOFTWARE | EvdFlags::COMPLETIONS;
        let evd = node.evd_of(64, flags);
        let taker = node.ep_of(&node.spec().recv_evd(&evd));
        let sender = node.ep();
        link(&node, &sender, &node, &taker);
        let window = 16.min(taker.query().expect("live").attributes.max_recv_dtos.into());
        post_receives(&taker, 0..window);
        let stop = Arc::new(AtomicBool::new(false));
        let posters = (0..POSTERS).map(|poster| {
            let (evd, stop) = (evd.clone(), Arc::clone(&stop));
            Background::run(move || {
                for number in 0..EACH {
                    while let Err(error) = evd.post_software_event(poster << 32 | number) {
                        assert_eq!(error.return_type(), ReturnType::QueueFull, "{error}");
                        assert!(!stop.load(Ordering::Relaxed), "given up");
                        std::thread::sleep(Duration::from_micros(20));
                    }
                }
            })
        });
        let posters: Vec<_> = posters.collect();
        let (requests, far) = (node.request.clone(), sender.clone());
        let messages = Background::run(move || {
            for cookie in 0..MESSAGES {
                far.post_send(&[], cookie, NONE).expect("connected");
                assert_eq!(expect_dto(&requests, &[&far]).cookie, cookie);
            }
        });
        let mut next = [0; POSTERS as usize];
        let mut received = 0;
        let mut event = Event::default();
        while received < MESSAGES || next.iter().any(|number| *number < EACH) {
            let threshold = 1 + random.u32(..4);
            match random.u32(..3) {
                0 => {
                    if !evd.dequeue(&mut event).expect("no thread waits") {
                        continue;
                    }
                }
                1 => {
                    let timeout = Duration::from_micros(200).into();
                    let waited = evd.wait(timeout, threshold, &mut event).expect("it can be read");
                    if !waited.is_event() {
                        continue;
                    }
                }
                _ => event = expect_event(&evd, &[&taker]),
            }
            match &event {
                Event::Software(value) => {
                    let place = &mut next[(value >> 32) as usize];
                    assert_eq!(value & 0xffff_ffff, *place, "the order of poster {}", value >> 32);
                    *place += 1;
                }
                Event::Dto(done) => {
                    assert_eq!((done.cookie, done.status), (received, DtoStatus::Success));
                    received += 1;
                    if received + window <= MESSAGES {
                        taker
                            .post_recv(&[], received + window - 1, NONE)
                            .expect("within the limit again");
                    }
                }
                other => panic!("an unexpected event: {other:?}"),
            }
        }
        stop.store(true, Ordering::Relaxed);
        for poster in posters {
            poster.join();
        }
        messages.join();
        expect_no_event(&evd);
    });
}
