//! The meaning of each event number, and what to do about it.

/// A description of an event of the C API (`DAT_EVENT_NUMBER`).
///
/// ```
/// use dat_core::{ConnectionEventKind, EventText};
///
/// let text = EventText::from_number(ConnectionEventKind::Broken.number());
/// assert_eq!(text.name, "DAT_CONNECTION_EVENT_BROKEN");
/// println!("{} {}", text.meaning, text.advice);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventText {
    /// Its number; see [`Event::number`](super::Event::number).
    pub number: u32,
    /// The name in the C headers.
    pub name: &'static str,
    /// Its meaning, as a sentence.
    pub meaning: &'static str,
    /// The advice, as a sentence.
    pub advice: &'static str,
}

/// Defines the table of all events by `number "C name": "meaning", "advice";`.
macro_rules! texts {
    ($($number:literal $name:literal: $meaning:literal, $advice:literal;)+) => {
        impl EventText {
            /// Every event that has a number.
            pub const ALL: [Self; [$($number),+].len()] =
                [$(Self { number: $number, name: $name, meaning: $meaning, advice: $advice }),+];
        }
    };
}

texts! {
    0x0_0001 "DAT_DTO_COMPLETION_EVENT":
        "A send, receive or RDMA operation completed.",
        "Check its status: failures are reported by this event too.";
    0x0_1001 "DAT_RMR_BIND_COMPLETION_EVENT":
        "The bind of a remote memory region completed.",
        "Check its status before you give the context to the peer.";
    0x0_2001 "DAT_CONNECTION_REQUEST_EVENT":
        "A connection request arrived at a service point.",
        "Accept or reject it; the peer is waiting.";
    0x0_4001 "DAT_CONNECTION_EVENT_ESTABLISHED":
        "The connection is established.",
        "You can post sends and RDMA operations.";
    0x0_4002 "DAT_CONNECTION_EVENT_PEER_REJECTED":
        "The program on the other side rejected the connection.",
        "Its private data may give the reason.";
    0x0_4003 "DAT_CONNECTION_EVENT_NON_PEER_REJECTED":
        "The connection was not established, and no program rejected it.",
        "Check the connection qualifier, and that the other side listens on it. Where adapters have a secret \
         (secret=FILE of tcp), both sides need the same one.";
    0x0_4004 "DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR":
        "The request was accepted, but the connection could not be established.",
        "Reset the endpoint and wait for the peer to connect again.";
    0x0_4005 "DAT_CONNECTION_EVENT_DISCONNECTED":
        "One side disconnected.",
        "Reset the endpoint to use it again.";
    0x0_4006 "DAT_CONNECTION_EVENT_BROKEN":
        "The connection was broken by an error.",
        "The first failed completion that is not a flush shows the cause.";
    0x0_4007 "DAT_CONNECTION_EVENT_TIMED_OUT":
        "The connection was not established before the timeout expired.",
        "Check that the other side answers requests, or use a longer timeout.";
    0x0_4008 "DAT_CONNECTION_EVENT_UNREACHABLE":
        "The remote adapter cannot be reached.",
        "Check the address, the route to it and the link.";
    0x0_8001 "DAT_ASYNC_ERROR_EVD_OVERFLOW":
        "An event dispatcher overflowed: events were lost.",
        "Create it with a longer queue, or dequeue events sooner.";
    0x0_8002 "DAT_ASYNC_ERROR_IA_CATASTROPHIC":
        "The interface adapter failed and cannot be used any more.",
        "Close it abruptly and open it again.";
    0x0_8003 "DAT_ASYNC_ERROR_EP_BROKEN":
        "An endpoint failed.",
        "Check its completions, then disconnect and free it.";
    0x0_8004 "DAT_ASYNC_ERROR_TIMED_OUT":
        "An internal operation of the adapter timed out.",
        "Check the device and the system log.";
    0x0_8005 "DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR":
        "The provider had an internal error.",
        "Close the adapter, and report the provider's log.";
    0x0_8101 "DAT_HA_DOWN_TO_1":
        "A multipath connection has only one path left.",
        "Repair the other paths before the last one fails.";
    0x0_8102 "DAT_HA_UP_TO_MULTI_PATH":
        "A multipath connection has several paths again.",
        "Nothing to do.";
    0x1_0001 "DAT_SOFTWARE_EVENT":
        "The program posted this event.",
        "Its meaning is defined by the program.";
}

impl EventText {
    /// The description of a number; one without a name for an unknown number.
    #[must_use]
    pub fn from_number(number: u32) -> &'static Self {
        const ALL: &[EventText] = &EventText::ALL;
        const UNKNOWN: &EventText = &EventText {
            number: 0,
            name: "",
            meaning: "The code is not defined by DAT.",
            advice: "See the documentation of the provider.",
        };
        ALL.iter().find(|text| text.number == number).unwrap_or(UNKNOWN)
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{AsyncErrorKind, ConnectionEventKind};

    use super::*;

    #[test]
    fn every_event_is_known_by_its_name() {
        for kind in ConnectionEventKind::ALL {
            assert_eq!(EventText::from_number(kind.number()).name, kind.name());
        }
        for kind in AsyncErrorKind::ALL {
            assert_eq!(EventText::from_number(kind.number()).name, kind.name());
        }
        assert_eq!(EventText::from_number(0x7777).name, "");
    }
}
