//! Options of identifiers (rdma_set_option(3), rdma_set_local_ece(3)).

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use dat_soft_verbs::cm::Ece;
use libc::size_t;
use rdma_verbs::sys::extended::ibv_ece;
use rdma_verbs::sys::rdma_cma::{
    RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, RDMA_OPTION_ID_AFONLY, RDMA_OPTION_ID_REUSEADDR,
    RDMA_OPTION_ID_TOS,
};

use super::id::Id;
use crate::guard::{self, Result, given, invalid, refused};

/// The value of an option, which must have exactly that length.
unsafe fn value<T: Copy>(from: *const c_void, length: size_t) -> Result<T> {
    if from.is_null() || length != size_of::<T>() {
        return Err(invalid(format!(
            "cannot set an option: its value at {from:p} must be {} bytes, and has {length}",
            size_of::<T>()
        )));
    }
    // SAFETY: the caller guarantees the length; the program may align it as it likes.
    Ok(unsafe { from.cast::<T>().read_unaligned() })
}

/// Sets an option. Paths of InfiniBand (`RDMA_OPTION_IB`) have no meaning over IP, which is `ENOSYS`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_set_option(
    id: Id<'_>,
    level: c_int,
    name: c_int,
    from: *mut c_void,
    length: size_t,
) -> c_int {
    guard::zero(|| {
        let unknown = || {
            let text = format!(
                "cannot set option {name} of level {level}: only options of identifiers (RDMA_OPTION_ID) have a meaning over IP"
            );
            refused(libc::ENOSYS, text)
        };
        if level != RDMA_OPTION_ID {
            return Err(unknown());
        }
        let core = id.core();
        // SAFETY: the caller guarantees the value, which is an int.
        let flag = || unsafe { value::<c_int>(from, length) }.map(|flag| flag != 0);
        // SAFETY: the caller guarantees the value, which is a byte.
        let byte = || unsafe { value::<u8>(from, length) };
        match name {
            RDMA_OPTION_ID_TOS => core.set_type_of_service(byte()?),
            RDMA_OPTION_ID_REUSEADDR => core.set_reuse_address(flag()?)?,
            RDMA_OPTION_ID_AFONLY => core.set_family_only(flag()?)?,
            RDMA_OPTION_ID_ACK_TIMEOUT => core.set_ack_timeout(byte()?)?,
            _ => return Err(unknown()),
        }
        Ok(())
    })
}

/// Sets the options of the vendor that are sent to the peer.
#[unsafe(no_mangle)]
pub extern "C" fn soft_rdma_set_local_ece(id: Id<'_>, ece: Option<&ibv_ece>) -> c_int {
    guard::zero(|| {
        let ece = given(ece, "the options of the vendor")?;
        if ece.comp_mask != 0 {
            return Err(invalid("cannot set the options of the vendor: comp_mask must be 0"));
        }
        let ece = Ece { vendor_id: ece.vendor_id, options: ece.options };
        Ok(id.core().set_local_ece(ece)?)
    })
}

/// The options of the vendor that the peer has sent.
#[unsafe(no_mangle)]
pub extern "C" fn soft_rdma_get_remote_ece(
    id: Id<'_>,
    ece: Option<&mut MaybeUninit<ibv_ece>>,
) -> c_int {
    guard::zero(|| {
        let ece = given(ece, "the place of the options of the vendor")?;
        let Ece { vendor_id, options } = id.core().remote_ece();
        ece.write(ibv_ece { vendor_id, options, comp_mask: 0 });
        Ok(())
    })
}
