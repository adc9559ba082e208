//! The fast path of requests: an ordinary request is executed at once. If a check fails, nothing has
//! happened yet, and the [slow path](super::slow_path) handles the request.

use std::ops::DerefMut;

use dat_provider::error::Result;
use dat_provider::flags::{CompletionFlags, Privileges};
use dat_provider::status::Operation;
use dat_provider::triplet::RmrTriplet;
use dat_provider::{Buffer, CompletionFeatures, Epoch, RemoteBuffer, Request, Work};
use dat_provider_kit::transfer::{self, CheckedSegment, RemoteMemory};
use dat_provider_kit::upcalls::Upcalls;

use super::connection_state::{Connection, ConnectionState};
use super::qp::LoopbackQp;
use super::responder::{Responder, ResponderLock};
use super::send_queue::SendQueue;

/// The operations for which the fast path is instantiated, as numbers of [`Operation`].
pub(super) const SEND: u32 = Operation::Send as u32;
pub(super) const WRITE: u32 = Operation::RdmaWrite as u32;
pub(super) const READ: u32 = Operation::RdmaRead as u32;

/// A request with one segment.
#[derive(Clone, Copy)]
pub(super) struct OneSegment {
    pub(super) buffer: Buffer,
    pub(super) key: u32,
    pub(super) cookie: u64,
    pub(super) flags: CompletionFlags,
    pub(super) checked: Epoch,
    /// Ignored for a send.
    pub(super) remote: RemoteBuffer,
}

impl LoopbackQp {
    /// Posts a request that the core passed as a whole.
    #[inline]
    pub(super) fn post_request(&self, request: &Request<'_>) -> Result<()> {
        let &Request { ref work, segments, cookie, flags, checked, .. } = request;
        let [segment] = segments else { return self.post_request_slow(request) };
        let (remote, length) = match work {
            Work::Send => (RmrTriplet::default(), segment.length),
            Work::RdmaWrite { remote } => (*remote, segment.length),
            Work::RdmaRead { remote } => (*remote, remote.length),
            _ => return self.post_request_slow(request),
        };
        let request = OneSegment {
            buffer: Buffer { address: segment.address, length },
            key: segment.key,
            cookie,
            flags,
            checked,
            remote: RemoteBuffer { address: remote.address, context: remote.context },
        };
        match work {
            Work::Send => self.post_one::<SEND>(request),
            Work::RdmaWrite { .. } => self.post_one::<WRITE>(request),
            _ => self.post_one::<READ>(request),
        }
    }

    #[inline(always)]
    pub(super) fn post_one<const OPERATION: u32>(&self, request: OneSegment) -> Result<()> {
        if let Some(mut send_queue) = self.send_queue.lock_as_owner() {
            let lock = ResponderLock::lock_as_owner;
            if let Some(upcalls) = send_queue.execute::<OPERATION, _>(request, lock) {
                drop(send_queue);
                upcalls.deliver();
                return Ok(());
            }
        }
        // Only the fields are passed, so that the request does not have to be in memory.
        let OneSegment { buffer, key, cookie, flags, checked, remote } = request;
        self.post_one_locked::<OPERATION>(buffer, key, cookie, flags, checked, remote)
    }

    /// The fast path for a thread without the bias, and then the slow path.
    #[cold]
    #[inline(never)]
    fn post_one_locked<const OPERATION: u32>(
        &self,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
        remote: RemoteBuffer,
    ) -> Result<()> {
        let request = OneSegment { buffer, key, cookie, flags, checked, remote };
        let mut send_queue = self.send_queue.lock();
        // Waiting requests go first. This is checked here, because the fast path would have to lock the responder to
        // see it.
        let upcalls = match send_queue.has_waiting() {
            true => None,
            false => {
                if OPERATION == SEND {
                    send_queue.await_receive();
                }
                send_queue.execute::<OPERATION, _>(request, lock)
            }
        };
        drop(send_queue);
        if let Some(upcalls) = upcalls {
            upcalls.deliver();
            return Ok(());
        }
        let remote = remote.with_length(buffer.length);
        let work = match OPERATION {
            SEND => Work::Send,
            WRITE => Work::RdmaWrite { remote },
            _ => Work::RdmaRead { remote },
        };
        let (segments, length) = (&[buffer.with_key(key)], buffer.length);
        self.post_request_slow(&Request { work, segments, length, cookie, flags, checked })
    }
}

/// Locks a responder, whichever thread has its bias.
fn lock(responder: &ResponderLock) -> Option<impl DerefMut<Target = Responder> + '_> {
    Some(responder.lock_for_fast_path())
}

impl SendQueue {
    /// Returns true if requests wait at the peer. If so, spins a little for the peer to execute them.
    fn has_waiting(&mut self) -> bool {
        let Some(connection) = Self::open_connection(&self.state) else { return false };
        let wakeup = &connection.peer.poster.wakeup;
        wakeup.has_waiting() && !self.patience.spin(|| !wakeup.has_waiting())
    }

    /// Spins a little for a receive, if only that keeps a message from the fast path.
    fn await_receive(&mut self) {
        let Some(connection) = Self::open_connection(&self.state) else { return };
        let responder = connection.peer.responder.lock_for_fast_path();
        let receives = &responder.receives;
        let has_receive = || receives.ring.is_filled(receives.head);
        if responder.allows_fast_path(connection.id) && !has_receive() {
            self.patience.spin(has_receive);
        }
    }

    /// The connection, if requests can be posted on it.
    #[inline(always)]
    fn open_connection(state: &ConnectionState) -> Option<&Connection> {
        match state {
            ConnectionState::Connected(connection) if !connection.is_closing => Some(connection),
            _ => None,
        }
    }

    #[inline(always)]
    fn execute<'a, const OPERATION: u32, G: DerefMut<Target = Responder>>(
        &'a mut self,
        request: OneSegment,
        lock: impl FnOnce(&'a ResponderLock) -> Option<G>,
    ) -> Option<Upcalls> {
        match OPERATION {
            SEND => self.send(request, lock),
            _ => self.rdma::<OPERATION, _>(request, lock),
        }
    }

    /// Copies a message of one segment into a receive of one segment.
    #[inline(always)]
    fn send<'a, G: DerefMut<Target = Responder>>(
        &'a mut self,
        request: OneSegment,
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
            segment: request.buffer.with_key(request.key),
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
        if !transfer::copy_message_fast(from, to, request.buffer.length) {
            return None;
        }
        receives.ring.prefetch_after(receives.head);
        receives.head += 1;
        receives.bytes_in += request.buffer.length;
        let mut upcalls = Upcalls::default();
        let completed = (posted.cookie, request.buffer.length, Operation::Receive);
        let solicited = request.flags.contains(CompletionFlags::SOLICITED_WAIT);
        let unsignalled = posted.unsignalled;
        let features = CompletionFeatures { unsignalled, solicited, failed: false };
        receives.target.succeed(completed, features, &mut upcalls);
        if request.flags.contains(CompletionFlags::SUPPRESS) {
            return Some(upcalls);
        }
        self.credits.take_available();
        self.context.succeed(
            request.cookie,
            request.flags,
            request.buffer.length,
            Operation::Send,
            &mut upcalls,
        );
        Some(upcalls)
    }

    /// Copies between one segment and memory of the peer.
    #[inline(always)]
    fn rdma<'a, const OPERATION: u32, G: DerefMut<Target = Responder>>(
        &'a mut self,
        request: OneSegment,
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
        let local = CheckedSegment {
            segment: request.buffer.with_key(request.key),
            domain: self.context.domain,
            checked: request.checked.number(),
            epochs: &self.context.epochs,
        };
        let (domain, queue_pair) = (responder.receives.domain, responder.receives.qp_number);
        let length = request.buffer.length;
        let triplet = &request.remote.with_length(length);
        let remote_memory = RemoteMemory { triplet, domain, queue_pair };
        let (operation, privileges) = match OPERATION {
            WRITE => (Operation::RdmaWrite, Privileges::REMOTE_WRITE),
            _ => (Operation::RdmaRead, Privileges::REMOTE_READ),
        };
        if !transfer::copy_rdma_fast(local, remote_memory, length, privileges) {
            return None;
        }
        match OPERATION {
            WRITE => responder.receives.bytes_in += length,
            _ => responder.receives.bytes_out += length,
        }
        let mut upcalls = Upcalls::default();
        if request.flags.contains(CompletionFlags::SUPPRESS) {
            return Some(upcalls);
        }
        self.credits.take_available();
        self.context.succeed(request.cookie, request.flags, length, operation, &mut upcalls);
        Some(upcalls)
    }
}
