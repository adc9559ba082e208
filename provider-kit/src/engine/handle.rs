//! A queue pair as the core holds it.

use std::cell::Cell;
use std::sync::Arc;

use dat_provider::error::{Result, Subtype};
use dat_provider::flags::Close;
use dat_provider::{
    BindRequest, ConnectRequest, Failure, Outstanding, QueuePair, QueuePairSpec, ReceiveRequest,
    Request,
};

use super::conn::{Ending, How, Stage};
use super::connect;
use super::pair::{Pair, Phase};
use super::work::Item;
use crate::errors::{foreign_object, no_credit, wrong_state};
use crate::frame::Reason;
use crate::receive_ring::PostedReceive;
use crate::window::Bind;

/// A queue pair as the core holds it.
pub(super) struct Handle(pub(super) Arc<Pair>);

impl QueuePair for Handle {
    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        self.0.core.origin.check()?;
        self.0.work(|inner, upcalls| {
            let receives = &mut inner.side.receives;
            if receives.shared.is_some() {
                return Err(wrong_state(Subtype::InvalidStateSrqInUse)
                    .because("the queue pair uses a shared receive queue"));
            }
            if !receives.room.try_take() {
                return Err(no_credit());
            }
            if receives.ring.push(PostedReceive::new(receive), receive.segments).is_err() {
                receives.room.give_back();
                return Err(no_credit());
            }
            if inner.phase == Phase::Disconnected {
                receives.flush(upcalls);
            } else if let Some(conn) = &mut inner.conn {
                conn.posted = conn.posted.wrapping_add(1);
            }
            Ok(())
        })
    }

    fn post_request(&self, request: &Request<'_>) -> Result<()> {
        self.0.post(|_| Ok(Item::new(request)))
    }

    fn post_bind(&self, bind: &BindRequest<'_>) -> Result<u32> {
        let key = Cell::new(0);
        self.0.post(|inner| {
            let made = Bind::new(bind, inner.side.number)?;
            key.set(made.key());
            Ok(Item::bind(made, bind.cookie, bind.flags))
        })?;
        Ok(key.get())
    }

    fn connect(&self, request: &ConnectRequest<'_>) -> Result<()> {
        self.0.core.origin.check()?;
        let serial = {
            let mut inner = self.0.inner.lock();
            inner.check_connectable()?;
            inner.serial += 1;
            inner.attempt = request.attempt;
            inner.phase = Phase::Connecting;
            inner.serial
        };
        connect::start(&self.0, serial, request);
        Ok(())
    }

    fn connecting_port(&self) -> Option<u64> {
        self.0.core.origin.check().ok()?;
        let inner = self.0.inner.lock();
        matches!(inner.phase, Phase::Connecting).then_some(inner.port)
    }

    fn disconnect(&self, how: Close) {
        if self.0.core.origin.check().is_err() {
            return;
        }
        // What came before the end is not lost.
        self.0.read_until(|inner| {
            let conn = inner.conn.as_ref().filter(|conn| conn.stage == Stage::Open);
            conn.is_none_or(|conn| conn.work.len() != conn.sent || conn.work.is_empty())
        });
        self.0.work(|inner, upcalls| {
            if let Some(conn) = inner.conn.as_mut().filter(|conn| conn.stage == Stage::Open) {
                conn.read(&mut inner.side, upcalls);
                conn.complete(&mut inner.side, upcalls);
            }
            let attempt = matches!(inner.phase, Phase::Connecting)
                || inner.conn.as_ref().is_some_and(|conn| conn.stage != Stage::Open);
            match &mut inner.conn {
                _ if !matches!(inner.phase, Phase::Connecting | Phase::Connected) => {}
                Some(conn) if !attempt && how == Close::Graceful && !conn.work.is_empty() => {
                    inner.closing = true;
                }
                Some(conn) => {
                    let reason = match how {
                        Close::Graceful => Reason::Graceful,
                        Close::Abrupt => Reason::Abrupt,
                    };
                    let ending = Ending { how: How::Disconnected, tell: Some(reason) };
                    conn.ending = None;
                    let before = inner.events.len();
                    inner.finish(ending, &self.0.core, upcalls);
                    if attempt {
                        inner.events.truncate(before);
                    }
                }
                None => {
                    inner.phase = Phase::Disconnected;
                    inner.side.receives.flush(upcalls);
                }
            }
        });
    }

    fn reset(&self) -> Result<()> {
        self.0.core.origin.check()?;
        let mut inner = self.0.inner.lock();
        if inner.retired || inner.phase != Phase::Disconnected {
            return Err(inner.refusal());
        }
        inner.phase = Phase::Unconnected;
        inner.side.requests.clear_failure();
        inner.side.receives.outlet.clear_failure();
        Ok(())
    }

    fn modify(&self, spec: QueuePairSpec) -> Result<()> {
        self.0.core.origin.check()?;
        let mut inner = self.0.inner.lock();
        if inner.retired || inner.phase != Phase::Unconnected {
            return Err(inner.refusal());
        }
        let replaced = inner.set(&spec, &self.0.me)?;
        drop(inner);
        drop(replaced);
        self.0.complete_at();
        Ok(())
    }

    fn outstanding(&self) -> Outstanding {
        if self.0.core.origin.check().is_err() {
            return Outstanding::default();
        }
        // Nothing else tells the consumer that suppressed requests are over.
        self.0.read_until(|inner| !inner.has_suppressed());
        let inner = self.0.inner.lock();
        let requests = inner.conn.as_ref().map_or(0, |conn| conn.work.len());
        let taken = inner.conn.as_ref().map_or(0, |conn| u32::from(conn.buffer.is_some()));
        Outstanding {
            receives: inner.side.receives.ring.count() + taken,
            requests: u32::try_from(requests).unwrap_or(u32::MAX),
        }
    }

    fn failure(&self) -> Option<Failure> {
        self.0.core.origin.check().ok()?;
        let inner = self.0.inner.lock();
        inner.side.requests.failure().or_else(|| inner.side.receives.outlet.failure())
    }

    fn retire(&self) {
        if self.0.core.origin.check().is_err() {
            return;
        }
        self.0.work(|inner, upcalls| {
            inner.retired = true;
            inner.events.clear();
            let ending = Ending { how: How::Disconnected, tell: Some(Reason::Abrupt) };
            inner.finish(ending, &self.0.core, upcalls);
            inner.phase = Phase::Disconnected;
            inner.side.receives.flush(upcalls);
        });
    }
}

/// The queue pair behind one of the contract.
pub(super) fn downcast(queue_pair: &dyn QueuePair) -> Result<Arc<Pair>> {
    match queue_pair.as_any().downcast_ref::<Handle>() {
        Some(handle) => Ok(Arc::clone(&handle.0)),
        None => Err(foreign_object("queue pair", Subtype::InvalidHandleEp)),
    }
}
