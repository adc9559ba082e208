//! The objects to which the threads of a device pass events.
//!
//! The threads know these objects only by the traits below, so the objects may use the threads.

use std::sync::Weak;

use dat_provider::{AsyncUpcall, ConnectionUpcall};

use crate::cm;

/// The object of a key.
#[derive(Clone)]
pub(crate) enum Target {
    QueuePair(Weak<dyn QueuePairEvents>),
    Listener(Weak<dyn ListenerEvents>),
    Queue(Weak<dyn QueueEvents>),
    SharedReceive(Weak<dyn SharedReceiveEvents>),
}

/// An open instance of the device.
pub(crate) trait InstanceEvents: Send + Sync {
    /// The number of its port.
    fn port(&self) -> u8;

    /// Reports an asynchronous event to the consumer.
    fn report(&self, event: AsyncUpcall);

    /// The device was removed and cannot be used any more; reported once.
    fn report_removal(&self);
}

/// A queue pair.
pub(crate) trait QueuePairEvents: Send + Sync {
    /// The number of its port.
    fn port(&self) -> u8;

    /// An event of the identifier of an attempt or a connection.
    fn connection_event(&self, event: cm::Event);

    /// The device reported that data arrived before the final handshake message.
    fn data_arrived(&self);

    /// Something failed: the connection is broken.
    fn trouble(&self);

    /// Completes the end of a connection.
    fn finish(&self);

    /// Ends an attempt, with an event if one is given.
    fn fail_attempt(&self, key: u64, event: Option<ConnectionUpcall<'_>>);

    /// Begins a graceful disconnect if no request is outstanding; returns whether nothing is left
    /// to wait for.
    fn try_close(&self) -> bool;

    /// The sequence number of the oldest request that has not completed.
    fn oldest_request(&self) -> Option<u32>;
}

/// A listener.
pub(crate) trait ListenerEvents: Send + Sync {
    /// An event of the listening identifier.
    fn connection_event(&self, event: cm::Event);
}

/// A completion queue.
pub(crate) trait QueueEvents: Send + Sync {
    /// The queue's own channel is readable; while it is lent to a waiter, the event belongs to the
    /// waiter.
    fn own_channel_event(&self);

    /// The device's channel reported completions.
    fn channel_event(&self);

    /// Makes upcalls that were left to the thread.
    fn report_later(&self, ready: bool, overflow: bool);

    /// Returns true if a waiter still uses the channel. If not, the thread takes it back.
    fn is_lent_for_longer(&self) -> bool;

    /// The device lost completions.
    fn overflowed(&self);

    /// Takes all completions from the device; makes no upcall, but leaves them to the thread.
    fn collect_quietly(&self);
}

/// A shared receive queue.
pub(crate) trait SharedReceiveEvents: Send + Sync {
    /// The number of buffers fell below the armed watermark.
    fn limit_reached(&self);

    /// The queue failed.
    fn failed(&self);
}
