//! What differs in DAT 1.2 from DAT 2.0, and the calls that DAT 1.2 does not have.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use real::error::{Result, ReturnType, Subtype};
use real::provider::Relationship;
use real::{
    ApiVersion, Collective, Comm, CompletionFlags, DtoCompletion, LmrTriplet, ObjectKind,
    Operation, RmrScope, RmrTriplet,
};

use crate::abi::*;
use crate::api::adapter::Adapter;
use crate::api::library::{Shared, call};
use crate::api::lmr::OutParameters;
use crate::api::result::missing;
use crate::api::{Bind, Event, IaQuery, Segments, event};

/// The environment variable with the path of the library.
pub(crate) const VARIABLE: &str = "DAT_LIBRARY_1_2";

/// The file name of the library.
pub(crate) const FILE: &str = "libdat.so.1";

/// The table of DAT 1.2 has no further slots.
pub(crate) const fn fill_more(_shared: &Shared, _table: &mut DAT_PROVIDER) {}

/// The API version to open a name with.
pub(crate) fn api_version(wanted: ApiVersion) -> (u32, u32) {
    if wanted == ApiVersion::V2_0 { (2, 0) } else { (DAT_VERSION_MAJOR, DAT_VERSION_MINOR) }
}

/// Decodes a return code. DAT 2.0 inserted two subtypes.
pub(crate) fn decode(code: DAT_RETURN) -> Option<(ReturnType, Subtype)> {
    let return_type = match code & DAT_TYPE_MASK {
        value if value > DAT_CONN_QUAL_UNAVAILABLE => return None,
        value => ReturnType::from_value(value)?,
    };
    let value = code & DAT_SUBTYPE_MASK;
    let subtype = match value {
        DAT_NO_SUBTYPE..=DAT_INVALID_HANDLE_SRQ => value,
        DAT_INVALID_HANDLE1..=DAT_INVALID_STATE_SRQ_IN_USE => value + 1,
        value => value + 2,
    };
    Some((return_type, Subtype::from_value(subtype)?))
}

/// DAT 1.2 has no further kinds of objects.
pub(crate) const fn kind(_kind: DAT_HANDLE_TYPE) -> Option<ObjectKind> {
    None
}

/// Converts a length that the library returned.
pub(crate) const fn length(value: DAT_VLEN) -> u64 {
    value
}

/// Converts a length for a call.
pub(crate) const fn to_length(value: u64) -> DAT_VLEN {
    value
}

/// Converts a local segment for a call.
pub(crate) const fn local(from: &LmrTriplet) -> DAT_LMR_TRIPLET {
    DAT_LMR_TRIPLET {
        lmr_context: from.context,
        pad: 0,
        virtual_address: from.address,
        segment_length: from.length,
    }
}

/// Converts a local segment that the library returned.
pub(crate) const fn from_local(from: &DAT_LMR_TRIPLET) -> LmrTriplet {
    LmrTriplet {
        address: from.virtual_address,
        length: from.segment_length,
        context: from.lmr_context,
    }
}

/// Converts a remote segment for a call.
pub(crate) const fn remote(from: &RmrTriplet) -> DAT_RMR_TRIPLET {
    DAT_RMR_TRIPLET {
        rmr_context: from.context,
        pad: 0,
        target_address: from.address,
        segment_length: from.length,
    }
}

/// The posted operations by the cookie that the C call got: events of DAT 1.2 do not name the
/// operation. The entry of a post that never completes is leaked; cases have few.
static POSTED: LazyLock<Mutex<Vec<Option<Post>>>> = LazyLock::new(Mutex::default);

/// The operation, and the cookie of the case.
type Post = (Operation, u64);

/// Allocates a cookie for a post.
pub(crate) fn cookie(operation: Operation, cookie: u64) -> DAT_CONTEXT {
    let mut posted = POSTED.lock();
    posted.push(Some((operation, cookie)));
    DAT_CONTEXT { as_64: posted.len() as u64 - 1 }
}

/// Converts a completion.
pub(crate) fn completion(from: &DAT_DTO_COMPLETION_EVENT_DATA) -> DtoCompletion {
    // SAFETY: every bit pattern is a valid integer.
    let number = unsafe { from.user_cookie.as_64 };
    let posted = POSTED.lock().get_mut(number as usize).and_then(Option::take);
    let (operation, cookie) = posted.expect("each post completes once, with its cookie");
    DtoCompletion {
        ep: event::id(from.ep_handle),
        cookie,
        length: from.transfered_length,
        operation,
        status: event::status(from.status),
        extra: 0,
    }
}

/// DAT 1.2 has no events of extensions.
pub(crate) const fn extension_event(_from: &DAT_EVENT, _ia: &Arc<Adapter>) -> Option<Event> {
    None
}

/// DAT 1.2 has no zero-based addresses.
pub(crate) const fn zero_based(_from: &DAT_IA_ATTR) -> bool {
    false
}

/// DAT 1.2 has no send with invalidate.
pub(crate) const HAS_INVALIDATE: bool = false;

/// DAT 1.2 has no extensions.
pub(crate) const fn has_extensions(_from: &DAT_IA_ATTR) -> bool {
    false
}

/// DAT 1.2 has no remote regions for one endpoint.
pub(crate) const fn has_scope_of_endpoints(_from: &DAT_PROVIDER_ATTR) -> bool {
    false
}

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
    places: &mut OutParameters,
) -> Result<()> {
    call!(table.lmr_create_func(
        ia,
        mem_type,
        description,
        length,
        pz,
        privileges,
        &raw mut places.handle,
        &raw mut places.lmr_context,
        &raw mut places.rmr_context,
        &raw mut places.registered_length,
        &raw mut places.registered_address,
    ))
}

/// Binds a remote region to the local region that the triplet names.
pub(crate) fn rmr_bind(
    rmr: DAT_RMR_HANDLE,
    ep: DAT_EP_HANDLE,
    bind: &Bind<'_>,
    context: &mut DAT_RMR_CONTEXT,
) -> Result<()> {
    let triplet = local(&bind.triplet);
    call!(table.rmr_bind_func(
        rmr,
        &raw const triplet,
        bind.privileges.bits(),
        ep,
        DAT_CONTEXT { as_64: bind.cookie },
        bind.flags.bits(),
        &raw mut *context,
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
    })
}

/// The scope of every remote region is its protection zone.
pub(crate) const fn scope(_from: &DAT_RMR_PARAM) -> RmrScope {
    RmrScope::Pz
}

/// The address of a datagram endpoint, which DAT 1.2 does not have.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Remote {}

impl Drop for Remote {
    /// DAT 2.0 frees an address handle here.
    fn drop(&mut self) {}
}

impl Remote {
    pub(crate) const fn address(&self) -> IpAddr {
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
    open_query(&str) -> IaQuery;
    close_query(DAT_HANDLE) -> ();
    collective(DAT_IA_HANDLE, Collective) -> ();
}
