//! The calls and upcalls that pass through a layer, with their values.

use dat_provider::flags::{Close, Privileges};
use dat_provider::{
    AsyncUpcall, Completion, ConnectRequest, ConnectionUpcall, Notify, Peer, QueuePairLimits,
    ReceiveRequest, RemoteAddress, Request, SharedReceiveLimits, WindowScope,
};

/// A call or an upcall, with the values that hooks need.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Call<'a> {
    /// Opens the adapter.
    Open {
        /// The IA parameters.
        parameters: &'a str,
    },
    /// Creates a protection domain.
    CreateDomain,
    /// Creates a completion queue.
    CreateCompletionQueue {
        /// The capacity of the queue, in completions.
        depth: usize,
    },
    /// Creates a queue pair.
    CreateQueuePair {
        /// Its limits.
        limits: QueuePairLimits,
    },
    /// Creates a shared receive queue.
    CreateSharedReceives {
        /// Its limits.
        limits: SharedReceiveLimits,
    },
    /// Starts a listener.
    Listen {
        /// The connection qualifier; `None` if the provider chooses it.
        qualifier: Option<u64>,
    },
    /// Registers memory.
    Register {
        /// Number of bytes to register.
        bytes: u64,
        /// The accesses that the registration allows.
        privileges: Privileges,
    },
    /// Ends a registration.
    Deregister,
    /// Creates a memory window.
    CreateWindow {
        /// The connections through which it can be used.
        scope: WindowScope,
    },
    /// Polls a completion queue.
    Poll {
        /// The completions that the poll returned.
        found: &'a [Completion],
    },
    /// Arms or disarms the upcall of a completion queue.
    Notify {
        /// Which completions make an upcall.
        mode: Notify,
        /// The result of the call: whether completions were already waiting.
        waiting: bool,
    },
    /// Arms the descriptor of a completion queue.
    ArmDescriptor,
    /// Resizes a queue.
    Resize {
        /// The new capacity, in entries.
        depth: u64,
    },
    /// Posts a receive.
    PostReceive(&'a ReceiveRequest<'a>),
    /// Posts a request.
    PostRequest(&'a Request<'a>),
    /// Posts a datagram.
    PostDatagram {
        /// Its receiver.
        to: &'a RemoteAddress,
        /// The request to send it.
        request: &'a Request<'a>,
    },
    /// Binds a memory window.
    PostBind {
        /// Number of bytes that the peer may access; 0 closes the window.
        length: u64,
        /// The cookie of the completion.
        cookie: u64,
    },
    /// Starts a connection attempt.
    Connect(&'a ConnectRequest<'a>),
    /// A receive completed while the attempt was pending.
    CommunicationEstablished {
        /// The number of the attempt.
        attempt: u64,
    },
    /// Ends an attempt to resolve an address, whose time-out has expired.
    Abandon {
        /// The number of the attempt.
        attempt: u64,
    },
    /// Disconnects.
    Disconnect {
        /// Gracefully or abruptly.
        how: Close,
    },
    /// Makes a disconnected queue pair unconnected.
    Reset,
    /// Changes a queue pair.
    Modify {
        /// Its new limits.
        limits: QueuePairLimits,
    },
    /// Ends all use of a queue pair.
    Shutdown,
    /// Accepts a request for a connection.
    Accept {
        /// The number of the attempt.
        attempt: u64,
        /// Length of the private data, in bytes.
        private_data: usize,
    },
    /// Rejects a request for a connection.
    Reject {
        /// Length of the private data, in bytes.
        private_data: usize,
    },
    /// Arms the low watermark of a shared receive queue.
    ArmLowWatermark {
        /// The watermark, in receives; 0 disarms it.
        watermark: u32,
    },
    /// Upcall: a completion arrived.
    CompletionReady,
    /// Upcall: a completion queue overflowed.
    CompletionOverflow,
    /// Upcall: a shared receive queue has fewer receives than its watermark.
    LowWatermark,
    /// Upcall: a peer requests a connection.
    ConnectionRequest {
        /// The peer.
        peer: Peer,
        /// Length of the private data, in bytes.
        private_data: usize,
    },
    /// Upcall: an event of a connection.
    ConnectionEvent {
        /// The number of the attempt.
        attempt: u64,
        /// The event.
        event: ConnectionUpcall<'a>,
    },
    /// Upcall: an event of the adapter.
    AsyncEvent(AsyncUpcall),
}

impl Call<'_> {
    /// Returns true if it posts an operation.
    pub(super) const fn is_post(&self) -> bool {
        matches!(
            self,
            Self::PostReceive(_)
                | Self::PostRequest(_)
                | Self::PostDatagram { .. }
                | Self::PostBind { .. }
        )
    }

    /// Returns true if it goes from the provider to its user.
    pub(super) const fn is_upcall(&self) -> bool {
        matches!(
            self,
            Self::CompletionReady
                | Self::CompletionOverflow
                | Self::LowWatermark
                | Self::ConnectionRequest { .. }
                | Self::ConnectionEvent { .. }
                | Self::AsyncEvent(_)
        )
    }
}
