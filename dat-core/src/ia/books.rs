//! The books of an adapter: which objects live on it, and how many of each kind it can have.

use std::collections::BTreeMap;
use std::sync::Weak;

use crate::attr::IaAttributes;
use crate::cno::CnoInner;
use crate::cr::CrInner;
use crate::csp::CspInner;
use crate::ep::EpInner;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::evd::EvdInner;
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
    /// Enrolled, and still being made.
    Unborn,
    Cno(Weak<CnoInner>),
    Cr(Weak<CrInner>),
    Csp(Weak<CspInner>),
    Ep(Weak<EpInner>),
    Evd(Weak<EvdInner>),
    Lmr(Weak<LmrInner>),
    Psp(Weak<PspInner>),
    Pz(Weak<PzInner>),
    Rmr(Weak<RmrInner>),
    Rsp(Weak<RspInner>),
    Srq(Weak<SrqInner>),
}

impl Child {
    /// The kind of the object, once it is made.
    pub(crate) const fn kind(&self) -> Option<ObjectKind> {
        Some(match self {
            Self::Unborn => return None,
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
        })
    }
}

/// The books; guarded by one lock of the adapter's.
#[derive(Debug, Default)]
pub(crate) struct Books {
    children: BTreeMap<u64, (ObjectKind, Child)>,
    counts: [u32; ObjectKind::ALL.len()],
    reads_in: u32,
    reads_out: u32,
    closed: bool,
}

impl Books {
    /// Takes up an object of a kind if there is room for it.
    pub(crate) fn enroll(
        &mut self,
        id: u64,
        kind: ObjectKind,
        limits: &IaAttributes,
    ) -> Result<()> {
        if self.closed {
            return Err(closed());
        }
        let (limit, subtype) = limit_of(kind, limits);
        if self.counts[kind as usize] >= limit {
            return Err(Error::new(ReturnType::InsufficientResources, subtype)
                .because(format!("the adapter has its maximum of {limit} {kind} objects"))
                .advise(format!(
                    "free one of them ({kind}), or open an adapter with a higher limit"
                )));
        }
        self.counts[kind as usize] += 1;
        self.children.insert(id, (kind, Child::Unborn));
        Ok(())
    }

    /// Notes where an enrolled object is; fails when the adapter was closed meanwhile.
    pub(crate) fn adopt(&mut self, id: u64, child: Child) -> Result<()> {
        if self.closed {
            return Err(closed());
        }
        if let Some((_, place)) = self.children.get_mut(&id) {
            *place = child;
        }
        Ok(())
    }

    pub(crate) fn children(&self) -> impl Iterator<Item = &Child> {
        self.children.values().map(|(_, child)| child)
    }

    pub(crate) fn leave(&mut self, kind: ObjectKind, id: u64) {
        if self.children.remove(&id).is_some() {
            self.counts[kind as usize] -= 1;
        }
    }

    /// Sets RDMA reads of an endpoint aside from the adapter's totals, in place of `before`.
    pub(crate) fn reserve_reads(
        &mut self,
        before: (u32, u32),
        wanted: (u32, u32),
        limits: &IaAttributes,
    ) -> Result<()> {
        let total = |used: u32, before: u32, wanted: u32, limit: u32, name: &str| {
            let rest = used.saturating_sub(before);
            rest.checked_add(wanted).filter(|sum| *sum <= limit).ok_or_else(|| {
                Error::new(ReturnType::InsufficientResources, Subtype::ResourceTep)
                    .because(format!(
                        "{name} {wanted} and the {rest} of the other endpoints exceed the \
                         adapter's {limit}"
                    ))
                    .advise(format!(
                        "ask for at most {} or free endpoints",
                        limit - rest.min(limit)
                    ))
            })
        };
        let reads_in =
            total(self.reads_in, before.0, wanted.0, limits.max_rdma_read_in, "max_rdma_read_in")?;
        let reads_out = total(
            self.reads_out,
            before.1,
            wanted.1,
            limits.max_rdma_read_out,
            "max_rdma_read_out",
        )?;
        (self.reads_in, self.reads_out) = (reads_in, reads_out);
        Ok(())
    }

    /// Gives reads back, and sets others aside that were there before.
    pub(crate) fn return_reads(&mut self, reads: (u32, u32), instead: (u32, u32)) {
        self.reads_in = self.reads_in.saturating_sub(reads.0) + instead.0;
        self.reads_out = self.reads_out.saturating_sub(reads.1) + instead.1;
    }

    /// Closes the books if no object of the consumer's is in them; `own` is the dispatcher
    /// that the adapter made for itself.
    pub(crate) fn close_if_empty(&mut self, own: Option<u64>) -> Result<()> {
        if self.closed {
            return Err(closed());
        }
        let mut left = self.counts;
        if own.is_some_and(|id| self.children.contains_key(&id)) {
            left[ObjectKind::Evd as usize] -= 1;
        }
        let rest: Vec<String> = ObjectKind::ALL
            .iter()
            .filter(|kind| left[**kind as usize] > 0)
            .map(|kind| format!("{} {kind}", left[*kind as usize]))
            .collect();
        if !rest.is_empty() {
            return Err(Error::new(ReturnType::InvalidState, Subtype::InvalidStateIaInUse)
                .because(format!("objects exist on the adapter: {}", rest.join(", ")))
                .advise("free them, or close abruptly"));
        }
        self.closed = true;
        Ok(())
    }

    /// Closes the books and returns what is in them.
    pub(crate) fn close(&mut self) -> Result<Vec<(ObjectKind, Child)>> {
        if self.closed {
            return Err(closed());
        }
        self.closed = true;
        let children = std::mem::take(&mut self.children);
        self.counts = Default::default();
        Ok(children.into_values().collect())
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }
}

#[cold]
fn closed() -> Error {
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
