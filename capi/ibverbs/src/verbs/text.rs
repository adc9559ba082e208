//! Descriptions of values (ibv_event_type_str(3)). Programs print and compare them, so they are those of rdma-core.

use std::ffi::{CStr, c_char, c_int};

const UNKNOWN: &CStr = c"unknown";

const NODE_TYPES: [&CStr; 8] = [
    UNKNOWN,
    c"InfiniBand channel adapter",
    c"InfiniBand switch",
    c"InfiniBand router",
    c"iWARP NIC",
    c"usNIC",
    c"usNIC UDP",
    c"unspecified",
];

const PORT_STATES: [&CStr; 6] =
    [c"no state change (NOP)", c"down", c"init", c"armed", c"active", c"active defer"];

const EVENTS: [&CStr; 20] = [
    c"CQ error",
    c"local work queue catastrophic error",
    c"invalid request local work queue error",
    c"local access violation work queue error",
    c"communication established",
    c"send queue drained",
    c"path migrated",
    c"path migration request error",
    c"local catastrophic error",
    c"port active",
    c"port error",
    c"LID change",
    c"P_Key change",
    c"SM change",
    c"SRQ catastrophic error",
    c"SRQ limit reached",
    c"last WQE reached",
    c"client reregistration",
    c"GID table change",
    c"WQ fatal",
];

const STATUSES: [&CStr; 24] = [
    c"success",
    c"local length error",
    c"local QP operation error",
    c"local EE context operation error",
    c"local protection error",
    c"Work Request Flushed Error",
    c"memory management operation error",
    c"bad response error",
    c"local access error",
    c"remote invalid request error",
    c"remote access error",
    c"remote operation error",
    c"transport retry counter exceeded",
    c"RNR retry counter exceeded",
    c"local RDD violation error",
    c"remote invalid RD request",
    c"aborted error",
    c"invalid EE context number",
    c"invalid EE context state",
    c"fatal error",
    c"response timeout error",
    c"general error",
    c"TM error",
    c"TM software rendezvous",
];

/// The entry of a value; `unknown` for one that is not in the table.
fn text(table: &[&'static CStr], value: c_int) -> *const c_char {
    let entry = usize::try_from(value).ok().and_then(|index| table.get(index));
    entry.unwrap_or(&UNKNOWN).as_ptr()
}

/// The kind of a node. Never null.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_node_type_str(node_type: c_int) -> *const c_char {
    text(&NODE_TYPES, node_type)
}

/// The state of a port. Never null.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_port_state_str(state: c_int) -> *const c_char {
    text(&PORT_STATES, state)
}

/// An asynchronous event. Never null.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_event_type_str(event: c_int) -> *const c_char {
    text(&EVENTS, event)
}

/// The status of a completion. Never null.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_wc_status_str(status: c_int) -> *const c_char {
    text(&STATUSES, status)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn str(text: *const c_char) -> &'static str {
        // SAFETY: the functions return static strings.
        unsafe { CStr::from_ptr(text) }.to_str().expect("ASCII")
    }

    #[test]
    fn a_value_outside_of_the_enumeration_is_unknown() {
        assert_eq!(str(ibv_node_type_str(1)), "InfiniBand channel adapter");
        assert_eq!(str(ibv_node_type_str(-1)), "unknown");
        assert_eq!(str(ibv_port_state_str(4)), "active");
        assert_eq!(str(ibv_port_state_str(6)), "unknown");
        assert_eq!(str(ibv_event_type_str(18)), "GID table change");
        assert_eq!(str(ibv_event_type_str(20)), "unknown");
        assert_eq!(str(ibv_wc_status_str(12)), "transport retry counter exceeded");
        assert_eq!(str(ibv_wc_status_str(c_int::MAX)), "unknown");
    }
}
