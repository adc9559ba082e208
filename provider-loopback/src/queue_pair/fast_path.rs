//! The fast path of requests: an ordinary request is executed at once. If a check fails, nothing has
//! happened yet, and the [slow path](super::slow_path) handles the request.

use std::ops::DerefMut;

use dat_core::error::Result;
use dat_core::flags::{CompletionFlags, Privileges};
use dat_core::provider::{CompletionFeatures, Request, Segment, Work};
use dat_core::{Operation, RmrTriplet};
use dat_provider_kit::transfer::{self, CheckedSegment, RemoteMemory};
use dat_provider_kit::upcalls::Upcalls;

use super::connection_state::{Connection, ConnectionState};
use super::qp::LoopbackQp;
use super::responder::{Responder, ResponderLock};
use super::send_queue::SendQueue;

/// The operations for which `rdma` is instantiated.
const WRITE: bool = true;
const READ: bool = false;

impl LoopbackQp {
    #[inline(always)]
    pub(super) fn post_request(&self, request: &Request<'_>) -> Result<()> {
        match (&request.work, request.segments) {
            (Work::Send, [segment]) => self.post_send(request, segment),
            (Work::RdmaWrite { remote }, [segment]) => {
                self.post_rdma::<WRITE>(request, segment, remote)
            }
            (Work::RdmaRead { remote }, [segment]) => {
                self.post_rdma::<READ>(request, segment, remote)
            }
            _ => self.post_request_slow(request),
        }
    }

    #[inline(always)]
    fn post_send(&self, request: &Request<'_>, segment: &Segment) -> Result<()> {
        if let Some(mut send_queue) = self.send_queue.lock_as_owner() {
            if let Some(upcalls) = send_queue.send(request, segment, ResponderLock::lock_as_owner) {
                drop(send_queue);
                upcalls.deliver();
                return Ok(());
            }
        }
        self.post_request_locked(request, |send_queue| send_queue.send(request, segment, lock))
    }

    #[inline(always)]
    fn post_rdma<const OPERATION: bool>(
        &self,
        request: &Request<'_>,
        segment: &Segment,
        remote: &RmrTriplet,
    ) -> Result<()> {
        if let Some(mut send_queue) = self.send_queue.lock_as_owner() {
            let lock = ResponderLock::lock_as_owner;
            if let Some(upcalls) = send_queue.rdma::<OPERATION, _>(request, segment, remote, lock) {
                drop(send_queue);
                upcalls.deliver();
                return Ok(());
            }
        }
        self.post_request_locked(request, |send_queue| {
            send_queue.rdma::<OPERATION, _>(request, segment, remote, lock)
        })
    }

    /// The fast path for a thread without the bias, and then the slow path.
    #[cold]
    #[inline(never)]
    fn post_request_locked(
        &self,
        request: &Request<'_>,
        fast_path: impl FnOnce(&mut SendQueue) -> Option<Upcalls>,
    ) -> Result<()> {
        let mut send_queue = self.send_queue.lock();
        // A request goes behind those that wait; the fast path would lock the responder to see that.
        let has_waiting = SendQueue::open_connection(&send_queue.state)
            .is_some_and(|connection| connection.peer.poster.wakeup.has_waiting());
        let upcalls = if has_waiting { None } else { fast_path(&mut send_queue) };
        drop(send_queue);
        match upcalls {
            Some(upcalls) => {
                upcalls.deliver();
                Ok(())
            }
            None => self.post_request_slow(request),
        }
    }
}

/// Locks a responder, whichever thread has its bias.
fn lock(responder: &ResponderLock) -> Option<impl DerefMut<Target = Responder> + '_> {
    Some(responder.lock_for_fast_path())
}

impl SendQueue {
    /// The connection, if requests can be posted on it.
    #[inline(always)]
    fn open_connection(state: &ConnectionState) -> Option<&Connection> {
        match state {
            ConnectionState::Connected(connection) if !connection.is_closing => Some(connection),
            _ => None,
        }
    }

    /// Copies a message of one segment into a receive of one segment.
    #[inline(always)]
    fn send<'a, G: DerefMut<Target = Responder>>(
        &'a mut self,
        request: &Request<'_>,
        segment: &Segment,
        lock: impl FnOnce(&'a ResponderLock) -> Option<G>,
    ) -> Option<Upcalls> {
        let connection = Self::open_connection(&self.state)?;
        if !self.credits.is_available() {
            return None;
        }
        let mut responder = lock(&connection.peer.responder)?;
        if !responder.allows_fast_path(connection.id) {
            return None;
        }
        let receives = &mut responder.receives;
        let (posted, target) = receives.ring.get_single(receives.head)?;
        let from = CheckedSegment {
            segment: *segment,
            domain: self.context.domain,
            checked: request.checked.number(),
            epochs: &self.context.epochs,
        };
        let to = CheckedSegment {
            segment: target,
            domain: receives.domain,
            checked: posted.checked,
            epochs: &receives.epochs,
        };
        if !transfer::copy_message_fast(from, to, request.length) {
            return None;
        }
        receives.ring.prefetch_after(receives.head);
        receives.head += 1;
        let mut upcalls = Upcalls::default();
        let completed = (posted.cookie, request.length, Operation::Receive);
        let solicited = request.flags.contains(CompletionFlags::SOLICITED_WAIT);
        let unsignalled = posted.unsignalled;
        let features = CompletionFeatures { unsignalled, solicited, failed: false };
        receives.target.succeed(completed, features, &mut upcalls);
        if request.flags.contains(CompletionFlags::SUPPRESS) {
            return Some(upcalls);
        }
        self.credits.take_available();
        self.context.succeed(request, request.length, Operation::Send, &mut upcalls);
        Some(upcalls)
    }

    /// Copies between one segment and memory of the peer.
    #[inline(always)]
    fn rdma<'a, const OPERATION: bool, G: DerefMut<Target = Responder>>(
        &'a mut self,
        request: &Request<'_>,
        segment: &Segment,
        remote: &RmrTriplet,
        lock: impl FnOnce(&'a ResponderLock) -> Option<G>,
    ) -> Option<Upcalls> {
        let connection = Self::open_connection(&self.state)?;
        if !self.credits.is_available() {
            return None;
        }
        let responder = lock(&connection.peer.responder)?;
        if !responder.allows_fast_path(connection.id) {
            return None;
        }
        let local = CheckedSegment {
            segment: *segment,
            domain: self.context.domain,
            checked: request.checked.number(),
            epochs: &self.context.epochs,
        };
        let (domain, queue_pair) = (responder.receives.domain, responder.receives.qp_number);
        let remote_memory = RemoteMemory { triplet: remote, domain, queue_pair };
        let (length, operation, privileges) = match OPERATION {
            WRITE => (request.length, Operation::RdmaWrite, Privileges::REMOTE_WRITE),
            READ => (remote.length, Operation::RdmaRead, Privileges::REMOTE_READ),
        };
        if !transfer::copy_rdma_fast(local, remote_memory, length, privileges) {
            return None;
        }
        let mut upcalls = Upcalls::default();
        if request.flags.contains(CompletionFlags::SUPPRESS) {
            return Some(upcalls);
        }
        self.credits.take_available();
        self.context.succeed(request, length, operation, &mut upcalls);
        Some(upcalls)
    }
}
