//! Calls that differ in DAT 1.2 from DAT 2.0, and those that DAT 1.2 does not have.

use std::net::SocketAddr;
use std::os::fd::RawFd;

use real::attr::{IaAttributes, ProviderAttributes};
use real::error::{Result, Subtype};
use real::provider::Relationship;
use real::{Address, Collective, Comm, CompletionFlags, LmrTriplet, Privileges, RmrTriplet};

use super::conversion::local;
use crate::abi::*;
use crate::registration::OutParameters;
use crate::result::{call, missing};
use crate::segments::Segments;

/// Rejects a request. DAT 1.2 has no private data here, so it is dropped.
pub(crate) fn reject(cr: DAT_CR_HANDLE, _private_data: &[u8]) -> Result<()> {
    call!(table.cr_reject_func(cr))
}

/// Registers memory.
pub(crate) fn lmr_create(
    ia: DAT_IA_HANDLE,
    mem_type: DAT_MEM_TYPE,
    description: DAT_REGION_DESCRIPTION,
    length: DAT_VLEN,
    pz: DAT_PZ_HANDLE,
    privileges: DAT_MEM_PRIV_FLAGS,
    results: &mut OutParameters,
) -> Result<()> {
    call!(table.lmr_create_func(
        ia,
        mem_type,
        description,
        length,
        pz,
        privileges,
        &raw mut results.handle,
        &raw mut results.lmr_context,
        &raw mut results.rmr_context,
        &raw mut results.registered_length,
        &raw mut results.registered_address,
    ))
}

/// Binds a remote region to the local region that the triplet names.
pub(crate) fn rmr_bind(
    rmr: DAT_RMR_HANDLE,
    _lmr: DAT_LMR_HANDLE,
    triplet: &LmrTriplet,
    privileges: Privileges,
    ep: DAT_EP_HANDLE,
    cookie: u64,
    flags: CompletionFlags,
) -> Result<DAT_RMR_CONTEXT> {
    let (triplet, mut context) = (local(triplet), 0);
    call!(table.rmr_bind_func(
        rmr,
        &raw const triplet,
        privileges.bits(),
        ep,
        DAT_CONTEXT { as_64: cookie },
        flags.bits(),
        &raw mut context,
    ))
    // Cases expect the argument numbers of DAT 2.0, which has the local region before the triplet
    // and the address type before the endpoint.
    .map_err(|error| {
        let subtype = match error.subtype() {
            Subtype::InvalidArg2 => Subtype::InvalidArg3,
            Subtype::InvalidArg6 => Subtype::InvalidArg8,
            other => other,
        };
        error.with_subtype(subtype)
    })?;
    Ok(context)
}

/// The address of a datagram endpoint, which DAT 1.2 does not have.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Remote {}

impl Drop for Remote {
    /// DAT 2.0 frees an address handle here.
    fn drop(&mut self) {}
}

impl Remote {
    pub(crate) const fn address(&self) -> Address {
        match *self {}
    }

    pub(crate) const fn number(&self) -> u32 {
        match *self {}
    }
}

/// Defines functions whose call DAT 1.2 does not have.
macro_rules! missing {
    ($($name:ident($($argument:ty),*) -> $answer:ty;)+) => {
        $(
            #[doc = concat!("DAT 1.2 has no ", stringify!($name), ".")]
            pub(crate) fn $name($(_: $argument),*) -> Result<$answer> {
                Err(missing(stringify!($name)))
            }
        )+
    };
}

missing! {
    rmr_create_for_ep(DAT_PZ_HANDLE) -> DAT_RMR_HANDLE;
    csp_create(DAT_IA_HANDLE, Comm, SocketAddr, DAT_EVD_HANDLE) -> DAT_HANDLE;
    csp_query(DAT_HANDLE) -> (DAT_IA_HANDLE, Comm, SocketAddr, DAT_EVD_HANDLE);
    csp_free(DAT_HANDLE) -> ();
    common_connect(DAT_EP_HANDLE, SocketAddr, DAT_TIMEOUT, &[u8]) -> ();
    send_with_invalidate(DAT_EP_HANDLE, &mut Segments, u64, CompletionFlags, u32) -> ();
    read_to_rmr(DAT_EP_HANDLE, &RmrTriplet, u64, &RmrTriplet, CompletionFlags) -> ();
    cno_fd_create(DAT_IA_HANDLE) -> (DAT_CNO_HANDLE, RawFd);
    cno_fd(DAT_CNO_HANDLE) -> RawFd;
    cno_trigger(DAT_CNO_HANDLE) -> DAT_EVD_HANDLE;
    providers_related(&str, &str) -> Relationship;
    write_immediate(DAT_EP_HANDLE, &mut Segments, u64, &RmrTriplet, u32, CompletionFlags) -> ();
    fetch_and_add(DAT_EP_HANDLE, u64, &mut Segments, u64, &RmrTriplet, CompletionFlags) -> ();
    compare_and_swap(
        DAT_EP_HANDLE, (u64, u64), &mut Segments, u64, &RmrTriplet, CompletionFlags
    ) -> ();
    send_datagram(DAT_EP_HANDLE, &mut Segments, &Remote, u64, CompletionFlags) -> ();
    start_counters(DAT_HANDLE) -> ();
    stop_counters(DAT_HANDLE) -> ();
    read_counters(DAT_HANDLE, usize, bool) -> Vec<u64>;
    open_query(&str) -> (DAT_HANDLE, (IaAttributes, ProviderAttributes));
    close_query(DAT_HANDLE) -> ();
    collective(DAT_IA_HANDLE, Collective) -> ();
}
