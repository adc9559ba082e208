//! Posts of writes that the next poll executes (docs/provider-shm.md, "Direct access").

use dat_conformance::{Buffer, Node, drain, expect_dto, state, until};
use dat_core::{
    CompletionFlags, DtoStatus, Ep, EpState, Event, MemorySource, Privileges, RmrTriplet,
};
use dat_two_processes::NONE;
use dat_two_processes::pages::{Loss, Pages};

use crate::common::node;

/// Length of a write, in bytes, and the number of writes between two polls.
const PIECE: usize = 5000;
const PIECES: usize = 8;

/// A connection whose consumer posts several writes and then polls a dispatcher for connection events.
struct Writer {
    node: Node,
    ep: Ep,
    peer: Ep,
    from: Buffer,
    to: Buffer,
}

impl Writer {
    fn new() -> Self {
        let node = node("");
        let client = node.ep_with(|it| it.max_request_dtos = 64);
        let server = node.ep();
        dat_conformance::link(&node, &client, &node, &server);
        let (from, to) = (node.buffer(PIECE * PIECES), node.buffer(PIECE * PIECES));
        Self { node, ep: client, peer: server, from, to }
    }

    fn target(&self, piece: usize) -> RmrTriplet {
        self.to.remote(piece * PIECE, PIECE)
    }

    fn write(&self, piece: usize, to: RmrTriplet, flags: CompletionFlags) {
        let from = [self.from.piece(piece * PIECE, PIECE)];
        self.ep.post_rdma_write(&from, piece as u64, to, flags).expect("connected");
    }

    /// Fills the memory that writes send.
    fn fill(&self, value: u8) {
        self.from.fill(0, &[value; PIECE * PIECES]);
    }

    /// Posts writes of all pieces.
    fn burst(&self) {
        (0..PIECES)
            .for_each(|piece| self.write(piece, self.target(piece), CompletionFlags::SUPPRESS));
    }

    fn has_arrived(&self, piece: usize, value: u8) -> bool {
        self.to.bytes(piece * PIECE, PIECE) == [value; PIECE]
    }

    fn poll(&self) {
        assert!(!self.node.connect.dequeue(&mut Event::default()).expect("live"));
    }

    /// Makes bursts, each followed by polls, until writes were left to the polls.
    fn begin(&self) {
        let mut value = 0;
        until("posts leave writes to polls", || {
            value = if value == u8::MAX { 1 } else { value + 1 };
            self.fill(value);
            self.poll();
            self.burst();
            let last = self.to.bytes(PIECE * PIECES - 1, 1);
            let has_left = last != [value];
            // Pieces arrive while this looks, so the last one that has arrived is looked for first.
            let arrived = (0..PIECES).rev().find(|piece| self.has_arrived(*piece, value));
            let arrived = arrived.expect("the first write does not wait");
            assert!((0..arrived).all(|piece| self.has_arrived(piece, value)), "the order");
            until("polls execute what was left", || {
                self.poll();
                (0..PIECES).all(|piece| self.has_arrived(piece, value))
            });
            has_left
        });
    }
}

#[test]
fn polls_execute_the_writes_that_posts_have_left_in_order() {
    let writer = Writer::new();
    writer.begin();
    assert!(drain(&writer.node.request).is_empty(), "the successes are suppressed");
}

#[test]
fn a_write_whose_completion_is_awaited_executes_those_before_it() {
    let writer = Writer::new();
    writer.begin();
    for value in 0..100 {
        writer.fill(value);
        writer.poll();
        writer.burst();
        writer.write(0, writer.target(0), NONE);
        assert_eq!(expect_dto(&writer.node.request, &[&writer.ep]).status, DtoStatus::Success);
        assert!((0..PIECES).all(|piece| writer.has_arrived(piece, value)));
    }
}

#[test]
fn writes_are_executed_if_no_poll_follows() {
    let writer = Writer::new();
    writer.begin();
    for value in 0..20 {
        writer.fill(value);
        writer.poll();
        writer.burst();
        until("the thread executes them", || {
            (0..PIECES).all(|piece| writer.has_arrived(piece, value))
        });
    }
}

#[test]
fn a_write_that_fails_fails_alone_and_those_after_it_are_flushed() {
    let writer = Writer::new();
    writer.begin();
    let pages = Pages::map(2 * PIECE);
    let (source, pz) = (MemorySource::Span(pages.span()), &writer.node.pz);
    let lmr = writer.node.ia.lmr_create(source, pz, Privileges::ALL).expect("a registration");
    let lost = RmrTriplet {
        context: lmr.rmr_context(),
        address: pages.span().address(),
        length: PIECE as u64,
    };
    pages.lose(Loss::Mapping);
    writer.to.fill(0, &[0; PIECE * PIECES]);
    writer.fill(7);
    writer.poll();
    for piece in 0..PIECES {
        let to = if piece == 2 { lost } else { writer.target(piece) };
        let flags = CompletionFlags::SUPPRESS;
        let posted = writer.ep.post_rdma_write(
            &[writer.from.piece(piece * PIECE, PIECE)],
            piece as u64,
            to,
            flags,
        );
        // The connection may have ended, if the thread has executed the first ones already.
        if posted.is_err() {
            break;
        }
    }
    until("the connection ends", || {
        drop(drain(&writer.node.connect));
        state(&writer.ep) == EpState::Disconnected
    });
    let arrived: Vec<_> = (0..PIECES).map(|piece| writer.has_arrived(piece, 7)).collect();
    assert_eq!(arrived, (0..PIECES).map(|piece| piece < 2).collect::<Vec<_>>());
    let events = drain(&writer.node.request).into_iter().map(|event| match event {
        Event::Dto(done) => (done.cookie, done.status),
        other => panic!("{other:?}"),
    });
    let events: Vec<_> = events.collect();
    assert_eq!(events[0].0, 2, "{events:?}");
    assert_ne!(events[0].1, DtoStatus::Success);
    let others: Vec<_> =
        (3..2 + events.len() as u64).map(|cookie| (cookie, DtoStatus::Flushed)).collect();
    assert_eq!(&events[1..], others);
    drop(lmr);
    drop(writer.peer);
}
