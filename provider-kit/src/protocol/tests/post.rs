//! The posts of a side, as a queue pair makes them: over the fast path where that applies.

use dat_provider::flags::{CompletionFlags, Privileges};
use dat_provider::mem::Span;
use dat_provider::status::DtoStatus;
use dat_provider::triplet::RmrTriplet;
use dat_provider::{BindRequest, Epoch, ReceiveRequest, Request, Segment, Work};

use super::place::{Area, Place};
use super::script::{Post, Step};
use super::side::Side;
use crate::frame::{Body, MAX_PIECE, Reason, Remote};
use crate::link::MIN_OFFER;
use crate::protocol::{EndCause, PostedRequest};
use crate::receive_ring::PostedReceive;
use crate::transfer::{self, LocalMemory};
use crate::upcalls::Upcalls;
use crate::window::Bind;
use crate::work_queues::InFlight;

/// A key that no region has.
const WRONG_KEY: u32 = 0x5a5a_5a5a;

impl Side {
    /// Posts a receive, or a request to the peer with this memory, whose window has this key.
    pub(super) fn post(&mut self, (step, flags): Post, peer: &Place, window: &mut [u32; 2]) {
        match step {
            Step::After(_) => {}
            Step::Disconnect => {
                if !self.is_over {
                    self.protocol.end(EndCause::Disconnected, Some(Reason::Abrupt));
                    self.advance();
                }
            }
            Step::Receive(length) => self.post_receive(length),
            Step::Bind { slot } => self.post_bind(slot, flags, window),
            _ => self.post_work(step, flags, peer, window[1]),
        }
    }

    fn epoch(&self) -> Epoch {
        self.queues.receives.epochs.now()
    }

    fn post_receive(&mut self, length: usize) {
        let number = self.posted[1];
        self.posted[1] += 1;
        let segments = self.place.segments(Area::Receive, number, length);
        let (cookie, flags, checked) = (number as u64, CompletionFlags::empty(), self.epoch());
        let receive = ReceiveRequest { segments: &segments, cookie, flags, checked };
        if let Some(srq) = &self.srq {
            srq.post_receive(&receive).expect("space");
            return self.resume();
        }
        let has_credits = self.protocol.counts.peer_has_credits();
        let receives = &mut self.queues.receives;
        assert!(receives.credits.try_take(), "credits of receives");
        assert!(receives.ring.push(PostedReceive::new(&receive), &segments).is_ok(), "space");
        if self.is_over {
            let mut upcalls = Upcalls::default();
            receives.flush(&mut upcalls);
            return upcalls.deliver();
        }
        self.protocol.counts.note_posted();
        if !(self.protocol.writes_at_once && has_credits) {
            self.advance();
        }
    }

    /// Posts a receive before the connection exists.
    pub(super) fn post_before(&mut self, step: Step) {
        let Step::Receive(length) = step else { panic!("{step:?} before the handshake") };
        self.protocol.writes_at_once = true;
        self.post_receive(length);
        self.protocol.writes_at_once = false;
        self.protocol.counts.reported_posted = self.protocol.counts.posted;
    }

    fn post_bind(&mut self, slot: usize, flags: CompletionFlags, window: &mut [u32; 2]) {
        let bind = BindRequest {
            window: &*self.place.window,
            region: Some(&*self.place.region),
            address: self.place.target(slot).address,
            remote_address: self.place.target(slot).address,
            length: 16,
            privileges: Privileges::REMOTE_WRITE,
            key: None,
            cookie: self.posted[0] as u64,
            flags,
        };
        let bound = Bind::new(&bind, self.queues.number).expect("its own window");
        window[0] = bound.key();
        let cookie = bind.cookie;
        self.post_slow(PostedRequest::bind(bound, cookie, flags));
    }

    fn post_work(&mut self, step: Step, flags: CompletionFlags, peer: &Place, window: u32) {
        let number = self.posted[0];
        let at = |length: usize, slot: usize| {
            let Remote { context, address } = peer.target(slot);
            RmrTriplet { address, length: length as u64, context }
        };
        let in_window = |remote: RmrTriplet| RmrTriplet { context: window, ..remote };
        let mut wrong_memory = None;
        let (work, area, length) = match step {
            Step::Send(length) => (Work::Send, Area::Source, length),
            Step::Write { length, slot } => {
                (Work::RdmaWrite { remote: at(length, slot) }, Area::Source, length)
            }
            Step::WriteImmediate { length, slot, value } => {
                let work = Work::RdmaWriteImmediate { remote: at(length, slot), immediate: value };
                (work, Area::Source, length)
            }
            Step::Read { length, slot } => {
                (Work::RdmaRead { remote: at(length, slot) }, Area::Result, length)
            }
            Step::Add { slot, add } => {
                (Work::FetchAdd { add, remote: at(8, slot) }, Area::Result, 8)
            }
            Step::Swap { slot, value } => {
                let compare = super::oracle::word(&peer.initial, peer.offset(Area::Target, slot));
                let work = Work::CompareSwap { compare, swap: value, remote: at(8, slot) };
                (work, Area::Result, 8)
            }
            Step::WriteWindow { length, slot } => {
                let work = Work::RdmaWrite { remote: in_window(at(length, slot)) };
                (work, Area::Source, length)
            }
            Step::SendImmediate { length, value } => {
                (Work::SendImmediate { immediate: value }, Area::Source, length)
            }
            Step::SendInvalidate(length) => {
                (Work::SendInvalidate { key: window }, Area::Source, length)
            }
            Step::WrongKey => {
                let remote = RmrTriplet { context: WRONG_KEY, ..at(8, 0) };
                (Work::RdmaWrite { remote }, Area::Source, 8)
            }
            Step::WrongMemory => {
                wrong_memory = Some(vec![self.place.unregistered()]);
                (Work::Send, Area::Source, 8)
            }
            other => panic!("{other:?} is not work"),
        };
        let is_checked = wrong_memory.is_none();
        let segments = wrong_memory.unwrap_or_else(|| self.place.segments(area, number, length));
        let checked = if is_checked { self.epoch() } else { Epoch::default() };
        let request = Request {
            work,
            segments: &segments,
            length: length as u64,
            cookie: number as u64,
            flags,
            checked,
        };
        if !(is_checked && self.post_fast(&request)) {
            self.post_slow(PostedRequest::new(&request));
        }
    }

    fn post_slow(&mut self, request: PostedRequest) {
        self.posted[0] += 1;
        assert!(self.queues.credits.try_take(), "credits of requests");
        if self.is_over {
            let mut upcalls = Upcalls::default();
            let (in_flight, extra) = (request.in_flight(), request.extra());
            self.queues.complete_request(&in_flight, extra, DtoStatus::Flushed, &mut upcalls);
            return upcalls.deliver();
        }
        self.protocol.outbound.sends.waiting.push_back(request);
        self.advance();
    }

    /// Writes a send or RDMA write at once, if nothing waits. Returns false, without effect, otherwise.
    fn post_fast(&mut self, request: &Request<'_>) -> bool {
        let &Request { work, segments, length, cookie, flags, checked } = request;
        let Self { protocol, queues, out, .. } = self;
        let is_fenced = flags.contains(CompletionFlags::BARRIER_FENCE);
        if !protocol.writes_at_once || is_fenced || length > MAX_PIECE {
            return false;
        }
        if length >= MIN_OFFER && protocol.outbound.can_offer {
            return false;
        }
        let is_written = match work {
            Work::Send if protocol.outbound.has_credit() => {
                let Some(span) = whole(segments, queues.domain, length) else { return false };
                protocol.write_message(length, false, span, out)
            }
            Work::RdmaWrite { remote: RmrTriplet { address, context, .. } } => {
                let remote = Remote { context, address };
                let frame = protocol.frame(Body::Write { length, remote });
                let local = LocalMemory { segments, domain: queues.domain };
                let checked = (checked.number(), &*queues.receives.epochs);
                protocol.write_segments(&frame, (local, checked), length, out)
            }
            _ => false,
        };
        if !is_written {
            return false;
        }
        self.posted[0] += 1;
        queues.credits.take_available();
        if matches!(work, Work::Send) {
            protocol.outbound.use_credit();
        }
        let (length, operation) = (length as u32, work.operation());
        let in_flight = InFlight { cookie, length, operation, flags, expects_answer: false };
        protocol.outbound.sends.push_in_flight(in_flight);
        true
    }
}

/// The only segment of a message.
fn whole(segments: &[Segment], domain: u32, length: u64) -> Option<Span> {
    let mut spans = Vec::new();
    let local = LocalMemory { segments, domain };
    let is_found = transfer::local_spans(local, Privileges::LOCAL_READ, (0, length), &mut spans);
    if is_found && spans.len() == 1 { spans.pop() } else { None }
}
