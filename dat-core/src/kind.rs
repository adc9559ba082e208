//! The kinds of objects and their names.

use std::fmt;

use crate::error::Subtype;
use crate::named::named;

named! {
    /// The kind of a DAT object (`DAT_HANDLE_TYPE`).
    pub enum ObjectKind,
    /// The abbreviation that the manual pages use.
    name;
    /// A connection request.
    Cr, "CR";
    /// An endpoint.
    Ep, "EP";
    /// An event dispatcher.
    Evd, "EVD";
    /// An interface adapter.
    Ia, "IA";
    /// A local memory region.
    Lmr, "LMR";
    /// A public service point.
    Psp, "PSP";
    /// A protection zone.
    Pz, "PZ";
    /// A remote memory region.
    Rmr, "RMR";
    /// A reserved service point.
    Rsp, "RSP";
    /// A consumer notification object.
    Cno, "CNO";
    /// A shared receive queue.
    Srq, "SRQ";
    /// A common service point.
    Csp, "CSP";
}

impl ObjectKind {
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
