//! The fast path of posts: plain requests go to the device with the fewest possible instructions.
//! Any special case, even a flag, takes the slow path (`post`), which makes all checks again.
#![allow(unsafe_code, reason = "the device may read inline segments at once")]

use dat_core::Operation;
use dat_core::error::Result;
use dat_core::provider::{ReceiveRequest, Request, Work};

use super::state::{Endpoint, Mode, Receiver, Sender};
use crate::ledger::Record;
use crate::segments;
use crate::sys::verbs as sys;
use crate::verbs::Plain;

impl Endpoint {
    #[inline]
    pub(super) fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        let receiver = self.receiver.lock();
        let ([segment], Mode::Live, Some(hardware)) =
            (receive.segments, receiver.mode, &receiver.hardware)
        else {
            return self.post_receive_anyhow(receiver, receive);
        };
        let (cookie, flags, operation) = (receive.cookie, receive.flags, self.receives());
        let record = Record { cookie, flags, operation, ..Record::default() };
        let Some(number) = receiver.ledger.write(&record) else {
            return self.post_receive_anyhow(receiver, receive);
        };
        let id = receiver.attachment.identifier(number);
        match hardware.post_receive_raw(id, &[segments::convert(segment)]) {
            Ok(()) => Ok(()),
            Err(failure) => Receiver::not_taken(receiver, failure),
        }
    }

    #[inline]
    pub(super) fn post_request(&self, request: &Request<'_>) -> Result<()> {
        match request.work {
            Work::Send => self.post_send(request),
            Work::RdmaWrite { .. } => self.post_write(request),
            Work::RdmaRead { .. } => self.post_read(request),
            _ => self.post_anyhow(self.sender.lock(), request),
        }
    }

    // Compiled as separate functions, so that each saves only the registers it needs.

    #[inline(never)]
    fn post_send(&self, request: &Request<'_>) -> Result<()> {
        self.post_plain(request, Operation::Send, || Some(Plain::Send))
    }

    #[inline(never)]
    fn post_write(&self, request: &Request<'_>) -> Result<()> {
        self.post_plain(request, Operation::RdmaWrite, || match &request.work {
            Work::RdmaWrite { remote } => {
                Some(Plain::Write { address: remote.address, key: remote.context })
            }
            _ => None,
        })
    }

    #[inline(never)]
    fn post_read(&self, request: &Request<'_>) -> Result<()> {
        self.post_plain(request, Operation::RdmaRead, || match &request.work {
            Work::RdmaRead { remote } if remote.length >= request.length => {
                Some(Plain::Read { address: remote.address, key: remote.context })
            }
            _ => None,
        })
    }

    /// Posts a request on the fast path, if `what` finds it plain.
    #[inline(always)]
    fn post_plain(
        &self,
        request: &Request<'_>,
        operation: Operation,
        what: impl FnOnce() -> Option<Plain>,
    ) -> Result<()> {
        // Values checked under the lock need not be kept while this thread waits for it.
        let mut sender = self.sender.lock();
        if !request.flags.is_empty() {
            return self.post_anyhow(sender, request);
        }
        let ([segment], Some(what)) = (request.segments, what()) else {
            return self.post_anyhow(sender, request);
        };
        let (Mode::Live, Some(hardware)) = (sender.mode, &sender.hardware) else {
            return self.post_anyhow(sender, request);
        };
        let (cookie, length) = (request.cookie, request.length);
        let record = Record { cookie, length, operation, ..Record::default() };
        let Some(number) = sender.ledger.write(&record) else {
            return self.post_anyhow(sender, request);
        };
        let id = sender.attachment.identifier(number);
        let flags = match operation {
            Operation::RdmaRead => sys::IBV_SEND_SIGNALED,
            _ if length <= sender.inline => sender.signalled | sys::IBV_SEND_INLINE,
            _ => sender.signalled,
        };
        let segment = segments::convert_sent(segment);
        // SAFETY: the core checked the segment against its region, whose memory is readable while
        // it is registered (`Span::new`).
        match unsafe { hardware.post_plain_raw(id, flags, &segment, what) } {
            Ok(()) => {
                sender.quiet = 0;
                Ok(())
            }
            Err(failure) => Sender::not_taken(sender, failure),
        }
    }
}
