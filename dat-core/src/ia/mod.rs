//! The interface adapter: the root of every other object.

mod books;
mod close;
mod open;

pub(crate) use books::{Child, Place};
pub(crate) use open::MAX_SEGMENTS;
pub use open::{AsyncErrors, IaOptions, IaQuery};

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::attr::{EpAttributes, IaAttributes, ProviderAttributes};
use crate::counters::{IaCounter, Tally};
use crate::ep::CommonAttributes;
use crate::error::{Error, Result};
use crate::evd::{EvdInner, EventDispatcher};
use crate::event::{AsyncError, AsyncErrorKind, Event};
use crate::flags::Close;
use crate::kind::ObjectKind;
use crate::lifecycle::{Base, Hold};
use crate::lmr::SharedNames;
use crate::numbering::Numbering;
use crate::provider::{Adapter, AdapterAttributes, AdapterSink, AsyncUpcall, Epochs};
use crate::region_table::RegionTable;

use books::Books;

/// An open instance of an adapter (dat_ia_open(3DAT)). Clones name the same instance.
///
/// ```
/// use dat_core::Close;
/// use dat_core::registry::Registry;
///
/// let registry = Registry::new();
/// registry.add_provider(provider_loopback::provider())?;
/// let ia = registry.open("loopback")?;
/// assert!(ia.attributes().max_eps > 0);
/// ia.close(Close::Graceful)?;
/// # Ok::<(), dat_core::Error>(())
/// ```
///
/// When the last handle and the last object are dropped without a close, the adapter closes.
pub struct InterfaceAdapter {
    inner: Arc<IaInner>,
}

pub(crate) struct IaInner {
    pub(crate) id: u64,
    pub(crate) name: String,
    numbering: Arc<dyn Numbering>,
    pub(crate) attributes: AdapterAttributes,
    /// Contexts of local memory regions; posts read it without a lock.
    pub(crate) regions: Arc<RegionTable>,
    /// Until when what was found there holds.
    pub(crate) epochs: Arc<Epochs>,
    /// Attributes that endpoints have in common.
    pub(crate) ep_attributes: CommonAttributes,
    /// What the consumers of the provider call their shared memory.
    pub(crate) shared_names: Arc<SharedNames>,
    books: Books,
    /// Handles, and objects but for the dispatcher that the adapter made for itself. It and the
    /// adapter keep each other; with nobody else left, the adapter is closed.
    users: AtomicUsize,
    /// Gone once the adapter is closed.
    adapter: Mutex<Option<open::Opened>>,
    async_evd: Mutex<Option<AsyncEvd>>,
    context: AtomicU64,
    pub(crate) tally: Tally<IaCounter>,
}

/// The dispatcher of asynchronous errors.
#[derive(Debug)]
struct AsyncEvd {
    hold: Hold<EvdInner>,
    /// Whether the adapter made it, and so frees it.
    own: bool,
}

impl InterfaceAdapter {
    pub(crate) fn from_inner(inner: &Arc<IaInner>) -> Self {
        inner.begin_use();
        Self { inner: Arc::clone(inner) }
    }

    pub(crate) fn inner(&self) -> &Arc<IaInner> {
        &self.inner
    }

    /// The number of the instance, unique among live objects of the process.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.inner.id
    }

    /// The name that it was opened by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Whether it was not closed yet.
    #[must_use]
    pub fn is_live(&self) -> bool {
        !self.inner.books.is_closed()
    }

    /// What the adapter is and how much it holds (dat_ia_query(3DAT)).
    #[must_use]
    pub fn attributes(&self) -> &IaAttributes {
        &self.inner.attributes.ia
    }

    /// What the provider offers (dat_ia_query(3DAT)).
    #[must_use]
    pub fn provider_attributes(&self) -> &ProviderAttributes {
        &self.inner.attributes.provider
    }

    /// The attributes that an endpoint gets whose maker gives none: enough to send, receive
    /// and do RDMA (dat_ep_create(3DAT)).
    #[must_use]
    pub fn default_ep_attributes(&self) -> &EpAttributes {
        &self.inner.attributes.default_ep
    }

    /// The dispatcher of asynchronous errors, unless it lies out of this consumer's scope
    /// (dat_ia_query(3DAT)).
    #[must_use]
    pub fn async_evd(&self) -> Option<EventDispatcher> {
        let evd = self.inner.async_evd.lock();
        evd.as_ref().map(|evd| EventDispatcher::from_inner(evd.hold.arc()))
    }

    /// What the consumer attached to the instance; 0 before.
    #[must_use]
    pub fn consumer_context(&self) -> u64 {
        self.inner.context.load(Ordering::Relaxed)
    }

    /// Attaches a value of the consumer's (dat_set_consumer_context(3DAT)).
    pub fn set_consumer_context(&self, context: u64) {
        self.inner.context.store(context, Ordering::Relaxed);
    }
}

impl Clone for InterfaceAdapter {
    fn clone(&self) -> Self {
        Self::from_inner(&self.inner)
    }
}

impl Drop for InterfaceAdapter {
    fn drop(&mut self) {
        self.inner.end_use();
    }
}

impl IaInner {
    /// Counts a handle or an object.
    pub(crate) fn begin_use(&self) {
        self.users.fetch_add(1, Ordering::Relaxed);
    }

    /// A handle or an object is gone; the last one closes the adapter.
    pub(crate) fn end_use(&self) {
        if self.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Nobody is left to tell; closed already, there is nothing to do.
            let _ = self.close(Close::Abrupt);
        }
    }

    /// Takes up an object, within the limits of the adapter.
    pub(crate) fn enroll(
        self: &Arc<Self>,
        kind: ObjectKind,
        operation: &'static str,
    ) -> Result<Base> {
        let id = self.numbering.issue(kind).map_err(|error| self.describe(error, operation))?;
        if let Err(error) = self.books.enroll(kind, &self.attributes.ia) {
            self.numbering.retire(kind, id);
            return Err(self.describe(error, operation));
        }
        Ok(Base::new(id, kind, Arc::clone(self)))
    }

    /// Notes where an enrolled object is.
    pub(crate) fn adopt(&self, base: &Base, child: Child, operation: &'static str) -> Result<()> {
        let kind = child.kind();
        let noted = self.books.adopt(base.place(), child);
        noted.map_err(|error| self.describe(error, operation))?;
        if let Some((made, _)) = counters_of(kind) {
            self.tally.count(made);
        }
        Ok(())
    }

    /// The objects of the adapter that a question picks. It is asked under the lock of the
    /// books, so it must keep all that it takes: the end of an object needs that lock.
    pub(crate) fn children<T>(&self, pick: impl Fn(&Child) -> Option<T>) -> Vec<T> {
        self.books.pick(pick)
    }

    pub(crate) fn leave(&self, kind: ObjectKind, id: u64, place: &Place) {
        self.books.leave(kind, place);
        self.numbering.retire(kind, id);
        if let Some((_, freed)) = counters_of(kind) {
            self.tally.count(freed);
        }
    }

    pub(crate) fn reserve_reads(&self, before: (u32, u32), wanted: (u32, u32)) -> Result<()> {
        self.books.reserve_reads(before, wanted, &self.attributes.ia)
    }

    pub(crate) fn return_reads(&self, reads: (u32, u32), instead: (u32, u32)) {
        self.books.return_reads(reads, instead);
    }

    /// Fails once the adapter is closed.
    pub(crate) fn check_open(&self, operation: &'static str) -> Result<()> {
        self.books.check_open().map_err(|error| self.describe(error, operation))
    }

    /// The provider's adapter, until the close.
    pub(crate) fn adapter(&self, operation: &'static str) -> Result<Arc<dyn Adapter>> {
        let adapter = self.adapter.lock();
        let opened = adapter.as_ref().map(|opened| Arc::clone(&opened.adapter));
        opened.ok_or_else(|| self.describe(books::closed(), operation))
    }

    /// Adds what every error of a call on the adapter says.
    pub(crate) fn describe(&self, error: Error, operation: &'static str) -> Error {
        error.during(operation).on(format_args!("IA {:?}", self.name))
    }

    /// Reports an asynchronous error to the consumer, if it listens.
    pub(crate) fn raise_async(&self, kind: AsyncErrorKind, object: u64) {
        self.tally.count(IaCounter::AsyncError);
        let evd = self.async_evd.lock().as_ref().map(|evd| Arc::clone(evd.hold.arc()));
        if let Some(evd) = evd {
            // When even this dispatcher is full there is nobody left to tell.
            let _ = evd.raise_async(Event::Async(AsyncError { kind, object }));
        }
    }
}

/// What counts the making and freeing of a kind of object.
fn counters_of(kind: ObjectKind) -> Option<(IaCounter, IaCounter)> {
    Some(match kind {
        ObjectKind::Pz => (IaCounter::PzCreate, IaCounter::PzFree),
        ObjectKind::Lmr => (IaCounter::LmrCreate, IaCounter::LmrFree),
        ObjectKind::Rmr => (IaCounter::RmrCreate, IaCounter::RmrFree),
        ObjectKind::Psp => (IaCounter::PspCreate, IaCounter::PspFree),
        ObjectKind::Rsp => (IaCounter::RspCreate, IaCounter::RspFree),
        ObjectKind::Evd => (IaCounter::EvdCreate, IaCounter::EvdFree),
        ObjectKind::Ep => (IaCounter::EpCreate, IaCounter::EpFree),
        ObjectKind::Srq => (IaCounter::SrqCreate, IaCounter::SrqFree),
        ObjectKind::Cr | ObjectKind::Ia | ObjectKind::Cno | ObjectKind::Csp => return None,
    })
}

/// Passes the provider's asynchronous events on to the adapter.
pub(crate) struct IaSink {
    ia: std::sync::OnceLock<std::sync::Weak<IaInner>>,
}

impl AdapterSink for IaSink {
    fn async_event(&self, event: AsyncUpcall) {
        let Some(ia) = self.ia.get().and_then(std::sync::Weak::upgrade) else { return };
        match event {
            AsyncUpcall::Catastrophic => ia.raise_async(AsyncErrorKind::IaCatastrophic, ia.id),
            AsyncUpcall::QueuePairBroken { tag } => ia.raise_async(AsyncErrorKind::EpBroken, tag),
            AsyncUpcall::ProviderInternal => {
                ia.raise_async(AsyncErrorKind::ProviderInternal, ia.id);
            }
        }
    }
}

impl PartialEq for InterfaceAdapter {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for InterfaceAdapter {}

impl fmt::Debug for InterfaceAdapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl fmt::Debug for IaInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IA {} ({:?})", self.id, self.name)
    }
}
