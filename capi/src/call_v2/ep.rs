//! Connecting to a common service point.

use dat_core::Timeout;

use super::*;
use crate::argument;
use crate::convert::address;

pub(crate) unsafe fn common_connect(
    ep_handle: DAT_EP_HANDLE,
    remote_ia_address: DAT_IA_ADDRESS_PTR,
    timeout: DAT_TIMEOUT,
    private_data_size: DAT_COUNT,
    private_data: DAT_PVOID,
) -> CallResult {
    let endpoint: Ep = object(ep_handle)?;
    // SAFETY: the caller guarantees a socket address, unless the check rejects it.
    let remote = unsafe { address::from_c(remote_ia_address, 2) }?;
    // SAFETY: the caller guarantees that the data has the given size.
    let data = unsafe { argument::private_data(private_data_size, private_data, (4, 5)) }?;
    endpoint.common_connect(remote, Timeout::from_micros(timeout), data)?;
    OK
}
