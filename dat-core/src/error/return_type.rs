//! The return types of DAT: what went wrong, in the coarsest words.

use super::codes::codes;

codes! {
    /// What a DAT call returns in the type bits of a `DAT_RETURN`
    /// (`DAT_GET_TYPE`; values of DAT 2.0, header `dat_error.h`).
    ReturnType
    Success = 0x00000000, "DAT_SUCCESS",
        "The call did what it was asked to do.",
        "Nothing to do.";
    Abort = 0x00010000, "DAT_ABORT",
        "A blocked call was ended because its object or the interface adapter was destroyed.",
        "Stop using the object; another thread freed it or closed the adapter.";
    ConnQualInUse = 0x00020000, "DAT_CONN_QUAL_IN_USE",
        "A service point already listens on the connection qualifier.",
        "Choose another qualifier, free the other service point, or let dat_psp_create_any choose one.";
    InsufficientResources = 0x00030000, "DAT_INSUFFICIENT_RESOURCES",
        "A resource of the adapter, the provider or the host ran out.",
        "The subtype names the resource; free objects of that kind, ask for less, or raise the limit.";
    InternalError = 0x00040000, "DAT_INTERNAL_ERROR",
        "The implementation met a condition that it does not expect.",
        "Report it with the detail text; the object should be freed.";
    InvalidHandle = 0x00050000, "DAT_INVALID_HANDLE",
        "A handle is not a live object of the right kind.",
        "The subtype names the handle; check for a freed object, or one of another adapter.";
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
        "The provider or the transport has no such feature.",
        "Query the provider attributes and choose what they offer.";
    ProviderNotFound = 0x000a0000, "DAT_PROVIDER_NOT_FOUND",
        "No provider serves that name, version and thread safety.",
        "`dat list` shows every name that can be opened and why the others can't.";
    PrivilegesViolation = 0x000b0000, "DAT_PRIVILEGES_VIOLATION",
        "The memory was registered without the privilege that the operation needs.",
        "Register or bind the memory with the privilege that the subtype names.";
    ProtectionViolation = 0x000c0000, "DAT_PROTECTION_VIOLATION",
        "The memory belongs to another protection zone than the endpoint or queue.",
        "Register the memory in the protection zone of the endpoint, or move the endpoint to it.";
    QueueEmpty = 0x000d0000, "DAT_QUEUE_EMPTY",
        "There is no event on the queue.",
        "Wait on the event dispatcher, or poll again.";
    QueueFull = 0x000e0000, "DAT_QUEUE_FULL",
        "The queue has no room for another entry.",
        "Dequeue events first, or resize the event dispatcher.";
    TimeoutExpired = 0x000f0000, "DAT_TIMEOUT_EXPIRED",
        "The time-out passed before what the call waited for happened.",
        "Wait longer, or look why the event doesn't come.";
    ProviderAlreadyRegistered = 0x00100000, "DAT_PROVIDER_ALREADY_REGISTERED",
        "The registry has that name, version and thread safety already.",
        "Remove the other entry first, or register under another name.";
    ProviderInUse = 0x00110000, "DAT_PROVIDER_IN_USE",
        "The provider serves adapters that are still open.",
        "Close the adapters first.";
    InvalidAddress = 0x00120000, "DAT_INVALID_ADDRESS",
        "The address can't be used to reach a remote adapter.",
        "The subtype says whether it is malformed, of an unsupported family, or unreachable.";
    InterruptedCall = 0x00130000, "DAT_INTERRUPTED_CALL",
        "A signal interrupted the blocked call.",
        "Call again if the signal was not meant to end the wait.";
    ConnQualUnavailable = 0x00140000, "DAT_CONN_QUAL_UNAVAILABLE",
        "No connection qualifier is free or permitted.",
        "Choose one outside the reserved range, or free service points.";
    ReservedLmr = 0x00150000, "DAT_RESERVED_LMR",
        "The operation is not permitted on the reserved local memory region.",
        "Use a region that the consumer registered.";
    PortInUse = 0x00160000, "DAT_PORT_IN_USE",
        "The port of a common service point is in use.",
        "Choose another port, or free the other service point.";
    CommNotSupported = 0x00170000, "DAT_COMM_NOT_SUPPORTED",
        "The communicator of a common service point is not supported.",
        "Use a domain, type and protocol that the adapter offers.";
    ExtensionBase = 0x10000000, "DAT_EXTENSION_BASE",
        "The first of the codes that extensions define.",
        "The extension's documentation names the code.";
    NotImplemented = 0x3fff0000, "DAT_NOT_IMPLEMENTED",
        "The provider does not have the call.",
        "Use another provider, or do without the call.";
}
