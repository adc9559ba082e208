//! Peers that are silent, or do not keep to the protocol.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use dat_conformance::{Node, expect_connection, expect_event, expect_request, link, until};
use dat_core::{
    ConnectionEventKind, Ep, EpProvision, EpState, EvdFlags, EvdOptions, Event, Psp, RmrTriplet,
};
use dat_provider_kit::descriptors;
use dat_provider_kit::frame::{self, Body, ConnectReply, Extra, Frame, Reason, Refusal, Remote};
use dat_provider_kit::handshake::{Active, ConnectionParameters, Hello};
use dat_two_processes::process::raise_descriptors;
use dat_two_processes::{each_once, posts};

use crate::common::node;

fn service(node: &Node) -> (Psp, SocketAddr) {
    let psp = node.ia.psp_create_any(&node.requests, EpProvision::Consumer).expect("a port");
    let port = u16::try_from(psp.qualifier()).expect("a port");
    (psp, node.socket(port))
}

fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
    stream
}

/// Reads until the end. A reset is an end too.
fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).map_err(|error| {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
    });
    bytes
}

/// A request for a connection, as an honest peer makes it.
fn hello(to: SocketAddr) -> Vec<u8> {
    let side = ConnectionParameters { posted: 4, reads: 4, ..ConnectionParameters::default() };
    let hello = Hello { qualifier: to.port().into(), port: 9, side };
    let (_, message) = Active::new(&hello, None).expect("no random numbers are needed");
    [&message.frame.encode(), message.payload.as_slice()].concat()
}

/// A raw peer whose request an endpoint accepted.
fn accepted(node: &Node, ep: &Ep) -> TcpStream {
    let (psp, to) = service(node);
    let mut stream = connect(to);
    stream.write_all(&hello(to)).expect("a peer");
    expect_request(&node.requests).request.accept(Some(ep), b"").expect("unconnected");
    let mut answer = [0; 32];
    stream.read_exact(&mut answer).expect("an answer");
    let ready = Frame { posted: 4, ..Frame::new(Body::Ready) };
    stream.write_all(&ready.encode()).expect("a peer");
    expect_connection(&node.connect, ep, ConnectionEventKind::Established);
    psp.free().expect("live");
    stream
}

#[test]
fn peers_that_are_slow_to_request_are_all_served() {
    const PEERS: usize = 1000;
    let node = node("");
    let options = EvdOptions::new(PEERS as u32, EvdFlags::CONNECTION_REQUEST);
    let requests = node.ia.evd_create(&options).expect("a dispatcher");
    let psp = node.ia.psp_create_any(&requests, EpProvision::Consumer).expect("a port");
    let to = node.socket(u16::try_from(psp.qualifier()).expect("a port"));
    let mut slow: Vec<_> = (0..PEERS).map(|_| connect(to)).collect();
    for stream in &mut slow {
        stream.write_all(&hello(to)).expect("a peer");
    }
    for _ in 0..PEERS {
        expect_request(&requests).request.reject(b"").expect("live");
    }
    psp.free().expect("live");
    requests.free().expect("unused");
}

#[test]
fn peers_that_say_nothing_do_not_hold_the_listener() {
    raise_descriptors();
    let node = node("");
    let (psp, to) = service(&node);
    let kept = descriptors::handshakes();
    let mut silent: Vec<_> = (0..kept + 44).map(|_| connect(to)).collect();
    for stream in silent.iter_mut().skip(150) {
        stream.write_all(&hello(to)[..30]).expect("a peer");
    }
    let (client, server) = (node.ep(), node.ep());
    link(&node, &client, &node, &server);
    // The oldest are closed, since their number is limited.
    assert_eq!(rest(&mut silent[0]), b"");
    psp.free().expect("live");
}

#[test]
fn garbage_and_other_versions_are_refused_before_the_consumer_sees_them() {
    let node = node("");
    let (psp, to) = service(&node);
    let mut stream = connect(to);
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("a peer");
    assert_eq!(rest(&mut stream), b"");
    let mut stream = connect(to);
    let version = Frame::new(Body::Hello { version: 200, length: 0 });
    stream.write_all(&version.encode()).expect("a peer");
    let answer = frame::decode(&rest(&mut stream)).expect("a frame").expect("a whole one").0;
    let reply = ConnectReply::Refused(Refusal::Version);
    assert_eq!(answer.body, Body::Answer { reply, length: 0 });
    let mut stream = connect(to);
    stream.write_all(&hello(SocketAddr::new(to.ip(), to.port() ^ 1))).expect("a peer");
    let answer = frame::decode(&rest(&mut stream)).expect("a frame").expect("a whole one").0;
    let reply = ConnectReply::Refused(Refusal::NoListener);
    assert_eq!(answer.body, Body::Answer { reply, length: 0 });
    dat_conformance::expect_no_event(&node.requests);
    psp.free().expect("live");
}

/// The end of a connection, whichever.
fn ends(node: &Node, ep: &Ep) {
    match expect_event(&node.connect, &[ep]) {
        Event::Connection(event) => assert!(
            matches!(event.kind, ConnectionEventKind::Broken | ConnectionEventKind::Disconnected),
            "{event:?}"
        ),
        other => panic!("{other:?}"),
    }
    until("it is disconnected", || dat_conformance::state(ep) == EpState::Disconnected);
}

/// A frame of any kind, with values that are possible more often than chance would have it.
fn any_frame(random: &mut fastrand::Rng, done: u32) -> Vec<u8> {
    let length = if random.bool() { random.u64(0..200) } else { random.u64(0..1 << 20) };
    let remote = Remote { context: random.u32(..), address: random.u64(..) };
    let body = match random.u8(0..15) {
        0..=3 => {
            let extra = match random.u8(..) {
                0..20 => Extra::Invalidate(random.u32(..)),
                20..40 => Extra::Immediate(random.u32(..)),
                _ => Extra::None,
            };
            Body::Send { length: length % 100, solicited: random.bool(), extra }
        }
        4 => Body::Write { length, remote },
        5 => Body::Read { length: length % 2, remote },
        6 => Body::FetchAdd { remote, add: 1 },
        7 => Body::Data { length: length % 9, last: true },
        8 => Body::More { length: 1 + length % 70, last: random.bool() },
        9 => Body::Rts { length },
        10 => Body::Cts,
        11 => Body::Ready,
        12 => Body::End { reason: Reason::Abrupt },
        13 => Body::Offer { length: 1 + length % 99, solicited: false, extents: 1, epoch: 0 },
        _ => Body::Ack,
    };
    let done = if random.u8(..) < 30 { random.u32(..) } else { done };
    let frame = Frame { done, posted: 4 + random.u32(0..3), ..Frame::new(body) };
    let mut bytes = frame.encode().to_vec();
    let payload = frame.payload() as usize;
    match body {
        Body::Offer { length, .. } if random.bool() => {
            bytes.extend([random.u64(..), length].iter().flat_map(|word| word.to_le_bytes()));
        }
        _ => bytes.resize(bytes.len() + payload, 7),
    }
    bytes
}

/// The answer to the first request never fits into the link, and the second one fails.
#[test]
fn the_end_of_a_peer_is_noticed_after_its_request_has_failed() {
    let node = node("");
    let ep = node.ep();
    let buffer = node.buffer(32 << 20);
    let RmrTriplet { address, length, context } = buffer.remote(0, 32 << 20);
    let read = |context| {
        let body = Body::Read { length, remote: Remote { context, address } };
        Frame { posted: 4, ..Frame::new(body) }.encode().to_vec()
    };
    let mut stream = accepted(&node, &ep);
    stream.write_all(&[read(context), read(!context)].concat()).expect("a peer");
    stream.read_exact(&mut [0]).expect("an answer");
    stream.shutdown(std::net::Shutdown::Write).expect("a peer");
    ends(&node, &ep);
}

#[test]
fn a_hostile_peer_ends_its_connection_and_nothing_else() {
    let node = node("");
    let (witness, other) = node.pair();
    let buffer = node.buffer(128);
    let mut random = fastrand::Rng::with_seed(18);
    for round in 0..300 {
        let ep = node.ep();
        let mut stream = accepted(&node, &ep);
        let cookies = posts(&ep, &buffer, 8, 8);
        let mut bytes = Vec::new();
        for _ in 0..30 {
            if round % 3 == 0 {
                bytes.extend(std::iter::repeat_with(|| random.u8(..)).take(50));
            } else {
                bytes.extend(any_frame(&mut random, 0));
            }
        }
        let length = if round % 3 == 2 { random.usize(..bytes.len()) } else { bytes.len() };
        // It may be disconnected before it wrote all.
        let _ = stream.write_all(&bytes[..length]);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        ends(&node, &ep);
        each_once(&[&node.recv, &node.request], &cookies);
        ep.free().expect("disconnected");
    }
    dat_conformance::exchange(&node, &witness, &other);
}
