//! The end of connections.
//!
//! An end has two steps. First both directions are shut: under each `rq`, whatever is
//! outstanding completes as flushed, in order. Then each side's state changes under its `sq`,
//! and the thread that changed it reports it. Both steps check the number of the connection, so any
//! number of threads can do this for one connection, and each side gets one event.

use std::sync::Arc;

use dat_core::DtoStatus;
use dat_core::error::Result;
use dat_core::flags::Close;
use dat_core::provider::ConnectionUpcall;
use dat_sync::SlabArc;

use super::ReceiveWakeup;
use super::receive::{Inbound, Rq, Source};
use super::state::{Announced, End, Endpoint, State};
use crate::upcalls::Upcalls;

/// The end of a connection that is still to be carried out, without locks.
#[must_use]
pub(super) struct Finish {
    pub(super) link: u64,
    pub(super) peer: SlabArc<Endpoint>,
    pub(super) end: End,
}

impl Finish {
    pub(super) fn run(self, endpoint: &Endpoint) {
        end(self.link, endpoint, &self.peer, self.end, Report::Always);
    }
}

/// Whether a side hears of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Report {
    Always,
    /// Not when it ends its own attempt, before `Established` was reported to it.
    UnlessAttempt,
    Never,
}

/// Ends a connection; `report` is for the first side, the other always hears of it.
fn end(link: u64, one: &Endpoint, other: &Endpoint, how: End, report: Report) {
    one.shut(link);
    other.shut(link);
    one.conclude(link, how, report);
    other.conclude(link, how, Report::Always);
}

impl Rq {
    /// Flushes the peer's waiting requests and the receives of this side, in any state.
    pub(crate) fn shut(
        &mut self,
        wakeup: &ReceiveWakeup,
        upcalls: &mut Upcalls,
    ) -> Option<Box<Source>> {
        let before = std::mem::replace(&mut self.inbound, Inbound::Shut);
        let source = match before {
            Inbound::Open(mut source) => {
                while let Some(pending) = source.waiting.pop() {
                    let status = DtoStatus::Flushed;
                    source.requester.finish(&pending.job(&[]), 0, status, upcalls);
                }
                Some(source)
            }
            _ => None,
        };
        // The poster of a later receive flushes it.
        wakeup.request();
        self.flush(upcalls);
        source
    }
}

impl Endpoint {
    /// Shuts the inbound direction of that connection.
    fn shut(&self, link: u64) {
        let mut upcalls = Upcalls::default();
        let mut rq = self.rq.lock();
        if !rq.inbound.is(link) {
            return;
        }
        let source = rq.shut(&self.receiver.wakeup, &mut upcalls);
        drop(rq);
        upcalls.deliver();
        // It may hold the last reference to the peer, which goes without the lock.
        drop(source);
    }

    /// Changes the state of one side, and reports it if this call did.
    fn conclude(&self, link: u64, how: End, report: Report) {
        let mut sq = self.sq.lock();
        let Some(connection) = sq.state.connection(link) else { return };
        // Checked in the same critical section as the change: `Established` may come at any time.
        let silent = match report {
            Report::Always => false,
            Report::UnlessAttempt => connection.announced == Announced::Pending,
            Report::Never => true,
        };
        if !silent && connection.announced != Announced::Done {
            // The thread that reports `Established` reports this after it.
            connection.ended.get_or_insert(how);
            return;
        }
        let attempt = connection.attempt;
        let before = std::mem::replace(&mut sq.state, State::Disconnected);
        let sink = Arc::clone(&sq.sink);
        drop(sq);
        drop(before);
        if !silent {
            sink.connection_event(attempt, how.into());
        }
    }

    /// Ends an attempt that is still waiting for its answer, with an event if there is one.
    pub(crate) fn fail_attempt(&self, number: u64, event: Option<ConnectionUpcall<'_>>) {
        let mut sq = self.sq.lock();
        let attempt = match sq.state {
            State::Connecting { link, attempt, .. } if link == number => attempt,
            _ => return,
        };
        sq.state = State::Disconnected;
        let mut upcalls = Upcalls::default();
        let source = self.rq.lock().shut(&self.receiver.wakeup, &mut upcalls);
        let sink = Arc::clone(&sq.sink);
        drop(sq);
        upcalls.deliver();
        drop(source);
        if let Some(event) = event {
            sink.connection_event(attempt, event);
        }
    }

    /// Ends an accept whose other side gave up.
    pub(crate) fn fail_accept(&self, link: u64) {
        let mut sq = self.sq.lock();
        let Some(connection) = sq.state.connection(link) else { return };
        let attempt = connection.attempt;
        let before = std::mem::replace(&mut sq.state, State::Disconnected);
        let mut upcalls = Upcalls::default();
        let source = self.rq.lock().shut(&self.receiver.wakeup, &mut upcalls);
        let sink = Arc::clone(&sq.sink);
        drop(sq);
        upcalls.deliver();
        drop((before, source));
        sink.connection_event(attempt, ConnectionUpcall::AcceptFailed);
    }

    pub(super) fn end(&self, how: Close) {
        let mut sq = self.sq.lock();
        match &sq.state {
            State::Unconnected | State::Disconnected => {}
            State::Connecting { link, .. } => {
                let link = *link;
                drop(sq);
                // It does nothing if an accept came between; the check below notices that.
                self.fail_attempt(link, None);
                if self.sq.lock().state.connection(link).is_some() {
                    self.end(how);
                }
            }
            State::Connected(connection) => {
                let (link, peer) = (connection.link, SlabArc::clone(&connection.peer));
                let later = how == Close::Graceful && sq.close_later();
                drop(sq);
                if !later {
                    end(link, self, &peer, End::Disconnected, Report::UnlessAttempt);
                }
            }
        }
    }

    pub(super) fn end_for_good(&self) {
        let mut sq = self.sq.lock();
        sq.retired = true;
        if let State::Connected(connection) = &sq.state {
            let (link, peer) = (connection.link, SlabArc::clone(&connection.peer));
            drop(sq);
            end(link, self, &peer, End::Disconnected, Report::Never);
            return;
        }
        sq.state = State::Disconnected;
        let mut upcalls = Upcalls::default();
        let source = self.rq.lock().shut(&self.receiver.wakeup, &mut upcalls);
        drop(sq);
        upcalls.deliver();
        drop(source);
    }

    pub(super) fn begin_anew(&self) -> Result<()> {
        let mut sq = self.sq.lock();
        if sq.retired || !matches!(sq.state, State::Disconnected) {
            return Err(sq.state.refusal());
        }
        sq.state = State::Unconnected;
        sq.requests.outlet.clear_failure();
        self.set_peer(None);
        let mut rq = self.rq.lock();
        rq.inbound = Inbound::Idle;
        self.receiver.wakeup.settle();
        rq.receives.outlet.clear_failure();
        Ok(())
    }
}
