//! Local memory regions: memory registered with an adapter.

mod shared;
mod source;
mod sync;

pub(crate) use shared::SharedNames;
pub use source::MemorySource;

use std::mem::ManuallyDrop;
use std::sync::{Arc, Weak};

use dat_sync::Mutex;

use crate::error::{Error, Result, ReturnType, Subtype};
use crate::flags::{MemoryTypes, Privileges};
use crate::ia::{Ia, Object};
use crate::kind::ObjectKind;
use crate::lifecycle::{Base, Hold, object_handle};
use crate::mem::{Memory, Span};
use crate::provider::{MemoryRegion, Registration};
use crate::pz::{Pz, PzInner};
use crate::triplet::{LmrTriplet, RmrTriplet};
use dat_sync::region_table::Region;
use shared::NameUse;

/// A local memory region (dat_lmr_create(3DAT)).
///
/// ```
/// use dat_core::{Memory, MemorySource, Privileges};
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// let pz = ia.pz_create()?;
/// let memory = Memory::zeroed(8192)?;
/// let lmr = ia.lmr_create(MemorySource::Memory(&memory), &pz, Privileges::ALL)?;
/// let header = lmr.triplet(0, 64)?;
/// assert_eq!(header.length, 64);
/// assert!(pz.free().is_err(), "the zone is in use");
/// lmr.free()?;
/// pz.free()?;
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Lmr {
    inner: Arc<LmrInner>,
}

pub(crate) struct LmrInner {
    pub(crate) base: Base,
    pz_id: u64,
    /// `None` once the region is freed.
    uses: Mutex<Option<Uses>>,
    /// Keeps owned memory allocated until it is deregistered, and forever if that fails.
    memory: Option<Memory>,
    span: Span,
    memory_type: MemoryTypes,
    privileges: Privileges,
    context: u32,
    pub(crate) region: Box<dyn MemoryRegion>,
    remote_key: u32,
}

/// The objects that a region uses until it is freed.
struct Uses {
    pz: Hold<PzInner>,
    /// The name of shared memory.
    _name: Option<Box<NameUse>>,
}

object_handle!(Lmr, LmrInner);

/// The parameters of a local memory region (`DAT_LMR_PARAM`; dat_lmr_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LmrParam {
    /// The kind of memory that was registered.
    pub memory_type: MemoryTypes,
    /// The zone that it belongs to.
    pub pz: Pz,
    /// The accesses that it permits.
    pub privileges: Privileges,
    /// The context that names it in local triplets.
    pub lmr_context: u32,
    /// The context that names it in operations of the peer; 0 without a remote privilege.
    pub rmr_context: u32,
    /// The first registered address.
    pub registered_address: u64,
    /// Number of registered bytes.
    pub registered_size: u64,
}

const CREATE: &str = "dat_lmr_create";

/// The privileges that are granted for those requested: remote privileges exactly as requested
/// (dat_lmr_create(3DAT)), but local write implies local read. No transport separates the two, and
/// programs send from memory that they registered only for local writes.
fn granted(asked: Privileges) -> Privileges {
    if asked.contains(Privileges::LOCAL_WRITE) { asked | Privileges::LOCAL_READ } else { asked }
}

impl Ia {
    /// Registers memory (dat_lmr_create(3DAT)): a [`Memory`], the memory of another region, or any other
    /// source.
    ///
    /// # Errors
    /// `DAT_LENGTH_ERROR` for an empty range; `DAT_INVALID_PARAMETER` for a range longer than the
    /// adapter's maximum or outside its addresses, or for a name that denotes other shared memory;
    /// `DAT_INVALID_STATE` for memory that is not mapped as shared; `DAT_INVALID_HANDLE` for a zone
    /// or region that was freed or belongs to another adapter; `DAT_MODEL_NOT_SUPPORTED` for a kind
    /// of memory that the provider does not register; `DAT_INSUFFICIENT_RESOURCES` with the limit
    /// that was reached.
    pub fn lmr_create<'a>(
        &self,
        source: impl Into<MemorySource<'a>>,
        pz: &Pz,
        privileges: Privileges,
    ) -> Result<Lmr> {
        self.register(&source.into(), pz, privileges)
    }

    fn register(&self, source: &MemorySource<'_>, pz: &Pz, privileges: Privileges) -> Result<Lmr> {
        let ia = self.inner();
        ia.check_open(CREATE)?;
        let (span, memory, memory_type) = self.locate(source)?;
        self.check_memory(span, memory_type)?;
        if !Privileges::all().contains(privileges) {
            let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg6)
                .because(format!("privileges {:#x} has unknown bits", privileges.bits()))
                .advise("use only bits of DAT_MEM_PRIV_ALL_FLAG");
            return Err(ia.describe(error, CREATE));
        }
        let atomics = ia.attributes.provider.atomics_supported;
        if privileges.contains(Privileges::REMOTE_ATOMIC) && !atomics {
            let error = Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
                .because("the provider does not support atomic operations");
            return Err(ia.describe(error, CREATE));
        }
        let pz = Hold::new(pz.inner(), ia, CREATE, Subtype::InvalidHandlePz)?;
        let name = self.take_name(source)?;
        let base = ia.new_object(ObjectKind::Lmr, CREATE)?;
        let Registration { region, local_key, remote_key } = pz
            .domain
            .register(span, granted(privileges))
            .map_err(|error| ia.describe(error, CREATE).device(format_args!("memory {span:?}")))?;
        let context = ia.regions.insert(Region {
            address: span.address(),
            length: span.len() as u64,
            owner: pz.owner,
            value: u64::from(local_key),
            access: granted(privileges).bits(),
        });
        let context = context.map_err(|why| {
            let error =
                Error::new(ReturnType::InsufficientResources, Subtype::ResourceMemoryRegion);
            ia.describe(error.because(why.reason()).advise(why.advice()), CREATE)
        })?;
        let inner = Arc::new(LmrInner {
            base,
            pz_id: pz.base.id,
            uses: Mutex::new(Some(Uses { pz, _name: name.map(Box::new) })),
            memory,
            span,
            memory_type,
            privileges,
            context,
            region,
            remote_key,
        });
        ia.insert(&inner.base, Arc::downgrade(&inner), CREATE)?;
        Ok(Lmr { inner })
    }
}

impl Ia {
    /// The live region of the adapter with that context, for consumers that know only the context
    /// (dat_rmr_bind(3DAT) of DAT 1.2).
    #[must_use]
    pub fn lmr_by_context(&self, context: u32) -> Option<Lmr> {
        let found = self
            .inner()
            .select(|lmr: &Weak<LmrInner>| lmr.upgrade().filter(|lmr| lmr.context() == context));
        found.into_iter().next().map(|inner| Lmr { inner })
    }
}

impl Lmr {
    pub(crate) fn inner(&self) -> &Arc<LmrInner> {
        &self.inner
    }

    /// The context that names it in local triplets.
    #[must_use]
    pub fn context(&self) -> u32 {
        self.inner.context
    }

    /// The context that names it in operations of the peer; 0 without a remote privilege.
    #[must_use]
    pub fn rmr_context(&self) -> u32 {
        self.inner.remote_key
    }

    /// The parameters of the region (dat_lmr_query(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn query(&self) -> Result<LmrParam> {
        const QUERY: &str = "dat_lmr_query";
        self.inner.base.check_live(QUERY)?;
        let uses = self.inner.uses.lock();
        let uses = uses.as_ref().ok_or_else(|| self.inner.base.freed(QUERY))?;
        Ok(LmrParam {
            memory_type: self.inner.memory_type,
            pz: Pz::from_inner(uses.pz.arc()),
            privileges: self.inner.privileges,
            lmr_context: self.inner.context,
            rmr_context: self.rmr_context(),
            registered_address: self.inner.span.address(),
            registered_size: self.inner.span.len() as u64,
        })
    }

    /// A piece of the region for local use, by offset and length.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if it is not inside the region.
    pub fn triplet(&self, offset: u64, length: u64) -> Result<LmrTriplet> {
        let address = self.inner.piece(offset, length)?;
        Ok(LmrTriplet { address, length, context: self.inner.context })
    }

    /// A piece of the region for use by the peer, by offset and length.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if it is not inside the region; `DAT_PRIVILEGES_VIOLATION` if the
    /// region has no remote privilege.
    pub fn remote_triplet(&self, offset: u64, length: u64) -> Result<RmrTriplet> {
        let address = self.inner.piece(offset, length)?;
        if !self.inner.privileges.intersects(Privileges::REMOTE) {
            let error = Error::new(ReturnType::PrivilegesViolation, Subtype::PrivilegesRdmaRead)
                .because("the region was registered without remote privileges");
            return Err(self.inner.base.describe(error, "Lmr::remote_triplet"));
        }
        Ok(RmrTriplet { address, length, context: self.rmr_context() })
    }

    /// Frees the region (dat_lmr_free(3DAT)). After the return nothing accesses the memory through
    /// it; operations that name it fail, even if they were posted before.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` while a remote memory region is bound to it; `DAT_INVALID_HANDLE` when
    /// it was freed before; otherwise the error of the provider. The region is freed then, too, but a
    /// peer may still access the memory: a [`Memory`] stays allocated until the process
    /// ends, and other memory must not be used for anything else.
    pub fn free(&self) -> Result<()> {
        const FREE: &str = "dat_lmr_free";
        self.inner.base.retire(FREE, Subtype::InvalidStateLmrInUse)?;
        let done = self.inner.deregister();
        self.inner.base.leave();
        done.map_err(|error| self.inner.base.describe(error, FREE))
    }
}

impl LmrInner {
    pub(crate) fn context(&self) -> u32 {
        self.context
    }

    /// The accesses that it permits.
    pub(crate) fn privileges(&self) -> Privileges {
        granted(self.privileges)
    }

    pub(crate) fn pz_id(&self) -> u64 {
        self.pz_id
    }

    pub(crate) fn contains(&self, address: u64, length: u64) -> bool {
        self.span.pointer(address, length).is_some()
    }

    fn piece(&self, offset: u64, length: u64) -> Result<u64> {
        let address = self.span.address().saturating_add(offset);
        if self.contains(address, length) {
            return Ok(address);
        }
        let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1)
            .because(format!(
                "{length} bytes at offset {offset} exceed the {} bytes",
                self.span.len()
            ))
            .advise("keep offset + length within the region");
        Err(self.base.describe(error, "Lmr::triplet"))
    }

    fn deregister(&self) -> Result<()> {
        self.base.ia.regions.remove(self.context);
        self.base.ia.epochs.end();
        let done = self.region.deregister();
        if done.is_err() {
            // It may still be accessed, so it must not become other memory.
            let _ = ManuallyDrop::new(self.memory.clone());
        }
        *self.uses.lock() = None;
        done
    }
}

impl Object for LmrInner {
    const KIND: ObjectKind = ObjectKind::Lmr;

    fn abandon(&self) {
        if self.base.lifecycle.force() {
            // The adapter ends too, so an error would leave nothing to do.
            let _ = self.deregister();
        }
        self.base.leave();
    }
}

impl Drop for LmrInner {
    fn drop(&mut self) {
        self.abandon();
    }
}
