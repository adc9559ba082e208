//! A queue pair, as the driver drives it.

use std::time::{Duration, Instant};

use super::event_order::EventOrder;

/// A queue pair, as the driver drives it.
pub(crate) trait Driven: Send + Sync {
    /// Breaks the connection, whose descriptor may not be used any more.
    fn break_off(&self, order: &mut EventOrder);

    /// Reads the link, or lends it to pollers. An end that it finds waits in `order`.
    fn progress(&self, order: &mut EventOrder) -> LinkStatus;

    /// Takes the link back if its pollers have not polled since the last check. Returns whether it
    /// is still lent.
    fn check_lease(&self, order: &mut EventOrder) -> bool;

    /// Sends the frames that the link holds. Only the link of a connection holds any.
    fn send_held(&self, _order: &mut EventOrder) {}

    /// Acknowledges requests whose acknowledgement waited for a reply of the consumer. Returns whether to do that
    /// later, because there were other requests. Only connections acknowledge.
    fn acknowledge(&self, _order: &mut EventOrder) -> bool {
        false
    }

    /// Makes the upcalls of the queued events, in order, up to an end, which waits in `order`.
    fn deliver(&self, _order: &mut EventOrder) {}

    /// Makes the upcalls of all queued events.
    fn deliver_all(&self) {}
}

/// What the driver does next about a link.
pub(crate) enum LinkStatus {
    /// It waits until the descriptor is ready.
    Idle,
    /// It reads again without waiting: the budget ended before the data did.
    HasMore,
    /// It progresses the queue pair again at this time.
    Retry(Instant),
    /// It leaves the link to a poller, and checks after this time whether that one still polls.
    Lent(Duration),
    /// It waits until the descriptor is ready, and acknowledges after [`REPLY_PATIENCE`](crate::protocol::REPLY_PATIENCE).
    AwaitsReply,
}
