//! Receives.

use std::mem::MaybeUninit;
use std::ptr::null_mut;

use super::in_flight::{InFlight, Posted, Uses};
use super::segment::gather;
use super::{Error, QueuePair, Result, Segment, Sge, SharedReceiveQueue, Unrecorded};
use crate::sys::dispatch;
use crate::sys::verbs::ibv_recv_wr;

/// The memory of a receive. Its kind decides whether the post has a record
/// ([Records](super#records)).
#[derive(Clone, Copy, Debug)]
pub enum ReceiveData<'a> {
    /// Ranges of regions.
    Segments(&'a [Segment]),
    /// Memory of which the program keeps its own record.
    Unrecorded(Unrecorded<'a>),
}

impl<'a> From<&'a [Segment]> for ReceiveData<'a> {
    fn from(segments: &'a [Segment]) -> Self {
        Self::Segments(segments)
    }
}

impl<'a, const N: usize> From<&'a [Segment; N]> for ReceiveData<'a> {
    fn from(segments: &'a [Segment; N]) -> Self {
        Self::Segments(segments)
    }
}

impl<'a> From<Unrecorded<'a>> for ReceiveData<'a> {
    #[inline(always)]
    fn from(memory: Unrecorded<'a>) -> Self {
        Self::Unrecorded(memory)
    }
}

impl QueuePair {
    /// Posts a receive (ibv_post_recv(3)).
    ///
    /// # Errors
    /// `ENOTCONN`: the queue pair is in the state reset; `ENOMEM`: its receive queue is full;
    /// `EINVAL`: it takes its receives from a shared queue, or does not support that number of
    /// segments. Of a post without a record, only the library checks these.
    #[inline(always)]
    pub fn post_receive<'a>(&self, id: u64, into: impl Into<ReceiveData<'a>>) -> Result<()> {
        match into.into() {
            ReceiveData::Segments(segments) => self.record_receive(id, segments),
            ReceiveData::Unrecorded(memory) => self.post_sges(id, memory.segments),
        }
    }

    fn record_receive(&self, id: u64, segments: &[Segment]) -> Result<()> {
        const CALL: &str = "ibv_post_recv";
        let refused = |errno| Err(Error::new(CALL, errno).on(self.error_object()));
        if !self.can_receive() {
            return refused(libc::ENOTCONN);
        }
        let limit = self.capabilities().max_recv_sge as usize;
        if self.shared_receive_queue().is_some() || segments.len() > limit {
            return refused(libc::EINVAL);
        }
        record(&self.records().receives, CALL, id, segments, |id, sges| self.post_sges(id, sges))
    }

    #[inline(always)]
    fn post_sges(&self, id: u64, segments: &[Sge]) -> Result<()> {
        post_or_empty(segments, |segments| {
            let mut receive = to_c(id, segments);
            let mut bad = MaybeUninit::uninit();
            // SAFETY: the queue pair is alive and the receive well formed; the library copies the
            // segments and does not change them. It writes `bad`, which is never read.
            let code = unsafe { (self.posts.recv)(self.raw(), &raw mut receive, bad.as_mut_ptr()) };
            Error::check("ibv_post_recv", code)
        })
    }
}

impl SharedReceiveQueue {
    /// Posts a receive (ibv_post_srq_recv(3)).
    ///
    /// # Errors
    /// `ENOMEM`: the queue is full; `EINVAL`: more segments than the queue supports, or a region is
    /// deregistered. Of a post without a record, only the library checks these.
    pub fn post_receive<'a>(&self, id: u64, into: impl Into<ReceiveData<'a>>) -> Result<()> {
        const CALL: &str = "ibv_post_srq_recv";
        match into.into() {
            ReceiveData::Segments(segments) if segments.len() > self.max_segments() => {
                Err(Error::new(CALL, libc::EINVAL))
            }
            ReceiveData::Segments(segments) => {
                record(self.in_flight(), CALL, id, segments, |id, sges| self.post_sges(id, sges))
            }
            ReceiveData::Unrecorded(memory) => self.post_sges(id, memory.segments),
        }
    }

    fn post_sges(&self, id: u64, segments: &[Sge]) -> Result<()> {
        post_or_empty(segments, |segments| {
            let mut receive = to_c(id, segments);
            let mut bad = null_mut();
            // SAFETY: the queue is alive and the receive well formed; the library copies the
            // segments and does not change them.
            let code =
                unsafe { dispatch::post_srq_recv(self.raw(), &raw mut receive, &raw mut bad) };
            Error::check("ibv_post_srq_recv", code)
        })
    }
}

/// Posts a receive by `post` and records it.
fn record(
    posts: &InFlight,
    call: &'static str,
    id: u64,
    segments: &[Segment],
    post: impl FnOnce(u64, &[Sge]) -> Result<()>,
) -> Result<()> {
    let (sges, regions) = gather(segments, call)?;
    let uses = Uses { _regions: regions, ..Uses::default() };
    posts.post(Posted { id, _uses: uses }, |id| post(id, &sges))
}

/// An empty segment, for libraries that accept no receive without segments (libsiw). Others read it
/// as 2 GiB, so it is used only after a receive without segments was refused.
const EMPTY: Sge = Sge { addr: 0, length: 0, lkey: 0 };

/// Posts a receive; if the library refuses one without segments, posts it again with an empty one.
#[inline(always)]
fn post_or_empty(segments: &[Sge], post: impl Fn(&[Sge]) -> Result<()>) -> Result<()> {
    match post(segments) {
        Err(error) if segments.is_empty() && error.errno == libc::EINVAL => post_empty(post),
        posted => posted,
    }
}

#[cold]
#[inline(never)]
fn post_empty(post: impl Fn(&[Sge]) -> Result<()>) -> Result<()> {
    post(&[EMPTY])
}

/// Converts a receive to C; the result borrows the segments.
#[inline(always)]
fn to_c(id: u64, segments: &[Sge]) -> ibv_recv_wr {
    ibv_recv_wr {
        wr_id: id,
        next: null_mut(),
        sg_list: segments.as_ptr().cast_mut(),
        num_sge: i32::try_from(segments.len()).unwrap_or(i32::MAX),
    }
}
