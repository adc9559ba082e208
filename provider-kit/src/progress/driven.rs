//! The driver's view of a queue pair.

use std::time::{Duration, Instant};

use super::event_order::EventOrder;

/// The driver's view of a queue pair.
pub(crate) trait Driven: Send + Sync {
    /// Breaks the connection, whose descriptor must not be used any more.
    fn break_off(&self, order: &mut EventOrder);

    /// Reads the link, or lends it to pollers. If the link has ended, the event waits in `order`.
    fn progress(&self, order: &mut EventOrder) -> LinkStatus;

    /// Takes the link back if its pollers have not polled since the last check. Returns true if it is still lent.
    fn check_lease(&self, order: &mut EventOrder) -> bool;

    /// Sends the frames that the link holds, and executes the requests that posts have left to polls. Returns true if
    /// there are any, which only connections have.
    fn send_held(&self, _order: &mut EventOrder) -> bool {
        false
    }

    /// Acknowledges requests whose acknowledgement waited for a reply of the consumer. Returns true if more requests
    /// have arrived, so that the caller must retry later. Only connections acknowledge.
    fn acknowledge(&self, _order: &mut EventOrder) -> bool {
        false
    }

    /// Makes the upcalls of the queued events, in order, up to the end of the link, which waits in `order`.
    fn deliver(&self, _order: &mut EventOrder) {}

    /// Makes the upcalls of all queued events.
    fn deliver_all(&self) {}
}

/// The next action of the driver for a link.
pub(crate) enum LinkStatus {
    /// Wait until the descriptor is ready.
    Idle,
    /// Read again without waiting: the budget was used up before the data.
    HasMore,
    /// Progress the queue pair again at this time.
    Retry(Instant),
    /// Leave the link to a poller, and check after this time that it still polls.
    Lent(Duration),
    /// Wait until the descriptor is ready, and acknowledge after [`REPLY_PATIENCE`](crate::protocol::REPLY_PATIENCE).
    AwaitsReply,
}
