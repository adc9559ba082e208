//! The fast path of requests: an ordinary request is executed at once. If a check fails, nothing has
//! happened yet, and the slow path ([`send`](super::send)) handles every case.

use std::ops::DerefMut;

use dat_core::error::Result;
use dat_core::flags::{CompletionFlags, Privileges};
use dat_core::provider::{CompletionFeatures, Request, Segment, Work};
use dat_core::{Operation, RmrTriplet};

use super::receive::{Direction, Rq};
use super::state::{Connection, Endpoint, Sq, State};
use crate::transfer::{self, CheckedSegment, RemoteMemory};
use crate::upcalls::Upcalls;

/// Which way an RDMA operation goes, for each of which there is a function.
const WRITE: bool = true;
const READ: bool = false;

impl Endpoint {
    #[inline(always)]
    pub(super) fn request(&self, request: &Request<'_>) -> Result<()> {
        match (&request.work, request.segments) {
            (Work::Send, [segment]) => self.send(request, segment),
            (Work::RdmaWrite { remote }, [segment]) => self.rdma::<WRITE>(request, segment, remote),
            (Work::RdmaRead { remote }, [segment]) => self.rdma::<READ>(request, segment, remote),
            _ => self.post_work(request),
        }
    }

    #[inline(always)]
    fn send(&self, request: &Request<'_>, segment: &Segment) -> Result<()> {
        if let Some(mut sq) = self.sq.lock_as_owner() {
            if let Some(upcalls) = sq.send(request, segment, Direction::lock_as_owner) {
                drop(sq);
                upcalls.deliver();
                return Ok(());
            }
        }
        self.post_with_mutex(request, |sq| sq.send(request, segment, enter))
    }

    #[inline(always)]
    fn rdma<const WAY: bool>(
        &self,
        request: &Request<'_>,
        segment: &Segment,
        remote: &RmrTriplet,
    ) -> Result<()> {
        if let Some(mut sq) = self.sq.lock_as_owner() {
            let enter = Direction::lock_as_owner;
            if let Some(upcalls) = sq.rdma::<WAY, _>(request, segment, remote, enter) {
                drop(sq);
                upcalls.deliver();
                return Ok(());
            }
        }
        self.post_with_mutex(request, |sq| sq.rdma::<WAY, _>(request, segment, remote, enter))
    }

    /// The short way for any thread, and then the long way.
    #[cold]
    #[inline(never)]
    fn post_with_mutex(
        &self,
        request: &Request<'_>,
        short: impl FnOnce(&mut Sq) -> Option<Upcalls>,
    ) -> Result<()> {
        let mut sq = self.sq.lock();
        // A request goes behind others that wait; to find that out again takes the peer's lock.
        let is_behind = Sq::open(&sq.state)
            .is_some_and(|connection| connection.peer.receiver.wakeup.has_waiting());
        let done = if is_behind { None } else { short(&mut sq) };
        drop(sq);
        match done {
            Some(upcalls) => {
                upcalls.deliver();
                Ok(())
            }
            None => self.post_work(request),
        }
    }
}

/// Locks a direction, whichever thread has its bias.
fn enter(direction: &Direction) -> Option<impl DerefMut<Target = Rq> + '_> {
    Some(direction.lock_to_take())
}

impl Sq {
    /// The connection, if requests can be posted to it.
    #[inline(always)]
    fn open(state: &State) -> Option<&Connection> {
        match state {
            State::Connected(connection) if !connection.closing => Some(connection),
            _ => None,
        }
    }

    /// Moves a message of one segment into a receive of one segment.
    #[inline(always)]
    fn send<'a, G: DerefMut<Target = Rq>>(
        &'a mut self,
        request: &Request<'_>,
        segment: &Segment,
        enter: impl FnOnce(&'a Direction) -> Option<G>,
    ) -> Option<Upcalls> {
        let connection = Self::open(&self.state)?;
        if !self.room.is_available() {
            return None;
        }
        let mut rq = enter(&connection.peer.rq)?;
        if !rq.passes(connection.link) {
            return None;
        }
        let receives = &mut rq.receives;
        let (posted, target) = receives.ring.get_single(receives.head)?;
        let from = CheckedSegment {
            segment: *segment,
            domain: self.requests.domain,
            checked: request.checked.number(),
            epochs: &self.requests.epochs,
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
        let done = (posted.cookie, request.length, Operation::Receive);
        let solicited = request.flags.contains(CompletionFlags::SOLICITED_WAIT);
        let unsignalled = posted.unsignalled;
        let features = CompletionFeatures { unsignalled, solicited, failed: false };
        receives.outlet.succeed(done, features, &mut upcalls);
        if request.flags.contains(CompletionFlags::SUPPRESS) {
            return Some(upcalls);
        }
        self.room.take_available();
        self.requests.succeed(request, request.length, Operation::Send, &mut upcalls);
        Some(upcalls)
    }

    /// Moves bytes between one segment and the peer's memory.
    #[inline(always)]
    fn rdma<'a, const WAY: bool, G: DerefMut<Target = Rq>>(
        &'a mut self,
        request: &Request<'_>,
        segment: &Segment,
        remote: &RmrTriplet,
        enter: impl FnOnce(&'a Direction) -> Option<G>,
    ) -> Option<Upcalls> {
        let connection = Self::open(&self.state)?;
        if !self.room.is_available() {
            return None;
        }
        let rq = enter(&connection.peer.rq)?;
        if !rq.passes(connection.link) {
            return None;
        }
        let here = CheckedSegment {
            segment: *segment,
            domain: self.requests.domain,
            checked: request.checked.number(),
            epochs: &self.requests.epochs,
        };
        let (domain, queue_pair) = (rq.receives.domain, rq.receives.number);
        let place = RemoteMemory { triplet: remote, domain, queue_pair };
        let (length, operation, there) = match WAY {
            WRITE => (request.length, Operation::RdmaWrite, Privileges::REMOTE_WRITE),
            READ => (remote.length, Operation::RdmaRead, Privileges::REMOTE_READ),
        };
        if !transfer::copy_rdma_fast(here, place, length, there) {
            return None;
        }
        let mut upcalls = Upcalls::default();
        if request.flags.contains(CompletionFlags::SUPPRESS) {
            return Some(upcalls);
        }
        self.room.take_available();
        self.requests.succeed(request, length, operation, &mut upcalls);
        Some(upcalls)
    }
}
