//! The short way of requests: what most of them are, executed at once where nothing is in the way.
//! Whatever is found in the way, nothing has happened, and the long way ([`send`](super::send))
//! goes through all of it.

use std::ops::DerefMut;

use dat_core::error::Result;
use dat_core::flags::{CompletionFlags, Privileges};
use dat_core::provider::{CompletionFeatures, Request, Segment, Work};
use dat_core::{Operation, RmrTriplet};

use super::receive::{Direction, Rq};
use super::state::{Connection, Endpoint, Sq, State};
use crate::outlet::Upcalls;
use crate::transfer::{self, Checked, Remote};

impl Endpoint {
    #[inline(always)]
    pub(super) fn post_request(&self, request: &Request<'_>) -> Result<()> {
        match (&request.work, request.segments) {
            (Work::Send, [segment]) => self.send(request, segment),
            (Work::RdmaWrite { remote }, [segment]) => {
                self.rdma(request, segment, remote, Privileges::REMOTE_WRITE)
            }
            (Work::RdmaRead { remote }, [segment]) => {
                self.rdma(request, segment, remote, Privileges::REMOTE_READ)
            }
            _ => self.post_work(request),
        }
    }

    // Each a function of its own: together they would need more registers than there are.
    #[inline(never)]
    fn send(&self, request: &Request<'_>, segment: &Segment) -> Result<()> {
        let Some(mut sq) = self.sq.lock_as_owner() else {
            return self.post_with_mutex(request, |sq| sq.send(request, segment, enter));
        };
        let done = sq.send(request, segment, Direction::lock_as_owner);
        drop(sq);
        match done {
            Some(upcalls) => {
                upcalls.deliver();
                Ok(())
            }
            None => self.post_with_mutex(request, |sq| sq.send(request, segment, enter)),
        }
    }

    #[inline(never)]
    fn rdma(
        &self,
        request: &Request<'_>,
        segment: &Segment,
        remote: &RmrTriplet,
        there: Privileges,
    ) -> Result<()> {
        let Some(mut sq) = self.sq.lock_as_owner() else {
            return self
                .post_with_mutex(request, |sq| sq.rdma(request, segment, remote, there, enter));
        };
        let done = sq.rdma(request, segment, remote, there, Direction::lock_as_owner);
        drop(sq);
        match done {
            Some(upcalls) => {
                upcalls.deliver();
                Ok(())
            }
            None => {
                self.post_with_mutex(request, |sq| sq.rdma(request, segment, remote, there, enter))
            }
        }
    }

    /// The short way for any thread, and then the long way.
    #[inline(never)]
    fn post_with_mutex(
        &self,
        request: &Request<'_>,
        short: impl FnOnce(&mut Sq) -> Option<Upcalls>,
    ) -> Result<()> {
        let mut sq = self.sq.lock();
        let done = short(&mut sq);
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

/// Enters a direction, whoever has it.
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
        if !self.room.is_there() {
            return None;
        }
        let mut rq = enter(&connection.peer.rq)?;
        if !rq.passes(connection.link) {
            return None;
        }
        let receives = &mut rq.receives;
        let (posted, 1, target) = receives.ring.as_ref()?.get(receives.head)? else { return None };
        let from = Checked {
            segment,
            domain: self.requests.domain,
            checked: request.checked.number(),
            epochs: &self.requests.epochs,
        };
        let to = Checked {
            segment: &target,
            domain: receives.domain,
            checked: posted.checked,
            epochs: &receives.epochs,
        };
        if !transfer::direct(from, to, request.length) {
            return None;
        }
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
        self.room.take_seen();
        self.requests.succeed(request, request.length, Operation::Send, &mut upcalls);
        Some(upcalls)
    }

    /// Moves bytes between one segment and the peer's memory.
    #[inline(always)]
    fn rdma<'a, G: DerefMut<Target = Rq>>(
        &'a mut self,
        request: &Request<'_>,
        segment: &Segment,
        remote: &RmrTriplet,
        there: Privileges,
        enter: impl FnOnce(&'a Direction) -> Option<G>,
    ) -> Option<Upcalls> {
        let connection = Self::open(&self.state)?;
        if !self.room.is_there() {
            return None;
        }
        let rq = enter(&connection.peer.rq)?;
        if !rq.passes(connection.link) {
            return None;
        }
        let here = Checked {
            segment,
            domain: self.requests.domain,
            checked: request.checked.number(),
            epochs: &self.requests.epochs,
        };
        let (domain, queue_pair) = (rq.receives.domain, rq.receives.number);
        let place = Remote { place: remote, domain, queue_pair };
        let (length, operation) = if there == Privileges::REMOTE_WRITE {
            (request.length, Operation::RdmaWrite)
        } else {
            (remote.length, Operation::RdmaRead)
        };
        if !transfer::direct_remote(here, place, length, there) {
            return None;
        }
        let mut upcalls = Upcalls::default();
        if request.flags.contains(CompletionFlags::SUPPRESS) {
            return Some(upcalls);
        }
        self.room.take_seen();
        self.requests.succeed(request, length, operation, &mut upcalls);
        Some(upcalls)
    }
}
