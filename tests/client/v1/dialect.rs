//! What DAT 1.2 says in another way than DAT 2.0, and what it has no calls for.

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
use crate::client::adapter::Adapter;
use crate::client::answer::missing;
use crate::client::library::{Shared, call};
use crate::client::lmr::Places;
use crate::client::{Bind, Event, IaQuery, Segments, event};

/// Where the environment says which library.
pub(crate) const VARIABLE: &str = "DAT_LIBRARY_1_2";

/// The name of the library.
pub(crate) const FILE: &str = "libdat.so.1";

/// The table has no more places.
pub(crate) const fn fill_more(_shared: &Shared, _table: &mut DAT_PROVIDER) {}

/// The version to open a name with.
pub(crate) fn version(wanted: ApiVersion) -> (u32, u32) {
    if wanted == ApiVersion::V2_0 { (2, 0) } else { (DAT_VERSION_MAJOR, DAT_VERSION_MINOR) }
}

/// What a code stands for. DAT 2.0 put two subtypes in the middle.
pub(crate) fn decode(code: DAT_RETURN) -> Option<(ReturnType, Subtype)> {
    if code & DAT_CLASS_ERROR == 0 {
        return None;
    }
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

/// DAT 1.2 has no more kinds.
pub(crate) const fn kind(_kind: DAT_HANDLE_TYPE) -> Option<ObjectKind> {
    None
}

/// A length that the library shows.
pub(crate) const fn length(value: DAT_VLEN) -> u64 {
    value
}

/// A length for a call.
pub(crate) const fn to_length(value: u64) -> DAT_VLEN {
    value
}

/// A local segment.
pub(crate) const fn local(from: &LmrTriplet) -> DAT_LMR_TRIPLET {
    DAT_LMR_TRIPLET {
        lmr_context: from.context,
        pad: 0,
        virtual_address: from.address,
        segment_length: from.length,
    }
}

/// A local segment that the library shows.
pub(crate) const fn from_local(from: &DAT_LMR_TRIPLET) -> LmrTriplet {
    LmrTriplet {
        address: from.virtual_address,
        length: from.segment_length,
        context: from.lmr_context,
    }
}

/// A remote segment.
pub(crate) const fn remote(from: &RmrTriplet) -> DAT_RMR_TRIPLET {
    DAT_RMR_TRIPLET {
        rmr_context: from.context,
        pad: 0,
        target_address: from.address,
        segment_length: from.length,
    }
}

/// What was posted, by the cookie that C got: its events don't say which operation completed.
/// One stays for a post that never completes; cases make few.
static POSTED: LazyLock<Mutex<Vec<Option<Post>>>> = LazyLock::new(Mutex::default);

/// What was posted, and the cookie of the case.
type Post = (Operation, u64);

/// A cookie that stands for a post.
pub(crate) fn cookie(operation: Operation, cookie: u64) -> DAT_CONTEXT {
    let mut posted = POSTED.lock();
    posted.push(Some((operation, cookie)));
    DAT_CONTEXT { as_64: posted.len() as u64 - 1 }
}

/// A completion.
pub(crate) fn completion(from: &DAT_DTO_COMPLETION_EVENT_DATA) -> DtoCompletion {
    // SAFETY: any bits are a number.
    let number = unsafe { from.user_cookie.as_64 };
    let posted = POSTED.lock().get_mut(number as usize).and_then(Option::take);
    let (operation, cookie) = posted.expect("each post completes once, with its own cookie");
    DtoCompletion {
        ep: event::id(from.ep_handle),
        cookie,
        length: from.transfered_length,
        operation,
        status: event::status(from.status),
        extra: 0,
    }
}

/// There are no events of extensions.
pub(crate) const fn extension_event(_from: &DAT_EVENT, _ia: &Arc<Adapter>) -> Option<Event> {
    None
}

/// Addresses start where they are.
pub(crate) const fn zero_based(_from: &DAT_IA_ATTR) -> bool {
    false
}

/// There are no sends with invalidate.
pub(crate) const HAS_INVALIDATE: bool = false;

/// There are no extensions.
pub(crate) const fn has_extensions(_from: &DAT_IA_ATTR) -> bool {
    false
}

/// Remote regions can't be confined to endpoints.
pub(crate) const fn has_scope_of_endpoints(_from: &DAT_PROVIDER_ATTR) -> bool {
    false
}

/// Refuses a request. Private data can't go with it, and is left out.
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
    places: &mut Places,
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

/// Binds a remote region: to the local one that the triplet names.
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
    // The cases count the arguments of DAT 2.0, where the local region stands before the triplet
    // and the type of addresses before the endpoint.
    .map_err(|error| {
        let subtype = match error.subtype() {
            Subtype::InvalidArg2 => Subtype::InvalidArg3,
            Subtype::InvalidArg6 => Subtype::InvalidArg8,
            other => other,
        };
        error.with_subtype(subtype)
    })
}

/// Remote regions are of their zone.
pub(crate) const fn scope(_from: &DAT_RMR_PARAM) -> RmrScope {
    RmrScope::Pz
}

/// Where datagrams can be sent to: nowhere.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Remote {}

impl Drop for Remote {
    /// An address handle of DAT 2.0 is freed here.
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

/// Says of calls that there are none.
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
