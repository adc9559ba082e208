//! What the codes mean that have no words of their own in the library: the status of
//! completions and the numbers of events.

use dat_core::DtoStatus;

/// A code of a completion or an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// The value in the C headers.
    pub(crate) number: u32,
    /// The name in the C headers.
    pub(crate) name: &'static str,
    /// What it says.
    pub(crate) meaning: &'static str,
    /// What to do about it.
    pub(crate) advice: &'static str,
}

const fn known(
    number: u32,
    name: &'static str,
    meaning: &'static str,
    advice: &'static str,
) -> Known {
    Known { number, name, meaning, advice }
}

/// Every status of a completion (`DAT_DTO_COMPLETION_STATUS`).
pub(crate) const STATUSES: [Known; 13] = [
    known(0, "DAT_DTO_SUCCESS", "The operation did what it was posted for.", "Nothing to do."),
    known(
        1,
        "DAT_DTO_ERR_FLUSHED",
        "The connection ended before the operation took place, or before it was over.",
        "Look for the first completion of the endpoint with another error: it is the cause.",
    ),
    known(
        2,
        "DAT_DTO_ERR_LOCAL_LENGTH",
        "A message was longer than its receive buffer, or a request exceeds the endpoint.",
        "Post receives as long as the longest message.",
    ),
    known(
        3,
        "DAT_DTO_ERR_LOCAL_EP",
        "The local endpoint is not fit for the operation.",
        "Compare the request with the attributes that the endpoint was made with.",
    ),
    known(
        4,
        "DAT_DTO_ERR_LOCAL_PROTECTION",
        "A local segment may not be accessed: it was freed, or is out of bounds or of another \
         zone.",
        "Free memory regions only after the operations that use them completed.",
    ),
    known(
        5,
        "DAT_DTO_ERR_BAD_RESPONSE",
        "The other side answered with something unexpected.",
        "Check that both sides run matching software and firmware.",
    ),
    known(
        6,
        "DAT_DTO_ERR_REMOTE_ACCESS",
        "The other side refused the access: its context, bounds or privileges don't allow it.",
        "Check the remote address, length and RMR context, and the privileges they came with.",
    ),
    known(
        7,
        "DAT_DTO_ERR_REMOTE_RESPONDER",
        "The other side could not take the operation.",
        "Look at the other side's completions: often its receive was too short.",
    ),
    known(
        8,
        "DAT_DTO_ERR_TRANSPORT",
        "The transport gave up: nothing was acknowledged, however often it tried.",
        "Check the link and whether the other process is alive.",
    ),
    known(
        9,
        "DAT_DTO_ERR_RECEIVER_NOT_READY",
        "The other side had posted no receive for the message, for too long.",
        "Post receives before the other side sends.",
    ),
    known(
        10,
        "DAT_DTO_ERR_PARTIAL_PACKET",
        "Only a part of a packet arrived.",
        "Check the link for errors.",
    ),
    known(
        11,
        "DAT_RMR_OPERATION_FAILED",
        "The bind of a remote memory region failed.",
        "Check the zone and privileges of the memory region that was to be bound.",
    ),
    known(
        12,
        "DAT_DTO_ERR_LOCAL_MM_ERROR",
        "The memory management of the local side failed.",
        "Check the registrations of the operation; then the log of the system.",
    ),
];

const UNKNOWN: Known =
    known(0, "", "No document names the code.", "Look into the documents of the provider.");

/// Every number of an event (`DAT_EVENT_NUMBER`).
pub(crate) const EVENTS: [Known; 19] = [
    known(
        0x0_0001,
        "DAT_DTO_COMPLETION_EVENT",
        "A send, receive or RDMA operation completed.",
        "Look at its status: the event comes for failures too.",
    ),
    known(
        0x0_1001,
        "DAT_RMR_BIND_COMPLETION_EVENT",
        "The bind of a remote memory region completed.",
        "Look at its status; only then give the context to the peer.",
    ),
    known(
        0x0_2001,
        "DAT_CONNECTION_REQUEST_EVENT",
        "A request for a connection arrived on a service point.",
        "Accept or reject it; the other side waits.",
    ),
    known(0x0_4001, "DAT_CONNECTION_EVENT_ESTABLISHED", "The connection stands.", "Use it."),
    known(
        0x0_4002,
        "DAT_CONNECTION_EVENT_PEER_REJECTED",
        "The consumer of the other side refused the connection.",
        "Its private data may say why.",
    ),
    known(
        0x0_4003,
        "DAT_CONNECTION_EVENT_NON_PEER_REJECTED",
        "The connection was refused, but not by the consumer of the other side: nobody listens, \
         or the backlog is full.",
        "Check the connection qualifier, and that the other side listens on it.",
    ),
    known(
        0x0_4004,
        "DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR",
        "A request was accepted, but the connection could not be completed.",
        "Reset the endpoint and wait for the other side to connect again.",
    ),
    known(
        0x0_4005,
        "DAT_CONNECTION_EVENT_DISCONNECTED",
        "One of the sides ended the connection.",
        "Reset the endpoint to use it again.",
    ),
    known(
        0x0_4006,
        "DAT_CONNECTION_EVENT_BROKEN",
        "The connection broke on an error.",
        "The first completion in error that is not a flush tells the cause.",
    ),
    known(
        0x0_4007,
        "DAT_CONNECTION_EVENT_TIMED_OUT",
        "The connection did not stand when the time-out passed.",
        "Check that the other side answers requests, or give it longer.",
    ),
    known(
        0x0_4008,
        "DAT_CONNECTION_EVENT_UNREACHABLE",
        "The remote adapter can't be reached.",
        "Check the address, the route to it and the link.",
    ),
    known(
        0x0_8001,
        "DAT_ASYNC_ERROR_EVD_OVERFLOW",
        "An event dispatcher had no room for an event: events are lost.",
        "Make it longer, or take events from it sooner.",
    ),
    known(
        0x0_8002,
        "DAT_ASYNC_ERROR_IA_CATASTROPHIC",
        "The interface adapter is of no use any more.",
        "Close it abruptly and open it again.",
    ),
    known(
        0x0_8003,
        "DAT_ASYNC_ERROR_EP_BROKEN",
        "An endpoint broke.",
        "Disconnect and free it, and look at its completions.",
    ),
    known(
        0x0_8004,
        "DAT_ASYNC_ERROR_TIMED_OUT",
        "An operation of the adapter itself timed out.",
        "Check the device and its log.",
    ),
    known(
        0x0_8005,
        "DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR",
        "The provider failed in itself.",
        "Close the adapter and report what the provider logged.",
    ),
    known(
        0x0_8101,
        "DAT_HA_DOWN_TO_1",
        "All paths of a multipath connection but one are lost.",
        "Repair the other path before the last one fails too.",
    ),
    known(
        0x0_8102,
        "DAT_HA_UP_TO_MULTI_PATH",
        "A multipath connection has more than one path again.",
        "Nothing to do.",
    ),
    known(
        0x1_0001,
        "DAT_SOFTWARE_EVENT",
        "The program posted the event itself.",
        "Its value is the program's own.",
    ),
];

/// What a status of a completion means.
pub(crate) fn of_status(status: DtoStatus) -> &'static Known {
    STATUSES.iter().find(|known| known.number == status.value()).unwrap_or(&UNKNOWN)
}

/// What the number of an event means.
pub(crate) fn of_event(number: u32) -> &'static Known {
    EVENTS.iter().find(|known| known.number == number).unwrap_or(&UNKNOWN)
}

#[cfg(test)]
mod tests {
    use dat_core::ConnectionEventKind;

    use super::*;

    #[test]
    fn every_code_of_the_library_is_known_by_its_name() {
        for status in DtoStatus::all() {
            assert_eq!(Some(of_status(status).name), status.name());
        }
        assert_eq!(DtoStatus::all().count(), STATUSES.len());
        for kind in ConnectionEventKind::ALL {
            assert_eq!(of_event(kind.number()).name, kind.name());
        }
    }
}
