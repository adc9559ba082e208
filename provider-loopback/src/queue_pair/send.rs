//! The request side: posting sends, RDMA and binds, in every case.

use dat_core::error::Result;
use dat_core::flags::CompletionFlags;
use dat_core::provider::{BindRequest, Completion, CompletionFeatures, Request, Segment, Work};
use dat_core::{DtoStatus, Operation};
use dat_sync::SlabArc;

use super::execute::{Step, execute};
use super::receive::Inbound;
use super::state::{Announced, End, Endpoint, Requester, Sq, State};
use super::teardown::Finish;
use crate::errors::no_credit;
use crate::upcalls::Upcalls;
use crate::window::Bind;

/// A request that was posted; its segments are in a ring of their own.
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

impl Pending {
    /// The request with its segments, to execute or to end.
    pub(super) fn job<'a>(&'a self, segments: &'a [Segment]) -> Job<'a> {
        let task = match &self.task {
            Task::Work(work) => Doing::Work(work),
            Task::Bind(bind) => Doing::Bind(bind),
        };
        Job { task, segments, length: self.length, cookie: self.cookie, flags: self.flags }
    }
}

/// A request in hand.
pub(super) struct Job<'a> {
    pub(super) task: Doing<'a>,
    pub(super) segments: &'a [Segment],
    pub(super) length: u64,
    pub(super) cookie: u64,
    pub(super) flags: CompletionFlags,
}

/// As [`Task`], of someone else.
#[derive(Clone, Copy)]
pub(super) enum Doing<'a> {
    Work(&'a Work),
    Bind(&'a Bind),
}

impl Job<'_> {
    /// The request, to be stored.
    fn keep(&self) -> Pending {
        let task = match self.task {
            Doing::Work(work) => Task::Work(*work),
            Doing::Bind(bind) => Task::Bind(bind.take()),
        };
        Pending { task, length: self.length, cookie: self.cookie, flags: self.flags }
    }
}

impl Requester {
    /// Reports a request that succeeded.
    #[inline(always)]
    pub(super) fn succeed(
        &self,
        request: &Request<'_>,
        length: u64,
        operation: Operation,
        upcalls: &mut Upcalls,
    ) {
        let unsignalled = request.flags.contains(CompletionFlags::UNSIGNALLED);
        let features = CompletionFeatures { unsignalled, solicited: false, failed: false };
        self.outlet.succeed((request.cookie, length, operation), features, upcalls);
    }

    /// Reports a request that ended.
    pub(super) fn finish(
        &self,
        job: &Job<'_>,
        length: u64,
        status: DtoStatus,
        upcalls: &mut Upcalls,
    ) {
        let failed = status != DtoStatus::Success;
        let (operation, extra) = match job.task {
            Doing::Work(work) => (work.operation(), 0),
            Doing::Bind(bind) => (Operation::Bind, bind.tag()),
        };
        let completion =
            Completion { tag: 0, cookie: job.cookie, length, extra, operation, status };
        let unsignalled = job.flags.contains(CompletionFlags::UNSIGNALLED);
        let features = CompletionFeatures { unsignalled, solicited: false, failed };
        self.outlet.complete(completion, features, upcalls);
    }
}

impl Endpoint {
    /// The long way.
    #[cold]
    #[inline(never)]
    pub(super) fn post_work(&self, request: &Request<'_>) -> Result<()> {
        let Request { work, segments, length, cookie, flags, .. } = request;
        let task = Doing::Work(work);
        self.post(&Job { task, segments, length: *length, cookie: *cookie, flags: *flags })
    }

    pub(super) fn bind(&self, request: &BindRequest<'_>) -> Result<u32> {
        let bind = Bind::new(request, self.number)?;
        let key = bind.key();
        let BindRequest { cookie, flags, .. } = *request;
        self.post(&Job { task: Doing::Bind(&bind), segments: &[], length: 0, cookie, flags })?;
        Ok(key)
    }

    fn post(&self, job: &Job<'_>) -> Result<()> {
        let mut upcalls = Upcalls::default();
        let mut sq = self.sq.lock();
        let posted = sq.post(job, &mut upcalls);
        drop(sq);
        upcalls.deliver();
        match posted {
            Ok(None) => Ok(()),
            Ok(Some(finish)) => {
                finish.run(self);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

impl Sq {
    /// Executes the request, or stores it at the peer, or flushes it when there is none.
    fn post(&mut self, job: &Job<'_>, upcalls: &mut Upcalls) -> Result<Option<Finish>> {
        let connection = match &self.state {
            State::Connected(connection) if !connection.closing => connection,
            State::Disconnected => return self.post_flushed(job, upcalls).map(|()| None),
            state => return Err(state.refusal()),
        };
        if !self.room.try_take() {
            return Err(no_credit());
        }
        let peer = &*connection.peer;
        let mut rq = peer.rq.lock();
        let rq = &mut *rq;
        let source = match &mut rq.inbound {
            Inbound::Open(source) if source.link == connection.link => source,
            // The connection just ended, and all that was posted before has been flushed.
            _ => {
                self.requests.finish(job, 0, DtoStatus::Flushed, upcalls);
                return Ok(None);
            }
        };
        if source.waiting.is_empty() {
            let mut step = execute(job, &self.requests, &mut rq.receives, upcalls);
            if matches!(step, Step::Stalled) && rq.receives.stall(&peer.receiver.wakeup) {
                step = execute(job, &self.requests, &mut rq.receives, upcalls);
            }
            match step {
                Step::Done => return Ok(None),
                Step::Silent => {
                    self.room.give_back();
                    return Ok(None);
                }
                Step::Stalled => {}
                Step::Broken => {
                    rq.shut(&peer.receiver.wakeup, upcalls);
                    let (link, peer) = (connection.link, SlabArc::clone(&connection.peer));
                    return Ok(Some(Finish { link, peer, end: End::Broken }));
                }
            }
        }
        if source.waiting.push(job.keep(), job.segments).is_err() {
            self.room.give_back();
            return Err(no_credit());
        }
        Ok(None)
    }

    fn post_flushed(&mut self, job: &Job<'_>, upcalls: &mut Upcalls) -> Result<()> {
        if !self.room.try_take() {
            return Err(no_credit());
        }
        self.requests.finish(job, 0, DtoStatus::Flushed, upcalls);
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
