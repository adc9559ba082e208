//! The constants and parameters of C, and what Rust has instead.

/// Those that an error may name, except the bits of flags.
pub(super) const CONSTANTS: &[(&str, &str)] = &[
    ("DAT_CLOSE_ABRUPT_FLAG", "Close::Abrupt"),
    ("DAT_CLOSE_GRACEFUL_FLAG", "Close::Graceful"),
    ("DAT_TIMEOUT_INFINITE", "Timeout::Infinite"),
    ("DAT_PSP_CONSUMER_FLAG", "PspMaker::Consumer"),
    ("DAT_PSP_PROVIDER_FLAG", "PspMaker::Provider"),
    ("DAT_CONNECT_MULTIPATH_FLAG", "ConnectFlags::MULTIPATH"),
    ("DAT_MEM_PRIV_ALL_FLAG", "Privileges::ALL"),
    ("DAT_SERVICE_TYPE_RC", "EpAttributes::SERVICE_CONNECTION"),
    ("DAT_COMPLETION_DEFAULT_FLAG", "CompletionFlags::empty()"),
    ("DAT_MEM_PRIV_NONE_FLAG", "Privileges::empty()"),
    ("DAT_QOS_BEST_EFFORT", "Qos::BEST_EFFORT"),
    ("dup_ep_handle", "other"),
];
