//! Options of identifiers (rdma_set_option(3)), and options that devices negotiate.

use std::ffi::c_int;

use super::CmId;
use crate::Result;
use crate::sys::rdma_cma as sys;
use crate::sys::verbs::ibv_ece;
use crate::verbs::library;

/// Options of the device's vendor for a connection: enhanced connection establishment
/// (rdma_set_local_ece(3)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ece {
    /// The identifier of the vendor.
    pub vendor_id: u32,
    /// The options, which the vendor defines.
    pub options: u32,
}

impl CmId {
    /// Sets the type of service of the packets that it sends (`RDMA_OPTION_ID_TOS`).
    ///
    /// # Errors
    /// The error of the kernel.
    pub fn set_type_of_service(&self, tos: u8) -> Result<()> {
        self.set_option(sys::RDMA_OPTION_ID_TOS, tos)
    }

    /// Sets whether the address may be bound again while an earlier connection of it ends
    /// (`RDMA_OPTION_ID_REUSEADDR`).
    ///
    /// # Errors
    /// `EINVAL`: it is bound already.
    pub fn set_reuse_address(&self, reuse: bool) -> Result<()> {
        self.set_option(sys::RDMA_OPTION_ID_REUSEADDR, c_int::from(reuse))
    }

    /// Sets whether a wildcard address covers only its own family (`RDMA_OPTION_ID_AFONLY`).
    ///
    /// # Errors
    /// `EINVAL`: it is bound already.
    pub fn set_family_only(&self, only: bool) -> Result<()> {
        self.set_option(sys::RDMA_OPTION_ID_AFONLY, c_int::from(only))
    }

    /// Sets the acknowledgement time-out, as an exponent: 4.096 µs times two to the power of `code`
    /// (`RDMA_OPTION_ID_ACK_TIMEOUT`).
    ///
    /// # Errors
    /// `EINVAL`: the kernel does not know the option.
    pub fn set_ack_timeout(&self, code: u8) -> Result<()> {
        self.set_option(sys::RDMA_OPTION_ID_ACK_TIMEOUT, code)
    }

    fn set_option<T>(&self, name: c_int, mut value: T) -> Result<()> {
        let (pointer, length) = ((&raw mut value).cast(), size_of::<T>());
        let _operation = self.operation();
        // SAFETY: the identifier is alive, and the value has the type of the option.
        let code = unsafe {
            let call = library!(cm).rdma_set_option;
            call(self.raw(), sys::RDMA_OPTION_ID, name, pointer, length)
        };
        self.check("rdma_set_option", code)
    }

    /// Offers options of the device's vendor to the peer, or answers with those that were chosen
    /// (rdma_set_local_ece(3)). For queue pairs that the program created itself.
    ///
    /// # Errors
    /// `EINVAL`: the identifier has a queue pair; `EOPNOTSUPP`: librdmacm is too old.
    pub fn set_local_ece(&self, ece: Ece) -> Result<()> {
        const CALL: &str = "rdma_set_local_ece";
        let call = library!(cm).rdma_set_local_ece;
        let call = call.ok_or(self.refused(CALL, libc::EOPNOTSUPP))?;
        let mut ece = ibv_ece { vendor_id: ece.vendor_id, options: ece.options, comp_mask: 0 };
        let _operation = self.operation();
        // SAFETY: the identifier is alive and the pointer valid.
        self.check(CALL, unsafe { call(self.raw(), &raw mut ece) })
    }

    /// The options that the peer offered or chose (rdma_get_remote_ece(3)).
    ///
    /// # Errors
    /// `EINVAL`: there was neither a request nor a response; `EOPNOTSUPP`: librdmacm is too old.
    pub fn remote_ece(&self) -> Result<Ece> {
        const CALL: &str = "rdma_get_remote_ece";
        let call = library!(cm).rdma_get_remote_ece;
        let call = call.ok_or(self.refused(CALL, libc::EOPNOTSUPP))?;
        let mut ece = ibv_ece::default();
        let _operation = self.operation();
        // SAFETY: the identifier is alive and the pointer valid.
        self.check(CALL, unsafe { call(self.raw(), &raw mut ece) })?;
        Ok(Ece { vendor_id: ece.vendor_id, options: ece.options })
    }
}
