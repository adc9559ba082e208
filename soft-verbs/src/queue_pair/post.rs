//! Posting.

use std::sync::atomic::Ordering;

use dat_provider::flags::CompletionFlags;
use dat_provider::triplet::RmrTriplet;
use dat_provider::{Buffer, Epoch, ReceiveRequest, RemoteBuffer, Request, Segment, Work};

use super::{QueuePair, QueuePairState, QueuePairType};
use crate::completion_queue::failed;
use crate::error::{Error, Result};
use crate::request::{Data, Remote, SendFlags, SendOperation, SendRequest, Sge};
use crate::shared_receive::segments_of;
use crate::work_completion::WcStatus;

impl QueuePair {
    /// Posts a request (ibv_post_send(3)), in the states RTS and SQD, and in SQE and ERR, where it is flushed.
    ///
    /// # Errors
    /// `EINVAL` in another state, for an operation that the type of the queue pair does not have, and for more segments
    /// or inline data than it has; `ENOMEM` if the queue is full. All else is the status of a completion.
    #[inline]
    pub fn post_send(&self, request: &SendRequest<'_>) -> Result<()> {
        self.check(request)?;
        if let SendOperation::Bind { .. } | SendOperation::LocalInvalidate(_) = request.operation {
            return self.post_window(request);
        }
        self.post_checked(request)
    }

    /// As [`post_send`](Self::post_send), for a request that was checked.
    #[inline]
    pub(super) fn post_checked(&self, request: &SendRequest<'_>) -> Result<()> {
        if self.is_open.load(Ordering::Acquire) {
            return self.post_open(request);
        }
        self.post_waiting(request)
    }

    /// Passes a request to the engine, over a connection that may be lost meanwhile.
    #[inline]
    pub(super) fn post_open(&self, request: &SendRequest<'_>) -> Result<()> {
        let posted = self.post_by(&*self.kit, request);
        // Pairs with `note_lost`, which another thread may have called before the engine had the request: one of the two
        // finds what the other has changed, because both take the lock of the engine's queue pair in between.
        if !self.is_open.load(Ordering::Acquire) {
            self.limit_repetition();
        }
        posted
    }

    /// Posts a receive (ibv_post_recv(3)), in the states INIT and later.
    ///
    /// # Errors
    /// `EINVAL` in the state RESET, with a shared receive queue, and for more segments than the queue pair has; `ENOMEM`
    /// if the queue is full.
    #[inline]
    pub fn post_receive(&self, wr_id: u64, sges: &[Sge]) -> Result<()> {
        if sges.len() > self.init.capacity.max_recv_sge as usize {
            return Err(Error::plain(
                libc::EINVAL,
                "the receive has more segments than the queue pair allows",
            ));
        }
        if !self.takes_receives.load(Ordering::Acquire) {
            return self.post_receive_elsewhere(wr_id);
        }
        let (flags, checked) = (CompletionFlags::empty(), Epoch::default());
        if let [sge] = sges {
            let buffer = Buffer { address: self.domain.address_of(sge), length: sge.length.into() };
            let posted = self.kit.post_one_receive(buffer, sge.key, wr_id, flags, checked);
            return posted.map_err(Error::from);
        }
        let segments = segments_of(sges, &self.domain)?;
        let request = ReceiveRequest { segments: &segments, cookie: wr_id, flags, checked };
        self.kit.post_receive(&request).map_err(Error::from)
    }

    #[cold]
    fn post_receive_elsewhere(&self, wr_id: u64) -> Result<()> {
        if self.init.shared_receives.is_some() {
            return Err(Error::plain(
                libc::EINVAL,
                "the queue pair takes its receives from a shared receive queue",
            ));
        }
        if self.state() != QueuePairState::Err {
            return Err(Error::plain(libc::EINVAL, "cannot post a receive in the state RESET"));
        }
        let status = WcStatus::WR_FLUSH_ERR;
        self.init.receive_queue.push(failed(wr_id, self.number, status));
        Ok(())
    }

    #[inline]
    fn check(&self, request: &SendRequest<'_>) -> Result<()> {
        let fits = match request.data {
            Data::Segments(sges) => sges.len() <= self.init.capacity.max_send_sge as usize,
            Data::Inline(inline) => inline.length() <= self.init.capacity.max_inline_data.into(),
        };
        if !fits {
            return Err(Error::plain(
                libc::EINVAL,
                "the request has more segments or inline data than the queue pair allows",
            ));
        }
        match request.operation {
            SendOperation::Send | SendOperation::SendWithImmediate(_) => Ok(()),
            _ if self.kind() == QueuePairType::Ud => {
                Err(Error::plain(libc::EINVAL, "queue pairs of type UD only send"))
            }
            SendOperation::Read(_) if self.kind() == QueuePairType::Rc => Ok(()),
            SendOperation::CompareSwap { .. } | SendOperation::FetchAdd { .. } => {
                self.check_atomic(request)
            }
            SendOperation::Read(_) => {
                Err(Error::plain(libc::EINVAL, "only queue pairs of type RC read"))
            }
            _ => Ok(()),
        }
    }

    fn check_atomic(&self, request: &SendRequest<'_>) -> Result<()> {
        let Data::Segments(sges) = request.data else {
            return Err(Error::plain(libc::EINVAL, "an atomic cannot be inline"));
        };
        if self.kind() != QueuePairType::Rc {
            return Err(Error::plain(libc::EINVAL, "only queue pairs of type RC do atomics"));
        }
        if sges.iter().map(|sge| u64::from(sge.length)).sum::<u64>() != 8 {
            return Err(Error::plain(
                libc::EINVAL,
                "the segments of an atomic must have eight bytes",
            ));
        }
        Ok(())
    }

    /// Passes a request to a queue pair of the engine.
    #[inline]
    pub(super) fn post_by(
        &self,
        kit: &dyn dat_provider::QueuePair,
        request: &SendRequest<'_>,
    ) -> Result<()> {
        let flags = self.flags(request.flags);
        let sges = match &request.data {
            Data::Segments(sges) => *sges,
            Data::Inline(inline) => return self.post_inline(kit, request, inline, flags),
        };
        if let [sge @ Sge { length, key, .. }] = *sges {
            let address = self.domain.address_of(&sge);
            let segment = Segment { address, length: length.into(), key };
            return self.post_one(kit, request, segment, flags);
        }
        self.post_segments(kit, request, &segments_of(sges, &self.domain)?, flags)
    }

    /// As [`post_segments`](Self::post_segments), for one segment, for which the engine has calls of its own.
    #[inline]
    pub(super) fn post_one(
        &self,
        kit: &dyn dat_provider::QueuePair,
        request: &SendRequest<'_>,
        segment: Segment,
        flags: CompletionFlags,
    ) -> Result<()> {
        let Segment { address, length, key } = segment;
        let buffer = Buffer { address, length };
        let (cookie, checked) = (request.wr_id, Epoch::default());
        let posted = match request.operation {
            _ if self.kind() == QueuePairType::Ud => {
                return self.post_datagram(request, &[segment], flags);
            }
            SendOperation::Send => kit.post_one_send(buffer, key, cookie, flags, checked),
            SendOperation::Write(to) => {
                kit.post_one_write(buffer, key, cookie, flags, checked, remote_buffer(to))
            }
            SendOperation::Read(from) => {
                kit.post_one_read(buffer, key, cookie, flags, checked, remote_buffer(from))
            }
            _ => return self.post_segments(kit, request, &[segment], flags),
        };
        posted.map_err(Error::from)
    }

    #[inline]
    pub(super) fn flags(&self, flags: SendFlags) -> CompletionFlags {
        let mut found = CompletionFlags::empty();
        found.set(
            CompletionFlags::SUPPRESS,
            !self.init.signals_all && !flags.contains(SendFlags::SIGNALED),
        );
        found.set(CompletionFlags::SOLICITED_WAIT, flags.contains(SendFlags::SOLICITED));
        found.set(CompletionFlags::BARRIER_FENCE, flags.contains(SendFlags::FENCE));
        found
    }

    pub(super) fn post_segments(
        &self,
        kit: &dyn dat_provider::QueuePair,
        request: &SendRequest<'_>,
        segments: &[Segment],
        flags: CompletionFlags,
    ) -> Result<()> {
        if self.kind() == QueuePairType::Ud {
            return self.post_datagram(request, segments, flags);
        }
        let length = segments.iter().map(|one| one.length).sum();
        let triplet = |to: Remote| remote_buffer(to).with_length(length);
        let eight = |to: Remote| RmrTriplet { length: 8, ..triplet(to) };
        let work = match request.operation {
            SendOperation::Send => Work::Send,
            SendOperation::SendWithImmediate(data) => {
                Work::SendImmediate { immediate: u32::from_be(data) }
            }
            SendOperation::SendWithInvalidate(key) => Work::SendInvalidate { key },
            SendOperation::Write(to) => Work::RdmaWrite { remote: triplet(to) },
            SendOperation::WriteWithImmediate(to, data) => {
                Work::RdmaWriteImmediate { remote: triplet(to), immediate: u32::from_be(data) }
            }
            SendOperation::Read(from) => Work::RdmaRead { remote: triplet(from) },
            SendOperation::CompareSwap { remote, compare, swap } => {
                Work::CompareSwap { compare, swap, remote: eight(remote) }
            }
            SendOperation::FetchAdd { remote, add } => {
                Work::FetchAdd { add, remote: eight(remote) }
            }
            SendOperation::Bind { window, key, bind } => {
                return self.post_bind((window, key), &bind, request);
            }
            SendOperation::LocalInvalidate(key) => return self.post_invalidate(key, request),
        };
        let (cookie, checked) = (request.wr_id, Epoch::default());
        let request = Request { work, segments, length, cookie, flags, checked };
        kit.post_request(&request).map_err(Error::from)
    }
}

fn remote_buffer(remote: Remote) -> RemoteBuffer {
    RemoteBuffer { address: remote.address, context: remote.key }
}
