//! The calls for endpoints, as DAT 2.0 has them.

use super::*;

calls! {
    grow fn dat_ep_common_connect(
        ep_handle: DAT_EP_HANDLE,
        remote_ia_address: DAT_IA_ADDRESS_PTR,
        timeout: DAT_TIMEOUT,
        private_data_size: DAT_COUNT,
        private_data: DAT_PVOID,
    ) = call_v2::ep::common_connect, ep_common_connect_func: DAT_EP_COMMON_CONNECT_FUNC of object;
}
