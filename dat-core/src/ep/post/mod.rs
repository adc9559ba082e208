//! Posting operations.

mod atomic;
mod rdma;
mod refusal;
mod segments;

pub(crate) use segments::{Gathered, gather};

use super::state::StateSet;
use super::table::EpEvent;
use super::{Endpoint, EpInner};
use crate::counters::EpCounter;
use crate::error::{Error, Result, Subtype};
use crate::flags::{CompletionFlags, Privileges};
use crate::provider::{BindRequest, ReceiveRequest, Request, Work};
use crate::triplet::LmrTriplet;

const SEND: &str = "dat_ep_post_send";
const SEND_INVALIDATE: &str = "dat_ep_post_send_with_invalidate";
const RECV: &str = "dat_ep_post_recv";

impl Endpoint {
    /// Posts a send (dat_ep_post_send(3DAT)).
    ///
    /// # Errors
    /// - `DAT_INVALID_STATE` unless connected, or disconnected, where it is flushed;
    /// - `DAT_INVALID_PARAMETER` for too many segments, one outside its region, a message above
    ///   the endpoint's maximum, or flags that a send doesn't have or the endpoint isn't made for;
    /// - `DAT_PRIVILEGES_VIOLATION`, `DAT_PROTECTION_VIOLATION` for a region without local read
    ///   privilege or of another zone;
    /// - `DAT_INSUFFICIENT_RESOURCES` when the endpoint's maximum of requests is outstanding.
    #[inline]
    pub fn post_send(&self, iov: &[LmrTriplet], cookie: u64, flags: CompletionFlags) -> Result<()> {
        self.inner.send(Work::Send, iov, cookie, flags, SEND)
    }

    /// Posts a send whose receive makes a remote memory region of the peer's invalid, by its
    /// context (dat_ep_post_send_with_invalidate of DAT 2.0). The receive completes as
    /// [`ReceiveWithInvalidate`](crate::Operation::ReceiveWithInvalidate). A context that is
    /// not that of a bound region of the peer's zone breaks the connection.
    ///
    /// # Errors
    /// As [`Endpoint::post_send`]; `DAT_MODEL_NOT_SUPPORTED` where the provider has it not.
    pub fn post_send_with_invalidate(
        &self,
        iov: &[LmrTriplet],
        cookie: u64,
        flags: CompletionFlags,
        rmr_context: u32,
    ) -> Result<()> {
        let offered = self.inner.offers().invalidate_supported;
        self.inner.check_offered(offered, "send with invalidate", SEND_INVALIDATE)?;
        let work = Work::SendInvalidate { key: rmr_context };
        self.inner.send(work, iov, cookie, flags, SEND_INVALIDATE)
    }

    /// Posts a receive (dat_ep_post_recv(3DAT)), in any state. `UNSIGNALLED` is the only flag
    /// that a receive has.
    ///
    /// # Errors
    /// As [`Endpoint::post_send`], for local write privilege; `DAT_INVALID_STATE` when the
    /// endpoint has no zone or takes its receives from a shared queue.
    #[inline]
    pub fn post_recv(&self, iov: &[LmrTriplet], cookie: u64, flags: CompletionFlags) -> Result<()> {
        let inner = &*self.inner;
        let gate = &inner.shared.gate;
        let is_fit = inner.shared.is_in(StateSet::CONFIGURED) && gate.zone() != 0;
        if !is_fit || gate.has_shared_receives() {
            inner.check_receives()?;
        }
        inner.check_flags(flags, gate.recv_flags(), Subtype::InvalidArg5, RECV)?;
        let mut local = Gathered::new();
        inner.gather(&mut local, iov, gate.recv_iov(), Privileges::LOCAL_WRITE, RECV)?;
        let receive = ReceiveRequest { segments: &local.segments, cookie, flags };
        inner
            .queue_pair
            .post_receive(&receive)
            .map_err(|error| inner.base.describe_post(error, RECV))?;
        if inner.shared.tally.is_on() {
            inner.shared.tally.count(EpCounter::PostRecv);
            inner.shared.tally.add(EpCounter::PostRecvData, local.length);
        }
        if gate.watermarks.are_set() {
            inner.check_watermarks();
        }
        Ok(())
    }
}

impl EpInner {
    #[inline(always)]
    fn send(
        &self,
        work: Work,
        iov: &[LmrTriplet],
        cookie: u64,
        flags: CompletionFlags,
        operation: &'static str,
    ) -> Result<()> {
        self.check_requests(operation)?;
        let gate = &self.shared.gate;
        self.check_flags(flags, gate.request_flags(), Subtype::InvalidArg5, operation)?;
        let mut local = Gathered::new();
        self.gather(&mut local, iov, gate.request_iov(), Privileges::LOCAL_READ, operation)?;
        if local.length > gate.max_message_size() {
            return Err(self.too_long(local.length, gate.max_message_size(), operation));
        }
        self.post(work, &local, cookie, flags, operation)
    }

    /// Whether requests may be posted now.
    #[inline(always)]
    pub(crate) fn check_requests(&self, operation: &'static str) -> Result<()> {
        if self.shared.is_in(StateSet::TAKING_REQUESTS) {
            return Ok(());
        }
        self.check_requests_now(operation)
    }

    #[cold]
    fn check_requests_now(&self, operation: &'static str) -> Result<()> {
        match self.shared.state() {
            Some(state) if state.takes_requests() => Ok(()),
            Some(state) => Err(self.refused(state, EpEvent::PostRequest, operation)),
            None => Err(self.base.freed(operation)),
        }
    }

    /// Whether receives may be posted now.
    #[cold]
    fn check_receives(&self) -> Result<()> {
        let gate = &self.shared.gate;
        match self.shared.state() {
            None => Err(self.base.freed(RECV)),
            Some(state) if state.is_unconfigured() => {
                Err(self.refused(state, EpEvent::PostReceive, RECV))
            }
            Some(_) if gate.zone() == 0 => Err(self.without_zone(RECV)),
            Some(_) if gate.has_shared_receives() => Err(self.shares_receives()),
            Some(_) => Ok(()),
        }
    }

    #[cold]
    fn count_request(&self, work: &Work, length: u64) {
        let tally = &self.shared.tally;
        let (posted, data, length) = match work {
            Work::Send | Work::SendInvalidate { .. } => {
                (EpCounter::PostSend, Some(EpCounter::PostSendData), length)
            }
            Work::RdmaWrite { .. } => {
                (EpCounter::PostWrite, Some(EpCounter::PostWriteData), length)
            }
            Work::RdmaWriteImmediate { .. } => {
                (EpCounter::PostWriteImm, Some(EpCounter::PostWriteImmData), length)
            }
            Work::RdmaRead { remote } | Work::RdmaReadToRmr { remote, .. } => {
                (EpCounter::PostRead, Some(EpCounter::PostReadData), remote.length)
            }
            Work::FetchAdd { .. } => (EpCounter::PostFetchAdd, None, 0),
            Work::CompareSwap { .. } => (EpCounter::PostCmpSwap, None, 0),
        };
        tally.count(posted);
        if let Some(data) = data {
            tally.add(data, length);
        }
    }

    /// Whether the operation and the endpoint have the flags.
    #[inline]
    pub(super) fn check_flags(
        &self,
        flags: CompletionFlags,
        allowed: u32,
        argument: Subtype,
        operation: &'static str,
    ) -> Result<()> {
        if flags.bits() & !allowed == 0 {
            return Ok(());
        }
        Err(self.bad_flags(flags, allowed, argument, operation))
    }

    /// Whether a bind may have the flags.
    pub(crate) fn check_bind_flags(
        &self,
        flags: CompletionFlags,
        argument: Subtype,
        operation: &'static str,
    ) -> Result<()> {
        let allowed = self.shared.gate.request_flags() & !CompletionFlags::SOLICITED_WAIT.bits();
        self.check_flags(flags, allowed, argument, operation)
    }

    /// Posts a bind that was checked.
    pub(crate) fn post_bind(&self, bind: &BindRequest<'_>, operation: &'static str) -> Result<u32> {
        self.queue_pair.post_bind(bind).map_err(|error| self.base.describe_post(error, operation))
    }

    /// Checks local segments as far as that can be done now.
    #[inline(always)]
    pub(super) fn gather(
        &self,
        local: &mut Gathered,
        iov: &[LmrTriplet],
        most: u32,
        needed: Privileges,
        operation: &'static str,
    ) -> Result<()> {
        if iov.len() > most as usize {
            return Err(self.too_many(iov.len(), most, operation));
        }
        gather(local, &self.regions, self.shared.gate.zone(), iov, needed)
            .map_err(|error| self.base.describe(error, operation))
    }

    #[inline(always)]
    fn post(
        &self,
        work: Work,
        local: &Gathered,
        cookie: u64,
        flags: CompletionFlags,
        operation: &'static str,
    ) -> Result<()> {
        let request =
            Request { work, segments: &local.segments, length: local.length, cookie, flags };
        self.queue_pair
            .post_request(&request)
            .map_err(|error| self.base.describe_post(error, operation))?;
        if self.shared.tally.is_on() {
            self.count_request(&work, local.length);
        }
        Ok(())
    }
}

impl crate::lifecycle::Base {
    /// Adds the call to a post's error; a full queue, which is no surprise to a consumer that
    /// posts until it is full, stays free of allocation.
    #[cold]
    pub(crate) fn describe_post(&self, error: Error, operation: &'static str) -> Error {
        if error.subtype() == Subtype::ResourceCredits {
            return error.during(operation);
        }
        self.describe(error, operation)
    }
}
