//! The name of a work completion's status, and what the device adds to it (ibv_poll_cq(3)).

use crate::sys::verbs as sys;
use crate::verbs::WorkCompletion;

/// The libibverbs description of a failure status, with the vendor's error number.
pub(crate) fn describe(completion: &WorkCompletion) -> String {
    let WorkCompletion { status, vendor_err, .. } = *completion;
    format!("{} ({status}), vendor error {vendor_err:#x}", name(status))
}

/// Defines the function that names a status, from a list of the constants.
macro_rules! names {
    ($($status:ident)+) => {
        const fn name(status: u32) -> &'static str {
            match status {
                $(sys::$status => stringify!($status),)+
                _ => "a status without a name",
            }
        }
    };
}

names! {
    IBV_WC_LOC_LEN_ERR IBV_WC_LOC_QP_OP_ERR IBV_WC_LOC_PROT_ERR IBV_WC_WR_FLUSH_ERR IBV_WC_MW_BIND_ERR
    IBV_WC_BAD_RESP_ERR IBV_WC_LOC_ACCESS_ERR IBV_WC_REM_INV_REQ_ERR IBV_WC_REM_ACCESS_ERR IBV_WC_REM_OP_ERR
    IBV_WC_RETRY_EXC_ERR IBV_WC_RNR_RETRY_EXC_ERR IBV_WC_REM_ABORT_ERR IBV_WC_FATAL_ERR IBV_WC_RESP_TIMEOUT_ERR
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_comes_with_both_numbers() {
        let mut completion = WorkCompletion { status: 12, vendor_err: 0x81, ..Default::default() };
        assert_eq!(describe(&completion), "IBV_WC_RETRY_EXC_ERR (12), vendor error 0x81");
        completion.status = 4711;
        assert_eq!(describe(&completion), "a status without a name (4711), vendor error 0x81");
    }
}
