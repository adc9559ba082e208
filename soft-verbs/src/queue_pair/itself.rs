//! A queue pair that is connected to itself.
//!
//! A queue pair of the engine has one peer, which is another one. So the requests go by a second queue pair of the engine,
//! the twin, which connects to the first one. The first one has the receives, and executes the requests.

use std::sync::{Arc, Weak};

use dat_provider::flags::{Close, Qos};
use dat_provider::{
    ConnectRequest, ConnectionSink, ConnectionUpcall, QueuePairLimits, QueuePairSpec,
};

use super::link::Phase;
use super::{QueuePair, create};
use crate::engine::dial::Dial;

/// The queue pair of the engine that sends.
pub(super) type Twin = Arc<dyn dat_provider::QueuePair>;

/// Of the events of the twin, only waits matter: the first queue pair reports the connection.
struct TwinSink(Weak<QueuePair>);

impl ConnectionSink for TwinSink {
    fn connection_event(&self, _attempt: u64, _event: ConnectionUpcall<'_>) {}

    fn receive_awaited(&self, _attempt: u64) {
        if let Some(queue_pair) = self.0.upgrade() {
            queue_pair.note_receive_wait_of_twin();
        }
    }
}

impl QueuePair {
    /// Begins the connection. Its request arrives as one of another queue pair would.
    pub(super) fn connect_to_itself(&self) {
        let mut control = self.control.lock();
        control.link.phase = Phase::Waiting;
        control.link.peer_timer = control.attributes.min_rnr_timer;
        let attributes = control.attributes;
        drop(control);
        let sink = Arc::new(TwinSink(Weak::clone(&self.weak_self)));
        let spec = create::spec(&self.domain, &self.init, self.number, sink);
        let limits = QueuePairLimits { max_receives: 0, ..spec.limits };
        let spec = QueuePairSpec { shared_receives: None, limits, ..spec };
        let gid = attributes.ah_attr.dgid;
        let (to, timer) = (self.number, attributes.min_rnr_timer);
        let request = ConnectRequest {
            attempt: 1,
            address: attributes.ah_attr.address().into(),
            qualifier: u64::from(self.number >> 8),
            private_data: &Dial { to, from: to, gid, timer }.to_bytes(),
            qos: Qos::BEST_EFFORT,
        };
        let adapter = &self.domain.context().engine.adapter;
        let created = adapter.create_queue_pair(spec);
        match created.and_then(|kit| kit.connect(&request).map(|()| kit)) {
            Ok(kit) => *self.twin.lock() = Some(Arc::from(kit)),
            // Without a twin, requests fail as those to a peer that does not answer.
            Err(error) => self.control.lock().link.cause = Some(error.to_string().into()),
        }
    }

    /// The twin, if the queue pair is connected to itself.
    pub(super) fn twin(&self) -> Option<Twin> {
        self.twin.lock().clone()
    }

    /// Number of requests of the engine that are outstanding.
    pub(super) fn outstanding_requests(&self) -> u32 {
        let of_twin = self.twin().map_or(0, |twin| twin.outstanding().requests);
        self.kit.outstanding().requests + of_twin
    }

    /// Ends the connection of the queue pair, and of its twin.
    pub(super) fn disconnect(&self) {
        if let Some(twin) = self.twin() {
            twin.disconnect(Close::Abrupt);
        }
        self.kit.disconnect(Close::Abrupt);
    }

    /// Ends the twin.
    pub(super) fn forget_twin(&self) {
        let twin = self.twin.lock().take();
        if let Some(twin) = twin {
            twin.shutdown();
        }
    }
}
