//! The request side: posting sends, RDMA and binds.

use std::sync::Arc;

use dat_core::error::Result;
use dat_core::flags::CompletionFlags;
use dat_core::provider::{BindRequest, Completion, CompletionFeatures, Request, Segment, Work};
use dat_core::{DtoStatus, Operation};

use super::execute::{Step, execute};
use super::receive::Inbound;
use super::state::{Announced, End, Endpoint, Requester, Sq, State};
use super::teardown::Finish;
use crate::errors::no_room;
use crate::outlet::{Upcall, Upcalls};
use crate::window::Bind;

/// A request that was posted; its segments are beside it.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) task: Task,
    pub(super) length: u64,
    pub(super) cookie: u64,
    pub(super) flags: CompletionFlags,
}

/// What a request does.
pub(super) enum Task {
    Work(Work),
    Bind(Bind),
}

impl Default for Task {
    fn default() -> Self {
        Self::Work(Work::Send)
    }
}

impl Task {
    fn operation(&self) -> Operation {
        match self {
            Self::Work(work) => work.operation(),
            Self::Bind(_) => Operation::Bind,
        }
    }
}

impl Requester {
    /// Reports a request that ended, unless it succeeded and is not to be reported.
    #[inline]
    pub(super) fn finish(
        &self,
        pending: &Pending,
        length: u64,
        status: DtoStatus,
        upcall: &mut Upcall,
    ) {
        let failed = status != DtoStatus::Success;
        if !failed && pending.flags.contains(CompletionFlags::SUPPRESS) {
            return self.outlet.skip();
        }
        let completion = Completion {
            tag: 0,
            cookie: pending.cookie,
            length,
            extra: if let Task::Bind(bind) = &pending.task { bind.tag() } else { 0 },
            operation: pending.task.operation(),
            status,
        };
        let unsignalled = pending.flags.contains(CompletionFlags::UNSIGNALLED);
        let features = CompletionFeatures { unsignalled, solicited: false, failed };
        self.outlet.complete(completion, features, upcall);
    }
}

impl Endpoint {
    pub(super) fn post_request(&self, request: &Request<'_>) -> Result<()> {
        let Request { work, length, cookie, flags, .. } = *request;
        self.post(Pending { task: Task::Work(work), length, cookie, flags }, request.segments)
    }

    pub(super) fn post_bind(&self, request: &BindRequest<'_>) -> Result<u32> {
        let bind = Bind::new(request, self.number)?;
        let key = bind.key();
        let BindRequest { cookie, flags, .. } = *request;
        self.post(Pending { task: Task::Bind(bind), length: 0, cookie, flags }, &[])?;
        Ok(key)
    }

    fn post(&self, pending: Pending, segments: &[Segment]) -> Result<()> {
        let mut upcalls = Upcalls::default();
        let mut sq = self.sq.lock();
        let posted = sq.post(pending, segments, &mut upcalls);
        drop(sq);
        upcalls.deliver();
        if let Some(finish) = posted? {
            finish.run(self);
        }
        Ok(())
    }
}

impl Sq {
    /// Executes the request, or stores it at the peer, or flushes it when there is none.
    fn post(
        &mut self,
        pending: Pending,
        segments: &[Segment],
        upcalls: &mut Upcalls,
    ) -> Result<Option<Finish>> {
        let connection = match &self.state {
            State::Connected(connection) if !connection.closing => connection,
            State::Disconnected => return self.post_flushed(&pending, upcalls).map(|()| None),
            state => return Err(state.refusal()),
        };
        if !self.room.take() {
            return Err(no_room());
        }
        let mut rq = connection.peer.rq.lock();
        let rq = &mut *rq;
        let source = match &mut rq.inbound {
            Inbound::Open(source) if source.link == connection.link => source,
            // The connection just ended, and all that was posted before has been flushed.
            _ => {
                self.requests.finish(&pending, 0, DtoStatus::Flushed, &mut upcalls.requests);
                return Ok(None);
            }
        };
        if source.waiting.is_empty() {
            match execute(&pending, segments, &self.requests, &mut rq.receives, upcalls) {
                Step::Done => return Ok(None),
                Step::Stalled => {}
                Step::Broken => {
                    rq.shut(upcalls);
                    let (link, peer) = (connection.link, Arc::clone(&connection.peer));
                    return Ok(Some(Finish { link, peer, end: End::Broken }));
                }
            }
        }
        if source.waiting.push(pending, segments).is_err() {
            self.room.undo();
            return Err(no_room());
        }
        Ok(None)
    }

    fn post_flushed(&mut self, pending: &Pending, upcalls: &mut Upcalls) -> Result<()> {
        if !self.room.take() {
            return Err(no_room());
        }
        self.requests.finish(pending, 0, DtoStatus::Flushed, &mut upcalls.requests);
        Ok(())
    }

    /// How many requests wait at the peer.
    pub(super) fn waiting(&self) -> u32 {
        let State::Connected(connection) = &self.state else { return 0 };
        match &connection.peer.rq.lock().inbound {
            Inbound::Open(source) if source.link == connection.link => source.waiting.count(),
            _ => 0,
        }
    }

    /// Whether a graceful disconnect has to wait; if so the peer's side remembers it.
    pub(super) fn close_later(&mut self) -> bool {
        let State::Connected(connection) = &mut self.state else { return false };
        if connection.announced == Announced::Pending {
            return false;
        }
        let mut rq = connection.peer.rq.lock();
        match &mut rq.inbound {
            Inbound::Open(source)
                if source.link == connection.link && !source.waiting.is_empty() =>
            {
                source.closing = true;
                connection.closing = true;
                true
            }
            _ => false,
        }
    }
}
