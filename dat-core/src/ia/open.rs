//! Opening an adapter by name.

use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, OnceLock};

use dat_sync::Mutex;

use super::children::ChildTable;
use super::{AsyncErrorSink, AsyncTarget, Ia, IaInner, IaSink, Opened};
use crate::attr::{IaAttributes, ProviderAttributes};
use crate::claim::ClaimableProgress;
use crate::compat::Compat;
use crate::counters::{CounterSet, DeviceBase};
use crate::ep::CommonAttributes;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::evd::{Evd, EvdInner, EvdOptions};
use crate::flags::EvdFlags;
use crate::kind::ObjectKind;
use crate::lifecycle::Hold;
use crate::monitor;
use crate::provider::{Adapter, AdapterAttributes, AdapterSink, MAX_SEGMENTS};
use crate::registry::{ApiVersion, Candidate, Registry, merge};
use dat_sync::Process;
use dat_sync::biased::fence;
use dat_sync::region_table::RegionTable;

const OPEN: &str = "dat_ia_open";

/// The options of an open (dat_ia_open(3DAT)).
///
/// ```
/// use dat_core::{AsyncEvd, IaOptions, Registry};
///
/// let registry = Registry::new();
/// registry.add_provider(dat_provider_loopback::provider())?;
/// let async_evd = AsyncEvd::Create { min_qlen: Some(100) };
/// let ia = registry.open_with("loopback", &IaOptions { async_evd, ..IaOptions::default() })?;
/// assert!(ia.async_evd().expect("its own dispatcher").query()?.qlen >= 100);
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct IaOptions {
    /// The version of the API that the name must be registered for.
    pub version: ApiVersion,
    /// The dispatcher of asynchronous errors.
    pub async_evd: AsyncEvd,
}

/// The dispatcher of an adapter's asynchronous errors.
#[derive(Clone, Debug)]
pub enum AsyncEvd {
    /// One that the adapter creates.
    Create {
        /// Number of events that it must hold, at least 1; by default a length that fits the
        /// adapter.
        min_qlen: Option<u32>,
    },
    /// A dispatcher of the consumer, of any open instance. The close does not free it.
    Existing(Evd),
    /// One that this process cannot access, so that it gets no such errors
    /// (`DAT_EVD_ASYNC_EXISTS`).
    Foreign,
}

impl Default for IaOptions {
    fn default() -> Self {
        Self { version: ApiVersion::ANY, async_evd: AsyncEvd::Create { min_qlen: None } }
    }
}

impl Registry {
    /// Opens an adapter, which creates its own dispatcher of asynchronous errors
    /// (dat_ia_open(3DAT)).
    ///
    /// # Errors
    /// `DAT_PROVIDER_NOT_FOUND` for an unknown name, with similar names; otherwise the error of the
    /// provider.
    pub fn open(&self, name: &str) -> Result<Ia> {
        self.open_with(name, &IaOptions::default())
    }

    /// Opens an adapter with options (dat_ia_open(3DAT)).
    ///
    /// # Errors
    /// As [`Registry::open`]; `DAT_INVALID_PARAMETER` for a queue length of 0 or above the
    /// adapter's maximum; `DAT_INVALID_HANDLE` for a dispatcher that was freed or not created for
    /// asynchronous errors.
    pub fn open_with(&self, name: &str, options: &IaOptions) -> Result<Ia> {
        let mut failures = Vec::new();
        for candidate in self.resolve(name, options.version)? {
            match candidate.open(options) {
                Ok(ia) => return Ok(ia),
                Err(error) => failures.push(error),
            }
        }
        Err(merge(name, failures))
    }
}

/// An adapter that was opened only to be queried (dat_ib_open_query); dropping it closes it
/// (dat_ib_close_query).
///
/// ```
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// let query = registry.open_query("loopback")?;
/// assert!(query.attributes().max_eps > 0);
/// assert!(query.provider_attributes().srq_supported);
/// # Ok::<(), dat_core::Error>(())
/// ```
pub struct IaQuery {
    opened: Opened,
    attributes: AdapterAttributes,
    process: Process,
}

impl Drop for IaQuery {
    fn drop(&mut self) {
        if !self.process.is_current() {
            // The device resources belong to the parent, so the child must not release them.
            let _ = std::mem::ManuallyDrop::new(Arc::clone(&self.opened.adapter));
        }
    }
}

impl IaQuery {
    /// The attributes and limits of the adapter.
    #[must_use]
    pub fn attributes(&self) -> &IaAttributes {
        &self.attributes.ia
    }

    /// The attributes of the provider.
    #[must_use]
    pub fn provider_attributes(&self) -> &ProviderAttributes {
        &self.attributes.provider
    }
}

impl std::fmt::Debug for IaQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let _ = &self.opened;
        write!(f, "query of IA {:?}", self.attributes.ia.adapter_name)
    }
}

impl Registry {
    /// Opens an adapter only to query its attributes: no object can be created on it
    /// (dat_ib_open_query).
    ///
    /// # Errors
    /// As [`Registry::open`].
    pub fn open_query(&self, name: &str) -> Result<IaQuery> {
        let mut failures = Vec::new();
        for candidate in self.resolve(name, ApiVersion::ANY)? {
            match candidate.open_query() {
                Ok(query) => return Ok(query),
                Err(error) => failures.push(error),
            }
        }
        Err(merge(name, failures))
    }
}

impl Candidate {
    /// Opens the adapter (dat_ia_open(3DAT)). The version in the options is ignored: the look-up
    /// has already checked it.
    ///
    /// # Errors
    /// As [`Registry::open_with`].
    pub fn open(self, options: &IaOptions) -> Result<Ia> {
        let compat = self.compat.relaxed().map_err(|error| self.describe(error, OPEN))?;
        let shown = self.monitor.shown().map_err(|error| self.describe(error, OPEN))?;
        let counts_all = self.monitor.counts_all().map_err(|error| self.describe(error, OPEN))?;
        let sink = Arc::new(IaSink { ia: OnceLock::new() });
        let adapter = self.open_adapter(Arc::clone(&sink) as _, OPEN)?;
        let ia = self.opened(adapter, compat, counts_all, &sink)?;
        monitor::join(ia.inner(), &shown).map_err(|error| ia.inner().describe(error, OPEN))?;
        if counts_all {
            ia.inner().set_counted(true);
        }
        match &options.async_evd {
            AsyncEvd::Create { min_qlen } => ia.make_async_evd(*min_qlen)?,
            AsyncEvd::Existing(evd) => ia.use_async_evd(evd, false)?,
            AsyncEvd::Foreign => {}
        }
        Ok(ia)
    }

    /// The adapter as an object. Not part of the frame of [`open`](Self::open), which is on the stack while the
    /// provider opens the adapter.
    #[inline(never)]
    fn opened(
        self,
        adapter: Arc<dyn Adapter>,
        compat: Compat,
        counts_all: bool,
        sink: &IaSink,
    ) -> Result<Ia> {
        let attributes = within_reach(adapter.attributes());
        let progress = adapter.waiter_progress().and_then(ClaimableProgress::new);
        let id = self.id_allocator.allocate(ObjectKind::Ia).map_err(|error| error.during(OPEN))?;
        let inner = Arc::new(IaInner {
            id,
            process: Process::current(),
            id_allocator: self.id_allocator,
            name: self.adapter_name,
            attributes,
            reach: self.provider.describe().reach,
            compat,
            regions: Arc::new(RegionTable::new()),
            epochs: Arc::default(),
            ep_attributes: CommonAttributes::default(),
            shared_names: Arc::clone(self.guard.shared_names()),
            children: ChildTable::default(),
            progress,
            adapter: Mutex::new(Some(Opened { adapter, _in_use: self.guard })),
            async_errors: Mutex::new(None),
            users: AtomicUsize::new(0),
            context: std::sync::atomic::AtomicU64::new(0),
            counter_set: CounterSet::default(),
            device: DeviceBase::default(),
            counts_all,
            is_sampled: AtomicBool::new(false),
        });
        let _ = sink.ia.set(Arc::downgrade(&inner));
        Ok(Ia::from_inner(&inner))
    }

    /// Opens the adapter only to query its attributes (dat_ib_open_query).
    ///
    /// # Errors
    /// As [`Registry::open`].
    pub fn open_query(self) -> Result<IaQuery> {
        self.compat.relaxed().map_err(|error| self.describe(error, "dat_ib_open_query"))?;
        let sink = Arc::new(IaSink { ia: OnceLock::new() });
        let adapter = self.open_adapter(sink, "dat_ib_open_query")?;
        let attributes = within_reach(adapter.attributes());
        let opened = Opened { adapter, _in_use: self.guard };
        Ok(IaQuery { opened, attributes, process: Process::current() })
    }

    fn open_adapter(
        &self,
        sink: Arc<dyn AdapterSink>,
        operation: &'static str,
    ) -> Result<Arc<dyn Adapter>> {
        // Registers the process for fast fences before the provider starts threads. The kernel takes
        // microseconds to register a process with one thread, and 10 ms if there are more.
        let _ = fence::is_available();
        dat_provider_hooks::open(&*self.provider, self.request(sink))
            .map_err(|error| self.describe(error, operation))
    }

    fn describe(&self, error: Error, operation: &'static str) -> Error {
        error.during(operation).on(format_args!("IA {:?}, {}", self.adapter_name, self.origin))
    }
}

/// Limits the attributes to what the core supports.
fn within_reach(mut attributes: AdapterAttributes) -> AdapterAttributes {
    let most = MAX_SEGMENTS as u32;
    let ia = &mut attributes.ia;
    for limit in [
        &mut ia.max_iov_segments_per_dto,
        &mut ia.max_iov_segments_per_rdma_read,
        &mut ia.max_iov_segments_per_rdma_write,
    ] {
        *limit = (*limit).min(most);
    }
    ia.max_lmrs = ia.max_lmrs.min(RegionTable::CAPACITY);
    attributes
}

impl Ia {
    /// The dispatcher of asynchronous errors, unless it is outside this consumer's scope
    #[must_use]
    pub fn async_evd(&self) -> Option<Evd> {
        let sink = self.inner.async_errors.lock().as_ref().map(|it| Arc::clone(&it.sink))?;
        let evd = sink.into_any().downcast::<EvdInner>().ok()?;
        Some(Evd::from_inner(&evd))
    }

    fn make_async_evd(&self, min_qlen: Option<u32>) -> Result<()> {
        const USUAL: u32 = 8;
        let min_qlen = min_qlen.unwrap_or_else(|| USUAL.min(self.attributes().max_evd_qlen));
        let evd =
            self.evd_create(&EvdOptions::new(min_qlen, EvdFlags::ASYNC)).map_err(|error| {
                if error.is(ReturnType::InvalidParameter) {
                    error.with_subtype(Subtype::InvalidArg2).during(OPEN)
                } else {
                    error.during(OPEN)
                }
            })?;
        self.use_async_evd(&evd, true)?;
        evd.inner().base.belong_to_adapter();
        Ok(())
    }

    fn use_async_evd(&self, evd: &Evd, own: bool) -> Result<()> {
        let subtype = Subtype::InvalidHandleEvdAsync;
        let hold = Hold::of_any_adapter(evd.inner(), OPEN, subtype)?;
        if !hold.flags().contains(EvdFlags::ASYNC) {
            let error = Error::new(ReturnType::InvalidHandle, subtype)
                .because(format!("the dispatcher was created for {}", hold.flags()))
                .advise("create it with DAT_EVD_ASYNC_FLAG");
            return Err(self.inner.describe(error, OPEN));
        }
        let sink = Arc::clone(hold.arc()) as Arc<dyn AsyncErrorSink>;
        *self.inner.async_errors.lock() = Some(AsyncTarget { sink, hold: Box::new(hold), own });
        Ok(())
    }
}
