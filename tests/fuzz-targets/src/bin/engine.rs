//! A whole endpoint over a stream whose peer sends what it likes: each request and each receive completes once, memory
//! outside of the region does not change, and the connection ends.
//!
//! The engine runs in this thread, with a simulated clock and simulated descriptors, so that an input does the same each
//! time.

#![cfg_attr(fuzzing, no_main)]

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use dat_conformance::{Node, drain, state};
use dat_core::{
    Close, CompletionFlags, Connect, DtoStatus, Ep, EpState, Event, Lmr, LmrTriplet, Memory,
    MemorySource, Privileges, Registry, RmrTriplet, Srq,
};
use dat_fuzz_targets::Input;
use dat_provider::error::Result;
use dat_provider::mem::Span;
use dat_provider::{Adapter, Description, DiscoveredAdapter, OpenRequest, Provider, Reach};
use dat_provider_kit::bytes;
use dat_provider_kit::engine::{
    self, Acceptor, Attempt, ConnectError, Connected, Identity, SimulatedThread, Transport,
};
use dat_provider_kit::frame::{
    Body, ConnectReply, Extra, Frame, MAX_NEXT_PIECE, MAX_PIECE, MAX_TRANSFER, Reason, Remote,
    VERSION, decode,
};
use dat_provider_kit::handshake::{Active, ConnectionParameters, Hello, Message, Secret};
use dat_provider_kit::link::End;
use dat_provider_kit::parameters::Limits;
use dat_provider_kit::stream_link::{Stream, halves};
use dat_sync::clock;
use dat_sync::epoll::EventFlags;
use dat_sync::epoll::simulated::{self, Descriptor};

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const QUALIFIER: u64 = 7;
/// Number of bytes of the registered memory, and of those before and after it.
const LENGTH: usize = 70_000;
const GUARD: usize = 64;
const GUARDED: u8 = 0x5a;

/// What the peer has of the connection.
struct Wire {
    /// What it has sent.
    sent: VecDeque<u8>,
    is_shut: bool,
    is_cut: bool,
    /// What has arrived at the peer, and how much fits.
    arrived: Vec<u8>,
    capacity: usize,
    has_secret: bool,
    waiting: Vec<Connected>,
    /// Of the link, and of the listener.
    ready: Descriptor,
    bell: Descriptor,
}

#[derive(Clone)]
struct Peer(Arc<Mutex<Wire>>);

impl Peer {
    fn wire(&self) -> MutexGuard<'_, Wire> {
        self.0.lock().expect("one thread")
    }

    fn connected(&self, local_port: u64) -> Connected {
        let (reader, writer) = halves(&Arc::new(EndOfLink(self.clone())));
        Connected { reader, writer, address: ADDRESS, local_port, datagrams: None }
    }

    fn send(&self, bytes: &[u8]) {
        let mut wire = self.wire();
        wire.sent.extend(bytes);
        wire.announce();
    }

    fn send_message(&self, message: &Message) {
        self.send(&message.frame.encode());
        self.send(&message.payload);
    }
}

impl Wire {
    fn announce(&self) {
        let has_ended = self.is_shut || self.is_cut;
        let mut ready = EventFlags::empty();
        ready.set(EventFlags::IN, !self.sent.is_empty() || has_ended);
        ready.set(EventFlags::RDHUP, has_ended);
        ready.set(EventFlags::HUP, self.is_cut);
        ready.set(EventFlags::OUT, self.arrived.len() < self.capacity || self.is_cut);
        self.ready.set_ready(ready);
    }
}

/// The end of the link that the engine has.
struct EndOfLink(Peer);

impl Stream for EndOfLink {
    fn write(&self, from: &[Span]) -> std::result::Result<usize, End> {
        let mut wire = self.0.wire();
        if wire.is_cut {
            return Err(End::Gone);
        }
        let count = bytes::total(from).min(wire.capacity - wire.arrived.len());
        let mut copy = vec![0; count];
        bytes::gather_into(from, &mut copy).map_err(|_| End::Inaccessible)?;
        wire.arrived.extend(copy);
        wire.announce();
        Ok(count)
    }

    fn read(&self, into: &[Span]) -> std::result::Result<Option<usize>, End> {
        let mut wire = self.0.wire();
        if wire.sent.is_empty() {
            return match (wire.is_cut, wire.is_shut) {
                (true, _) => Err(End::Gone),
                (_, true) => Err(End::Closed),
                _ => Ok(None),
            };
        }
        let count = bytes::total(into).min(wire.sent.len());
        let (first, second) = wire.sent.as_slices();
        let part = if first.len() >= count { &first[..count] } else { first };
        let count = if part.is_empty() { second.len().min(count) } else { part.len() };
        let part = if part.is_empty() { &second[..count] } else { part };
        bytes::scatter(part, into).map_err(|_| End::Inaccessible)?;
        wire.sent.drain(..count);
        wire.announce();
        Ok(Some(count))
    }

    fn shut_down(&self) -> std::result::Result<(), End> {
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        let wire = self.0.wire();
        // SAFETY: the descriptor belongs to the wire, which this end keeps, and is never replaced.
        Some(unsafe {
            BorrowedFd::borrow_raw(std::os::fd::AsRawFd::as_raw_fd(&wire.ready.as_fd()))
        })
    }
}

impl Provider for Peer {
    fn describe(&self) -> Description {
        Description { name: "hostile", vendor: "tests", version: (1, 0), reach: Reach::Process }
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        vec![DiscoveredAdapter {
            name: "hostile".to_owned(),
            summary: String::new(),
            unusable: None,
        }]
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        let identity = Identity::new(request.name, self.describe(), Vec::new());
        let (transport, limits) = (Box::new(self.clone()), Limits::default());
        engine::open(identity, ADDRESS, limits, transport, request.sink)
    }
}

impl Transport for Peer {
    fn connect(&self, _: IpAddr, _: u64) -> std::result::Result<Attempt, ConnectError> {
        Ok(Attempt::Connected(self.connected(99)))
    }

    fn listen(&self, _: Option<u64>) -> Result<Box<dyn Acceptor>> {
        Ok(Box::new(Listener(self.clone())))
    }

    fn secret(&self) -> Option<Secret> {
        let has_secret = self.wire().has_secret;
        has_secret.then(|| Secret::new(b"a secret of sixteen").expect("long enough"))
    }
}

struct Listener(Peer);

impl Acceptor for Listener {
    fn qualifier(&self) -> u64 {
        QUALIFIER
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        let wire = self.0.wire();
        // SAFETY: as for the link.
        unsafe { BorrowedFd::borrow_raw(std::os::fd::AsRawFd::as_raw_fd(&wire.bell.as_fd())) }
    }

    fn is_there(&self) -> bool {
        true
    }

    fn accept(&mut self) -> Option<Connected> {
        let mut wire = self.0.wire();
        wire.bell.set_ready(EventFlags::empty());
        wire.waiting.pop()
    }
}

/// The consumer, and what it has posted and completed.
struct World {
    peer: Peer,
    node: Node,
    thread: Option<SimulatedThread>,
    srq: Option<Srq>,
    ep: Ep,
    memory: Memory,
    lmr: Option<Lmr>,
    remote: RmrTriplet,
    /// Cookies of requests and of receives, and how often each has completed.
    posted: [Vec<u8>; 2],
    /// Number of requests, and of receives, that have completed with success.
    successes: [usize; 2],
    /// The counts of the next frame of the peer.
    done: u32,
    credits: u32,
}

const NONE: CompletionFlags = CompletionFlags::empty();

impl World {
    fn piece(&self, input: &mut Input<'_>) -> Option<LmrTriplet> {
        let (at, length) = (u64::from(input.half()), length(input).min(LENGTH as u64));
        let at = at.min(LENGTH as u64 - length);
        self.lmr.as_ref().and_then(|lmr| lmr.triplet(at, length).ok())
    }

    fn run_thread(&mut self) {
        for _ in 0..20 {
            let Some(thread) = &mut self.thread else { return };
            if !thread.is_woken() {
                return;
            }
            if !thread.run() {
                self.thread = None;
            }
        }
    }

    fn post(&mut self, input: &mut Input<'_>) {
        let kind = input.byte() % 8;
        let queue = usize::from(kind < 3);
        let cookie = self.posted[queue].len() as u64;
        let pieces: Vec<LmrTriplet> = self.piece(input).into_iter().collect();
        let mut remote = self.remote;
        remote.length = pieces.iter().map(|piece| piece.length).sum();
        let ep = &self.ep;
        let is_posted = match (kind, &self.srq) {
            (0..=2, Some(srq)) => srq.post_recv(&pieces, cookie),
            (0..=2, None) => ep.post_recv(&pieces, cookie, NONE),
            (3 | 4, _) => ep.post_send(&pieces, cookie, NONE),
            (5, _) => ep.post_rdma_write(&pieces, cookie, remote, NONE),
            _ => ep.post_rdma_read(&pieces, cookie, remote, NONE),
        };
        if is_posted.is_ok() {
            self.posted[queue].push(0);
        }
    }

    fn poll(&mut self) {
        for (queue, evd) in [&self.node.request, &self.node.recv].into_iter().enumerate() {
            for event in drain(evd) {
                let Event::Dto(done) = event else { panic!("{event:?}") };
                let times = &mut self.posted[queue][done.cookie as usize];
                *times += 1;
                assert_eq!(*times, 1, "a second completion: {done:?}");
                self.successes[queue] += usize::from(done.status == DtoStatus::Success);
            }
        }
        drain(&self.node.connect);
    }

    fn answer_requests(&self, accepts: bool) {
        for event in drain(&self.node.requests) {
            let Event::ConnectionRequest(arrival) = event else { panic!("{event:?}") };
            let _ = match accepts {
                true => arrival.request.accept(Some(&self.ep), b"welcome"),
                false => arrival.request.reject(b"no"),
            };
        }
    }

    /// The memory of this side, as the peer names it: valid, or with something wrong.
    fn remote(&self, input: &mut Input<'_>) -> Remote {
        let RmrTriplet { address, context, .. } = self.remote;
        let at = u64::from(input.half());
        match input.byte() % 6 {
            0 => Remote { context: context ^ 1 << (at % 32), address },
            1 => Remote { context, address: address.wrapping_sub(at) },
            2 => Remote { context, address: u64::MAX - at },
            3 => Remote { context, address: address + LENGTH as u64 - at % 64 },
            _ => Remote { context, address: address + at },
        }
    }

    fn body(&self, input: &mut Input<'_>) -> Body {
        let (kind, solicited, last) = (input.byte(), false, input.byte() & 1 == 0);
        let any = length(input);
        match kind % 20 {
            0 => Body::Hello { version: VERSION, length: any },
            1 => Body::Challenge { length: any },
            2 => Body::Proof { length: any },
            3 => Body::Answer { reply: ConnectReply::Accepted, length: any },
            4 => Body::Ready,
            5 => Body::Send { length: any, solicited: last, extra: Extra::None },
            6 => Body::Send { length: any, solicited: last, extra: Extra::Immediate(1) },
            7 => {
                let extra = Extra::Invalidate(self.remote(input).context);
                Body::Send { length: any, solicited, extra }
            }
            8 => Body::Write { length: any, remote: self.remote(input) },
            9 => {
                let remote = self.remote(input);
                Body::WriteImmediate { length: any, remote, immediate: 1, solicited: last }
            }
            10 => Body::Read { length: any, remote: self.remote(input) },
            11 => Body::FetchAdd { remote: self.remote(input), add: any },
            12 => Body::CompareSwap { remote: self.remote(input), compare: 0, swap: any },
            13 => Body::Data { length: any, last },
            14 => Body::More { length: any, last },
            15 => Body::Rts { length: any },
            16 if last => Body::Cts,
            16 if any == 0 => Body::Withdraw { request: input.byte().into() },
            16 => Body::NoReceive,
            17 => {
                let extents = input.byte().into();
                Body::Offer { length: any, solicited, extents, epoch: 1 }
            }
            18 => Body::Ack,
            _ => Body::End { reason: if last { Reason::Graceful } else { Reason::Abrupt } },
        }
    }

    fn send_frame(&mut self, input: &mut Input<'_>) {
        let body = self.body(input);
        let counts = input.byte();
        self.done = self.done.wrapping_add(u32::from(counts & 3));
        self.credits = self.credits.wrapping_add(u32::from(counts >> 2 & 7));
        let mut frame = Frame { done: self.done, posted: self.credits, ..Frame::new(body) };
        if counts & 0xe0 == 0xe0 {
            (frame.done, frame.posted) = (input.word(), input.word());
        }
        frame.quiet = counts & 0xe0 == 0x60;
        let mut head = frame.encode().to_vec();
        if counts & 0xe0 == 0xa0 {
            let at = usize::from(input.byte()) % head.len();
            head[at] ^= input.byte();
        }
        let payload = match decode(&head) {
            Ok(Some((frame, _))) => frame.payload() as usize,
            _ => 0,
        };
        let mut bytes = if let Body::Offer { length, .. } = body {
            let extent = [self.remote.address.to_le_bytes(), length.to_le_bytes()].concat();
            [extent, vec![0; payload.saturating_sub(16)]].concat()
        } else {
            vec![7; payload]
        };
        bytes.truncate(payload);
        let given = input.bytes(usize::from(counts >> 5).min(payload));
        bytes[..given.len()].copy_from_slice(given);
        self.peer.send(&head);
        self.peer.send(&bytes);
    }

    /// The handshake of a peer that keeps to the protocol, as far as it does not depend on this side.
    fn greet(&mut self, is_active: bool) {
        let side = ConnectionParameters { posted: 5, reads: 4, ..ConnectionParameters::default() };
        self.credits = 5;
        if is_active {
            self.peer.send_message(&Message::acceptance(&side));
        } else {
            let hello = Hello { qualifier: QUALIFIER, port: 9, side };
            let (_, hello) = Active::new(&hello, None).expect("no random numbers are needed");
            self.peer.send_message(&hello);
            self.run_thread();
            self.answer_requests(true);
            self.peer.send(&Frame { posted: 5, ..Frame::new(Body::Ready) }.encode());
        }
        self.run_thread();
        self.poll();
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.byte() % 16 {
            0..=5 => self.send_frame(input),
            6 => self.peer.send(input.part(300)),
            7 | 8 => self.post(input),
            9 => self.poll(),
            10 => self.run_thread(),
            11 => {
                clock::advance(Duration::from_micros(1 << (input.byte() % 24)));
                self.run_thread();
            }
            12 => {
                let mut wire = self.peer.wire();
                wire.arrived.clear();
                wire.announce();
            }
            13 => match input.byte() % 8 {
                0 => drop(self.ep.disconnect(Close::Graceful)),
                1 => drop(self.ep.disconnect(Close::Abrupt)),
                2 => {
                    if let Some(lmr) = self.lmr.take_if(|lmr| lmr.free().is_ok()) {
                        drop(lmr);
                    }
                }
                3 => {
                    let mut wire = self.peer.wire();
                    wire.is_shut = true;
                    wire.announce();
                }
                4 => drop(self.ep.reset()),
                _ => self.poll(),
            },
            14 => self.answer_requests(input.byte() & 1 == 0),
            _ => {
                self.poll();
                self.run_thread();
            }
        }
    }

    /// Ends the connection, and checks what is left. Returns the number of successes.
    fn finish(mut self) -> [usize; 2] {
        {
            let mut wire = self.peer.wire();
            (wire.is_cut, wire.capacity) = (true, usize::MAX);
            wire.announce();
        }
        let _ = self.ep.disconnect(Close::Abrupt);
        for _ in 0..8 {
            clock::advance(Duration::from_secs(20));
            self.run_thread();
            self.answer_requests(false);
            self.poll();
        }
        assert!(self.posted[0].iter().all(|times| *times == 1), "requests: {:?}", self.posted[0]);
        if self.srq.is_none() && state(&self.ep) == EpState::Disconnected {
            assert!(
                self.posted[1].iter().all(|times| *times == 1),
                "receives: {:?}",
                self.posted[1]
            );
        }
        let bytes = self.memory.to_vec(0, self.memory.len()).expect("the whole");
        let (before, rest) = bytes.split_at(GUARD);
        let guards = before.iter().chain(&rest[LENGTH..]);
        assert!(guards.into_iter().all(|byte| *byte == GUARDED), "memory outside of the region");
        let Self { node, mut thread, ep, srq, lmr, successes, .. } = self;
        drop((ep, srq, lmr, node));
        while let Some(running) = thread.as_mut().filter(|thread| thread.is_woken()) {
            if !running.run() {
                thread = None;
            }
        }
        successes
    }
}

fn length(input: &mut Input<'_>) -> u64 {
    match input.byte() {
        short @ 0..=199 => short.into(),
        200..=219 => input.half().into(),
        220..=229 => MAX_PIECE + u64::from(input.byte()),
        230..=239 => (MAX_NEXT_PIECE + 1).saturating_sub(input.byte().into()),
        240..=249 => MAX_TRANSFER.wrapping_add(input.byte().into()).wrapping_sub(16),
        _ => input.long(),
    }
}

fn run(bytes: &[u8]) {
    play(bytes);
}

/// Returns the number of requests and of receives that completed with success.
fn play(bytes: &[u8]) -> [usize; 2] {
    clock::simulate();
    simulated::begin(0);
    let mut input = Input::new(bytes);
    let (flags, size) = (input.byte(), input.byte());
    let bit = |bit: u8| flags >> bit & 1 != 0;
    let (is_active, is_shared, has_secret, is_greeted) = (bit(0), bit(1), bit(2), !bit(3));
    let descriptor = || Descriptor::new().expect("a descriptor");
    let wire = Wire {
        sent: VecDeque::new(),
        is_shut: false,
        is_cut: false,
        arrived: Vec::new(),
        capacity: if bit(4) { 1 << 20 } else { 100 + usize::from(size) * 10 },
        has_secret: has_secret && !is_greeted,
        waiting: Vec::new(),
        ready: descriptor(),
        bell: descriptor(),
    };
    let peer = Peer(Arc::new(Mutex::new(wire)));
    let registry = Registry::new();
    registry.add_provider(Arc::new(peer.clone())).expect("the first");
    let node = Node::on(registry.open("hostile").expect("an adapter"));
    let thread = engine::take_simulated_threads().pop();
    let psp = node.psp();
    let memory = Memory::copy_of(&[GUARDED; LENGTH + 2 * GUARD]).expect("memory");
    let privileges = Privileges::ALL | Privileges::REMOTE_ATOMIC;
    let lmr = node.ia.lmr_create(
        MemorySource::Part(&memory, GUARD..GUARD + LENGTH),
        &node.pz,
        privileges,
    );
    let lmr = lmr.expect("a registration");
    let remote = lmr.remote_triplet(0, LENGTH as u64).expect("inside");
    let srq = is_shared.then(|| node.srq(16));
    let spec = match &srq {
        Some(srq) => node.spec().srq(srq),
        None => node.spec(),
    };
    let ep = node.ia.ep_create(&spec).expect("an endpoint");
    let posted = [Vec::new(), Vec::new()];
    let mut world = World {
        peer: peer.clone(),
        node,
        thread,
        srq,
        ep,
        memory,
        lmr: Some(lmr),
        remote,
        posted,
        successes: [0; 2],
        done: 0,
        credits: 0,
    };
    for _ in 0..flags >> 5 {
        world.post(&mut Input::new(&[0, 0, 0, size]));
    }
    if is_active {
        world.ep.connect(&Connect::to(ADDRESS, QUALIFIER)).expect("unconnected");
    } else {
        let connected = peer.connected(QUALIFIER);
        let mut wire = peer.wire();
        wire.waiting.push(connected);
        wire.bell.set_ready(EventFlags::IN);
    }
    world.run_thread();
    if is_greeted {
        world.greet(is_active);
    }
    for _ in 0..300 {
        if input.is_empty() {
            break;
        }
        world.step(&mut input);
    }
    let successes = world.finish();
    drop(psp);
    successes
}

dat_fuzz_targets::target!(run);

#[test]
fn the_inputs_of_the_corpus_exchange_messages() {
    let passive = play(include_bytes!("../../corpus/engine/passive"));
    let active = play(include_bytes!("../../corpus/engine/active"));
    let shared = play(include_bytes!("../../corpus/engine/shared"));
    let handshake = play(include_bytes!("../../corpus/engine/handshake"));
    println!("{passive:?} {active:?} {shared:?} {handshake:?}");
    assert!(passive[1] > 0 && active[0] > 0 && shared[1] > 0);
}
