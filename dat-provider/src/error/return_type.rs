//! The return types of DAT: what went wrong, in general.

use super::codes::codes;

/// `DAT_CLASS_ERROR`.
const CLASS_ERROR: u32 = 0x8000_0000;

impl ReturnType {
    /// The class bits that accompany the type in a `DAT_RETURN` (`dat_error.h`).
    ///
    /// `DAT_QUEUE_EMPTY` carries none, although the call that returns it fails: programs poll
    /// with `dat_evd_dequeue(evd, &event) == DAT_QUEUE_EMPTY`, and other DAT libraries return the
    /// bare type for an empty queue of completions and for a dat_cno_wait that timed out.
    #[must_use]
    pub const fn class(self) -> u32 {
        match self {
            Self::Success | Self::QueueEmpty => 0,
            _ => CLASS_ERROR,
        }
    }
}

codes! {
    /// What a DAT call returns in the type bits of a `DAT_RETURN`
    /// (`DAT_GET_TYPE`; values of DAT 2.0, header `dat_error.h`).
    ReturnType
    Success = 0x00000000, "DAT_SUCCESS",
        "The call succeeded.",
        "Nothing to do.";
    Abort = 0x00010000, "DAT_ABORT",
        "A blocked call was aborted because its object or the interface adapter was destroyed.",
        "Stop using the object; another thread freed it or closed the adapter.";
    ConnQualInUse = 0x00020000, "DAT_CONN_QUAL_IN_USE",
        "A service point already listens on the connection qualifier.",
        "Choose another qualifier, free the other service point, or let dat_psp_create_any choose \
         one.";
    InsufficientResources = 0x00030000, "DAT_INSUFFICIENT_RESOURCES",
        "The adapter, the provider or the host ran out of a resource.",
        "The subtype names the resource; free objects of that kind, request less, or raise the \
         limit.";
    InternalError = 0x00040000, "DAT_INTERNAL_ERROR",
        "The implementation met an unexpected condition.",
        "Report it with the detail text; the object should be freed.";
    InvalidHandle = 0x00050000, "DAT_INVALID_HANDLE",
        "A handle is not a live object of the right kind.",
        "The subtype names the handle; check that it was not freed and belongs to this adapter.";
    InvalidParameter = 0x00060000, "DAT_INVALID_PARAMETER",
        "An argument has a value that the call does not accept.",
        "The subtype names the argument, counted from 1.";
    InvalidState = 0x00070000, "DAT_INVALID_STATE",
        "The object is not in a state that allows the call.",
        "The subtype names the state; the manual page lists the states that allow the call.";
    LengthError = 0x00080000, "DAT_LENGTH_ERROR",
        "The local buffer is too short for the data of the transfer.",
        "Make the local segments at least as long as the remote buffer.";
    ModelNotSupported = 0x00090000, "DAT_MODEL_NOT_SUPPORTED",
        "The provider or the transport does not support the feature.",
        "Query the provider attributes and choose a supported value.";
    ProviderNotFound = 0x000a0000, "DAT_PROVIDER_NOT_FOUND",
        "No provider is registered with that name, version and thread safety.",
        "`dat list` shows which names can be opened, and why the others cannot.";
    PrivilegesViolation = 0x000b0000, "DAT_PRIVILEGES_VIOLATION",
        "The memory was registered without the privilege that the operation needs.",
        "Register or bind the memory with the privilege that the subtype names.";
    ProtectionViolation = 0x000c0000, "DAT_PROTECTION_VIOLATION",
        "The memory is not in the protection zone of the endpoint or queue.",
        "Register the memory in the protection zone of the endpoint, or move the endpoint to it.";
    QueueEmpty = 0x000d0000, "DAT_QUEUE_EMPTY",
        "The event queue is empty.",
        "Wait on the event dispatcher, or poll again.";
    QueueFull = 0x000e0000, "DAT_QUEUE_FULL",
        "The queue is full.",
        "Dequeue events first, or resize the event dispatcher.";
    TimeoutExpired = 0x000f0000, "DAT_TIMEOUT_EXPIRED",
        "The timeout expired before the awaited event occurred.",
        "Wait longer, or find out why the event does not occur.";
    ProviderAlreadyRegistered = 0x00100000, "DAT_PROVIDER_ALREADY_REGISTERED",
        "A provider with that name, version and thread safety is already registered.",
        "Remove the other entry first, or register under another name.";
    ProviderInUse = 0x00110000, "DAT_PROVIDER_IN_USE",
        "Adapters of the provider are still open.",
        "Close the adapters first.";
    InvalidAddress = 0x00120000, "DAT_INVALID_ADDRESS",
        "The address cannot be used to reach a remote adapter.",
        "The subtype says whether it is malformed, of an unsupported family, or unreachable.";
    InterruptedCall = 0x00130000, "DAT_INTERRUPTED_CALL",
        "A signal interrupted the blocked call.",
        "Call again, unless the signal was meant to end the wait.";
    ConnQualUnavailable = 0x00140000, "DAT_CONN_QUAL_UNAVAILABLE",
        "No connection qualifier is available, or the qualifier is not permitted.",
        "Choose one outside the reserved range, or free a service point.";
    ReservedLmr = 0x00150000, "DAT_RESERVED_LMR",
        "The operation is not permitted on the reserved local memory region.",
        "Use a memory region that the program registered.";
    PortInUse = 0x00160000, "DAT_PORT_IN_USE",
        "The port of a common service point is in use.",
        "Choose another port, or free the other service point.";
    CommNotSupported = 0x00170000, "DAT_COMM_NOT_SUPPORTED",
        "The communicator of a common service point is not supported.",
        "Use a domain, type and protocol that the adapter offers.";
    ExtensionBase = 0x10000000, "DAT_EXTENSION_BASE",
        "The first code defined by extensions.",
        "See the documentation of the extension.";
    NotImplemented = 0x3fff0000, "DAT_NOT_IMPLEMENTED",
        "The provider does not implement the call.",
        "Use another provider, or avoid the call.";
}
