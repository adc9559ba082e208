//! Connecting, and answering connection requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dat_provider::error::{Result, Subtype};
use dat_provider::{
    Address, ConnectRequest, ConnectionUpcall, IncomingRequest, Peer, QueuePair, RefusalCause,
    Responder, Service,
};
use dat_provider_kit::errors::wrong_state;
use dat_provider_kit::regions::unique_id;
use dat_provider_kit::ring::Ring;
use dat_sync::SlabArc;

use super::connection_state::{Connection, ConnectionState, EstablishedReport};
use super::qp::LoopbackQp;
use super::responder::{Inbound, InboundConnection};
use super::send_queue::SendQueue;
use crate::fabric::{self, Route};

/// A connection request that waits for its answer.
struct PendingConnect {
    /// The id of the connection, should it be accepted.
    connection_id: u64,
    connecting: SlabArc<LoopbackQp>,
    peer: Peer,
    /// The address and connection qualifier that it was sent to.
    address: Address,
    qualifier: u64,
    /// The attempt, if the queue pair carries datagrams.
    datagram_attempt: Option<u64>,
    is_answered: AtomicBool,
}

impl LoopbackQp {
    /// Starts to connect.
    pub(super) fn connect(qp: SlabArc<Self>, request: &ConnectRequest<'_>) -> Result<()> {
        let (connection_id, port) = (unique_id(), fabric::ephemeral_port());
        let mut send_queue = qp.send_queue.lock();
        send_queue.check_connectable()?;
        let datagram_attempt = (send_queue.service == Service::Datagram).then_some(request.attempt);
        if datagram_attempt.is_none() {
            send_queue.state =
                ConnectionState::Connecting { connection_id, attempt: request.attempt, port };
            qp.responder.lock().inbound = Inbound::Expecting(connection_id);
        }
        drop(send_queue);
        let fail = |event| match datagram_attempt {
            Some(attempt) => qp.report(attempt, event),
            None => qp.fail_attempt(connection_id, Some(event)),
        };
        let sink = match fabric::route(request.address, request.qualifier) {
            Route::Listener(sink) => sink,
            Route::NoListener => {
                fail(ConnectionUpcall::NonPeerRejected { cause: RefusalCause::NoListener });
                return Ok(());
            }
            Route::NoHost => {
                fail(ConnectionUpcall::Unreachable);
                return Ok(());
            }
            Route::Unknown(cause) => {
                fail(ConnectionUpcall::NonPeerRejected { cause: RefusalCause::Local(cause) });
                return Ok(());
            }
        };
        let peer = Peer { address: qp.host.address(), port };
        let incoming = IncomingRequest {
            peer,
            is_datagram: datagram_attempt.is_some(),
            private_data: request.private_data.into(),
            responder: Box::new(PendingConnect {
                connection_id,
                peer,
                connecting: qp,
                address: request.address,
                qualifier: request.qualifier,
                datagram_attempt,
                is_answered: AtomicBool::new(false),
            }),
        };
        // If the listener returns the request, dropping it refuses it.
        drop(sink.connection_request(incoming));
        Ok(())
    }

    /// The accepting side: prepares for the connection, before the connecting side opens it.
    fn begin_accept(
        qp: &SlabArc<Self>,
        connection_id: u64,
        attempt: u64,
        peer: &SlabArc<Self>,
    ) -> Result<InboundConnection> {
        let mut send_queue = qp.send_queue.lock();
        send_queue.check_connectable()?;
        send_queue.state =
            ConnectionState::Connected(Connection::new(connection_id, attempt, peer));
        qp.set_peer(Some(peer));
        qp.responder.lock().inbound = Inbound::Expecting(connection_id);
        Ok(send_queue.inbound_connection(connection_id, qp))
    }

    /// The connecting side: opens both responders, unless either side has given up.
    fn complete_connect(
        qp: &SlabArc<Self>,
        connection_id: u64,
        accepting: &SlabArc<Self>,
        inbound: InboundConnection,
    ) -> ConnectOutcome {
        let mut send_queue = qp.send_queue.lock();
        let Some(attempt) = send_queue.state.pending_attempt(connection_id) else {
            return ConnectOutcome::ConnectingSideGone;
        };
        qp.set_peer(Some(accepting));
        let outbound = send_queue.inbound_connection(connection_id, qp);
        {
            let mut responder = accepting.responder.lock();
            if !responder.inbound.is_of(connection_id) {
                return ConnectOutcome::AcceptingSideGone;
            }
            responder.inbound = Inbound::Open(Box::new(outbound));
        }
        // The accepting side may have ended the connection already, and shut this responder.
        let mut responder = qp.responder.lock();
        if responder.inbound.is_of(connection_id) {
            responder.inbound = Inbound::Open(Box::new(inbound));
        }
        drop(responder);
        send_queue.state =
            ConnectionState::Connected(Connection::new(connection_id, attempt, accepting));
        ConnectOutcome::Established
    }

    /// Reports `Established`, and the end of the connection if it has ended meanwhile.
    fn report_established(
        &self,
        connection_id: u64,
        private_data: &[u8],
        peer: Peer,
        local_port: u64,
    ) {
        let (sink, attempt) = {
            let mut send_queue = self.send_queue.lock();
            let Some(connection) = send_queue.state.connection(connection_id) else { return };
            connection.established = EstablishedReport::InProgress;
            let attempt = connection.attempt;
            (Arc::clone(&send_queue.sink), attempt)
        };
        let event = ConnectionUpcall::Established { private_data, peer, local_port };
        sink.connection_event(attempt, event);
        let mut send_queue = self.send_queue.lock();
        let Some(connection) = send_queue.state.connection(connection_id) else { return };
        connection.established = EstablishedReport::Done;
        let Some(cause) = connection.ended else { return };
        let before = std::mem::replace(&mut send_queue.state, ConnectionState::Disconnected);
        drop(send_queue);
        drop(before);
        sink.connection_event(attempt, cause.into());
    }
}

/// The result of opening both responders.
enum ConnectOutcome {
    Established,
    ConnectingSideGone,
    AcceptingSideGone,
}

impl Responder for PendingConnect {
    fn accept(&self, queue_pair: &dyn QueuePair, attempt: u64, private_data: &[u8]) -> Result<()> {
        let accepting = super::downcast(queue_pair)?;
        if let Some(connecting_attempt) = self.datagram_attempt {
            return self.accept_datagrams(&accepting, (connecting_attempt, attempt), private_data);
        }
        self.mark_answered()?;
        let id = self.connection_id;
        let inbound = LoopbackQp::begin_accept(&accepting, id, attempt, &self.connecting)
            .inspect_err(|_| self.is_answered.store(false, Ordering::Release))?;
        match LoopbackQp::complete_connect(&self.connecting, id, &accepting, inbound) {
            ConnectOutcome::Established => {
                accepting.report_established(id, &[], self.peer, self.qualifier);
                let peer = Peer { address: self.address, port: self.qualifier };
                self.connecting.report_established(id, private_data, peer, self.peer.port);
            }
            ConnectOutcome::ConnectingSideGone => accepting.fail_accept(id),
            ConnectOutcome::AcceptingSideGone => self.refuse(ConnectionUpcall::REFUSED),
        }
        Ok(())
    }

    fn reject(&self, private_data: &[u8]) -> Result<()> {
        self.mark_answered()?;
        self.refuse(ConnectionUpcall::PeerRejected { private_data });
        Ok(())
    }
}

impl PendingConnect {
    /// Fails if the request was already answered.
    fn mark_answered(&self) -> Result<()> {
        if self.is_answered.swap(true, Ordering::AcqRel) {
            return Err(wrong_state(Subtype::NoSubtype)
                .because("the connection request was already answered"));
        }
        Ok(())
    }

    fn refuse(&self, event: ConnectionUpcall<'_>) {
        match self.datagram_attempt {
            Some(attempt) => self.connecting.report(attempt, event),
            None => self.connecting.fail_attempt(self.connection_id, Some(event)),
        }
    }

    /// Reports to each side the address of the other.
    fn accept_datagrams(
        &self,
        accepting: &SlabArc<LoopbackQp>,
        (connecting_attempt, accepting_attempt): (u64, u64),
        private_data: &[u8],
    ) -> Result<()> {
        accepting.check_datagrams()?;
        self.mark_answered()?;
        let remote = &self.connecting.datagram_address();
        accepting
            .report(accepting_attempt, ConnectionUpcall::Resolved { remote, private_data: &[] });
        let remote = &accepting.datagram_address();
        self.connecting
            .report(connecting_attempt, ConnectionUpcall::Resolved { remote, private_data });
        Ok(())
    }
}

impl Drop for PendingConnect {
    fn drop(&mut self) {
        if self.mark_answered().is_ok() {
            self.refuse(ConnectionUpcall::REFUSED);
        }
    }
}

impl SendQueue {
    /// This queue pair, as the responder of its peer knows it.
    fn inbound_connection(
        &self,
        connection_id: u64,
        qp: &SlabArc<LoopbackQp>,
    ) -> InboundConnection {
        InboundConnection {
            connection_id,
            peer: SlabArc::clone(qp),
            requester: self.context.clone(),
            waiting: Ring::new(self.credits.capacity(), self.max_segments),
            is_closing: false,
        }
    }
}
