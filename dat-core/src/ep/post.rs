//! Posting operations.

use arrayvec::ArrayVec;

use super::table::EpEvent;
use super::{Endpoint, EpInner};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::flags::{CompletionFlags, Privileges};
use crate::ia::MAX_SEGMENTS;
use crate::provider::{BindRequest, ReceiveRequest, Request, Segment, Work};
use crate::region_table::{Region, RegionTable};
use crate::triplet::{LmrTriplet, RmrTriplet};

/// Local segments as the provider takes them, and their length together.
pub(crate) struct Gathered {
    pub(crate) segments: ArrayVec<Segment, MAX_SEGMENTS>,
    pub(crate) length: u64,
}

const SEND: &str = "dat_ep_post_send";
const RECV: &str = "dat_ep_post_recv";
const READ: &str = "dat_ep_post_rdma_read";
const WRITE: &str = "dat_ep_post_rdma_write";

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
        let inner = &*self.inner;
        inner.check_requests(SEND)?;
        let gate = &inner.shared.gate;
        inner.check_flags(flags, gate.request_flags(), Subtype::InvalidArg5, SEND)?;
        let local = inner.gather(iov, gate.request_iov(), Privileges::LOCAL_READ, SEND)?;
        if local.length > gate.max_message_size() {
            return Err(inner.too_long(local.length, gate.max_message_size(), SEND));
        }
        inner.post(Work::Send, &local, cookie, flags, SEND)
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
        match inner.shared.state() {
            None => return Err(inner.base.freed(RECV)),
            Some(state) if state.is_unconfigured() => {
                return Err(inner.refused(state, EpEvent::PostReceive, RECV));
            }
            Some(_) if gate.zone() == 0 => return Err(inner.without_zone(RECV)),
            Some(_) if gate.has_shared_receives() => return Err(inner.shares_receives()),
            Some(_) => {}
        }
        inner.check_flags(flags, gate.recv_flags(), Subtype::InvalidArg5, RECV)?;
        let local = inner.gather(iov, gate.recv_iov(), Privileges::LOCAL_WRITE, RECV)?;
        let receive = ReceiveRequest { segments: &local.segments, cookie, flags };
        inner
            .queue_pair
            .post_receive(&receive)
            .map_err(|error| inner.base.describe_post(error, RECV))
    }

    /// Posts an RDMA write (dat_ep_post_rdma_write(3DAT)).
    ///
    /// # Errors
    /// As [`Endpoint::post_send`]; `DAT_LENGTH_ERROR` when the remote buffer is shorter than
    /// the local one.
    #[inline]
    pub fn post_rdma_write(
        &self,
        iov: &[LmrTriplet],
        cookie: u64,
        remote: RmrTriplet,
        flags: CompletionFlags,
    ) -> Result<()> {
        let inner = &*self.inner;
        inner.check_requests(WRITE)?;
        let gate = &inner.shared.gate;
        inner.check_flags(flags, gate.request_flags(), Subtype::InvalidArg6, WRITE)?;
        let local = inner.gather(iov, gate.write_iov(), Privileges::LOCAL_READ, WRITE)?;
        if local.length > gate.max_rdma_size() {
            return Err(inner.too_long(local.length, gate.max_rdma_size(), WRITE));
        }
        if local.length > remote.length {
            return Err(inner.too_short(local.length, remote.length, WRITE));
        }
        inner.post(Work::RdmaWrite { remote }, &local, cookie, flags, WRITE)
    }

    /// Posts an RDMA read (dat_ep_post_rdma_read(3DAT)): all of the remote buffer goes into
    /// the local one.
    ///
    /// # Errors
    /// As [`Endpoint::post_send`], for local write privilege; `DAT_LENGTH_ERROR` when the
    /// local buffer is shorter than the remote one; `DAT_INVALID_PARAMETER` when the endpoint
    /// was made for no outgoing RDMA reads.
    #[inline]
    pub fn post_rdma_read(
        &self,
        iov: &[LmrTriplet],
        cookie: u64,
        remote: RmrTriplet,
        flags: CompletionFlags,
    ) -> Result<()> {
        let inner = &*self.inner;
        inner.check_requests(READ)?;
        let gate = &inner.shared.gate;
        let allowed = gate.request_flags() & !CompletionFlags::SOLICITED_WAIT.bits();
        inner.check_flags(flags, allowed, Subtype::InvalidArg6, READ)?;
        let local = inner.gather(iov, gate.read_iov(), Privileges::LOCAL_WRITE, READ)?;
        if remote.length > gate.max_rdma_size() {
            return Err(inner.too_long(remote.length, gate.max_rdma_size(), READ));
        }
        if remote.length > local.length {
            return Err(inner.too_short(remote.length, local.length, READ));
        }
        if gate.reads_out() == 0 {
            return Err(inner.no_reads());
        }
        inner.post(Work::RdmaRead { remote }, &local, cookie, flags, READ)
    }
}

impl EpInner {
    /// Whether requests may be posted now.
    #[inline]
    pub(crate) fn check_requests(&self, operation: &'static str) -> Result<()> {
        match self.shared.state() {
            Some(state) if state.takes_requests() => Ok(()),
            Some(state) => Err(self.refused(state, EpEvent::PostRequest, operation)),
            None => Err(self.base.freed(operation)),
        }
    }

    /// Whether the operation and the endpoint have the flags.
    #[inline]
    fn check_flags(
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
    #[inline]
    fn gather(
        &self,
        iov: &[LmrTriplet],
        most: u32,
        needed: Privileges,
        operation: &'static str,
    ) -> Result<Gathered> {
        if iov.len() > most as usize {
            return Err(self.too_many(iov.len(), most, operation));
        }
        gather(&self.regions, self.shared.gate.zone(), iov, needed)
            .map_err(|error| self.base.describe(error, operation))
    }

    #[inline]
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
            .map_err(|error| self.base.describe_post(error, operation))
    }

    #[cold]
    fn bad_flags(
        &self,
        flags: CompletionFlags,
        allowed: u32,
        argument: Subtype,
        operation: &'static str,
    ) -> Error {
        let excess = CompletionFlags::from_bits_retain(flags.bits() & !allowed);
        let advice = if excess.contains(CompletionFlags::UNSIGNALLED) {
            "make the endpoint with DAT_COMPLETION_UNSIGNALLED_FLAG to post with it"
        } else {
            "post without the flag; the operation doesn't have it"
        };
        let error = Error::new(ReturnType::InvalidParameter, argument)
            .because(format!("completion_flags: {excess:?} can't be used here"))
            .advise(advice);
        self.base.describe(error, operation)
    }

    #[cold]
    fn too_many(&self, segments: usize, most: u32, operation: &'static str) -> Error {
        let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg2)
            .because(format!("{segments} segments exceed the endpoint's maximum of {most}"))
            .advise("use fewer segments, or make the endpoint with a longer IOV");
        self.base.describe(error, operation)
    }

    #[cold]
    fn too_long(&self, length: u64, most: u64, operation: &'static str) -> Error {
        let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg3)
            .because(format!("{length} bytes exceed the endpoint's maximum of {most}"))
            .advise("transfer less at once, or make the endpoint with a higher maximum");
        self.base.describe(error, operation)
    }

    #[cold]
    fn too_short(&self, length: u64, room: u64, operation: &'static str) -> Error {
        let error = Error::new(ReturnType::LengthError, Subtype::NoSubtype)
            .because(format!("{length} bytes don't fit into a buffer of {room}"))
            .advise("make the receiving buffer at least as long as the other one");
        self.base.describe(error, operation)
    }

    #[cold]
    fn no_reads(&self) -> Error {
        let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1)
            .because("the endpoint was made with max_rdma_read_out 0")
            .advise("make it with at least 1 to post RDMA reads");
        self.base.describe(error, READ)
    }

    #[cold]
    fn shares_receives(&self) -> Error {
        let subtype = Subtype::InvalidStateSrqInUse;
        let error = Error::new(ReturnType::InvalidState, subtype)
            .because("the endpoint takes its receives from a shared queue")
            .advise("post the receive to the shared receive queue");
        self.base.describe(error, RECV)
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

/// Checks local segments against the regions of an adapter and a zone.
#[inline]
pub(crate) fn gather(
    regions: &RegionTable,
    zone: u64,
    iov: &[LmrTriplet],
    needed: Privileges,
) -> Result<Gathered> {
    let mut gathered = Gathered { segments: ArrayVec::new(), length: 0 };
    for triplet in iov {
        let region = regions.get(triplet.context);
        let key = match region {
            Some(region)
                if region.owner == zone
                    && region.access & needed.bits() == needed.bits()
                    && region.contains(triplet.address, triplet.length) =>
            {
                region.value as u32
            }
            _ => return Err(bad_segment(regions, region, zone, triplet, needed)),
        };
        gathered.length = gathered.length.saturating_add(triplet.length);
        let segment = Segment { address: triplet.address, length: triplet.length, key };
        if gathered.segments.try_push(segment).is_err() {
            return Err(Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg2)
                .because(format!("{} segments exceed the maximum of {MAX_SEGMENTS}", iov.len())));
        }
    }
    Ok(gathered)
}

/// Why a segment can't be used (RETURN VALUES of dat_ep_post_send(3DAT), dat_lmr_free(3DAT)).
#[cold]
fn bad_segment(
    regions: &RegionTable,
    region: Option<Region>,
    zone: u64,
    triplet: &LmrTriplet,
    needed: Privileges,
) -> Error {
    let write = needed.contains(Privileges::LOCAL_WRITE);
    let context = triplet.context;
    match region {
        None if regions.was_issued(context) => {
            let subtype = if write { Subtype::ProtectionWrite } else { Subtype::ProtectionRead };
            Error::new(ReturnType::ProtectionViolation, subtype)
                .because(format!("the region of lmr_context {context:#x} was freed"))
                .advise("free a region only after its operations completed")
        }
        None => {
            let subtype = if write { Subtype::PrivilegesWrite } else { Subtype::PrivilegesRead };
            Error::new(ReturnType::PrivilegesViolation, subtype)
                .because(format!("lmr_context {context:#x} names no region of the adapter"))
                .advise("use the context that dat_lmr_create of this adapter gave")
        }
        Some(region) if region.owner != zone => {
            let subtype = if write { Subtype::ProtectionWrite } else { Subtype::ProtectionRead };
            Error::new(ReturnType::ProtectionViolation, subtype).because(format!(
                "the region of lmr_context {context:#x} is in PZ {}, not in PZ {zone}",
                region.owner
            ))
        }
        Some(region) if region.access & needed.bits() != needed.bits() => {
            let subtype = if write { Subtype::PrivilegesWrite } else { Subtype::PrivilegesRead };
            Error::new(ReturnType::PrivilegesViolation, subtype)
        }
        Some(region) => Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg3)
            .because(format!(
                "segment {:#x}+{} is not inside its region {:#x}+{}",
                triplet.address, triplet.length, region.address, region.length
            ))
            .advise("keep the segment within the registered memory"),
    }
}
