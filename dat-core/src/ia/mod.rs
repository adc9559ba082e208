//! The interface adapter: the root of every other object.

mod children;
mod close;
mod open;

pub(crate) use children::{Child, ChildKey, Object};
pub use open::{AsyncEvd, IaOptions, IaQuery};

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use dat_sync::Mutex;

use crate::attr::{EpAttributes, IaAttributes, ProviderAttributes};
use crate::claim::ClaimableProgress;
use crate::compat::Compat;
use crate::counters::{CounterSet, Counters, DeviceBase, IaCounter};
use crate::ep::CommonAttributes;
use crate::error::{Error, Result};
use crate::event::{AsyncError, AsyncErrorKind};
use crate::flags::Close;
use crate::id_allocator::IdAllocator;
use crate::kind::ObjectKind;
use crate::lifecycle::{Base, Based};
use crate::lmr::SharedNames;
use crate::monitor;
use crate::provider::{
    Adapter, AdapterAttributes, AdapterSink, AsyncUpcall, DeviceCounters, Epochs, Reach,
};
use crate::registry::ProviderUse;
use dat_sync::Process;
use dat_sync::region_table::RegionTable;

use children::ChildTable;

/// An open instance of an adapter (dat_ia_open(3DAT)). Clones refer to the same instance.
///
/// ```
/// use dat_core::Close;
/// use dat_core::provider::stub::StubProvider;
/// use dat_core::registry::Registry;
///
/// let registry = Registry::new();
/// registry.add_provider(std::sync::Arc::new(StubProvider))?;
/// let ia = registry.open("stub")?;
/// assert!(ia.attributes().max_eps > 0);
/// ia.close(Close::Graceful)?;
/// # Ok::<(), dat_core::Error>(())
/// ```
///
/// When the last handle and the last object are dropped without a close, the adapter closes by
/// itself.
pub struct Ia {
    inner: Arc<IaInner>,
}

pub(crate) struct IaInner {
    pub(crate) id: u64,
    /// The process that opened the adapter.
    pub(crate) process: Process,
    pub(crate) name: String,
    id_allocator: Arc<dyn IdAllocator>,
    pub(crate) attributes: AdapterAttributes,
    reach: Reach,
    /// Which rules of the manual pages are relaxed.
    pub(crate) compat: Compat,
    /// Contexts of local memory regions; posts read it without a lock.
    pub(crate) regions: Arc<RegionTable>,
    /// How long what was found in `regions` stays valid.
    pub(crate) epochs: Arc<Epochs>,
    /// Attributes that endpoints share.
    pub(crate) ep_attributes: CommonAttributes,
    /// The names that consumers of the provider gave to shared memory.
    pub(crate) shared_names: Arc<SharedNames>,
    children: ChildTable,
    /// Number of handles and of objects, without the dispatcher that the adapter created for
    /// itself. That dispatcher and the adapter keep each other alive; when the number drops to 0,
    /// the adapter is closed.
    users: AtomicUsize,
    /// The progress of the connections, if waiters can make it.
    pub(crate) progress: Option<Arc<ClaimableProgress>>,
    /// `None` once the adapter is closed.
    adapter: Mutex<Option<Opened>>,
    async_errors: Mutex<Option<AsyncTarget>>,
    context: AtomicU64,
    pub(crate) counter_set: CounterSet<IaCounter>,
    /// Where the counters that the provider counts began.
    device: DeviceBase,
    /// True if the counters of its objects are started when they are created.
    pub(crate) counts_all: bool,
    /// True once the thread of the monitor samples it, or if it never will.
    pub(crate) is_sampled: AtomicBool,
}

/// The provider's adapter, and the guard that keeps the provider from being removed.
pub(crate) struct Opened {
    adapter: Arc<dyn Adapter>,
    _in_use: ProviderUse,
}

/// A dispatcher that takes asynchronous errors, as the adapter sees it.
pub(crate) trait AsyncErrorSink: Based + Send + Sync {
    /// Queues the error, if the dispatcher has a free entry.
    fn raise(&self, error: AsyncError);

    /// Frees the dispatcher even while others use it.
    fn abandon(&self);

    /// The dispatcher as `Any`, to be downcast to its own type.
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

/// The dispatcher of asynchronous errors.
struct AsyncTarget {
    sink: Arc<dyn AsyncErrorSink>,
    /// Keeps the dispatcher from being freed.
    hold: Box<dyn Any + Send + Sync>,
    /// True if the adapter created the dispatcher, and so frees it.
    own: bool,
}

impl Ia {
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

    /// The process that opened it.
    #[doc(hidden)]
    #[must_use]
    pub fn process(&self) -> Process {
        self.inner.process
    }

    /// The reach of its connections.
    #[must_use]
    pub fn reach(&self) -> Reach {
        self.inner.reach
    }

    /// Returns true if it has not been closed.
    #[must_use]
    pub fn is_live(&self) -> bool {
        !self.inner.children.is_closed()
    }

    /// The attributes and limits of the adapter (dat_ia_query(3DAT)).
    #[must_use]
    pub fn attributes(&self) -> &IaAttributes {
        &self.inner.attributes.ia
    }

    /// The attributes of the provider (dat_ia_query(3DAT)).
    #[must_use]
    pub fn provider_attributes(&self) -> &ProviderAttributes {
        &self.inner.attributes.provider
    }

    /// The attributes of an endpoint that is created without any: enough to send, receive and do
    /// RDMA (dat_ep_create(3DAT)).
    #[must_use]
    pub fn default_ep_attributes(&self) -> &EpAttributes {
        &self.inner.attributes.default_ep
    }

    /// The value that the consumer attached to the instance; 0 if none.
    #[must_use]
    pub fn consumer_context(&self) -> u64 {
        self.inner.context.load(Ordering::Relaxed)
    }

    /// Attaches a value of the consumer (dat_set_consumer_context(3DAT)).
    pub fn set_consumer_context(&self, context: u64) {
        self.inner.context.store(context, Ordering::Relaxed);
    }
}

impl Clone for Ia {
    fn clone(&self) -> Self {
        Self::from_inner(&self.inner)
    }
}

impl Drop for Ia {
    fn drop(&mut self) {
        if self.inner.process.is_current() {
            self.inner.end_use();
        } else {
            // The device resources belong to the parent, so the child must not release them.
            let _ = std::mem::ManuallyDrop::new(Arc::clone(&self.inner));
        }
    }
}

impl IaInner {
    /// Counts a handle or an object.
    pub(crate) fn begin_use(&self) {
        self.users.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the use by a handle or an object; the last one closes the adapter.
    pub(crate) fn end_use(&self) {
        if self.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            // No caller is left to report an error to. On a closed adapter the call does nothing.
            let _ = self.close(Close::Abrupt);
        }
    }

    /// Counts a new object, within the limits of the adapter, and gives it an id.
    pub(crate) fn new_object(
        self: &Arc<Self>,
        kind: ObjectKind,
        operation: &'static str,
    ) -> Result<Base> {
        self.check_process(operation)?;
        let id =
            self.id_allocator.allocate(kind).map_err(|error| self.describe(error, operation))?;
        if let Err(error) = self.children.reserve(kind, &self.attributes.ia) {
            self.id_allocator.release(kind, id);
            return Err(self.describe(error, operation));
        }
        Ok(Base::new(id, kind, Arc::clone(self)))
    }

    /// Enters an object into the table of the adapter, so that an abrupt close reaches it.
    pub(crate) fn insert(
        &self,
        base: &Base,
        child: impl Child,
        operation: &'static str,
    ) -> Result<()> {
        let kind = base.kind;
        let inserted = self.children.insert(base.child_key(), Box::new(child));
        inserted.map_err(|error| self.describe(error, operation))?;
        if let Some((made, _)) = counters_of(kind) {
            self.counter_set.count(made);
        }
        Ok(())
    }

    /// Number of objects of a kind.
    pub(crate) fn count_of(&self, kind: ObjectKind) -> u32 {
        self.children.count_of(kind)
    }

    /// See [`ChildTable::select`].
    pub(crate) fn select<C: Child, T>(&self, select: impl Fn(&C) -> Option<T>) -> Vec<T> {
        self.children.select(select)
    }

    pub(crate) fn remove(&self, kind: ObjectKind, id: u64, key: &ChildKey) {
        self.children.remove(kind, key);
        self.id_allocator.release(kind, id);
        if let Some((_, freed)) = counters_of(kind) {
            self.counter_set.count(freed);
        }
    }

    pub(crate) fn reserve_reads(&self, before: (u32, u32), wanted: (u32, u32)) -> Result<()> {
        self.children.reserve_reads(before, wanted, &self.attributes.ia)
    }

    pub(crate) fn return_reads(&self, reads: (u32, u32), instead: (u32, u32)) {
        self.children.return_reads(reads, instead);
    }

    /// Fails in a child of the process that opened the adapter; see [`Base::check_process`].
    pub(crate) fn check_process(&self, operation: &'static str) -> Result<()> {
        if self.process.is_current() {
            return Ok(());
        }
        Err(self.describe(Error::other_process(self.process), operation))
    }

    /// Fails once the adapter is closed, and in a child of its process.
    pub(crate) fn check_open(&self, operation: &'static str) -> Result<()> {
        self.check_process(operation)?;
        self.children.check_open().map_err(|error| self.describe(error, operation))
    }

    /// The provider's adapter, until the close.
    pub(crate) fn adapter(&self, operation: &'static str) -> Result<Arc<dyn Adapter>> {
        self.check_process(operation)?;
        let adapter = self.adapter.lock();
        let opened = adapter.as_ref().map(|opened| Arc::clone(&opened.adapter));
        opened.ok_or_else(|| self.describe(children::closed(), operation))
    }

    /// Starts or stops the counters.
    pub(crate) fn set_counted(&self, is_counted: bool) {
        if is_counted {
            self.counter_set.switch(true);
            self.device.start(self.device_counters());
            monitor::sample(self);
        } else {
            self.device.stop(self.device_counters(), &self.counter_set);
            self.counter_set.switch(false);
        }
    }

    /// The counters, which are reset if `reset` is set.
    pub(crate) fn counters(&self, reset: bool) -> Counters<IaCounter> {
        let mut counters = self.counter_set.read(reset);
        self.device.add_to(&mut counters, self.device_counters(), reset);
        counters
    }

    /// The provider's counts so far.
    fn device_counters(&self) -> DeviceCounters {
        let adapter = self.adapter.lock().as_ref().map(|opened| Arc::clone(&opened.adapter));
        adapter.map(|adapter| adapter.counters()).unwrap_or_default()
    }

    /// Adds the context that all errors of calls on the adapter share.
    pub(crate) fn describe(&self, error: Error, operation: &'static str) -> Error {
        error.during(operation).on(format_args!("IA {:?}", self.name))
    }

    /// Returns true if another open instance belongs to the same adapter and, if completions
    /// matter, can share its completion queues.
    pub(crate) fn is_same_adapter(&self, other: &Self, completions: bool) -> bool {
        // All adapters of a provider share one set of names.
        let one_provider = Arc::ptr_eq(&self.shared_names, &other.shared_names);
        let scope = self.attributes.completion_scope;
        let one_place = scope.is_some() && scope == other.attributes.completion_scope;
        one_provider && self.name == other.name && (one_place || !completions)
    }

    /// Reports an asynchronous error to the consumer, if there is a dispatcher for it.
    pub(crate) fn raise_async(&self, kind: AsyncErrorKind, object: u64) {
        self.counter_set.count(IaCounter::AsyncError);
        match kind {
            AsyncErrorKind::EpBroken => self.counter_set.count(IaCounter::AsyncQpError),
            AsyncErrorKind::EvdOverflow => self.counter_set.count(IaCounter::AsyncCqError),
            _ => {}
        }
        let sink = self.async_errors.lock().as_ref().map(|target| Arc::clone(&target.sink));
        if let Some(sink) = sink {
            sink.raise(AsyncError { kind, object });
        }
    }
}

/// The counters for the creation and freeing of objects of a kind.
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

/// Forwards the provider's asynchronous events to the adapter.
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

impl PartialEq for Ia {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Ia {}

impl fmt::Debug for Ia {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl fmt::Debug for IaInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IA {} ({:?})", self.id, self.name)
    }
}
