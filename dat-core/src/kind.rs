//! The kinds of objects and their names.

use std::fmt;

use crate::error::Subtype;

/// The kind of a DAT object (`DAT_HANDLE_TYPE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// A connection request.
    Cr,
    /// An endpoint.
    Ep,
    /// An event dispatcher.
    Evd,
    /// An interface adapter.
    Ia,
    /// A local memory region.
    Lmr,
    /// A public service point.
    Psp,
    /// A protection zone.
    Pz,
    /// A remote memory region.
    Rmr,
    /// A reserved service point.
    Rsp,
    /// A consumer notification object.
    Cno,
    /// A shared receive queue.
    Srq,
    /// A common service point.
    Csp,
}

impl ObjectKind {
    /// Every kind.
    pub const ALL: [Self; 12] = [
        Self::Cr,
        Self::Ep,
        Self::Evd,
        Self::Ia,
        Self::Lmr,
        Self::Psp,
        Self::Pz,
        Self::Rmr,
        Self::Rsp,
        Self::Cno,
        Self::Srq,
        Self::Csp,
    ];

    /// The abbreviation that the manual pages use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cr => "CR",
            Self::Ep => "EP",
            Self::Evd => "EVD",
            Self::Ia => "IA",
            Self::Lmr => "LMR",
            Self::Psp => "PSP",
            Self::Pz => "PZ",
            Self::Rmr => "RMR",
            Self::Rsp => "RSP",
            Self::Cno => "CNO",
            Self::Srq => "SRQ",
            Self::Csp => "CSP",
        }
    }

    /// The subtype of `DAT_INVALID_HANDLE` that names this kind.
    #[must_use]
    pub const fn invalid_handle(self) -> Subtype {
        match self {
            Self::Cr => Subtype::InvalidHandleCr,
            Self::Ep => Subtype::InvalidHandleEp,
            // The call knows for what it uses the dispatcher; without that knowledge it is this
            // one.
            Self::Evd => Subtype::InvalidHandleEvdRequest,
            Self::Ia => Subtype::InvalidHandleIa,
            Self::Lmr => Subtype::InvalidHandleLmr,
            Self::Psp => Subtype::InvalidHandlePsp,
            Self::Pz => Subtype::InvalidHandlePz,
            Self::Rmr => Subtype::InvalidHandleRmr,
            Self::Rsp => Subtype::InvalidHandleRsp,
            Self::Cno => Subtype::InvalidHandleCno,
            Self::Srq => Subtype::InvalidHandleSrq,
            Self::Csp => Subtype::InvalidHandleCsp,
        }
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
