//! The fast path of posts: plain requests go to the device with the fewest possible instructions.
//! Any special case, even a flag, takes the slow path (`post`), which makes all checks again.
#![allow(unsafe_code, reason = "the device may read inline segments at once")]

use dat_core::Operation;
use dat_core::error::Result;
use dat_core::flags::CompletionFlags;
use dat_core::provider::{ReceiveRequest, Request, Segment, Work};
use parking_lot::MutexGuard;

use super::state::{Mode, Receiver, Sender};
use crate::segments;
use crate::sys::verbs as sys;
use crate::verbs::Plain;
use crate::work_queue::Next;

// Each of these functions gets the guard of the lock from a caller that only takes it, and passes it
// on in special cases, so that it keeps nothing else over the call of the device's library.

impl Receiver {
    #[inline(never)]
    pub(super) fn post(this: MutexGuard<'_, Self>, receive: &ReceiveRequest<'_>) -> Result<()> {
        let Some(next) = this.work_queue.next() else {
            return Self::post_after_recount(this, receive);
        };
        let ([segment], Mode::Live(hardware)) = (receive.segments, &this.mode) else {
            return Self::post_slow(this, receive);
        };
        let (cookie, flags) = (receive.cookie, receive.flags);
        let number = this.work_queue.write_at(next, this.operation, cookie, None, flags);
        let id = this.identifiers.of(number);
        match hardware.post_receive_raw(id, &[segments::convert(segment)]) {
            Ok(()) => Ok(()),
            Err(failure) => Self::not_taken(this, failure),
        }
    }

    #[inline(never)]
    fn post_after_recount(this: MutexGuard<'_, Self>, receive: &ReceiveRequest<'_>) -> Result<()> {
        match this.work_queue.count_free() {
            true => Self::post(this, receive),
            false => Self::post_slow(this, receive),
        }
    }
}

impl Sender {
    #[inline(never)]
    pub(super) fn post(this: MutexGuard<'_, Self>, request: &Request<'_>) -> Result<()> {
        let Some(next) = this.work_queue.next() else {
            return Self::post_after_recount(this, request);
        };
        let ([segment], true) = (request.segments, request.flags.is_empty()) else {
            return Self::post_slow(this, request);
        };
        match &request.work {
            Work::Send => {
                Self::post_plain(this, next, segment, request, Operation::Send, Plain::Send)
            }
            Work::RdmaWrite { remote } => {
                let what = Plain::Write { address: remote.address, key: remote.context };
                Self::post_plain(this, next, segment, request, Operation::RdmaWrite, what)
            }
            Work::RdmaRead { remote } if remote.length >= request.length => {
                let what = Plain::Read { address: remote.address, key: remote.context };
                Self::post_plain(this, next, segment, request, Operation::RdmaRead, what)
            }
            _ => Self::post_slow(this, request),
        }
    }

    #[inline(never)]
    fn post_after_recount(this: MutexGuard<'_, Self>, request: &Request<'_>) -> Result<()> {
        match this.work_queue.count_free() {
            true => Self::post(this, request),
            false => Self::post_slow(this, request),
        }
    }

    #[inline(always)]
    fn post_plain(
        mut this: MutexGuard<'_, Self>,
        next: Next,
        segment: &Segment,
        request: &Request<'_>,
        operation: Operation,
        what: Plain,
    ) -> Result<()> {
        let Mode::Live(hardware) = &this.mode else { return Self::post_slow(this, request) };
        let (cookie, length) = (request.cookie, request.length);
        let none = CompletionFlags::empty();
        let number = this.work_queue.write_at(next, operation, cookie, Some(length as u32), none);
        let id = this.identifiers.of(number);
        let flags = match operation {
            Operation::RdmaRead => sys::IBV_SEND_SIGNALED,
            _ if length <= this.inline => this.signalled_inline,
            _ => this.signalled,
        };
        let segment = segments::convert_sent(segment);
        // SAFETY: the core checked the segment against its region, whose memory is readable while
        // it is registered (`Span::new`).
        match unsafe { hardware.post_plain_raw(id, flags, &segment, what) } {
            Ok(()) => {
                this.quiet = 0;
                Ok(())
            }
            Err(failure) => Self::not_taken(this, failure),
        }
    }
}
