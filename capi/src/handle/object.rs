//! The objects of the core that a handle can refer to.

use dat_core::error::Subtype;
use dat_core::{Cno, Cr, Csp, Ep, Evd, Ia, Lmr, ObjectKind, Psp, Pz, Rmr, Rsp, Srq};
use dat_sync::Process;

use super::cell::Cell;

/// An object of the core, as a cell holds it.
pub(crate) trait Object: Clone + Send + Sync + 'static {
    /// Its kind in C.
    const KIND: ObjectKind;

    /// The subtype of the error for an invalid handle, unless the call has several of this kind.
    const SUBTYPE: Subtype;

    /// Its id in the core: the address of its cell.
    fn number(&self) -> u64;

    /// Returns true if it has not been freed.
    fn is_live(&self) -> bool;
}

macro_rules! objects {
    ($($type:ident = $kind:ident, $subtype:ident;)+) => {
        $(impl Object for $type {
            const KIND: ObjectKind = ObjectKind::$kind;
            const SUBTYPE: Subtype = Subtype::$subtype;

            fn number(&self) -> u64 {
                self.id()
            }

            fn is_live(&self) -> bool {
                self.is_live()
            }
        })+

        /// An object of any kind.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyObject {
            $(#[doc = concat!("A ", stringify!($type), ".")] $kind($type),)+
        }

        impl AnyObject {
            /// The live object of a handle.
            pub(crate) fn get(handle: crate::abi::DAT_HANDLE) -> Option<Self> {
                Some(match super::kind_of(handle)? {
                    $(ObjectKind::$kind => Self::$kind(super::get(handle)?),)+
                })
            }

            pub(crate) fn consumer_context(&self) -> u64 {
                match self {
                    $(Self::$kind(object) => object.consumer_context(),)+
                }
            }

            pub(crate) fn set_consumer_context(&self, context: u64) {
                match self {
                    $(Self::$kind(object) => object.set_consumer_context(context),)+
                }
            }
        }

        /// The process to which the object of a cell belongs, if that is one from which this
        /// process was forked.
        pub(super) fn owner(cell: &Cell) -> Option<Process> {
            Some(match cell.inherited_kind()? {
                // SAFETY: an inherited cell holds an object of its kind, and keeps it forever.
                $(ObjectKind::$kind => unsafe { cell.object::<$type>() }.process(),)+
            })
        }

        /// Drops the object of a cell.
        ///
        /// # Safety
        /// The cell holds an object of that kind, and no thread uses it any more.
        pub(super) unsafe fn drop_object(cell: &Cell, kind: ObjectKind) {
            match kind {
                // SAFETY: the caller guarantees an object of that kind that is not used any more.
                $(ObjectKind::$kind => drop(unsafe { cell.take::<$type>() }),)+
            }
        }
    };
}

objects! {
    Cr = Cr, InvalidHandleCr;
    Ep = Ep, InvalidHandleEp;
    Evd = Evd, InvalidHandleEvdRequest;
    Ia = Ia, InvalidHandleIa;
    Lmr = Lmr, InvalidHandleLmr;
    Psp = Psp, InvalidHandlePsp;
    Pz = Pz, InvalidHandlePz;
    Rmr = Rmr, InvalidHandleRmr;
    Rsp = Rsp, InvalidHandleRsp;
    Cno = Cno, InvalidHandleCno;
    Srq = Srq, InvalidHandleSrq;
    Csp = Csp, InvalidHandleCsp;
}
