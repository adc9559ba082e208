//! The books of an adapter: which objects live on it, and how many of each kind it can have.

use std::sync::Weak;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;
use slab::Slab;

use crate::attr::IaAttributes;
use crate::cno::CnoInner;
use crate::cr::CrInner;
use crate::csp::CspInner;
use crate::ep::EpInner;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::evd::EvdInner;
use crate::hot::HotWeak;
use crate::kind::ObjectKind;
use crate::lmr::LmrInner;
use crate::psp::PspInner;
use crate::pz::PzInner;
use crate::rmr::RmrInner;
use crate::rsp::RspInner;
use crate::srq::SrqInner;

/// An object of an adapter, as the abrupt close reaches it.
#[derive(Debug)]
pub(crate) enum Child {
    Cno(Weak<CnoInner>),
    Cr(Weak<CrInner>),
    Csp(Weak<CspInner>),
    Ep(HotWeak<EpInner>),
    Evd(Weak<EvdInner>),
    Lmr(Weak<LmrInner>),
    Psp(Weak<PspInner>),
    Pz(Weak<PzInner>),
    Rmr(Weak<RmrInner>),
    Rsp(Weak<RspInner>),
    Srq(Weak<SrqInner>),
}

impl Child {
    pub(crate) const fn kind(&self) -> ObjectKind {
        match self {
            Self::Cno(_) => ObjectKind::Cno,
            Self::Cr(_) => ObjectKind::Cr,
            Self::Csp(_) => ObjectKind::Csp,
            Self::Ep(_) => ObjectKind::Ep,
            Self::Evd(_) => ObjectKind::Evd,
            Self::Lmr(_) => ObjectKind::Lmr,
            Self::Psp(_) => ObjectKind::Psp,
            Self::Pz(_) => ObjectKind::Pz,
            Self::Rmr(_) => ObjectKind::Rmr,
            Self::Rsp(_) => ObjectKind::Rsp,
            Self::Srq(_) => ObjectKind::Srq,
        }
    }
}

/// Where the books have an object; nowhere while it is being made.
#[derive(Debug)]
pub(crate) struct Place(AtomicU32);

impl Place {
    const NOWHERE: u32 = u32::MAX;
}

impl Default for Place {
    fn default() -> Self {
        Self(AtomicU32::new(Self::NOWHERE))
    }
}

/// The books. An object is counted before it is made and found once it is.
#[derive(Debug, Default)]
pub(crate) struct Books {
    counts: [AtomicU32; ObjectKind::ALL.len()],
    /// Set with the objects locked, once and for all.
    closed: AtomicBool,
    children: Mutex<Slab<Child>>,
    reads: Mutex<Reads>,
}

/// RDMA reads that endpoints set aside of what the adapter can do.
#[derive(Debug, Default)]
struct Reads {
    inward: u32,
    outward: u32,
}

impl Books {
    /// Takes up an object of a kind if there is room for it.
    pub(crate) fn enroll(&self, kind: ObjectKind, limits: &IaAttributes) -> Result<()> {
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

    /// Notes where an enrolled object is; fails when the adapter was closed meanwhile.
    pub(crate) fn adopt(&self, place: &Place, child: Child) -> Result<()> {
        let mut children = self.children.lock();
        self.check_open()?;
        // There are fewer objects than any limit of a kind times the kinds, and so than numbers.
        let key = u32::try_from(children.insert(child)).unwrap_or(Place::NOWHERE);
        place.0.store(key, Ordering::Relaxed);
        Ok(())
    }

    /// What a question picks of the objects, which are locked meanwhile.
    pub(crate) fn pick<T>(&self, pick: impl Fn(&Child) -> Option<T>) -> Vec<T> {
        self.children.lock().iter().filter_map(|(_, child)| pick(child)).collect()
    }

    /// Takes an enrolled object off; once.
    pub(crate) fn leave(&self, kind: ObjectKind, place: &Place) {
        let key = place.0.load(Ordering::Relaxed);
        if key != Place::NOWHERE {
            // A close may have taken it out already.
            self.children.lock().try_remove(key as usize);
        }
        self.counts[kind as usize].fetch_sub(1, Ordering::Relaxed);
    }

    /// Sets RDMA reads of an endpoint aside from the adapter's totals, in place of `before`.
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

    /// Gives reads back, and sets others aside that were there before.
    pub(crate) fn return_reads(&self, back: (u32, u32), instead: (u32, u32)) {
        let mut reads = self.reads.lock();
        reads.inward = reads.inward.saturating_sub(back.0) + instead.0;
        reads.outward = reads.outward.saturating_sub(back.1) + instead.1;
    }

    /// Closes the books if no object of the consumer's is in them; `own` says that the adapter
    /// still has the dispatcher that it made for itself.
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
                .because(format!("objects exist on the adapter: {}", rest.join(", ")))
                .advise("free them, or close abruptly"));
        }
        self.closed.store(true, Ordering::Release);
        Ok(())
    }

    /// Closes the books and returns what is in them.
    pub(crate) fn close(&self) -> Result<Vec<Child>> {
        let mut children = self.children.lock();
        self.check_open()?;
        self.closed.store(true, Ordering::Release);
        Ok(std::mem::take(&mut *children).into_iter().map(|(_, child)| child).collect())
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Fails once they are closed.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_closed() { Err(closed()) } else { Ok(()) }
    }
}

/// What is set aside with `wanted` in place of `before`; what the others have when that is beyond
/// the limit.
fn total(used: u32, before: u32, wanted: u32, limit: u32) -> std::result::Result<u32, u32> {
    let rest = used.saturating_sub(before);
    rest.checked_add(wanted).filter(|sum| *sum <= limit).ok_or(rest)
}

#[cold]
fn few_reads(name: &str, wanted: u32, rest: u32, limit: u32) -> Error {
    Error::new(ReturnType::InsufficientResources, Subtype::ResourceTep)
        .because(format!(
            "{name} {wanted} and the {rest} of the other endpoints exceed the adapter's {limit}"
        ))
        .advise(format!("ask for at most {} or free endpoints", limit - rest.min(limit)))
}

#[cold]
fn full(kind: ObjectKind, limit: u32, subtype: Subtype) -> Error {
    Error::new(ReturnType::InsufficientResources, subtype)
        .because(format!("the adapter has its maximum of {limit} {kind} objects"))
        .advise(format!("free one of them ({kind}), or open an adapter with a higher limit"))
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
