//! The objects that exist on an adapter, and how many of each kind it allows.

use std::sync::Weak;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use dat_sync::Mutex;
use slab::Slab;

use crate::attr::IaAttributes;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::kind::ObjectKind;
use crate::provider::Downcast;

/// An object of an adapter, as the abrupt close uses it.
pub(crate) trait Object: Send + Sync + 'static {
    /// The kind of the object.
    const KIND: ObjectKind;

    /// Ends the object even while others use it.
    fn abandon(&self);
}

/// A weak reference to an object of an adapter.
pub(crate) trait Child: Downcast {
    /// The kind of the object.
    fn kind(&self) -> ObjectKind;

    /// Ends the object even while others use it; no effect once it was dropped.
    fn abandon(&self);
}

impl<T: Object> Child for Weak<T> {
    fn kind(&self) -> ObjectKind {
        T::KIND
    }

    fn abandon(&self) {
        if let Some(object) = self.upgrade() {
            object.abandon();
        }
    }
}

/// The key of an object in the table; empty while the object is being created.
#[derive(Debug)]
pub(crate) struct ChildKey(AtomicU32);

impl ChildKey {
    const NONE: u32 = u32::MAX;
}

impl Default for ChildKey {
    fn default() -> Self {
        Self(AtomicU32::new(Self::NONE))
    }
}

/// The table of children. An object is counted before it is created and entered afterwards.
#[derive(Default)]
pub(crate) struct ChildTable {
    counts: [AtomicU32; ObjectKind::ALL.len()],
    /// Set under the lock of `children`; never cleared.
    closed: AtomicBool,
    children: Mutex<Slab<Box<dyn Child>>>,
    reads: Mutex<Reads>,
}

/// Number of RDMA reads that the endpoints have reserved from the totals of the adapter.
#[derive(Debug, Default)]
struct Reads {
    inward: u32,
    outward: u32,
}

impl ChildTable {
    /// Counts a new object of a kind, if the limit of the adapter allows one more.
    pub(crate) fn reserve(&self, kind: ObjectKind, limits: &IaAttributes) -> Result<()> {
        self.check_open()?;
        let (limit, subtype) = limit_of(kind, limits);
        let one_more = |count| (count < limit).then_some(count + 1);
        match self.counts[kind as usize].fetch_update(
            Ordering::Relaxed,
            Ordering::Relaxed,
            one_more,
        ) {
            Ok(_) => Ok(()),
            Err(_) => Err(full(kind, limit, subtype)),
        }
    }

    /// Enters an object that was counted; fails if the adapter was closed in between.
    pub(crate) fn insert(&self, key: &ChildKey, child: Box<dyn Child>) -> Result<()> {
        let mut children = self.children.lock();
        self.check_open()?;
        // The limits of all kinds together are far below u32::MAX.
        let index = u32::try_from(children.insert(child)).unwrap_or(ChildKey::NONE);
        key.0.store(index, Ordering::Relaxed);
        Ok(())
    }

    /// Collects what `select` returns for the references of one type. It runs under the lock of the
    /// table and so must keep every strong reference that it creates: dropping an object takes that
    /// lock.
    pub(crate) fn select<C: Child, T>(&self, select: impl Fn(&C) -> Option<T>) -> Vec<T> {
        let children = self.children.lock();
        let of_type =
            children.iter().filter_map(|(_, child)| (**child).as_any().downcast_ref::<C>());
        of_type.filter_map(select).collect()
    }

    /// Removes an object that was counted. Called once per object.
    pub(crate) fn remove(&self, kind: ObjectKind, key: &ChildKey) {
        let index = key.0.load(Ordering::Relaxed);
        if index != ChildKey::NONE {
            // An abrupt close may have removed it already.
            drop(self.children.lock().try_remove(index as usize));
        }
        self.counts[kind as usize].fetch_sub(1, Ordering::Relaxed);
    }

    /// Reserves RDMA reads of an endpoint from the totals of the adapter, instead of `before`.
    pub(crate) fn reserve_reads(
        &self,
        before: (u32, u32),
        wanted: (u32, u32),
        limits: &IaAttributes,
    ) -> Result<()> {
        let mut reads = self.reads.lock();
        let inward =
            total(reads.inward, before.0, wanted.0, limits.max_rdma_read_in).map_err(|rest| {
                few_reads("max_rdma_read_in", wanted.0, rest, limits.max_rdma_read_in)
            })?;
        let outward =
            total(reads.outward, before.1, wanted.1, limits.max_rdma_read_out).map_err(|rest| {
                few_reads("max_rdma_read_out", wanted.1, rest, limits.max_rdma_read_out)
            })?;
        *reads = Reads { inward, outward };
        Ok(())
    }

    /// Releases reads and reserves `instead`, which were reserved before and so fit.
    pub(crate) fn return_reads(&self, back: (u32, u32), instead: (u32, u32)) {
        let mut reads = self.reads.lock();
        reads.inward = reads.inward.saturating_sub(back.0) + instead.0;
        reads.outward = reads.outward.saturating_sub(back.1) + instead.1;
    }

    /// Closes the table if it holds no object of the consumer; `own` says that it still holds the
    /// dispatcher that the adapter created for itself.
    pub(crate) fn close_if_empty(&self, own: bool) -> Result<()> {
        let _children = self.children.lock();
        self.check_open()?;
        let left = |kind: ObjectKind| {
            let own = u32::from(own && kind == ObjectKind::Evd);
            self.counts[kind as usize].load(Ordering::Relaxed) - own
        };
        let rest: Vec<String> = ObjectKind::ALL
            .iter()
            .map(|kind| (left(*kind), kind))
            .filter(|(count, _)| *count > 0)
            .map(|(count, kind)| format!("{count} {kind}"))
            .collect();
        if !rest.is_empty() {
            return Err(Error::new(ReturnType::InvalidState, Subtype::InvalidStateIaInUse)
                .because(format!("the adapter still has objects: {}", rest.join(", ")))
                .advise("free them, or close with DAT_CLOSE_ABRUPT_FLAG"));
        }
        self.closed.store(true, Ordering::Release);
        Ok(())
    }

    /// Closes the table and returns the references to all objects.
    pub(crate) fn close(&self) -> Result<Vec<Box<dyn Child>>> {
        let mut children = self.children.lock();
        self.check_open()?;
        self.closed.store(true, Ordering::Release);
        Ok(std::mem::take(&mut *children).into_iter().map(|(_, child)| child).collect())
    }

    /// Number of objects of a kind.
    pub(crate) fn count_of(&self, kind: ObjectKind) -> u32 {
        self.counts[kind as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        // Pairs with `close`; an insert looks again under the lock.
        self.closed.load(Ordering::Acquire)
    }

    /// Fails once the table is closed.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_closed() { Err(closed()) } else { Ok(()) }
    }
}

/// The total with `wanted` in place of `before`; if that exceeds the limit, the total of the other
/// endpoints as an error.
fn total(used: u32, before: u32, wanted: u32, limit: u32) -> std::result::Result<u32, u32> {
    let rest = used.saturating_sub(before);
    rest.checked_add(wanted).filter(|sum| *sum <= limit).ok_or(rest)
}

#[cold]
fn few_reads(name: &str, wanted: u32, rest: u32, limit: u32) -> Error {
    Error::new(ReturnType::InsufficientResources, Subtype::ResourceTep)
        .because(format!(
            "{name} {wanted} plus {rest} of the other endpoints exceeds the adapter's limit of \
             {limit}"
        ))
        .advise(format!("request at most {}, or free endpoints", limit - rest.min(limit)))
}

#[cold]
fn full(kind: ObjectKind, limit: u32, subtype: Subtype) -> Error {
    Error::new(ReturnType::InsufficientResources, subtype)
        .because(format!("the adapter already has its maximum of {limit} {kind} objects"))
        .advise(format!("free one of its {kind} objects, or open an adapter with a higher limit"))
}

/// The error of a call on a closed adapter.
#[cold]
pub(super) fn closed() -> Error {
    Error::new(ReturnType::InvalidHandle, Subtype::InvalidHandleIa)
        .because("the adapter was closed")
        .advise("open the adapter again")
}

fn limit_of(kind: ObjectKind, limits: &IaAttributes) -> (u32, Subtype) {
    match kind {
        ObjectKind::Ep => (limits.max_eps, Subtype::ResourceTep),
        ObjectKind::Evd => (limits.max_evds, Subtype::ResourceTevd),
        ObjectKind::Lmr => (limits.max_lmrs, Subtype::ResourceMemoryRegion),
        ObjectKind::Rmr => (limits.max_rmrs, Subtype::ResourceMemoryRegion),
        ObjectKind::Pz => (limits.max_pzs, Subtype::ResourceProtectionDomain),
        ObjectKind::Srq => (limits.max_srqs, Subtype::ResourceSrq),
        ObjectKind::Cr
        | ObjectKind::Ia
        | ObjectKind::Psp
        | ObjectKind::Rsp
        | ObjectKind::Csp
        | ObjectKind::Cno => (u32::MAX, Subtype::ResourceDevice),
    }
}
