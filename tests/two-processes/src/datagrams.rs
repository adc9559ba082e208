//! Datagrams within a process and between two of them, and what becomes of those that are lost.

use std::net::{IpAddr, UdpSocket};
use std::process::Command;
use std::time::Duration;

use dat_conformance::{
    Background, Buffer, Node, expect_dto, expect_event, expect_request, until,
    wait::expect_completion,
};
use dat_core::{
    Address, Connect, DatagramAddress, DatagramEventKind, DtoStatus, Ep, EpAttributes, EpProvision,
    Event, IaCounter, Operation, ReturnType, Timeout,
};

use crate::child::Child;
use crate::closed::close_all;
use crate::completions::NONE;
use crate::process;

const PREFIX: usize = DatagramAddress::PREFIX as usize;
/// The head of a datagram with a key that no endpoint has.
const STRANGE: [u8; 12] = *b"DUD\0strange?";

/// The longest message of an adapter, in bytes.
fn longest(node: &Node) -> usize {
    let all = &node.ia.attributes().transport;
    let most = all.iter().find(|named| named.name == "MAX_DATAGRAM").expect("it has datagrams");
    most.value.parse().expect("a number")
}

fn endpoint(node: &Node) -> Ep {
    node.ep_with(|it| it.service_type = EpAttributes::SERVICE_DATAGRAM)
}

/// The next address that an endpoint receives.
fn address(node: &Node, ep: &Ep) -> DatagramAddress {
    let Event::Datagram(event) = expect_event(&node.connect, &[ep]) else { panic!("no address") };
    assert_eq!((event.kind, event.ep), (DatagramEventKind::Established, ep.id()));
    event.remote.expect("established")
}

/// Two endpoints on adapters of their own, each with the address of the other one.
struct Pair {
    nodes: [Node; 2],
    eps: [Ep; 2],
    to: [DatagramAddress; 2],
    buffers: [Buffer; 2],
}

impl Pair {
    fn new(open: fn(&str) -> Node) -> Self {
        let nodes = [open(""), open("")];
        let address = nodes[1].address();
        Self::of(nodes, address)
    }

    /// The second one is reached at an address.
    fn of(nodes: [Node; 2], address: impl Into<Address>) -> Self {
        let eps = [0, 1].map(|side| endpoint(&nodes[side]));
        let psp = nodes[1].psp();
        eps[0].connect(&Connect::to(address, psp.qualifier())).expect("an attempt");
        let arrival = expect_request(&nodes[1].requests);
        arrival.request.accept(Some(&eps[1]), b"").expect("it carries datagrams");
        psp.free().expect("unused");
        let to = [0, 1].map(|side| self::address(&nodes[side], &eps[side]));
        let buffers = [0, 1].map(|side| nodes[side].buffer(2 * longest(&nodes[side]) + PREFIX));
        Self { nodes, eps, to, buffers }
    }

    /// Posts a receive for a message of a length.
    fn receive(&self, side: usize, length: usize, cookie: u64) {
        let at = longest(&self.nodes[side]);
        let piece = self.buffers[side].piece(at, PREFIX + length);
        self.eps[side].post_recv(&[piece], cookie, NONE).expect("there is room");
    }

    /// Sends a message of a length, and takes its completion.
    fn send(&self, side: usize, length: usize) {
        let piece = self.buffers[side].piece(0, length);
        let (node, ep) = (&self.nodes[side], &self.eps[side]);
        ep.post_send_datagram(&[piece], &self.to[side], 7, NONE).expect("there is room");
        expect_completion(&node.request, &[ep], 7, DtoStatus::Success);
    }

    fn expect_received(&self, side: usize, cookie: u64, status: DtoStatus) {
        expect_completion(&self.nodes[side].recv, &[&self.eps[side]], cookie, status);
    }

    fn count(&self, side: usize, counter: IaCounter) -> u64 {
        self.nodes[side].ia.counters(false).expect("live").get(counter)
    }
}

/// Reads the counters until one has a value, since the driver may receive a datagram later.
fn until_counted(pair: &Pair, counter: IaCounter, expected: u64) {
    until("it is counted", || pair.count(1, counter) >= expected);
    assert_eq!(pair.count(1, counter), expected);
}

/// Datagrams wait for a receive; one that finds a receive which is too short is lost and counted.
///
/// # Panics
/// If one is not counted, or a later one does not arrive.
pub fn what_is_lost_is_counted(open: fn(&str) -> Node) {
    let pair = Pair::new(open);
    let dropped = IaCounter::DiagErrRqUdsdprd;
    assert_eq!(pair.count(1, dropped), 0);
    pair.nodes[1].ia.start_counters().expect("live");
    pair.send(0, 8);
    pair.send(0, 8);
    pair.receive(1, 7, 1);
    pair.expect_received(1, 1, DtoStatus::LocalLength);
    until_counted(&pair, dropped, 1);
    pair.nodes[1].ia.counters(true).expect("live");
    pair.receive(1, 8, 2);
    pair.expect_received(1, 2, DtoStatus::Success);
    assert_eq!(pair.count(1, dropped), 0, "they were reset");
}

/// Packets of strangers complete nothing, change no memory, and are counted.
///
/// # Panics
/// If one of them does, or a datagram after them does not arrive.
pub fn packets_of_strangers_are_dropped_and_counted(open: fn(&str) -> Node) {
    let pair = Pair::new(open);
    pair.nodes[1].ia.start_counters().expect("live");
    let IpAddr::V4(ip) = pair.to[0].address().ip().expect("an IP address") else {
        panic!("the adapter is at the loopback interface")
    };
    let at = (ip, u16::try_from(pair.to[0].number()).expect("a port"));
    pair.receive(1, 100, 1);
    let into = longest(&pair.nodes[1]);
    pair.buffers[1].fill(into, &[0xee; PREFIX + 100]);
    let stranger = UdpSocket::bind((ip, 0)).expect("a port");
    let long = [&STRANGE[..], &vec![0; 60_000 - STRANGE.len()]].concat();
    let packets: [&[u8]; 8] = [
        b"",
        b"D",
        &STRANGE[..11],
        &STRANGE,
        b"DUD\x01strange?",
        b"DUD\xffstrange?and a message",
        b"GET / HTTP/1.1\r\n\r\n",
        &long,
    ];
    for packet in packets {
        stranger.send_to(packet, at).expect("the loopback interface");
    }
    until_counted(&pair, IaCounter::LnkErrRcv, packets.len() as u64);
    assert_eq!(pair.buffers[1].bytes(into, PREFIX + 100), [0xee; PREFIX + 100]);
    pair.buffers[0].fill(0, b"genuine!");
    pair.send(0, 8);
    pair.expect_received(1, 1, DtoStatus::Success);
    assert_eq!(pair.buffers[1].bytes(into, PREFIX), [0; PREFIX], "the prefix");
    assert_eq!(pair.buffers[1].bytes(into + PREFIX, 8), b"genuine!");
    assert_eq!(pair.count(1, IaCounter::DiagErrRqUdsdprd), 0);
}

/// An address resolves whatever name the consumer has for it, and datagrams go both ways then.
///
/// # Panics
/// If one is lost.
pub fn every_name_of_an_address_works(open: fn(&str) -> Node) {
    for name in ["127.0.0.1", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1"] {
        let address: IpAddr = name.parse().expect("an address");
        let pair = Pair::of([open(""), open("")], address);
        for side in [0, 1] {
            pair.receive(1 - side, 8, 1);
            pair.send(side, 8);
            pair.expect_received(1 - side, 1, DtoStatus::Success);
        }
    }
}

/// A thread that sleeps in a wait on the dispatcher of receives is woken by each datagram.
///
/// # Panics
/// If it is not.
pub fn a_waiter_is_woken(open: fn(&str) -> Node) {
    let pair = Pair::new(open);
    for cookie in 0..20 {
        pair.receive(1, 8, cookie);
        let waiter = Background::with(&pair.nodes[1].recv, |recv| {
            let mut event = Event::default();
            recv.wait(Timeout::Infinite, 1, &mut event).expect("no other waiter");
            event
        });
        waiter.until_asleep();
        pair.send(0, 8);
        let Event::Dto(done) = waiter.join() else { panic!("no completion") };
        assert_eq!((done.cookie, done.status), (cookie, DtoStatus::Success));
        assert_eq!(done.operation, Operation::ReceiveDatagram);
    }
}

/// Several datagrams are received together, and a consumer that polls gets each, in their order.
///
/// # Panics
/// If one is missing: the loopback interface loses none.
pub fn a_poller_gets_each_of_a_burst(open: fn(&str) -> Node) {
    const BURST: u64 = 50;
    let pair = Pair::new(open);
    for round in 0..100 {
        for cookie in 0..BURST {
            pair.receive(1, 8, cookie);
        }
        for _ in 0..BURST {
            pair.send(0, 8);
            if round % 10 == 9 {
                std::thread::sleep(Duration::from_micros(50));
            }
        }
        for cookie in 0..BURST {
            pair.expect_received(1, cookie, DtoStatus::Success);
        }
    }
}

/// The socket of an endpoint ends with it, although a child of `fork` lives.
///
/// # Panics
/// If its port stays in use.
pub fn a_child_keeps_no_socket(open: fn(&str) -> Node) {
    let pair = Pair::new(open);
    let ip = pair.to[0].address().ip().expect("an IP address");
    let port = u16::try_from(pair.to[0].number()).expect("a port");
    UdpSocket::bind((ip, port)).expect_err("it is in use");
    let child = Child::idle();
    pair.eps[1].free().expect("unused");
    // The child closes its copy as it starts.
    until("it is free", || UdpSocket::bind((ip, port)).is_ok());
    drop(child);
    // The receiver is gone, and the sender does not learn that.
    pair.send(0, 8);
}

/// A program that closes the descriptors of the adapter gets its receives back, and can post no more. Run it in a
/// process of its own.
///
/// # Panics
/// If a receive does not complete, or a post succeeds.
pub fn closed_descriptors_end_it(open: fn(&str) -> Node) {
    let pair = Pair::new(open);
    pair.receive(1, 8, 1);
    close_all();
    pair.expect_received(1, 1, DtoStatus::Flushed);
    let piece = [pair.buffers[1].piece(0, 8)];
    until("the adapter has failed", || {
        pair.eps[1].post_send_datagram(&piece, &pair.to[1], 7, NONE).is_err()
    });
}

/// An attempt whose time-out has expired keeps no descriptor. Run it in a process of its own.
///
/// # Panics
/// If one stays open.
pub fn attempts_that_time_out_leave_nothing(open: fn(&str) -> Node) {
    const ATTEMPTS: usize = 5;
    let node = open("");
    let (ep, psp) = (endpoint(&node), node.psp());
    let connect = Connect {
        timeout: Timeout::from_micros(20_000),
        ..Connect::to(node.address(), psp.qualifier())
    };
    let before = process::descriptors();
    let mut requests = Vec::new();
    for _ in 0..ATTEMPTS {
        ep.connect(&connect).expect("an attempt");
        requests.push(expect_request(&node.requests).request);
        let Event::Datagram(event) = expect_event(&node.connect, &[&ep]) else { panic!("no end") };
        assert_eq!(event.kind, DatagramEventKind::Error);
    }
    // The requests have the other ends of the links, and the endpoint keeps the socket of its first attempt.
    let expected = before + ATTEMPTS + 1;
    until("all links are closed", || process::descriptors() <= expected);
    requests.into_iter().for_each(|request| request.reject(b"").expect("it waits for an answer"));
}

/// The other process: sends each message back, with its bytes incremented.
///
/// # Panics
/// If it is refused what a live endpoint may do.
pub fn peer(open: fn(&str) -> Node) {
    let node = open("");
    let (ep, most) = (endpoint(&node), longest(&node));
    let buffer = node.buffer(2 * most + PREFIX);
    let psp = node.ia.psp_create_any(&node.requests, EpProvision::Consumer).expect("a port");
    ep.post_recv(&[buffer.piece(0, most + PREFIX)], 0, NONE).expect("unused");
    process::announce(psp.qualifier());
    let arrival = expect_request(&node.requests);
    arrival.request.accept(Some(&ep), b"").expect("it carries datagrams");
    let to = address(&node, &ep);
    let mut event = Event::default();
    loop {
        node.recv.wait(Timeout::Infinite, 1, &mut event).expect("no other waiter");
        let Event::Dto(done) = &event else { panic!("{event:?}") };
        assert_eq!(done.status, DtoStatus::Success);
        let length = done.length as usize - PREFIX;
        let mut message = buffer.bytes(PREFIX, length);
        message.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
        buffer.fill(most + PREFIX, &message);
        // Before the answer, after which the next message may arrive at any time.
        ep.post_recv(&[buffer.piece(0, most + PREFIX)], 0, NONE).expect("the only one");
        let answer = [buffer.piece(most + PREFIX, length)];
        ep.post_send_datagram(&answer, &to, 1, NONE).expect("an address");
        expect_completion(&node.request, &[&ep], 1, DtoStatus::Success);
        if length == 0 {
            return;
        }
    }
}

/// Messages of every length cross from one process to another and back, while one side waits and the other one polls.
///
/// # Panics
/// If one is lost or changed.
pub fn every_length_crosses_between_processes(open: fn(&str) -> Node) {
    let node = open("");
    every_length_crosses(&node, node.address(), &mut process::command("datagrams::peer"));
}

/// As [`every_length_crosses_between_processes`], to a process that a command starts, at an address.
///
/// # Panics
/// If a message is lost or changed.
pub fn every_length_crosses(node: &Node, address: impl Into<Address>, peer: &mut Command) {
    let (mut child, port) = process::started(peer);
    let port = port.expect("the peer listens");
    let (ep, most) = (endpoint(node), longest(node));
    let buffer = node.buffer(2 * most + PREFIX + 1);
    ep.connect(&Connect::to(address, port)).expect("an attempt");
    let to = self::address(node, &ep);
    let too_long = ep.post_send_datagram(&[buffer.piece(0, most + 1)], &to, 9, NONE);
    assert_eq!(too_long.expect_err("too long").return_type(), ReturnType::LengthError);
    let round_trips = [(1, 1000), (64, 1000), (1400, 100), (4096, 100), (most, 100), (0, 1)];
    for (length, count) in round_trips {
        for round in 0..count {
            let message: Vec<u8> = (0..length).map(|at| (at * 7 + round) as u8).collect();
            buffer.fill(0, &message);
            ep.post_recv(&[buffer.piece(most, PREFIX + length)], 1, NONE).expect("the only one");
            ep.post_send_datagram(&[buffer.piece(0, length)], &to, 2, NONE).expect("an address");
            expect_completion(&node.request, &[&ep], 2, DtoStatus::Success);
            let done = expect_dto(&node.recv, &[&ep]);
            assert_eq!((done.cookie, done.status), (1, DtoStatus::Success));
            assert_eq!(done.length as usize, PREFIX + length);
            let expected = message.iter().map(|byte| byte.wrapping_add(1));
            assert!(buffer.bytes(most + PREFIX, length).into_iter().eq(expected), "{length} bytes");
        }
    }
    assert!(child.wait().expect("a child").success());
}

/// Datagrams for which the system has no space wait, and are sent later: `slow` limits how fast the way to the peer takes
/// them. The peer is as for [`every_length_crosses`].
///
/// # Panics
/// If one is refused, or none has to wait.
pub fn those_without_space_wait(
    node: &Node,
    address: impl Into<Address>,
    peer: &mut Command,
    slow: impl FnOnce(),
) {
    const COUNT: u64 = 60;
    let (mut child, port) = process::started(peer);
    let (ep, most) = (endpoint(node), longest(node));
    let buffer = node.buffer(most);
    ep.connect(&Connect::to(address, port.expect("the peer listens"))).expect("an attempt");
    let to = self::address(node, &ep);
    node.ia.start_counters().expect("live");
    slow();
    for cookie in 0..COUNT {
        ep.post_send_datagram(&[buffer.piece(0, most)], &to, cookie, NONE).expect("there is room");
    }
    assert!(!ep.status().expect("live").request_idle, "the system has space for all");
    for cookie in 0..COUNT {
        expect_completion(&node.request, &[&ep], cookie, DtoStatus::Success);
    }
    assert!(ep.status().expect("live").request_idle);
    let counters = node.ia.counters(false).expect("live");
    assert_eq!(counters.get(IaCounter::LnkErrXmtDiscards), 0);
    child.kill().expect("a child");
    child.wait().expect("a child");
}
