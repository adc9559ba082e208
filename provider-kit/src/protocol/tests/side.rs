//! One side of a connection: its protocol, its work queues and its end of the link. It does what a queue pair
//! does, without locks.

use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dat_provider::{
    Address, Completion, CompletionPoller, Peer, SharedReceiveLimits, SharedReceiveQueue,
    SharedReceiveSink,
};

use super::choices::Choices;
use super::place::Place;
use super::script::{Acks, Scenario};
use super::wire::{Packet, Stub, Wire};
use crate::attached_srq::AttachedSrq;
use crate::bytes;
use crate::completion_queue::{self, CqPoller, IgnoringSink};
use crate::completion_target::CompletionTarget;
use crate::frame::{AckHead, Body, Extra, Frame, MAX_PIECE, MessageHead};
use crate::link::{End, FrameSink, Refused};
use crate::protocol::counts::Counts;
use crate::protocol::{EndCause, Ending, Protocol, Receiver, Stage, Transmit};
use crate::regions;
use crate::shared_receive::{self, Resume};
use crate::upcalls::Upcalls;
use crate::work_queues::WorkQueues;

/// Number of requests, and of receives, that a side may have posted.
const DEPTH: u32 = 16;

/// One side.
pub(super) struct Side {
    pub(super) place: Rc<Place>,
    pub(super) protocol: Protocol,
    pub(super) queues: WorkQueues,
    pub(super) out: Wire,
    pub(super) srq: Option<Arc<dyn SharedReceiveQueue>>,
    resumed: Arc<Resumed>,
    pollers: [CqPoller; 2],
    /// Completions of requests, and of receives.
    pub(super) done: [Vec<Completion>; 2],
    /// Number of requests, and of receives, that were posted.
    pub(super) posted: [usize; 2],
    pub(super) is_over: bool,
    /// Why the connection ended.
    pub(super) cause: Option<EndCause>,
    acks: Acks,
    pub(super) is_fast: bool,
    /// The memory for each payload becomes inaccessible while the payload arrives.
    pub(super) loses_memory: bool,
    /// Frames were read, without progress after them.
    pub(super) has_read: bool,
}

/// True if a shared receive queue has resumed a side.
#[derive(Default)]
struct Resumed(AtomicBool);

impl Resume for Resumed {
    fn resume(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct NoWatermark;

impl SharedReceiveSink for NoWatermark {
    fn low_watermark_reached(&self) {}
}

impl Side {
    /// A side in this stage. `posted` receives are posted before the handshake.
    pub(super) fn new(
        scenario: &Scenario,
        places: [&Rc<Place>; 2],
        is_shared: bool,
        stage: Stage,
        choices: &Choices,
    ) -> Self {
        let [place, peer] = places.map(Rc::clone);
        let first = scenario.first;
        let create = || completion_queue::create_with_poller(16, Arc::new(IgnoringSink));
        let (requests, receives) = (create().expect("memory"), create().expect("memory"));
        let number = regions::queue_pair_id();
        let mut queues = WorkQueues::unconfigured(number);
        let attachment = requests.0.attach();
        queues.requests = CompletionTarget::new(1, requests.0, attachment.index());
        queues.credits.resize(DEPTH);
        let mut replaced = queues.credits.attach(attachment, 0);
        let resumed = Arc::new(Resumed::default());
        let mut srq = None;
        if is_shared {
            let limits = SharedReceiveLimits { max_receives: DEPTH, max_segments: 2 };
            let created = shared_receive::create(&*place.domain, limits, Arc::new(NoWatermark));
            let created = created.expect("its own domain");
            let queue = shared_receive::downcast(&*created).expect("its own");
            let attached = AttachedSrq::new(queue, receives.0, Arc::clone(&resumed) as _);
            queues.receives.target = attached.target(2);
            queues.receives.shared = Some(attached);
            srq = Some(created);
        } else {
            let attachment = receives.0.attach();
            queues.receives.target = CompletionTarget::new(2, receives.0, attachment.index());
            queues.receives.credits.resize(DEPTH);
            replaced.extend(queues.receives.credits.attach(attachment, 0));
            assert!(queues.receives.ring.reallocate(DEPTH, 2), "memory");
        }
        drop(replaced);
        queues.receives.domain = place.domain_id;
        queues.domain = place.domain_id;
        queues.max_reads = (scenario.reads, scenario.reads);
        let stub = Stub {
            choices: choices.clone(),
            offers: scenario.offers,
            accesses: scenario.accesses,
            piece: scenario.piece,
            peer: peer.memory.clone(),
            key: peer.key,
        };
        let address = Address::Ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let ends = (Peer { address, port: 0 }, 0);
        let mut protocol = Protocol::new(
            stage,
            ends,
            first,
            (scenario.holds, scenario.offers.is_some()),
            MAX_PIECE,
        );
        let counts = Counts { taken: first, reported_executed: first, ..Counts::new(first) };
        protocol.counts = counts;
        if scenario.is_unreliable {
            queues.is_unreliable = true;
            protocol.set_unreliable();
        }
        (protocol.inbound.executed, protocol.inbound.executed_urgent) = (first, first);
        let outbound = &mut protocol.outbound;
        (outbound.peer_posted, outbound.peer_receives_used) = (first, first);
        (outbound.sends.first, outbound.sends.executed) = (first, first);
        Self {
            place,
            protocol,
            queues,
            out: Wire::new(stub, first),
            srq,
            resumed,
            pollers: [requests.1, receives.1],
            done: [Vec::new(), Vec::new()],
            posted: [0, 0],
            is_over: false,
            cause: None,
            acks: scenario.acks,
            is_fast: scenario.is_fast,
            loses_memory: false,
            has_read: false,
        }
    }

    /// Reads a frame of the peer, without progress after it.
    pub(super) fn read(&mut self, (frame, payload): Packet) {
        self.has_read = true;
        self.protocol.has_read_plain = true;
        self.out.note_read(&frame.body);
        let mut upcalls = Upcalls::default();
        let Self { protocol, queues, out, .. } = self;
        let mut sink = Receiver { protocol, out, queues, upcalls: &mut upcalls };
        if feed(&mut sink, &frame, &payload, (self.is_fast, self.loses_memory)).is_err() {
            self.protocol.note_read_end(&End::Refused, false);
        }
        upcalls.deliver();
    }

    /// Reads the end of the link.
    pub(super) fn read_end(&mut self, end: &End) {
        self.has_read = true;
        self.protocol.note_read_end(end, false);
    }

    /// Returns true if it reads frames: a queue pair reads none after a request has failed.
    pub(super) fn reads(&self) -> bool {
        !self.is_over && !self.protocol.inbound.has_failed()
    }

    /// Returns true if an acknowledgement or credits wait to be sent.
    pub(super) fn owes(&self) -> bool {
        let protocol = &self.protocol;
        let owes =
            protocol.owes_acknowledgement() || protocol.counts.owes_credits() && protocol.is_open();
        !self.is_over && !self.out.is_full && owes
    }

    /// Advances the connection, as the queue pair does after each call.
    pub(super) fn advance(&mut self) {
        self.advance_and_acknowledge(self.acks == Acks::Later);
    }

    /// As [`advance`](Self::advance); `may_wait` is about acknowledgements.
    pub(super) fn advance_and_acknowledge(&mut self, may_wait: bool) {
        self.has_read = false;
        if self.is_over {
            return;
        }
        let mut upcalls = Upcalls::default();
        if self.protocol.ending.is_none() {
            self.protocol.progress(&mut self.out, &mut self.queues, &mut upcalls);
        }
        self.protocol.established = None;
        match self.protocol.ending.take() {
            Some(ending) => self.finish(ending, &mut upcalls),
            None => self.protocol.acknowledge(may_wait, &mut self.out),
        }
        self.protocol.writes_at_once =
            self.is_fast && !self.out.has_unsent() && self.protocol.is_unobstructed();
        upcalls.deliver();
    }

    fn finish(&mut self, ending: Ending, upcalls: &mut Upcalls) {
        self.protocol.end_requests(&mut self.queues, upcalls, true);
        self.queues.receives.flush(upcalls);
        let last = ending.reason.map(|reason| self.protocol.last_frame(reason));
        self.out.close(last);
        self.is_over = true;
        self.cause = Some(ending.cause);
    }

    /// Continues if the shared receive queue has resumed this side.
    pub(super) fn resume(&mut self) {
        if !self.resumed.0.swap(false, Ordering::Relaxed) {
            return;
        }
        if let Some(shared) = &mut self.queues.receives.shared {
            shared.set_resumed();
        }
        self.advance();
    }

    /// Checks that each operation that is not left in a shared receive queue has returned its credit.
    pub(super) fn check_credits(&mut self) {
        assert_eq!(self.queues.credits.in_use(), 0, "credits of requests");
        assert_eq!(self.queues.receives.credits.in_use(), 0, "credits of receives");
        if let Some(srq) = &self.srq {
            let (queued, used) = srq.counts();
            assert_eq!(queued, used, "receives that were taken from the shared queue and are lost");
        }
    }

    /// Takes the completions.
    pub(super) fn collect(&mut self) {
        for (poller, done) in self.pollers.iter_mut().zip(&mut self.done) {
            let mut some = [Completion::default(); 8];
            loop {
                let count = poller.poll(&mut some);
                done.extend(&some[..count]);
                if count == 0 {
                    break;
                }
            }
        }
    }
}

/// Passes a frame to a receiver, as the reader of a link does: its payload comes in two parts.
fn feed(
    sink: &mut impl FrameSink,
    frame: &Frame,
    payload: &[u8],
    (is_fast, loses_memory): (bool, bool),
) -> Result<(), Refused> {
    let &Frame { body, done, posted, .. } = frame;
    let is_taken = match body {
        Body::Send { length, solicited, extra: Extra::None } if is_fast && length <= MAX_PIECE => {
            sink.message(&MessageHead { length, solicited, done, posted }, bytes::source(payload))?
        }
        Body::Ack if is_fast => sink.ack(&AckHead { done, posted })?,
        _ => false,
    };
    if is_taken {
        return Ok(());
    }
    sink.begin(frame)?;
    let (first, rest) = payload.split_at(payload.len() / 2);
    for (offset, part) in [(0, first), (first.len(), rest)] {
        if !part.is_empty() {
            let mut destinations = Vec::new();
            sink.destinations(offset as u64, &mut destinations);
            bytes::scatter(part, &destinations).expect("accessible memory");
            if loses_memory {
                sink.lose_memory();
            }
        }
    }
    sink.end()
}
