//! Constants of DAT 2.0, and conversion of the values that differ from DAT 1.2.

use real::error::{ReturnType, Subtype};
use real::{ApiVersion, DtoCompletion, LmrTriplet, ObjectKind, Operation, RmrScope, RmrTriplet};

use crate::abi::*;
use crate::convert::{id, status};
use crate::shared_object::{Shared, fill};

/// The environment variable with the path of the library.
pub(crate) const VARIABLE: &str = "DAT_LIBRARY_2_0";

/// The file name of the library.
pub(crate) const FILE: &str = "libdat2.so.2";

/// Fills the slots that only the table of DAT 2.0 has.
pub(crate) fn fill_more(shared: &Shared, table: &mut DAT_PROVIDER) {
    fill! { shared, table;
        csp_create_func = c"dat_csp_create",
        csp_query_func = c"dat_csp_query",
        csp_free_func = c"dat_csp_free",
        ep_common_connect_func = c"dat_ep_common_connect",
        rmr_create_for_ep_func = c"dat_rmr_create_for_ep",
        ep_post_send_with_invalidate_func = c"dat_ep_post_send_with_invalidate",
        ep_post_rdma_read_to_rmr_func = c"dat_ep_post_rdma_read_to_rmr",
        cno_fd_create_func = c"dat_cno_fd_create",
        cno_trigger_func = c"dat_cno_trigger",
    }
}

/// The API version to open a name with.
pub(crate) fn api_version(wanted: ApiVersion) -> (u32, u32) {
    if wanted == ApiVersion::V1_2 { (1, 2) } else { (DAT_VERSION_MAJOR, DAT_VERSION_MINOR) }
}

/// Decodes a return code.
pub(crate) fn decode(code: DAT_RETURN) -> Option<(ReturnType, Subtype)> {
    let return_type = ReturnType::from_value(code & DAT_TYPE_MASK)?;
    Some((return_type, Subtype::from_value(code & DAT_SUBTYPE_MASK)?))
}

/// The kinds of objects that only DAT 2.0 has.
pub(crate) const fn kind(kind: DAT_HANDLE_TYPE) -> Option<ObjectKind> {
    if kind == DAT_HANDLE_TYPE_CSP { Some(ObjectKind::Csp) } else { None }
}

/// Converts a length that the library returned.
pub(crate) const fn length(value: DAT_SEG_LENGTH) -> u64 {
    value as u64
}

/// Converts a length for a call; saturates.
pub(crate) fn to_length(value: u64) -> DAT_SEG_LENGTH {
    DAT_SEG_LENGTH::try_from(value).unwrap_or(DAT_SEG_LENGTH::MAX)
}

/// Converts a local segment for a call.
pub(crate) fn local(from: &LmrTriplet) -> DAT_LMR_TRIPLET {
    DAT_LMR_TRIPLET {
        virtual_address: from.address,
        segment_length: to_length(from.length),
        lmr_context: from.context,
    }
}

/// Converts a local segment that the library returned.
pub(crate) const fn from_local(from: &DAT_LMR_TRIPLET) -> LmrTriplet {
    LmrTriplet {
        address: from.virtual_address,
        length: length(from.segment_length),
        context: from.lmr_context,
    }
}

/// Converts a remote segment for a call.
pub(crate) fn remote(from: &RmrTriplet) -> DAT_RMR_TRIPLET {
    DAT_RMR_TRIPLET {
        virtual_address: from.address,
        segment_length: to_length(from.length),
        rmr_context: from.context,
    }
}

/// The cookie of a post.
pub(crate) const fn cookie(_operation: Operation, cookie: u64) -> DAT_CONTEXT {
    DAT_CONTEXT { as_64: cookie }
}

/// Converts a completion.
pub(crate) fn completion(from: &DAT_DTO_COMPLETION_EVENT_DATA) -> DtoCompletion {
    DtoCompletion {
        ep: id(from.ep_handle),
        // SAFETY: every bit pattern is a valid integer.
        cookie: unsafe { from.user_cookie.as_64 },
        length: length(from.transfered_length),
        operation: match from.operation {
            DAT_DTO_SEND => Operation::Send,
            DAT_DTO_RDMA_WRITE => Operation::RdmaWrite,
            DAT_DTO_RDMA_READ => Operation::RdmaRead,
            DAT_DTO_RECEIVE => Operation::Receive,
            DAT_DTO_RECEIVE_WITH_INVALIDATE => Operation::ReceiveWithInvalidate,
            other => extended_operation(other),
        },
        status: status(from.status),
        extra: from.rmr_context,
    }
}

/// Returns true if the adapter supports zero-based addresses.
pub(crate) const fn zero_based(from: &DAT_IA_ATTR) -> bool {
    from.zb_supported != DAT_FALSE
}

/// Returns true if the API has sends with invalidate.
pub(crate) const HAS_INVALIDATE: bool = true;

/// Returns true if the adapter has the InfiniBand extensions.
pub(crate) const fn has_extensions(from: &DAT_IA_ATTR) -> bool {
    from.extension_supported == DAT_EXTENSION_IB
}

/// Returns true if the provider supports remote regions for one endpoint.
pub(crate) const fn has_scope_of_endpoints(from: &DAT_PROVIDER_ATTR) -> bool {
    matches!(from.rmr_scope_supported, DAT_RMR_SCOPE_EP | DAT_RMR_SCOPE_ANY)
}

/// Converts the scope of a remote region.
pub(crate) fn scope(from: &DAT_RMR_PARAM) -> RmrScope {
    match from.rmr_scope {
        DAT_RMR_SCOPE_EP => RmrScope::Ep,
        DAT_RMR_SCOPE_PZ => RmrScope::Pz,
        other => panic!("{other} is not the scope of a region"),
    }
}

/// The operation of a completion that only the extensions define.
fn extended_operation(operation: DAT_DTOS) -> Operation {
    match operation {
        DAT_IB_DTO_RDMA_WRITE_IMMED => Operation::RdmaWriteImmediate,
        DAT_IB_DTO_RECV_IMMED => Operation::ReceiveImmediate,
        DAT_IB_DTO_RECV_MSG_IMMED => Operation::ReceiveSendImmediate,
        DAT_IB_DTO_FETCH_ADD => Operation::FetchAdd,
        DAT_IB_DTO_CMP_SWAP => Operation::CompareSwap,
        DAT_IB_DTO_SEND_UD => Operation::SendDatagram,
        DAT_IB_DTO_RECV_UD => Operation::ReceiveDatagram,
        other => panic!("{other} is not a DAT_DTOS"),
    }
}
