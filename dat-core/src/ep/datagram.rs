//! Datagram endpoints (the InfiniBand extension of DAT 2.0).
//!
//! Such an endpoint is never connected: its state stays Unconnected. "Connecting" it resolves the
//! address of another endpoint, "accepting" answers that, and both sides receive an address to send
//! to. Any number of attempts may be in progress.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::control::{Control, Resolving};
use super::{Config, Ep, EpInner, Gathered};
use crate::counters::{EpCounter, IaCounter};
use crate::ep::connect::Connect;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::event::{DatagramAddress, DatagramEvent, DatagramEventKind, Event};
use crate::flags::{CompletionFlags, Privileges};
use crate::provider::{ConnectionUpcall, IncomingRequest, RefusalCause, Request, Work};
use crate::timer;
use crate::triplet::LmrTriplet;

const SEND: &str = "dat_ib_post_send_ud";

impl Ep {
    /// Posts a datagram (dat_ib_post_send_ud). It may be lost. A received datagram has
    /// [`DatagramAddress::PREFIX`] bytes of the transport before the message.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` for an endpoint that does not carry datagrams; otherwise as
    /// [`Ep::post_send`].
    pub fn post_send_datagram(
        &self,
        iov: &[LmrTriplet],
        to: &DatagramAddress,
        cookie: u64,
        flags: CompletionFlags,
    ) -> Result<()> {
        let inner = &*self.inner;
        inner.base.check_live(SEND)?;
        if !inner.is_datagram() {
            return Err(inner.wrong_service(SEND));
        }
        let post_checks = &inner.post_checks;
        let flags =
            inner.check_flags(flags, post_checks.request_flags(), Subtype::InvalidArg5, SEND)?;
        let mut local = Gathered::new(&inner.epochs);
        inner.gather(&mut local, iov, post_checks.request_iov(), Privileges::LOCAL_READ, SEND)?;
        if local.length > post_checks.max_message_size() {
            return Err(inner.too_long(local.length, post_checks.max_message_size(), SEND));
        }
        let Gathered { segments, length, checked } = &local;
        let (work, length, checked) = (Work::Send, *length, *checked);
        let request = Request { work, segments, length, cookie, flags, checked };
        inner
            .used_queue_pair(SEND)?
            .post_datagram(&to.remote, &request)
            .map_err(|error| inner.base.describe_post(error, SEND))?;
        if let Some(counter_set) = inner.counting() {
            counter_set.count(EpCounter::PostSendUd);
            counter_set.count_bytes(EpCounter::PostSendUdData, length);
        }
        Ok(())
    }
}

impl EpInner {
    /// Resolves the address of another endpoint; the caller holds `call`.
    pub(super) fn resolve(
        &self,
        connect: &Connect<'_>,
        config: &Config,
        operation: &'static str,
    ) -> Result<()> {
        let queue_pair = self.create_queue_pair(config, operation)?;
        let attempt = self.begin_resolving(|attempt| Resolving {
            clock: connect.timeout.deadline().and_then(|at| self.schedule_timeout(at, attempt)),
            answers: None,
            to: Some(connect.address),
        });
        self.base.ia.counter_set.count(IaCounter::CmAhReqTx);
        queue_pair
            .connect(&connect.request(attempt))
            .map_err(|error| self.not_begun(attempt, error, operation))
    }

    /// Answers a request for datagrams; the caller holds `call`.
    pub(super) fn accept_datagrams(
        &self,
        incoming: &IncomingRequest,
        private_data: &[u8],
        config: &Config,
        operation: &'static str,
    ) -> Result<()> {
        let queue_pair = self.create_queue_pair(config, operation)?;
        let answers = Some(Arc::clone(&incoming.private_data));
        let attempt = self.begin_resolving(|_| Resolving { answers, ..Resolving::default() });
        self.base.ia.counter_set.count(IaCounter::CmAhReqRx);
        incoming
            .responder
            .accept(queue_pair, attempt, private_data)
            .map_err(|error| self.not_begun(attempt, error, operation))
    }

    /// Records an attempt and returns its number.
    fn begin_resolving(&self, resolving: impl FnOnce(u64) -> Resolving) -> u64 {
        let mut control = self.control();
        control.attempt += 1;
        let attempt = control.attempt;
        control.resolving().insert(attempt, resolving(attempt));
        attempt
    }

    /// Forgets an attempt that the provider has not begun.
    fn not_begun(&self, attempt: u64, error: Error, operation: &'static str) -> Error {
        self.control().resolving().remove(&attempt);
        self.base.describe(error, operation)
    }

    /// The error of a call that is for the other kind of endpoint.
    #[cold]
    pub(super) fn wrong_service(&self, operation: &'static str) -> Error {
        let kind = if self.is_datagram() { "datagrams" } else { "a reliable connection" };
        let error = Error::new(ReturnType::InvalidState, Subtype::InvalidStateEpNotready)
            .because(format!("the endpoint was created for {kind}"))
            .advise("create one with the other service_type");
        self.base.describe(error, operation)
    }

    /// Returns true if the endpoint carries datagrams.
    #[inline]
    pub(super) fn is_datagram(&self) -> bool {
        self.post_checks.has_datagrams()
    }

    /// The provider's event for an attempt.
    pub(super) fn resolved(
        &self,
        control: &mut Control,
        attempt: u64,
        event: ConnectionUpcall<'_>,
    ) {
        let Some(Resolving { clock, answers, to }) = control.resolving().remove(&attempt) else {
            self.ignored.fetch_add(1, Ordering::Relaxed);
            return;
        };
        if let Some(key) = clock {
            timer::cancel(key);
        }
        let (kind, remote, private_data) = match event {
            ConnectionUpcall::Resolved { remote, private_data } => {
                (DatagramEventKind::Established, Some(remote.clone()), private_data)
            }
            ConnectionUpcall::PeerRejected { private_data } => {
                (DatagramEventKind::Rejected, None, private_data)
            }
            _ => (DatagramEventKind::Error, None, &[][..]),
        };
        let cause = match event {
            ConnectionUpcall::NonPeerRejected { cause }
            | ConnectionUpcall::AcceptFailed { cause } => cause,
            ConnectionUpcall::NoPath { cause } => {
                self.why_unreachable(RefusalCause::Path(cause), to)
            }
            ConnectionUpcall::Unreachable => self.why_unreachable(RefusalCause::Unreachable, to),
            ConnectionUpcall::TimedOut => RefusalCause::TimedOut,
            _ => RefusalCause::Unknown,
        };
        if kind == DatagramEventKind::Established {
            self.base.ia.counter_set.count(IaCounter::CmAhResolved);
        }
        let remote = remote.map(|remote| DatagramAddress { remote: Arc::new(remote) });
        // The answering side also receives the private data of the request: programs recognise by
        // it which endpoint of the peer the address belongs to.
        let passive = answers.is_some();
        let private_data = answers
            .filter(|_| kind == DatagramEventKind::Established)
            .unwrap_or_else(|| Arc::from(private_data));
        let ep = self.base.id;
        raise_datagram(control, DatagramEvent { kind, ep, passive, remote, private_data, cause });
    }

    /// The time-out of an attempt expired.
    pub(super) fn resolution_timed_out(&self, attempt: u64) {
        // The provider can end the attempt only when the call that begins it has returned.
        let call = self.call.lock();
        let mut control = self.control();
        let Some(resolving) = control.resolving().remove(&attempt) else { return };
        drop(call);
        let event = DatagramEvent {
            kind: DatagramEventKind::Error,
            ep: self.base.id,
            passive: resolving.answers.is_some(),
            remote: None,
            private_data: Arc::default(),
            cause: RefusalCause::TimedOut,
        };
        raise_datagram(&control, event);
        drop(control);
        if let Some(queue_pair) = self.queue_pair() {
            queue_pair.abandon(attempt);
        }
    }
}

/// Delivers the outcome of an attempt, under the control lock.
fn raise_datagram(control: &Control, event: DatagramEvent) {
    if let Some(evd) = &control.connect_evd {
        evd.raise_connection(Event::Datagram(event));
    }
}
