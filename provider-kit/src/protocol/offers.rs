//! Rendezvous for long messages: the sender offers a message, and the receiver fetches it from the memory
//! of the sender into its receive, with one copy.
//!
//! An offer is the last frame of a request before the peer has answered: with an acknowledgement, or with
//! `CTS` if it could not fetch the message, which the sender then sends in pieces.

use arrayvec::ArrayVec;
use dat_provider::Work;
use dat_provider::flags::{CompletionFlags, Privileges};
use dat_provider::status::DtoStatus;

use super::inbound::{CurrentFrame, InboundKind, OfferAnswer};
use super::receiver::{Accepted, Receiver};
use super::request::Task;
use super::state::Protocol;
use super::transmit::Transmit;
use crate::bytes;
use crate::direct::{self, AccessResult, Extent, Offer};
use crate::frame::{Body, EXTENT, Extra, MAX_EXTENTS};
use crate::link::Refused;
use crate::transfer::{self, LocalMemory};
use crate::work_queues::WorkQueues;

impl Protocol {
    /// Offers the oldest request, for which the peer has a receive, if it is a message. Returns whether
    /// that made progress; nothing if the request is to be sent.
    #[cold]
    #[inline(never)]
    pub(super) fn write_offer(
        &mut self,
        out: &mut impl Transmit,
        queues: &WorkQueues,
    ) -> Option<bool> {
        let has_in_flight = self.outbound.sends.has_in_flight();
        let request = self.outbound.sends.waiting.front()?;
        let length = request.length;
        if !matches!(request.task, Task::Work(Work::Send)) {
            return None;
        }
        let is_alone = !has_in_flight && self.outbound.sends.waiting.len() == 1;
        let epoch = out.writer().offer(length, is_alone)?;
        let request = self.outbound.sends.waiting.front_mut()?;
        let local = LocalMemory { segments: &request.segments, domain: queues.domain };
        self.spans.clear();
        if !transfer::local_spans(local, Privileges::LOCAL_READ, (0, length), &mut self.spans) {
            request.local_status = Some(DtoStatus::LocalProtection);
            return Some(true);
        }
        let extents = self.spans.len() as u32;
        if extents > MAX_EXTENTS {
            return None;
        }
        direct::note_offer();
        let mut list = Vec::with_capacity(self.spans.len() * EXTENT as usize);
        for span in &self.spans {
            list.extend_from_slice(&span.address().to_le_bytes());
            list.extend_from_slice(&(span.len() as u64).to_le_bytes());
        }
        let solicited = request.flags.contains(CompletionFlags::SOLICITED_WAIT);
        let body = Body::Offer { length, solicited, extents, epoch };
        if !self.write(body, &[bytes::source(&list)], out) {
            return Some(false);
        }
        let request = self.outbound.sends.waiting.front_mut()?;
        (request.is_begun, request.is_offered) = (true, true);
        self.outbound.note_begun();
        Some(true)
    }

    /// Sends the answer to an offer.
    #[cold]
    #[inline(never)]
    pub(super) fn answer_offer(&mut self, out: &mut impl Transmit) {
        let is_sent = match self.inbound.offer_answer {
            None => true,
            Some(OfferAnswer::Fetched) => {
                !self.owes_acknowledgement() || self.write(Body::Ack, &[], out)
            }
            Some(OfferAnswer::NotFetched) => self.write(Body::Cts, &[], out),
        };
        if is_sent {
            self.inbound.offer_answer = None;
        }
    }
}

impl<O: Transmit> Receiver<'_, O> {
    /// The peer offers a message, for the oldest receive, or for that of its `RTS`.
    #[cold]
    #[inline(never)]
    pub(super) fn begin_offer(
        &mut self,
        (length, solicited): (u64, bool),
        (extents, epoch): (u32, u64),
    ) -> Accepted {
        self.begin_message(length, solicited, Extra::None)?;
        let list = vec![0; (u64::from(extents) * EXTENT) as usize];
        self.protocol.inbound.current = CurrentFrame::Offer(list, epoch);
        Ok(())
    }

    /// The list of the extents of an offer is complete: fetches the message.
    #[cold]
    #[inline(never)]
    pub(super) fn finish_offer(&mut self, list: &[u8], epoch: u64) -> Accepted {
        let protocol = &mut *self.protocol;
        let Some(arriving) = &protocol.inbound.arriving else { return Err(Refused) };
        let InboundKind::Message { receive, .. } = &arriving.kind else { return Err(Refused) };
        let length = arriving.length;
        let extents = extents(list);
        let total = extents.iter().try_fold(0_u64, |sum, extent| sum.checked_add(extent.length));
        if total != Some(length) {
            return Err(Refused);
        }
        let local = LocalMemory { segments: &receive.segments, domain: receive.domain };
        protocol.spans.clear();
        let range = (0, length);
        let outcome =
            if transfer::local_spans(local, Privileges::LOCAL_WRITE, range, &mut protocol.spans) {
                self.out.writer().fetch(&Offer { epoch, extents: &extents, local: &protocol.spans })
            } else {
                AccessResult::NotDirectly
            };
        // So that the poll does not end before the answer is sent.
        protocol.writes_at_once = false;
        if outcome == AccessResult::Done {
            protocol.inbound.offer_answer = Some(OfferAnswer::Fetched);
            return self.finish_piece(length);
        }
        protocol.inbound.offer_answer = Some(OfferAnswer::NotFetched);
        Ok(())
    }
}

/// The extents in the payload of an offer.
fn extents(list: &[u8]) -> ArrayVec<Extent, { MAX_EXTENTS as usize }> {
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    let (each, half) = (EXTENT as usize, EXTENT as usize / 2);
    let one = |bytes: &[u8]| Extent { address: word(&bytes[..half]), length: word(&bytes[half..]) };
    list.chunks_exact(each).map(one).take(MAX_EXTENTS as usize).collect()
}
