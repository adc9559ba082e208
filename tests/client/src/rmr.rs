//! Remote memory regions.

use std::collections::HashMap;
use std::mem;
use std::ptr::null_mut;
use std::sync::LazyLock;

use parking_lot::Mutex;
use real::error::{Error, Result, ReturnType, Subtype};
use real::flags::{CompletionFlags, Privileges};
use real::{LmrTriplet, RmrScope};

use super::library::call;
use super::object::handle;
use super::{Endpoint, InterfaceAdapter, Lmr, ProtectionZone};
use crate::abi::*;
use crate::dialect;

handle! {
    /// A remote memory region (dat_rmr_create(3DAT)).
    Rmr = Rmr
}

/// What a remote memory region is (dat_rmr_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RmrParam {
    /// Its zone.
    pub pz: ProtectionZone,
    /// Over which connections it can be used.
    pub scope: RmrScope,
    /// What the last bind opens; nothing when it is not bound.
    pub lmr_triplet: Option<LmrTriplet>,
    /// What the peer may do with it.
    pub privileges: Privileges,
    /// The context of the last bind; 0 when it is not bound.
    pub rmr_context: u32,
}

/// A bind to post (dat_rmr_bind(3DAT)).
#[derive(Clone, Debug)]
pub struct Bind<'a> {
    /// The local region.
    pub lmr: &'a Lmr,
    /// The piece of it to open.
    pub triplet: LmrTriplet,
    /// What the peer may do.
    pub privileges: Privileges,
    /// Comes back in the completion.
    pub cookie: u64,
    /// How the bind completes.
    pub flags: CompletionFlags,
}

impl InterfaceAdapter {
    /// dat_rmr_create(3DAT).
    ///
    /// # Errors
    /// As the call.
    pub fn rmr_create(&self, pz: &ProtectionZone) -> Result<Rmr> {
        self.check_zone(pz).map_err(|error| error.during("dat_rmr_create"))?;
        let mut rmr = null_mut();
        call!(table.rmr_create_func(pz.handle(), &raw mut rmr))?;
        Ok(Rmr::made_of(rmr, pz.object.ia()))
    }

    /// dat_rmr_create_for_ep of DAT 2.0.
    ///
    /// # Errors
    /// As the call.
    pub fn rmr_create_for_ep(&self, pz: &ProtectionZone) -> Result<Rmr> {
        self.check_zone(pz).map_err(|error| error.during("dat_rmr_create_for_ep"))?;
        let rmr = dialect::rmr_create_for_ep(pz.handle())?;
        Ok(Rmr::made_of(rmr, pz.object.ia()))
    }
}

impl InterfaceAdapter {
    /// What only the Rust API can say: C has the zone alone, and the adapter from it.
    fn check_zone(&self, pz: &ProtectionZone) -> Result<()> {
        self.check_live()?;
        if pz.adapter() == *self {
            return Ok(());
        }
        Err(Error::new(ReturnType::InvalidHandle, Subtype::InvalidHandlePz))
    }
}

/// The endpoint of each region's last bind, by numbers: the event of C does not say it.
static BOUND_ON: LazyLock<Mutex<HashMap<u64, u64>>> = LazyLock::new(Mutex::default);

/// The endpoint that a region was bound on last.
pub(crate) fn bound_on(rmr: u64) -> u64 {
    BOUND_ON.lock().get(&rmr).copied().unwrap_or(0)
}

impl Rmr {
    /// dat_rmr_bind(3DAT).
    ///
    /// # Errors
    /// As the call.
    pub fn bind(&self, endpoint: &Endpoint, bind: &Bind<'_>) -> Result<u32> {
        let mut context = 0;
        BOUND_ON.lock().insert(self.id(), endpoint.id());
        dialect::rmr_bind(self.handle(), endpoint.handle(), bind, &mut context)?;
        Ok(context)
    }

    /// dat_rmr_query(3DAT).
    ///
    /// # Errors
    /// As the call.
    pub fn query(&self) -> Result<RmrParam> {
        // SAFETY: numbers and addresses, for which zero is a value.
        let mut param: DAT_RMR_PARAM = unsafe { mem::zeroed() };
        call!(table.rmr_query_func(self.handle(), DAT_RMR_FIELD_ALL, &raw mut param))?;
        assert_eq!(param.ia_handle, self.adapter().handle());
        let triplet = dialect::from_local(&param.lmr_triplet);
        Ok(RmrParam {
            pz: ProtectionZone::named(param.pz_handle, self.object.ia())
                .expect("every region has a zone"),
            scope: dialect::scope(&param),
            lmr_triplet: (triplet != LmrTriplet::default()).then_some(triplet),
            privileges: Privileges::from_bits_retain(param.mem_priv),
            rmr_context: param.rmr_context,
        })
    }

    /// dat_rmr_free(3DAT).
    ///
    /// # Errors
    /// As the call.
    pub fn free(&self) -> Result<()> {
        self.object.free()
    }
}
