//! Remote memory regions.

use std::collections::HashMap;
use std::mem;
use std::ptr::null_mut;
use std::sync::LazyLock;

use parking_lot::Mutex;
use real::error::{Error, Result, ReturnType, Subtype};
use real::flags::{CompletionFlags, Privileges};
use real::{LmrTriplet, RmrScope};

use super::handle_type::{Handle as _, handle};
use super::result::call;
use super::{Ep, Ia, Lmr, Pz};
use crate::abi::*;
use crate::version;

handle! {
    /// A remote memory region (dat_rmr_create(3DAT)).
    Rmr = Rmr
}

/// The parameters of a remote memory region (dat_rmr_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RmrParam {
    /// The protection zone.
    pub pz: Pz,
    /// The connections over which the peer can use it.
    pub scope: RmrScope,
    /// The segment of the last bind; `None` if unbound.
    pub lmr_triplet: Option<LmrTriplet>,
    /// The privileges of the peer.
    pub privileges: Privileges,
    /// The context of the last bind; 0 if unbound.
    pub rmr_context: u32,
}

/// A bind to post (dat_rmr_bind(3DAT)).
#[derive(Clone, Debug)]
pub struct Bind<'a> {
    /// The local region.
    pub lmr: &'a Lmr,
    /// The segment of the region to expose.
    pub triplet: LmrTriplet,
    /// The privileges of the peer.
    pub privileges: Privileges,
    /// Returned in the completion.
    pub cookie: u64,
    /// Completion flags.
    pub flags: CompletionFlags,
}

impl Ia {
    /// dat_rmr_create(3DAT).
    pub fn rmr_create(&self, pz: &Pz) -> Result<Rmr> {
        self.check_zone(pz).map_err(|error| error.during("dat_rmr_create"))?;
        let mut rmr = null_mut();
        call!(table.rmr_create_func(pz.handle(), &raw mut rmr))?;
        Ok(Rmr::made_of(rmr, pz.object.ia()))
    }

    /// dat_rmr_create_for_ep of DAT 2.0.
    pub fn rmr_create_for_ep(&self, pz: &Pz) -> Result<Rmr> {
        self.check_zone(pz).map_err(|error| error.during("dat_rmr_create_for_ep"))?;
        let rmr = version::rmr_create_for_ep(pz.handle())?;
        Ok(Rmr::made_of(rmr, pz.object.ia()))
    }
}

impl Ia {
    /// Checks that the zone belongs to the adapter: the C call has the zone only, and takes the
    /// adapter from it.
    fn check_zone(&self, pz: &Pz) -> Result<()> {
        self.check_live()?;
        if pz.adapter() == *self {
            return Ok(());
        }
        Err(Error::new(ReturnType::InvalidHandle, Subtype::InvalidHandlePz))
    }
}

/// The endpoint of each region's last bind, by handle values: the event of C does not name it.
static BOUND_ON: LazyLock<Mutex<HashMap<u64, u64>>> = LazyLock::new(Mutex::default);

/// The endpoint of the last bind of a region.
pub(crate) fn bound_on(rmr: u64) -> u64 {
    BOUND_ON.lock().get(&rmr).copied().unwrap_or(0)
}

impl Rmr {
    /// dat_rmr_bind(3DAT).
    pub fn bind(&self, endpoint: &Ep, bind: &Bind<'_>) -> Result<u32> {
        BOUND_ON.lock().insert(self.id(), endpoint.id());
        let (lmr, ep) = (bind.lmr.handle(), endpoint.handle());
        let Bind { triplet, privileges, cookie, flags, .. } = bind;
        version::rmr_bind(self.handle(), lmr, triplet, *privileges, ep, *cookie, *flags)
    }

    /// dat_rmr_query(3DAT).
    pub fn query(&self) -> Result<RmrParam> {
        // SAFETY: the struct holds integers and pointers, for which all zero bits are valid.
        let mut param: DAT_RMR_PARAM = unsafe { mem::zeroed() };
        call!(table.rmr_query_func(self.handle(), DAT_RMR_FIELD_ALL, &raw mut param))?;
        assert_eq!(param.ia_handle, self.adapter().handle());
        let triplet = version::from_local(&param.lmr_triplet);
        Ok(RmrParam {
            pz: Pz::named(param.pz_handle, self.object.ia())
                .expect("every region has a protection zone"),
            scope: version::scope(&param),
            lmr_triplet: (triplet != LmrTriplet::default()).then_some(triplet),
            privileges: Privileges::from_bits_retain(param.mem_priv),
            rmr_context: param.rmr_context,
        })
    }

    /// dat_rmr_free(3DAT).
    pub fn free(&self) -> Result<()> {
        self.object.free()
    }
}
