//! What the number of an event says, and what to do about it.

/// An event of the C API (`DAT_EVENT_NUMBER`), in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventWords {
    /// Its number; see [`Event::number`](super::Event::number).
    pub number: u32,
    /// The name in the C headers.
    pub name: &'static str,
    /// What it says: a sentence.
    pub meaning: &'static str,
    /// What to do about it: a sentence.
    pub advice: &'static str,
}

const fn words(
    number: u32,
    name: &'static str,
    meaning: &'static str,
    advice: &'static str,
) -> EventWords {
    EventWords { number, name, meaning, advice }
}

impl EventWords {
    /// Every event that has a number.
    pub const ALL: [Self; 19] = [
        words(
            0x0_0001,
            "DAT_DTO_COMPLETION_EVENT",
            "A send, receive or RDMA operation completed.",
            "Look at its status: the event comes for failures too.",
        ),
        words(
            0x0_1001,
            "DAT_RMR_BIND_COMPLETION_EVENT",
            "The bind of a remote memory region completed.",
            "Look at its status; only then give the context to the peer.",
        ),
        words(
            0x0_2001,
            "DAT_CONNECTION_REQUEST_EVENT",
            "A request for a connection arrived on a service point.",
            "Accept or reject it; the other side waits.",
        ),
        words(0x0_4001, "DAT_CONNECTION_EVENT_ESTABLISHED", "The connection stands.", "Use it."),
        words(
            0x0_4002,
            "DAT_CONNECTION_EVENT_PEER_REJECTED",
            "The consumer of the other side refused the connection.",
            "Its private data may say why.",
        ),
        words(
            0x0_4003,
            "DAT_CONNECTION_EVENT_NON_PEER_REJECTED",
            "The connection was refused, but not by the consumer of the other side: nobody listens, \
         or the backlog is full.",
            "Check the connection qualifier, and that the other side listens on it.",
        ),
        words(
            0x0_4004,
            "DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR",
            "A request was accepted, but the connection could not be completed.",
            "Reset the endpoint and wait for the other side to connect again.",
        ),
        words(
            0x0_4005,
            "DAT_CONNECTION_EVENT_DISCONNECTED",
            "One of the sides ended the connection.",
            "Reset the endpoint to use it again.",
        ),
        words(
            0x0_4006,
            "DAT_CONNECTION_EVENT_BROKEN",
            "The connection broke on an error.",
            "The first completion in error that is not a flush tells the cause.",
        ),
        words(
            0x0_4007,
            "DAT_CONNECTION_EVENT_TIMED_OUT",
            "The connection did not stand when the time-out passed.",
            "Check that the other side answers requests, or give it longer.",
        ),
        words(
            0x0_4008,
            "DAT_CONNECTION_EVENT_UNREACHABLE",
            "The remote adapter can't be reached.",
            "Check the address, the route to it and the link.",
        ),
        words(
            0x0_8001,
            "DAT_ASYNC_ERROR_EVD_OVERFLOW",
            "An event dispatcher had no room for an event: events are lost.",
            "Make it longer, or take events from it sooner.",
        ),
        words(
            0x0_8002,
            "DAT_ASYNC_ERROR_IA_CATASTROPHIC",
            "The interface adapter is of no use any more.",
            "Close it abruptly and open it again.",
        ),
        words(
            0x0_8003,
            "DAT_ASYNC_ERROR_EP_BROKEN",
            "An endpoint broke.",
            "Disconnect and free it, and look at its completions.",
        ),
        words(
            0x0_8004,
            "DAT_ASYNC_ERROR_TIMED_OUT",
            "An operation of the adapter itself timed out.",
            "Check the device and its log.",
        ),
        words(
            0x0_8005,
            "DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR",
            "The provider failed in itself.",
            "Close the adapter and report what the provider logged.",
        ),
        words(
            0x0_8101,
            "DAT_HA_DOWN_TO_1",
            "All paths of a multipath connection but one are lost.",
            "Repair the other path before the last one fails too.",
        ),
        words(
            0x0_8102,
            "DAT_HA_UP_TO_MULTI_PATH",
            "A multipath connection has more than one path again.",
            "Nothing to do.",
        ),
        words(
            0x1_0001,
            "DAT_SOFTWARE_EVENT",
            "The program posted the event itself.",
            "Its value is the program's own.",
        ),
    ];

    /// The words of a number; of one that is no event's, that nothing is known of it.
    #[must_use]
    pub fn of(number: u32) -> &'static Self {
        const ALL: &[EventWords] = &EventWords::ALL;
        const UNKNOWN: &EventWords = &words(
            0,
            "",
            "No document names the code.",
            "Look into the documents of the provider.",
        );
        ALL.iter().find(|words| words.number == number).unwrap_or(UNKNOWN)
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{AsyncErrorKind, ConnectionEventKind};

    use super::*;

    #[test]
    fn every_event_is_known_by_its_name() {
        for kind in ConnectionEventKind::ALL {
            assert_eq!(EventWords::of(kind.number()).name, kind.name());
        }
        for kind in AsyncErrorKind::ALL {
            assert_eq!(EventWords::of(kind.number()).name, kind.name());
        }
        assert_eq!(EventWords::of(0x7777).name, "");
    }
}
