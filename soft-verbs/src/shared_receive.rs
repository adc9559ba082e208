//! Shared receive queues.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use arrayvec::ArrayVec;
use dat_provider::flags::CompletionFlags;
use dat_provider::{
    Epoch, MAX_SEGMENTS, ReceiveRequest, Segment, SharedReceiveLimits, SharedReceiveSink,
};
use dat_sync::Mutex;

use crate::async_event::{AsyncElement, AsyncEventType};
use crate::context::Context;
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::in_use::{Use, UseCount};
use crate::request::Sge;

/// The size of a shared receive queue (`ibv_srq_init_attr`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedReceiveInit {
    /// Returned in asynchronous events.
    pub user: u64,
    /// Maximum number of outstanding receives.
    pub max_wr: u32,
    /// Maximum number of segments of a receive.
    pub max_sge: u32,
}

/// The attributes of a shared receive queue (`ibv_srq_attr`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedReceiveAttributes {
    /// Maximum number of outstanding receives.
    pub max_wr: u32,
    /// Maximum number of segments of a receive.
    pub max_sge: u32,
    /// The number of receives below which there is an event; 0 if none was requested, or after the event.
    pub limit: u32,
}

/// A shared receive queue (ibv_create_srq(3)): receives for several queue pairs.
pub struct SharedReceiveQueue {
    domain: Arc<Domain>,
    pub(crate) kit: Arc<dyn dat_provider::SharedReceiveQueue>,
    /// Maximum number of segments of a receive.
    max_sge: u32,
    size: Mutex<SharedReceiveInit>,
    sink: Arc<LimitSink>,
    uses: UseCount,
}

/// Reports that the limit was reached.
struct LimitSink {
    context: Arc<Context>,
    user: AtomicU64,
    limit: AtomicU32,
}

impl SharedReceiveSink for LimitSink {
    fn low_watermark_reached(&self) {
        if self.limit.swap(0, Ordering::AcqRel) != 0 {
            let element = AsyncElement::SharedReceiveQueue(self.user.load(Ordering::Relaxed));
            self.context.async_events().push(AsyncEventType::SharedReceiveLimitReached, element);
        }
    }
}

impl SharedReceiveQueue {
    pub(crate) fn create(domain: &Arc<Domain>, init: &SharedReceiveInit) -> Result<Arc<Self>> {
        let context = domain.context();
        let ia = &context.engine.attributes.ia;
        let most = ia.max_iov_segments_per_dto.min(MAX_SEGMENTS as u32);
        if init.max_wr == 0 || init.max_wr > ia.max_recv_per_srq || init.max_sge > most {
            return Err(Error::invalid(format!(
                "cannot create a shared receive queue of {} receives with {} segments: the limits are {} and {most}",
                init.max_wr, init.max_sge, ia.max_recv_per_srq
            )));
        }
        let used = domain.add_use()?;
        let sink = Arc::new(LimitSink {
            context: Arc::clone(context),
            user: AtomicU64::new(init.user),
            limit: AtomicU32::new(0),
        });
        let size = SharedReceiveInit { max_sge: init.max_sge.max(1), ..*init };
        let limits = SharedReceiveLimits { max_receives: size.max_wr, max_segments: size.max_sge };
        let kit = context.engine.adapter.create_shared_receive_queue(
            Arc::clone(&domain.kit),
            limits,
            Arc::clone(&sink) as Arc<dyn SharedReceiveSink>,
        )?;
        Ok(Arc::new(Self {
            domain: Arc::clone(domain),
            kit,
            max_sge: size.max_sge,
            size: Mutex::new(size),
            sink,
            uses: UseCount::using(vec![used]),
        }))
    }

    /// Its domain.
    #[must_use]
    pub const fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    /// The value in its asynchronous events.
    #[must_use]
    pub fn user(&self) -> u64 {
        self.sink.user.load(Ordering::Relaxed)
    }

    /// Changes the value in its asynchronous events.
    pub fn set_user(&self, user: u64) {
        self.sink.user.store(user, Ordering::Relaxed);
    }

    /// Posts a receive (ibv_post_srq_recv(3)).
    ///
    /// # Errors
    /// `EINVAL` for too many segments, `ENOMEM` if the queue is full.
    pub fn post_receive(&self, wr_id: u64, sges: &[Sge]) -> Result<()> {
        if sges.len() > self.max_sge as usize {
            return Err(Error::plain(
                libc::EINVAL,
                "the receive has more segments than the queue allows",
            ));
        }
        let segments = segments_of(sges, &self.domain)?;
        let flags = CompletionFlags::empty();
        let request =
            ReceiveRequest { segments: &segments, cookie: wr_id, flags, checked: Epoch::default() };
        self.kit.post_receive(&request).map_err(Error::from)
    }

    /// Changes the size, or requests an event when fewer than `limit` receives are on the queue (ibv_modify_srq(3)). What
    /// is `None` stays.
    ///
    /// # Errors
    /// `EINVAL` if the new size is below the number of outstanding receives or beyond the maximum, or the limit beyond the
    /// size.
    pub fn modify(&self, max_wr: Option<u32>, limit: Option<u32>) -> Result<()> {
        let mut size = self.size.lock();
        let most = self.domain.context().engine.attributes.ia.max_recv_per_srq;
        let new = max_wr.unwrap_or(size.max_wr);
        if new == 0 || new > most || limit.is_some_and(|limit| limit > new) {
            return Err(Error::invalid(format!(
                "cannot change the shared receive queue to {new} receives and a limit of {}: at most {most} receives, and \
                 a limit up to their number",
                limit.unwrap_or(0)
            )));
        }
        if max_wr.is_some() {
            self.kit.resize(new)?;
            size.max_wr = new;
        }
        if let Some(limit) = limit {
            self.sink.limit.store(limit, Ordering::Release);
            self.kit.arm_low_watermark(limit);
        }
        Ok(())
    }

    /// Its attributes (ibv_query_srq(3)).
    #[must_use]
    pub fn query(&self) -> SharedReceiveAttributes {
        let size = *self.size.lock();
        let limit = self.sink.limit.load(Ordering::Acquire);
        SharedReceiveAttributes { max_wr: size.max_wr, max_sge: size.max_sge, limit }
    }

    pub(crate) fn add_use(&self) -> Result<Use> {
        self.uses.add()
    }

    /// Destroys it (ibv_destroy_srq(3)).
    ///
    /// # Errors
    /// `EBUSY` while queue pairs use it.
    pub fn destroy(&self) -> Result<()> {
        self.uses.end("cannot destroy the shared receive queue: destroy its queue pairs first")?;
        let element = AsyncElement::SharedReceiveQueue(self.user());
        self.domain.context().async_events().remove(element);
        Ok(())
    }
}

impl std::fmt::Debug for SharedReceiveQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SharedReceiveQueue").field(&*self.size.lock()).finish()
    }
}

/// The segments of a post, as the engine has them.
///
/// # Errors
/// `EINVAL` if there are too many.
pub(crate) fn segments_of(
    sges: &[Sge],
    domain: &Domain,
) -> Result<ArrayVec<Segment, MAX_SEGMENTS>> {
    if sges.len() > MAX_SEGMENTS {
        return Err(Error::plain(
            libc::EINVAL,
            "the request has more segments than the queue allows",
        ));
    }
    let segment = |sge: &Sge| Segment {
        address: domain.address_of(sge),
        length: u64::from(sge.length),
        key: sge.key,
    };
    Ok(sges.iter().map(segment).collect())
}
