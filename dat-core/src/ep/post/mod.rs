//! Posting operations.

mod atomic;
mod plain;
mod rdma;
mod refusal;
mod segments;

pub(crate) use segments::{Gathered, gather};

use super::post_checks::Post;
use super::table::EpEvent;
use super::{Ep, EpInner};
use crate::compat::Rule;
use crate::counters::{CounterSet, EpCounter};
use crate::error::{Error, Result, Subtype};
use crate::flags::{CompletionFlags, Privileges};
use crate::provider::{BindRequest, Buffer, ReceiveRequest, Request, Work};
use crate::triplet::LmrTriplet;

const SEND: &str = "dat_ep_post_send";
const SEND_INVALIDATE: &str = "dat_ep_post_send_with_invalidate";
const RECV: &str = "dat_ep_post_recv";

impl Ep {
    /// Posts a send (dat_ep_post_send(3DAT)).
    ///
    /// ```
    /// use dat_core::{CompletionFlags, Ep, Lmr, Result};
    ///
    /// /// Sends two pieces; only the second one completes, unless the first one fails.
    /// fn send_both(ep: &Ep, lmr: &Lmr) -> Result<()> {
    ///     ep.post_send(&[lmr.triplet(0, 64)?], 1, CompletionFlags::SUPPRESS)?;
    ///     ep.post_send(&[lmr.triplet(64, 64)?], 2, CompletionFlags::empty())
    /// }
    /// # use dat_core::{Connect, EpSpec, EvdFlags, EvdOptions, Event, Memory, Privileges};
    /// # use dat_core::{EpProvision, Timeout};
    /// # let registry = dat_core::Registry::new();
    /// # registry.add_provider(dat_provider_loopback::provider())?;
    /// # let ia = registry.open("loopback")?;
    /// # let pz = ia.pz_create()?;
    /// # let evd = ia.evd_create(&EvdOptions::new(16, EvdFlags::DEFAULT))?;
    /// # let client = ia.ep_create(&EpSpec::new(&pz).request_evd(&evd))?;
    /// # let server = ia.ep_create(&EpSpec::new(&pz))?;
    /// # let lmr = ia.lmr_create(&Memory::zeroed(128)?, &pz, Privileges::ALL)?;
    /// # server.receive(&[lmr.triplet(0, 64)?], 3)?;
    /// # server.receive(&[lmr.triplet(64, 64)?], 4)?;
    /// # let psp = ia.psp_create_any(&evd, EpProvision::Consumer)?;
    /// # client.connect(&Connect::to_psp(&psp))?;
    /// # let Some(Event::ConnectionRequest(arrival)) = evd.next_event(Timeout::ZERO)? else { panic!() };
    /// # arrival.request.accept(Some(&server), b"")?;
    /// # send_both(&client, &lmr)?;
    /// # let Some(Event::Dto(done)) = evd.next_event(Timeout::ZERO)? else { panic!() };
    /// # assert_eq!((done.cookie, done.result()), (2, Ok(64)));
    /// # assert_eq!(evd.next_event(Timeout::ZERO)?, None);
    /// # Ok::<(), dat_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// - `DAT_INVALID_STATE` unless connected, or disconnected, in which case it is flushed;
    /// - `DAT_INVALID_PARAMETER` for too many segments, one outside its region, a message longer
    ///   than the endpoint's maximum, or flags that a send does not have or that the endpoint was
    ///   not created with;
    /// - `DAT_PRIVILEGES_VIOLATION`, `DAT_PROTECTION_VIOLATION` for a region without the local read
    ///   privilege or of another zone;
    /// - `DAT_INSUFFICIENT_RESOURCES` if the endpoint's maximum number of requests is outstanding.
    #[inline(always)]
    pub fn post_send(&self, iov: &[LmrTriplet], cookie: u64, flags: CompletionFlags) -> Result<()> {
        let inner = &*self.inner;
        if let [triplet] = iov {
            if let Some(path) = inner.fast_path(Post::Send, flags) {
                let (length, checked) = (triplet.length, inner.epochs.now());
                if inner.post_checks.is_short_message(length) {
                    if let Some(key) = inner.find(triplet, Privileges::LOCAL_READ) {
                        let buffer = Buffer { address: triplet.address, length };
                        let posted =
                            path.queue_pair().post_one_send(buffer, key, cookie, flags, checked);
                        return inner.described(posted, SEND);
                    }
                }
            }
            let &LmrTriplet { address, length, context } = triplet;
            return inner.send_one(Buffer { address, length }, context, cookie, flags);
        }
        inner.send(Work::Send, iov, cookie, flags, SEND)
    }

    /// Posts a send whose receive invalidates a remote memory region of the peer, by its context
    /// (dat_ep_post_send_with_invalidate of DAT 2.0). The receive completes as
    /// [`ReceiveWithInvalidate`](crate::Operation::ReceiveWithInvalidate). If the context does not
    /// belong to a bound region of the peer's zone, the connection breaks.
    ///
    /// # Errors
    /// As [`Ep::post_send`]; `DAT_MODEL_NOT_SUPPORTED` if the provider does not support it.
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

    /// Posts a receive (dat_ep_post_recv(3DAT)); allowed in any state. `UNSIGNALLED` is the only
    /// flag that a receive has.
    ///
    /// # Errors
    /// As [`Ep::post_send`], but for the local write privilege; `DAT_INVALID_STATE` if the
    /// endpoint has no zone or takes its receives from a shared queue.
    #[inline(always)]
    pub fn post_recv(&self, iov: &[LmrTriplet], cookie: u64, flags: CompletionFlags) -> Result<()> {
        let inner = &*self.inner;
        if let [triplet] = iov {
            if let Some(path) = inner.fast_path(Post::Receive, flags) {
                let checked = inner.epochs.now();
                if let Some(key) = inner.find(triplet, Privileges::LOCAL_WRITE) {
                    let buffer = Buffer { address: triplet.address, length: triplet.length };
                    let posted =
                        path.queue_pair().post_one_receive(buffer, key, cookie, flags, checked);
                    return inner.described(posted, RECV);
                }
            }
            let &LmrTriplet { address, length, context } = triplet;
            return inner.receive_one(Buffer { address, length }, context, cookie, flags);
        }
        inner.receive(iov, cookie, flags)
    }
}

// The fast path: a post with one segment that passes the post checks.
impl EpInner {
    /// The key of the segment, if it is valid. The caller has read the epoch before.
    #[inline(always)]
    fn find(&self, triplet: &LmrTriplet, needed: Privileges) -> Option<u32> {
        let &LmrTriplet { context, address, length } = triplet;
        let zone = self.post_checks.zone();
        let value = self.regions.find(context, zone, needed.bits(), address, length)?;
        Some(value as u32)
    }

    #[inline(always)]
    fn described(&self, posted: Result<()>, operation: &'static str) -> Result<()> {
        posted.map_err(|error| self.base.describe_post(error, operation))
    }
}

// The slow path. One segment is passed in registers, so that only a post on the slow path writes it
// to memory.
impl EpInner {
    #[inline(never)]
    fn receive_one(
        &self,
        Buffer { address, length }: Buffer,
        context: u32,
        cookie: u64,
        flags: CompletionFlags,
    ) -> Result<()> {
        self.receive(&[LmrTriplet { address, length, context }], cookie, flags)
    }

    #[inline(never)]
    fn send_one(
        &self,
        Buffer { address, length }: Buffer,
        context: u32,
        cookie: u64,
        flags: CompletionFlags,
    ) -> Result<()> {
        let iov = &[LmrTriplet { address, length, context }];
        self.send(Work::Send, iov, cookie, flags, SEND)
    }

    #[inline(never)]
    fn receive(&self, iov: &[LmrTriplet], cookie: u64, flags: CompletionFlags) -> Result<()> {
        let post_checks = &self.post_checks;
        self.check_receives()?;
        let allowed = post_checks.recv_flags();
        let flags = self.check_flags(flags, allowed, Subtype::InvalidArg5, RECV)?;
        let mut local = Gathered::new(&self.epochs);
        self.gather(&mut local, iov, post_checks.recv_iov(), Privileges::LOCAL_WRITE, RECV)?;
        let Gathered { segments, length, checked } = &local;
        let receive = ReceiveRequest { segments, cookie, flags, checked: *checked };
        self.described(self.used_queue_pair(RECV)?.post_receive(&receive), RECV)?;
        if let Some(counter_set) = self.counting() {
            counter_set.count(EpCounter::PostRecv);
            counter_set.add(EpCounter::PostRecvData, *length);
        }
        if post_checks.watermarks.are_set() {
            self.check_watermarks();
        }
        Ok(())
    }

    #[inline(never)]
    fn send(
        &self,
        work: Work,
        iov: &[LmrTriplet],
        cookie: u64,
        flags: CompletionFlags,
        operation: &'static str,
    ) -> Result<()> {
        self.check_requests(operation)?;
        let post_checks = &self.post_checks;
        let allowed = post_checks.request_flags();
        let flags = self.check_flags(flags, allowed, Subtype::InvalidArg5, operation)?;
        let mut local = Gathered::new(&self.epochs);
        self.gather(&mut local, iov, post_checks.request_iov(), Privileges::LOCAL_READ, operation)?;
        if local.length > post_checks.max_message_size() {
            return Err(self.too_long(local.length, post_checks.max_message_size(), operation));
        }
        self.post_gathered(work, &local, cookie, flags, operation)
    }

    /// Checks that the state allows requests.
    pub(crate) fn check_requests(&self, operation: &'static str) -> Result<()> {
        self.base.check_process(operation)?;
        match self.state() {
            Some(state) if state.takes_requests() => Ok(()),
            Some(state) => Err(self.refused(state, EpEvent::PostRequest, operation)),
            None => Err(self.base.freed(operation)),
        }
    }

    /// Checks that the state allows receives.
    fn check_receives(&self) -> Result<()> {
        self.base.check_process(RECV)?;
        let post_checks = &self.post_checks;
        match self.state() {
            None => Err(self.base.freed(RECV)),
            Some(state) if state.is_unconfigured() => {
                Err(self.refused(state, EpEvent::PostReceive, RECV))
            }
            Some(_) if post_checks.zone() == 0 => Err(self.without_zone(RECV)),
            Some(_) if post_checks.has_shared_receives() => Err(self.shares_receives()),
            Some(_) => Ok(()),
        }
    }

    #[cold]
    fn count_request(counter_set: &CounterSet<EpCounter>, work: &Work, length: u64) {
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
            // The core posts no other kind of work.
            _ => return,
        };
        counter_set.count(posted);
        if let Some(data) = data {
            counter_set.count_bytes(data, length);
        }
    }

    /// The flags that a post gets. Fails if the operation or the endpoint does not support one.
    pub(super) fn check_flags(
        &self,
        flags: CompletionFlags,
        allowed: u32,
        argument: Subtype,
        operation: &'static str,
    ) -> Result<CompletionFlags> {
        if flags.bits() & !allowed == 0 {
            return Ok(flags);
        }
        if self.base.ia.compat.relaxes(Rule::ExcessFlags) {
            return Ok(CompletionFlags::from_bits_retain(flags.bits() & allowed));
        }
        Err(self.bad_flags(flags, allowed, argument, operation))
    }

    /// The flags that a bind gets.
    pub(crate) fn check_bind_flags(
        &self,
        flags: CompletionFlags,
        argument: Subtype,
        operation: &'static str,
    ) -> Result<CompletionFlags> {
        let allowed = self.post_checks.request_flags() & !CompletionFlags::SOLICITED_WAIT.bits();
        self.check_flags(flags, allowed, argument, operation)
    }

    /// Posts a bind that passed the checks.
    pub(crate) fn post_bind(&self, bind: &BindRequest<'_>, operation: &'static str) -> Result<u32> {
        let queue_pair = self.used_queue_pair(operation)?;
        queue_pair.post_bind(bind).map_err(|error| self.base.describe_post(error, operation))
    }

    /// Checks local segments and adds them.
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
        gather(local, &self.regions, self.post_checks.zone(), iov, needed)
            .map_err(|error| self.base.describe(error, operation))
    }

    /// Posts work that passed the checks, and counts it.
    fn post_gathered(
        &self,
        work: Work,
        local: &Gathered,
        cookie: u64,
        flags: CompletionFlags,
        operation: &'static str,
    ) -> Result<()> {
        let Gathered { segments, length, checked } = local;
        let (length, checked) = (*length, *checked);
        let request = Request { work, segments, length, cookie, flags, checked };
        self.described(self.used_queue_pair(operation)?.post_request(&request), operation)?;
        if let Some(counter_set) = self.counting() {
            Self::count_request(counter_set, &work, length);
        }
        Ok(())
    }
}

impl crate::lifecycle::Base {
    /// Adds the call to a post's error. A full queue allocates nothing, because a consumer that
    /// posts until it is full expects that error.
    #[cold]
    pub(crate) fn describe_post(&self, error: Error, operation: &'static str) -> Error {
        if error.subtype() == Subtype::ResourceCredits {
            return error.during(operation);
        }
        self.describe(error, operation)
    }
}
