//! Constants of DAT 1.2, and conversion of the values that differ from DAT 2.0.

use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use real::error::{ReturnType, Subtype};
use real::{ApiVersion, DtoCompletion, LmrTriplet, ObjectKind, Operation, RmrScope, RmrTriplet};

use crate::Event;
use crate::abi::*;
use crate::adapter::Adapter;
use crate::convert::{id, status};
use crate::shared_object::Shared;

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
        ep: id(from.ep_handle),
        cookie,
        length: from.transfered_length,
        operation,
        status: status(from.status),
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

/// The scope of every remote region is its protection zone.
pub(crate) const fn scope(_from: &DAT_RMR_PARAM) -> RmrScope {
    RmrScope::Pz
}
