//! The return subtypes of DAT: which handle, argument, state or resource.

use super::codes::codes;

/// A handle of the wrong kind, by its position.
macro_rules! wrong_handle {
    ($argument:literal) => {
        concat!("Argument ", $argument, " is not a live handle of the right kind.")
    };
}

const BELONGS: &str = "Check that it belongs to this adapter and has not been freed.";

/// Another argument, by its position.
macro_rules! wrong_value {
    ($argument:literal) => {
        concat!("Argument ", $argument, " has a value that the call does not accept.")
    };
}

const DETAIL: &str = "The detail text names the value and what is accepted.";

codes! {
    /// What a DAT call returns in the subtype bits of a `DAT_RETURN`
    /// (`DAT_GET_SUBTYPE`; values of DAT 2.0, header `dat_error.h`).
    Subtype
    NoSubtype = 0x0000, "DAT_NO_SUBTYPE",
        "There is no further detail.",
        "See the return type.";
    SubInterrupted = 0x0001, "DAT_SUB_INTERRUPTED",
        "A signal arrived during the call.",
        "Call again.";
    ResourceMemory = 0x0002, "DAT_RESOURCE_MEMORY",
        "The host ran out of memory.",
        "Free memory or raise the process limits; for memory registration see `ulimit -l`.";
    ResourceDevice = 0x0003, "DAT_RESOURCE_DEVICE",
        "The adapter ran out of an internal resource.",
        "Free objects on the adapter; `dat info` shows its limits.";
    ResourceTep = 0x0004, "DAT_RESOURCE_TEP",
        "No more transport endpoints can be created.",
        "Free endpoints, or request shorter queues.";
    ResourceTevd = 0x0005, "DAT_RESOURCE_TEVD",
        "No more completion queues, or none of that length, can be created.",
        "Free event dispatchers, or request a shorter queue.";
    ResourceProtectionDomain = 0x0006, "DAT_RESOURCE_PROTECTION_DOMAIN",
        "No more protection zones can be created.",
        "Free protection zones.";
    ResourceMemoryRegion = 0x0007, "DAT_RESOURCE_MEMORY_REGION",
        "No more memory regions can be registered.",
        "Free regions, register fewer and larger ones, or raise the locked-memory limit (`ulimit \
         -l`).";
    ResourceErrorHandler = 0x0008, "DAT_RESOURCE_ERROR_HANDLER",
        "No asynchronous error handler can be set up.",
        "Close other adapters that this process has open.";
    ResourceCredits = 0x0009, "DAT_RESOURCE_CREDITS",
        "The work queue is full: the endpoint has its maximum number of outstanding requests.",
        "Dequeue completions first, or create the endpoint with longer queues.";
    ResourceSrq = 0x000a, "DAT_RESOURCE_SRQ",
        "No more shared receive queues can be created.",
        "Free shared receive queues.";
    InvalidHandleIa = 0x000b, "DAT_INVALID_HANDLE_IA",
        "The handle is not a live interface adapter that the call can use.",
        "Check that it is an interface adapter that has not been closed.";
    InvalidHandleEp = 0x000c, "DAT_INVALID_HANDLE_EP",
        "The handle is not a live endpoint that the call can use.",
        "Check that it is an endpoint of this adapter and has not been freed.";
    InvalidHandleLmr = 0x000d, "DAT_INVALID_HANDLE_LMR",
        "The handle is not a live local memory region that the call can use.",
        "Check that it is a local memory region of this adapter and has not been freed.";
    InvalidHandleRmr = 0x000e, "DAT_INVALID_HANDLE_RMR",
        "The handle is not a live remote memory region that the call can use.",
        "Check that it is a remote memory region of this adapter and has not been freed.";
    InvalidHandlePz = 0x000f, "DAT_INVALID_HANDLE_PZ",
        "The handle is not a live protection zone that the call can use.",
        "Check that it is a protection zone of this adapter and has not been freed.";
    InvalidHandlePsp = 0x0010, "DAT_INVALID_HANDLE_PSP",
        "The handle is not a live public service point that the call can use.",
        "Check that it is a public service point of this adapter and has not been freed.";
    InvalidHandleRsp = 0x0011, "DAT_INVALID_HANDLE_RSP",
        "The handle is not a live reserved service point that the call can use.",
        "Check that it is a reserved service point of this adapter and has not been freed.";
    InvalidHandleCr = 0x0012, "DAT_INVALID_HANDLE_CR",
        "The handle is not a live connection request that the call can use.",
        "Check that it is a connection request of this adapter and has not been freed.";
    InvalidHandleCno = 0x0013, "DAT_INVALID_HANDLE_CNO",
        "The handle is not a live consumer notification object that the call can use.",
        "Check that it is a consumer notification object of this adapter and has not been freed.";
    InvalidHandleEvdCr = 0x0014, "DAT_INVALID_HANDLE_EVD_CR",
        "The handle is not a live event dispatcher for connection requests that the call can use.",
        "Check that it is an event dispatcher for connection requests of this adapter and has not \
         been freed.";
    InvalidHandleEvdRequest = 0x0015, "DAT_INVALID_HANDLE_EVD_REQUEST",
        "The handle is not a live event dispatcher for request completions that the call can use.",
        "Check that it is an event dispatcher for request completions of this adapter and has not \
         been freed.";
    InvalidHandleEvdRecv = 0x0016, "DAT_INVALID_HANDLE_EVD_RECV",
        "The handle is not a live event dispatcher for receive completions that the call can use.",
        "Check that it is an event dispatcher for receive completions of this adapter and has not \
         been freed.";
    InvalidHandleEvdConn = 0x0017, "DAT_INVALID_HANDLE_EVD_CONN",
        "The handle is not a live event dispatcher for connection events that the call can use.",
        "Check that it is an event dispatcher for connection events of this adapter and has not \
         been freed.";
    InvalidHandleEvdAsync = 0x0018, "DAT_INVALID_HANDLE_EVD_ASYNC",
        "The handle is not a live event dispatcher for asynchronous errors that the call can use.",
        "Check that it is an event dispatcher for asynchronous errors of this adapter and has not \
         been freed.";
    InvalidHandleSrq = 0x0019, "DAT_INVALID_HANDLE_SRQ",
        "The handle is not a live shared receive queue that the call can use.",
        "Check that it is a shared receive queue of this adapter and has not been freed.";
    InvalidHandleCsp = 0x001a, "DAT_INVALID_HANDLE_CSP",
        "The handle is not a live common service point that the call can use.",
        "Check that it is a common service point of this adapter and has not been freed.";
    InvalidHandle1 = 0x001b, "DAT_INVALID_HANDLE1", wrong_handle!(1), BELONGS;
    InvalidHandle2 = 0x001c, "DAT_INVALID_HANDLE2", wrong_handle!(2), BELONGS;
    InvalidHandle3 = 0x001d, "DAT_INVALID_HANDLE3", wrong_handle!(3), BELONGS;
    InvalidHandle4 = 0x001e, "DAT_INVALID_HANDLE4", wrong_handle!(4), BELONGS;
    InvalidHandle5 = 0x001f, "DAT_INVALID_HANDLE5", wrong_handle!(5), BELONGS;
    InvalidHandle6 = 0x0020, "DAT_INVALID_HANDLE6", wrong_handle!(6), BELONGS;
    InvalidHandle7 = 0x0021, "DAT_INVALID_HANDLE7", wrong_handle!(7), BELONGS;
    InvalidHandle8 = 0x0022, "DAT_INVALID_HANDLE8", wrong_handle!(8), BELONGS;
    InvalidHandle9 = 0x0023, "DAT_INVALID_HANDLE9", wrong_handle!(9), BELONGS;
    InvalidHandle10 = 0x0024, "DAT_INVALID_HANDLE10", wrong_handle!(10), BELONGS;
    InvalidArg1 = 0x0025, "DAT_INVALID_ARG1", wrong_value!(1), DETAIL;
    InvalidArg2 = 0x0026, "DAT_INVALID_ARG2", wrong_value!(2), DETAIL;
    InvalidArg3 = 0x0027, "DAT_INVALID_ARG3", wrong_value!(3), DETAIL;
    InvalidArg4 = 0x0028, "DAT_INVALID_ARG4", wrong_value!(4), DETAIL;
    InvalidArg5 = 0x0029, "DAT_INVALID_ARG5", wrong_value!(5), DETAIL;
    InvalidArg6 = 0x002a, "DAT_INVALID_ARG6", wrong_value!(6), DETAIL;
    InvalidArg7 = 0x002b, "DAT_INVALID_ARG7", wrong_value!(7), DETAIL;
    InvalidArg8 = 0x002c, "DAT_INVALID_ARG8", wrong_value!(8), DETAIL;
    InvalidArg9 = 0x002d, "DAT_INVALID_ARG9", wrong_value!(9), DETAIL;
    InvalidArg10 = 0x002e, "DAT_INVALID_ARG10", wrong_value!(10), DETAIL;
    InvalidStateEpUnconnected = 0x002f, "DAT_INVALID_STATE_EP_UNCONNECTED",
        "The endpoint is in the Unconnected state.",
        "The manual page of the call lists the states that allow it.";
    InvalidStateEpActconnpending = 0x0030, "DAT_INVALID_STATE_EP_ACTCONNPENDING",
        "The endpoint is in the Active Connection Pending state.",
        "The manual page of the call lists the states that allow it.";
    InvalidStateEpPassconnpending = 0x0031, "DAT_INVALID_STATE_EP_PASSCONNPENDING",
        "The endpoint is in the Passive Connection Pending state.",
        "The manual page of the call lists the states that allow it.";
    InvalidStateEpTentconnpending = 0x0032, "DAT_INVALID_STATE_EP_TENTCONNPENDING",
        "The endpoint is in the Tentative Connection Pending state.",
        "The manual page of the call lists the states that allow it.";
    InvalidStateEpConnected = 0x0033, "DAT_INVALID_STATE_EP_CONNECTED",
        "The endpoint is in the Connected state.",
        "The manual page of the call lists the states that allow it.";
    InvalidStateEpDisconnected = 0x0034, "DAT_INVALID_STATE_EP_DISCONNECTED",
        "The endpoint is in the Disconnected state.",
        "The manual page of the call lists the states that allow it.";
    InvalidStateEpReserved = 0x0035, "DAT_INVALID_STATE_EP_RESERVED",
        "The endpoint is in the Reserved state.",
        "The manual page of the call lists the states that allow it.";
    InvalidStateEpComplpending = 0x0036, "DAT_INVALID_STATE_EP_COMPLPENDING",
        "The endpoint is in the Completion Pending state.",
        "The manual page of the call lists the states that allow it.";
    InvalidStateEpDiscpending = 0x0037, "DAT_INVALID_STATE_EP_DISCPENDING",
        "The endpoint is in the Disconnect Pending state.",
        "The manual page of the call lists the states that allow it.";
    InvalidStateEpProvidercontrol = 0x0038, "DAT_INVALID_STATE_EP_PROVIDERCONTROL",
        "The endpoint is controlled by the provider.",
        "Configure it, or wait for its next connection event.";
    InvalidStateEpNotready = 0x0039, "DAT_INVALID_STATE_EP_NOTREADY",
        "The endpoint is not ready.",
        "Configure it, or wait for its next connection event.";
    InvalidStateEpRecvWatermark = 0x003a, "DAT_INVALID_STATE_EP_RECV_WATERMARK",
        "The endpoint exceeded its receive watermark.",
        "Set the watermark again, or dequeue receive completions.";
    InvalidStateEpPz = 0x003b, "DAT_INVALID_STATE_EP_PZ",
        "The endpoint has no protection zone.",
        "Set one with dat_ep_modify.";
    InvalidStateEpEvdRequest = 0x003c, "DAT_INVALID_STATE_EP_EVD_REQUEST",
        "The request event dispatcher is not suitable for the endpoint.",
        "Set a suitable one with dat_ep_modify.";
    InvalidStateEpEvdRecv = 0x003d, "DAT_INVALID_STATE_EP_EVD_RECV",
        "The receive event dispatcher is not suitable for the endpoint.",
        "Set a suitable one with dat_ep_modify.";
    InvalidStateEpEvdConnect = 0x003e, "DAT_INVALID_STATE_EP_EVD_CONNECT",
        "The connection event dispatcher is not suitable for the endpoint.",
        "Set a suitable one with dat_ep_modify.";
    InvalidStateEpUnconfigured = 0x003f, "DAT_INVALID_STATE_EP_UNCONFIGURED",
        "The endpoint is in the Unconfigured Unconnected state.",
        "The manual page of the call lists the states that allow it.";
    InvalidStateEpUnconfreserved = 0x0040, "DAT_INVALID_STATE_EP_UNCONFRESERVED",
        "The endpoint is in the Unconfigured Reserved state.",
        "The manual page of the call lists the states that allow it.";
    InvalidStateEpUnconfpassive = 0x0041, "DAT_INVALID_STATE_EP_UNCONFPASSIVE",
        "The endpoint is in the Unconfigured Passive state.",
        "The manual page of the call lists the states that allow it.";
    InvalidStateEpUnconftentative = 0x0042, "DAT_INVALID_STATE_EP_UNCONFTENTATIVE",
        "The endpoint is in the Unconfigured Tentative state.",
        "The manual page of the call lists the states that allow it.";
    InvalidStateCnoInUse = 0x0043, "DAT_INVALID_STATE_CNO_IN_USE",
        "An event dispatcher refers to the notification object, or a thread is waiting on it.",
        "Detach the dispatchers and wake the waiters first.";
    InvalidStateCnoDead = 0x0044, "DAT_INVALID_STATE_CNO_DEAD",
        "The notification object was destroyed.",
        "Create a new one.";
    InvalidStateEvdOpen = 0x0045, "DAT_INVALID_STATE_EVD_OPEN",
        "The event dispatcher is open.",
        "Free the objects whose events it receives first.";
    InvalidStateEvdEnabled = 0x0046, "DAT_INVALID_STATE_EVD_ENABLED",
        "The event dispatcher is enabled.",
        "Disable it first.";
    InvalidStateEvdDisabled = 0x0047, "DAT_INVALID_STATE_EVD_DISABLED",
        "The event dispatcher is disabled.",
        "Enable it first.";
    InvalidStateEvdWaitable = 0x0048, "DAT_INVALID_STATE_EVD_WAITABLE",
        "The event dispatcher is waitable.",
        "Make it unwaitable first with dat_evd_set_unwaitable.";
    InvalidStateEvdUnwaitable = 0x0049, "DAT_INVALID_STATE_EVD_UNWAITABLE",
        "The event dispatcher is unwaitable.",
        "Call dat_evd_clear_unwaitable, or use dat_evd_dequeue.";
    InvalidStateEvdInUse = 0x004a, "DAT_INVALID_STATE_EVD_IN_USE",
        "The event dispatcher receives event streams.",
        "Free the objects whose events it receives first.";
    InvalidStateEvdConfigNotify = 0x004b, "DAT_INVALID_STATE_EVD_CONFIG_NOTIFY",
        "The event dispatcher's streams use unsignalled completions.",
        "Wait with a threshold of 1.";
    InvalidStateEvdConfigSolicited = 0x004c, "DAT_INVALID_STATE_EVD_CONFIG_SOLICITED",
        "The event dispatcher's streams use solicited wait.",
        "Wait with a threshold of 1.";
    InvalidStateEvdConfigThreshold = 0x004d, "DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD",
        "The event dispatcher's streams use threshold notification.",
        "Use the threshold of dat_evd_wait.";
    InvalidStateEvdWaiter = 0x004e, "DAT_INVALID_STATE_EVD_WAITER",
        "Another thread is waiting on the event dispatcher.",
        "Let that thread dequeue the events, or wake it first.";
    InvalidStateEvdAsync = 0x004f, "DAT_INVALID_STATE_EVD_ASYNC",
        "The event dispatcher receives the asynchronous errors of an open adapter.",
        "Close the adapter first.";
    InvalidStateIaInUse = 0x0050, "DAT_INVALID_STATE_IA_IN_USE",
        "Objects that the program created still exist on the adapter.",
        "Free them, or close the adapter with DAT_CLOSE_ABRUPT_FLAG.";
    InvalidStateLmrInUse = 0x0051, "DAT_INVALID_STATE_LMR_IN_USE",
        "A remote memory region is bound to the local memory region.",
        "Unbind or free it first.";
    InvalidStateLmrFree = 0x0052, "DAT_INVALID_STATE_LMR_FREE",
        "The local memory region was freed.",
        "Register the memory again.";
    InvalidStatePzInUse = 0x0053, "DAT_INVALID_STATE_PZ_IN_USE",
        "Objects still use the protection zone.",
        "Free the memory regions, endpoints and queues in it first.";
    InvalidStatePzFree = 0x0054, "DAT_INVALID_STATE_PZ_FREE",
        "The protection zone was freed.",
        "Create a new one.";
    InvalidStateSrqOperational = 0x0055, "DAT_INVALID_STATE_SRQ_OPERATIONAL",
        "The shared receive queue is operational.",
        "The call requires it to be in the error state.";
    InvalidStateSrqError = 0x0056, "DAT_INVALID_STATE_SRQ_ERROR",
        "The shared receive queue is in the error state.",
        "Free it and create a new one.";
    InvalidStateSrqInUse = 0x0057, "DAT_INVALID_STATE_SRQ_IN_USE",
        "Endpoints use the shared receive queue, or receives are outstanding on it.",
        "Free the endpoints, or request at least the number of outstanding receives.";
    InvalidStateSrqShutdown = 0x0058, "DAT_INVALID_STATE_SRQ_SHUTDOWN",
        "The shared receive queue is shut down.",
        "Free it and create a new one.";
    PrivilegesRead = 0x0059, "DAT_PRIVILEGES_READ",
        "The region lacks the local read privilege.",
        "Register it with DAT_MEM_PRIV_LOCAL_READ_FLAG.";
    PrivilegesWrite = 0x005a, "DAT_PRIVILEGES_WRITE",
        "The region lacks the local write privilege.",
        "Register it with DAT_MEM_PRIV_LOCAL_WRITE_FLAG.";
    PrivilegesRdmaRead = 0x005b, "DAT_PRIVILEGES_RDMA_READ",
        "The region lacks the remote read privilege.",
        "Register or bind it with DAT_MEM_PRIV_REMOTE_READ_FLAG.";
    PrivilegesRdmaWrite = 0x005c, "DAT_PRIVILEGES_RDMA_WRITE",
        "The region lacks the remote write privilege.",
        "Register or bind it with DAT_MEM_PRIV_REMOTE_WRITE_FLAG.";
    ProtectionRead = 0x005d, "DAT_PROTECTION_READ",
        "The memory to be read is in another protection zone.",
        "Register it in the protection zone of the endpoint.";
    ProtectionWrite = 0x005e, "DAT_PROTECTION_WRITE",
        "The memory to be written is in another protection zone.",
        "Register it in the protection zone of the endpoint or shared receive queue.";
    ProtectionRdmaRead = 0x005f, "DAT_PROTECTION_RDMA_READ",
        "The remote memory to be read is in another protection zone.",
        "Register it in the protection zone of the remote endpoint.";
    ProtectionRdmaWrite = 0x0060, "DAT_PROTECTION_RDMA_WRITE",
        "The remote memory to be written is in another protection zone.",
        "Register it in the protection zone of the remote endpoint.";
    InvalidAddressUnsupported = 0x0061, "DAT_INVALID_ADDRESS_UNSUPPORTED",
        "The address family is not supported.",
        "Use the family of the adapter's own address.";
    InvalidAddressUnreachable = 0x0062, "DAT_INVALID_ADDRESS_UNREACHABLE",
        "There is no route to the address.",
        "Check the address and the route to it.";
    InvalidAddressMalformed = 0x0063, "DAT_INVALID_ADDRESS_MALFORMED",
        "The address is malformed.",
        "Pass a complete socket address.";
    NameNotRegistered = 0x0064, "DAT_NAME_NOT_REGISTERED",
        "The name is not registered.",
        "`dat list` shows the registered names.";
    MajorNotFound = 0x0065, "DAT_MAJOR_NOT_FOUND",
        "The name is registered, but for another major version of the API.",
        "Open it through the library for that version.";
    MinorNotFound = 0x0066, "DAT_MINOR_NOT_FOUND",
        "The name is registered, but for another minor version of the API.",
        "Request the minor version that is registered.";
    ThreadSafetyNotFound = 0x0067, "DAT_THREAD_SAFETY_NOT_FOUND",
        "The name is registered with another thread safety.",
        "Request the thread safety that is registered.";
}
