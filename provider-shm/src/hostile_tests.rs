//! Peers that do not keep to the protocol: each ends its own connection, and no other.

use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dat_conformance::{Node, exchange, expect_connection, expect_request, state, until};
use dat_core::{ConnectionEventKind, DtoStatus, Ep, EpProvision, EpState};
use dat_provider::error::{ReturnType, Subtype};
use dat_provider::mem::Span;
use dat_provider_kit::fork::Private;
use dat_provider_kit::frame::{Body, Frame};
use dat_provider_kit::handshake::{Active, ConnectionParameters, Hello};
use dat_two_processes::{NONE, each_once, posts};
use rustix::fs::MemfdFlags;
use rustix::net::SendFlags;

use crate::access_words::Requester;
use crate::address::Space;
use crate::boards::Boards;
use crate::common::node;
use crate::connect::bound;
use crate::greeting::{self, Reply};
use crate::ring::{Consumer, Producer, Stored};
use crate::segment::{Segment, UNITS};

/// A peer that writes what it likes.
struct Raw {
    socket: Private<OwnedFd>,
    segment: Arc<Segment>,
    producer: Producer,
    consumer: Consumer,
}

fn dial(qualifier: u64) -> Private<OwnedFd> {
    let own = IpAddr::from([127, 0, 0, 1]);
    let (socket, _) = bound(Space::Own, own).expect("a descriptor");
    let name = Space::Own.listener(None, own, qualifier).expect("short enough");
    rustix::net::connect(&socket, &name).expect("it listens");
    socket
}

fn ring(socket: &Private<OwnedFd>) {
    let _ = rustix::net::send(socket, &[1], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
}

impl Raw {
    /// A connection that an endpoint has accepted and that can send many messages to the peer.
    fn established(node: &Node, ep: &Ep) -> Self {
        let psp =
            node.ia.psp_create_any(&node.requests, EpProvision::Consumer).expect("a qualifier");
        let socket = dial(psp.qualifier());
        let (segment, file) = Segment::create().expect("memory");
        greeting::send(socket.as_fd(), segment.id(), Some(file.as_fd()), None).expect("it listens");
        let segment = Arc::new(segment);
        let (producer, consumer) = (Producer::new(&segment, 0), Consumer::new(&segment, 1));
        let mut raw = Self { socket, segment, producer, consumer };
        let side =
            ConnectionParameters { posted: 1000, reads: 4, ..ConnectionParameters::default() };
        let hello = Hello { qualifier: psp.qualifier(), port: 9, side };
        let (_, mut message) = Active::new(&hello, None).expect("no random numbers are needed");
        raw.store(&message.frame, &mut message.payload);
        expect_request(&node.requests).request.accept(Some(ep), b"").expect("unconnected");
        let mut answer = None;
        until("it answers", || {
            answer = raw.consumer.next_frame().expect("a frame");
            answer.is_some()
        });
        raw.consumer.pass(answer.expect("it came").length());
        raw.store(&Frame { posted: 1000, ..Frame::new(Body::Ready) }, &mut []);
        expect_connection(&node.connect, ep, ConnectionEventKind::Established);
        psp.free().expect("live");
        raw
    }

    fn store(&mut self, frame: &Frame, payload: &mut [u8]) -> Stored {
        let base = NonNull::from(&mut *payload).cast();
        // SAFETY: the bytes outlive the call, and the ring keeps no span.
        let span = unsafe { Span::new(base, payload.len()) };
        let stored = self.producer.store(frame, &[span]).expect("a ring");
        ring(&self.socket);
        stored
    }
}

/// Makes the other thread of a test stop, also if the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn ends(ep: &Ep) {
    until("the connection ends", || state(ep) == EpState::Disconnected);
}

#[test]
fn garbage_ends_its_connection_and_no_other() {
    let node = node("");
    let (client, server) = node.pair();
    let buffer = node.buffer(128);
    let mut random = fastrand::Rng::with_seed(11);
    for _ in 0..20 {
        let ep = node.ep();
        let raw = Raw::established(&node, &ep);
        let cookies = posts(&ep, &buffer, 4, 4);
        let to = raw.segment.ring(0);
        for at in 0..UNITS as usize * 64 {
            // SAFETY: inside the ring of the mapping.
            unsafe { to.wrapping_add(at).write_volatile(random.u8(..)) };
        }
        ring(&raw.socket);
        ends(&ep);
        each_once(&[&node.recv, &node.request], &cookies);
        exchange(&node, &client, &server);
    }
}

#[test]
fn words_that_go_back_or_too_far_end_their_connection() {
    const LENGTH: usize = 64 << 10;
    for head in [u64::MAX, UNITS * 9] {
        // With direct access, long messages would be offered, and would not fill the ring.
        let node = node("direct=no");
        let ep = node.ep();
        let raw = Raw::established(&node, &ep);
        let buffer = node.buffer(LENGTH);
        crate::signals::ConsumerSignals::default().release(raw.segment.signals(1), head);
        // Four of them fill the ring, so the peer's word is read.
        for cookie in 0..6 {
            ep.post_send(&[buffer.piece(0, LENGTH)], cookie, NONE).expect("live");
        }
        ends(&ep);
        let done = each_once(&[&node.request], &[0, 1, 2, 3, 4, 5]);
        assert!(done.values().all(|status| *status == DtoStatus::Flushed), "{done:?}");
    }
}

#[test]
fn a_peer_that_closes_its_socket_and_goes_on_writing_is_gone() {
    let node = node("");
    let ep = node.ep();
    let raw = Raw::established(&node, &ep);
    let cookies = {
        let buffer = node.buffer(128);
        posts(&ep, &buffer, 4, 4)
    };
    let stops = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = Stop(&stops);
        scope.spawn(|| {
            let Raw { socket, mut producer, segment, .. } = raw;
            drop(socket);
            while !stops.load(Ordering::Relaxed) {
                let _ = producer.store(&Frame { posted: 1000, ..Frame::new(Body::Ack) }, &[]);
            }
            drop(segment);
        });
        ends(&ep);
    });
    each_once(&[&node.recv, &node.request], &cookies);
}

#[test]
fn a_peer_that_rings_without_end_does_not_hold_the_others() {
    let node = node("");
    let (client, server) = node.pair();
    let ep = node.ep();
    let raw = Raw::established(&node, &ep);
    let stops = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = Stop(&stops);
        scope.spawn(|| {
            while !stops.load(Ordering::Relaxed) {
                ring(&raw.socket);
            }
        });
        for _ in 0..50 {
            exchange(&node, &client, &server);
        }
        assert_eq!(state(&ep), EpState::Connected);
    });
    drop(raw);
    ends(&ep);
}

#[test]
fn a_peer_that_rings_or_silences_all_doorbells_does_not_hold_the_others() {
    let node = node("");
    let (client, server) = node.pair();
    let ep = node.ep();
    let raw = Raw::established(&node, &ep);
    let reply = greeting::receive_reply(raw.socket.as_fd()).expect("it rang");
    let Reply::Rung(Some((file, number))) = reply else {
        panic!("the peer belongs to the same user")
    };
    let doorbell = Boards::new().of_peer(file.as_fd(), number).expect("a board");
    for bits in [u64::MAX, 0] {
        let stops = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _stop = Stop(&stops);
            scope.spawn(|| {
                while !stops.load(Ordering::Relaxed) {
                    doorbell.words().iter().for_each(|word| word.store(bits, Ordering::Relaxed));
                }
            });
            for _ in 0..20_000 {
                exchange(&node, &client, &server);
            }
            assert_eq!(state(&ep), EpState::Connected);
        });
    }
    drop(raw);
    ends(&ep);
}

#[test]
fn a_peer_that_never_ends_its_access_ends_its_connection_and_keeps_only_the_memory() {
    let node = node("");
    let (client, server) = node.pair();
    let ep = node.ep();
    let raw = Raw::established(&node, &ep);
    let buffer = node.buffer(128);
    let mut requester = Requester::default();
    until("the gate is open", || requester.enter(raw.segment.access(0)).is_some());
    let error = buffer.lmr.free().expect_err("it may still be accessed");
    let expected = (ReturnType::InvalidState, Subtype::NoSubtype);
    assert_eq!((error.return_type(), error.subtype()), expected);
    ends(&ep);
    // The bytes are those of the region, even though the handles are gone.
    let address = buffer.memory.address();
    drop(buffer);
    assert_ne!(node.buffer(128).memory.address(), address);
    // Memory that is registered from now on is not concerned, nor are other connections.
    exchange(&node, &client, &server);
    node.buffer(128).lmr.free().expect("registered after the end of the connection");
}

#[test]
fn strangers_do_not_hold_the_listener() {
    let node = node("");
    let psp = node.ia.psp_create_any(&node.requests, EpProvision::Consumer).expect("a qualifier");
    let silent = dial(psp.qualifier());
    let rude = dial(psp.qualifier());
    rustix::net::send(&rude, b"GET / HTTP/1.1", SendFlags::NOSIGNAL).expect("it listens");
    let bare = dial(psp.qualifier());
    rustix::net::send(&bare, b"dat-shm\x06", SendFlags::NOSIGNAL).expect("it listens");
    let unsealed = dial(psp.qualifier());
    let file = rustix::fs::memfd_create("test", MemfdFlags::CLOEXEC).expect("memory");
    greeting::send(unsealed.as_fd(), 0, Some(file.as_fd()), None).expect("it listens");
    let pipe = dial(psp.qualifier());
    greeting::send(pipe.as_fd(), 0, Some(pipe.as_fd()), None).expect("it listens");
    for stranger in [&rude, &bare, &unsealed, &pipe] {
        until("it is disconnected", || {
            let flags = rustix::net::RecvFlags::DONTWAIT;
            rustix::net::recv(stranger, &mut [0; 8][..], flags).is_ok_and(|(got, _)| got == 0)
        });
    }
    let (client, server) = node.pair();
    exchange(&node, &client, &server);
    drop(silent);
    psp.free().expect("live");
}
