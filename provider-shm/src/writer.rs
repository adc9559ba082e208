//! The writing half of a link.

use std::sync::Arc;

use dat_provider::mem::Span;
use dat_provider_kit::bytes;
use dat_provider_kit::direct::{self, Access, AccessResult, Direction, Offer};
use dat_provider_kit::frame::{AckHead, Frame, FrameError, MessageHead};
use dat_provider_kit::link::{End, LinkReport, MIN_OFFER, WriteResult, Writer};

use crate::direct::{DirectRequester, LONGEST};
use crate::gate::Gate;
use crate::link::Link;
use crate::ring::{PIECE, Producer, Stored};
use crate::signals::Wake;

/// Maximum length of an RDMA operation, in bytes, that a polling peer executes faster than the kernel copies.
const SHORT: u64 = 4096;
/// Minimum length of a message, in bytes, that is offered while other requests are outstanding. An offer delays them
/// until the peer has answered; if they are in the ring, both sides copy at the same time.
const MIN_OFFER_IN_STREAM: u64 = 64 << 10;
/// The same if the peer does not poll, so that each answer costs a wake-up.
const MIN_OFFER_WITHOUT_POLLS: u64 = 256 << 10;

/// Writes frames to a ring. A frame that it has accepted is visible to the peer.
#[derive(Debug)]
pub(crate) struct RingWriter {
    /// `None` until the segment arrives.
    producer: Option<Producer>,
    /// True if a frame did not fit.
    is_full: bool,
    direct: DirectRequester,
    /// Bytes that did not pass the ring: written to the memory of the peer, or offered to it.
    pushed: u64,
    /// Bytes that were read from the memory of the peer.
    pulled: u64,
    /// Dropped last, because it keeps the segment if nothing else uses it.
    link: Arc<Link>,
}

impl RingWriter {
    pub(crate) fn new(link: Arc<Link>) -> Self {
        let direct = DirectRequester::default();
        Self { producer: None, is_full: false, direct, pushed: 0, pulled: 0, link }
    }

    #[inline(always)]
    fn producer(&mut self) -> Result<&mut Producer, End> {
        self.link.check()?;
        if self.link.has_ended() {
            return Err(self.link.ended(End::Gone));
        }
        if self.producer.is_none() {
            self.open()?;
        }
        self.producer.as_mut().ok_or(End::Gone)
    }

    /// As [`producer`](Self::producer), if it exists and the link has not ended. The caller has checked that this
    /// process is not a child of fork.
    #[inline(always)]
    fn ready_producer(&mut self) -> Option<&mut Producer> {
        self.producer.as_mut().filter(|_| !self.link.has_ended())
    }

    #[cold]
    fn open(&mut self) -> Result<(), End> {
        let segment = self.link.segment().ok_or(End::Gone)?;
        self.link.give_doorbell();
        self.producer = Some(Producer::new(segment, self.link.writes));
        Ok(())
    }

    /// Returns true if this side is to execute an operation itself: the target does not execute it faster.
    #[inline(always)]
    fn may_access(&mut self, access: &Access<'_>) -> bool {
        if !self.link.is_direct {
            return false;
        }
        let Ok(producer) = self.producer() else { return false };
        if !producer.is_polled() {
            return true;
        }
        let cost = match access.direction {
            Direction::Write => &self.link.cost_in,
            Direction::Read => &self.link.cost_out,
        };
        access.length > SHORT && !cost.prefers_ring()
    }

    /// Counts the bytes of an operation that was executed directly.
    fn count(&mut self, access: &Access<'_>) {
        match access.direction {
            Direction::Write => self.pushed += access.length,
            Direction::Read => self.pulled += access.length,
        }
    }

    /// Wakes the peer for a frame that was stored.
    #[inline]
    fn finish(&mut self, stored: Result<Stored, FrameError>) -> Result<WriteResult, End> {
        self.finish_with(stored, Link::ring)
    }

    #[inline]
    fn finish_with(
        &mut self,
        stored: Result<Stored, FrameError>,
        wake_peer: impl FnOnce(&Link, Wake) -> Result<(), End>,
    ) -> Result<WriteResult, End> {
        match stored.map_err(|why| self.link.abandon(why))? {
            Stored::Yes { wake } => {
                if wake != Wake::Nothing {
                    wake_peer(&self.link, wake)?;
                }
                Ok(WriteResult::Taken)
            }
            Stored::Full => {
                self.is_full = true;
                Ok(WriteResult::Full)
            }
            Stored::Unreadable => {
                // A part of the payload is behind the last frame.
                self.link.set_spread();
                Ok(WriteResult::Unreadable)
            }
        }
    }
}

impl Writer for RingWriter {
    fn write(&mut self, frame: &Frame, payload: &[Span]) -> Result<WriteResult, End> {
        let begin = self.link.cost_in.begin(bytes::total(payload) as u64);
        let stored = self.producer()?.store(frame, payload);
        self.link.cost_in.end(begin.filter(|_| matches!(stored, Ok(Stored::Yes { .. }))));
        self.finish(stored)
    }

    fn max_first_piece(&self) -> u64 {
        PIECE
    }

    fn max_next_piece(&self) -> u64 {
        PIECE
    }

    #[inline]
    fn write_message(&mut self, head: &MessageHead, payload: Span) -> Result<WriteResult, End> {
        let Some(producer) = self.ready_producer() else {
            return self.write(&head.frame(), &[payload]);
        };
        let stored = producer.store_message(head, payload);
        self.link.prefetch_next();
        self.finish(stored)
    }

    #[inline]
    fn write_ack(&mut self, head: &AckHead) -> Result<WriteResult, End> {
        let Some(producer) = self.ready_producer() else { return self.write(&head.frame(), &[]) };
        let stored = producer.store_ack(head);
        self.finish(stored)
    }

    fn write_last(&mut self, frame: &Frame) -> Result<WriteResult, End> {
        let stored = self.producer()?.store(frame, &[]);
        // The end of the socket wakes a waiting peer.
        self.finish_with(stored, |link, _| {
            link.ring_doorbell();
            Ok(())
        })
    }

    fn flush(&mut self) -> Result<bool, End> {
        if self.is_full {
            let is_free = self.producer()?.is_free();
            self.is_full = !is_free.map_err(|why| self.link.abandon(why))?;
        }
        Ok(self.is_full)
    }

    fn access(&mut self, access: &Access<'_>) -> AccessResult {
        if !self.may_access(access) {
            return AccessResult::NotDirectly;
        }
        let Some(words) = self.link.accesses() else { return AccessResult::NotDirectly };
        let accessed = self.direct.access(words, || self.link.peer_process(), access);
        if accessed == AccessResult::Done {
            self.count(access);
        }
        accessed
    }

    fn access_all(&mut self, accesses: &[Access<'_>]) -> usize {
        let direct = accesses.iter().take_while(|access| self.may_access(access)).count();
        let Some(words) = self.link.accesses() else { return 0 };
        let process = || self.link.peer_process();
        let done = self.direct.access_all(words, process, &accesses[..direct]);
        accesses[..done].iter().for_each(|access| self.count(access));
        done
    }

    fn can_offer(&self) -> bool {
        self.link.is_direct
    }

    fn offer(&mut self, length: u64, is_alone: bool) -> Option<u64> {
        let min = match self.producer().ok()?.is_polled() {
            true if self.link.cost_in.prefers_ring() => return None,
            true if is_alone => MIN_OFFER,
            true => MIN_OFFER_IN_STREAM,
            false => MIN_OFFER_WITHOUT_POLLS,
        };
        if !(min..=LONGEST).contains(&length) {
            return None;
        }
        let epoch = self.link.segment()?.access(1 - self.link.writes).epoch();
        // A message that the peer does not fetch is counted again when it passes the ring.
        self.pushed += length;
        Some(epoch)
    }

    fn fetch(&mut self, offer: &Offer<'_>) -> AccessResult {
        let Some(words) = self.link.accesses() else { return AccessResult::NotDirectly };
        let fetched = self.direct.fetch(words, || self.link.peer_process(), offer);
        if fetched == AccessResult::Done {
            self.pulled += offer.extents.iter().map(|extent| extent.length).sum::<u64>();
        }
        fetched
    }

    fn gate(&mut self, domain: u32, queue_pair: u32) -> Option<Box<dyn direct::Gate>> {
        let segment = self.link.segment().filter(|_| self.link.is_direct)?;
        let rights = u64::from(domain) << 32 | u64::from(queue_pair);
        Some(Box::new(Gate::new(&self.link, segment, rights)))
    }

    fn shut_down(&mut self) -> Result<(), End> {
        self.link.check()?;
        self.link.shut_down().map_err(|errno| End::Lost(errno.raw_os_error()))
    }

    fn report(&self) -> LinkReport {
        let producer = self.producer.as_ref();
        LinkReport {
            transport: "shm",
            written: Some(producer.map_or(0, Producer::bytes_written) + self.pushed),
            read: None,
            pulled: self.pulled,
            is_unread: producer.is_some_and(Producer::is_unread),
            peer_process: self.link.peer_process(),
        }
    }
}

impl Drop for RingWriter {
    fn drop(&mut self) {
        if self.producer.as_ref().is_some_and(|producer| !producer.is_near()) {
            self.link.set_spread();
        }
    }
}
