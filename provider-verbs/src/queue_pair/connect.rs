//! Connecting and accepting.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dat_provider::error::{Error, Result, Subtype};
use dat_provider::flags::Qos;
use dat_provider::{ConnectRequest, ConnectionUpcall, Peer};
use dat_provider_kit::errors::ip_address;
use dat_provider_kit::qualifier;

use super::causes::{self, Step};
use super::state::{Attempt, End, Link, State, VerbsQp};
use crate::cm::{self, CmId, ConnectParameters, EventKind, Parameters, PortSpace};
use crate::engine::{Command, QueueEvents, Target};
use crate::errors::exhausted;
use crate::key::Key;
use crate::quirks::RETRIES;
use crate::reject_data;
use crate::segments;
use crate::sys::verbs as sys;
use crate::verbs::{self, Error as Failure, QueuePairEvent, QueuePairState, Unrecorded};

/// How long the resolution of an address or a route may take.
pub(super) const RESOLVE_TIME: Duration = Duration::from_secs(4);

/// How long the other side waits before it resends a message for which there was no receive: 0.64
/// ms, in the encoding of the transport. The kernel's default is 655 ms.
const RECEIVE_RETRY_TIMER: u8 = 12;

/// An accepted request, as the endpoint needs it.
pub(crate) struct Accepted {
    pub(crate) id: CmId,
    pub(crate) key: Key,
    pub(crate) attempt: u64,
    pub(crate) private_data: Vec<u8>,
    pub(crate) peer: Peer,
    pub(crate) qualifier: u64,
    pub(crate) parameters: Parameters,
}

impl VerbsQp {
    pub(super) fn connect(&self, request: &ConnectRequest<'_>) -> Result<()> {
        if self.datagrams {
            return self.resolve(request);
        }
        let device = &self.device;
        let engine = &device.engine;
        let key = Key::new(device);
        let value = key.value();
        let id = CmId::new(&engine.channel, value, PortSpace::Tcp).map_err(|failure| {
            exhausted(failure, Subtype::ResourceDevice, "communication identifier")
        })?;
        if let Some(tos) = type_of_service(request.qos) {
            // The quality of service is only a preference: without it the connection is made
            // nevertheless.
            let _ = id.set_type_of_service(tos);
        }
        let port = qualifier::to_port(request.qualifier);
        let to = device.reach(ip_address(request.address)?, port);
        // The kernel finds a route to the host's own loopback addresses, but no RDMA device with
        // another address answers there.
        let is_elsewhere = to.ip().is_loopback() && !device.address.ip().is_loopback();
        // Bound first, so that the port is known from now on.
        id.bind(device.at_port(0))
            .map_err(|failure| exhausted(failure, Subtype::ResourceDevice, "local port"))?;
        let local_port = Some(id.local_port().into());
        let mut link = self.link.lock();
        link.connectable()?;
        engine.register(value, Target::QueuePair(self.me.clone()));
        link.state = State::Connecting(Attempt {
            number: request.attempt,
            id: id.clone(),
            key,
            private_data: request.private_data.to_vec(),
            peer: Peer { address: request.address, port: request.qualifier },
            local_port,
            troubled: false,
            closing: false,
        });
        drop(link);
        let resolving = id.resolve_address(None, to, RESOLVE_TIME);
        let failed = resolving.err().map(|failure| causes::of_call(Step::Address, failure));
        if let Some(event) = is_elsewhere.then_some(causes::ELSEWHERE).or(failed) {
            engine.send(Command::Fail(self.me.clone(), value, event));
        }
        Ok(())
    }

    /// The local port of the attempt, while it waits for the answer.
    pub(super) fn connecting_port(&self) -> Option<u64> {
        match &self.link.lock().state {
            State::Connecting(attempt) => attempt.local_port,
            _ => None,
        }
    }

    /// Accepts a request; if that cannot be attempted, the request is returned.
    pub(crate) fn accept(
        &self,
        accepted: Accepted,
    ) -> std::result::Result<(), (Error, Box<Accepted>)> {
        let engine = &self.device.engine;
        let mut link = self.link.lock();
        let hardware = match link.connectable() {
            Ok(hardware) => hardware,
            Err(error) => return Err((error, Box::new(accepted))),
        };
        let Accepted { id, key, attempt, private_data, peer, qualifier, parameters } = accepted;
        let value = key.value();
        engine.register(value, Target::QueuePair(self.me.clone()));
        link.state = State::Accepting(Attempt {
            number: attempt,
            id: id.clone(),
            key,
            private_data: Vec::new(),
            peer,
            local_port: Some(qualifier),
            troubled: false,
            closing: false,
        });
        let (asked_in, asked_out) = match parameters {
            Parameters::Connection { responder_resources, initiator_depth, .. } => {
                (responder_resources, initiator_depth)
            }
            Parameters::Datagram { .. } => (0, 0),
        };
        let mut answer = connection(&link, &hardware, &private_data);
        answer.responder_resources = answer.responder_resources.min(asked_in);
        answer.initiator_depth = answer.initiator_depth.min(asked_out);
        // librdmacm derives the attributes of the queue pair from the parameters with which the
        // kernel accepts, so the depths are set here.
        let depths = (answer.responder_resources, answer.initiator_depth);
        let opened = self.open(&id, &hardware, Some(depths)).and_then(|()| id.accept(&answer));
        drop(link);
        if let Err(failure) = opened {
            let event = causes::of_accept_call(failure);
            engine.send(Command::Fail(self.me.clone(), value, event));
        }
        Ok(())
    }

    /// Moves the device's queue pair to its operational states and posts the receives that waited.
    fn open(
        &self,
        id: &CmId,
        hardware: &Arc<verbs::QueuePair>,
        depths: Option<(u8, u8)>,
    ) -> std::result::Result<(), Failure> {
        self.initialize(id, hardware)?;
        let (mut attributes, mut mask) = id.queue_pair_attributes_raw(sys::IBV_QPS_RTR)?;
        if !self.device.limits.is_iwarp {
            attributes.min_rnr_timer = RECEIVE_RETRY_TIMER;
            mask |= sys::IBV_QP_MIN_RNR_TIMER;
            if let Some((incoming, _)) = depths {
                attributes.max_dest_rd_atomic = incoming;
            }
        }
        modify(hardware, &attributes, mask)?;
        let (mut attributes, mask) = id.queue_pair_attributes_raw(sys::IBV_QPS_RTS)?;
        if let Some((_, outgoing)) = depths {
            attributes.max_rd_atomic = outgoing;
        }
        // The requesting side may have requested more.
        attributes.retry_cnt = attributes.retry_cnt.min(RETRIES);
        modify(hardware, &attributes, mask)?;
        self.sender.lock().queue.go_live(hardware);
        Ok(())
    }

    /// Moves the device's queue pair to the state in which it accepts receives, and posts those
    /// that waited.
    fn initialize(
        &self,
        id: &CmId,
        hardware: &Arc<verbs::QueuePair>,
    ) -> std::result::Result<(), Failure> {
        let (mut attributes, mask) = id.queue_pair_attributes_raw(sys::IBV_QPS_INIT)?;
        attributes.qp_access_flags = sys::IBV_ACCESS_REMOTE_READ | sys::IBV_ACCESS_REMOTE_WRITE;
        if self.device.limits.has_atomics {
            attributes.qp_access_flags |= sys::IBV_ACCESS_REMOTE_ATOMIC;
        }
        hardware.modify_raw(&attributes, mask | sys::IBV_QP_ACCESS_FLAGS)?;
        self.post_early(hardware)
    }

    /// Posts the receives that waited; later ones go directly to the device.
    pub(super) fn post_early(
        &self,
        hardware: &Arc<verbs::QueuePair>,
    ) -> std::result::Result<(), Failure> {
        let mut receiver = self.receiver.lock();
        for (number, list) in &receiver.early {
            let identifier = receiver.queue.attachment.identifier(*number);
            segments::with(list, |list| hardware.post_receive(identifier, Unrecorded::new(list)))?;
        }
        receiver.early.clear();
        receiver.queue.go_live(hardware);
        Ok(())
    }

    /// An event of the identifier of an attempt or a connection.
    pub(crate) fn connection_event(&self, event: cm::Event) {
        if self.datagrams {
            return self.datagram_event(event);
        }
        let key = event.key;
        let outcome = {
            let mut link = self.link.lock();
            let hardware = link.hardware.clone();
            let (is_connecting, is_connected) = (
                matches!(link.state, State::Connecting(_)),
                matches!(link.state, State::Connected(_)),
            );
            let Some(attempt) = link.state.attempt(key) else { return };
            let id = attempt.id.clone();
            match (event.kind, hardware) {
                (EventKind::AddressResolved, _) if is_connecting => self.address_resolved(&id),
                (EventKind::RouteResolved, Some(hardware)) if is_connecting => {
                    let private_data = std::mem::take(&mut attempt.private_data);
                    let request = connection(&link, &hardware, &private_data);
                    // On iWARP the kernel makes the queue pair operational when the other side
                    // accepts; that side may send at once.
                    let ready = match self.device.limits.is_iwarp {
                        true => self.initialize(&id, &hardware),
                        false => Ok(()),
                    };
                    match ready.and_then(|()| id.connect(&request)) {
                        Ok(()) => Outcome::Nothing,
                        Err(failure) => Outcome::Failed(causes::of_call(Step::Request, failure)),
                    }
                }
                (EventKind::Established, Some(hardware)) if is_connecting => {
                    self.sender.lock().queue.go_live(&hardware);
                    Outcome::Established
                }
                (EventKind::ConnectResponse, Some(hardware)) if is_connecting => {
                    let opened = self.open(&id, &hardware, None).and_then(|()| id.establish());
                    match opened {
                        Ok(()) => Outcome::Established,
                        Err(failure) => {
                            Outcome::Failed(causes::of_call(Step::Confirmation, failure))
                        }
                    }
                }
                (EventKind::Established, _) if !is_connected => Outcome::Established,
                (EventKind::Rejected, _) if is_connecting => {
                    Outcome::Failed(match reject_data::read(event.status, &event.private_data) {
                        Some(private_data) => ConnectionUpcall::PeerRejected { private_data },
                        None => ConnectionUpcall::NonPeerRejected {
                            cause: reject_data::cause(event.status),
                        },
                    })
                }
                (
                    EventKind::AddressError
                    | EventKind::RouteError
                    | EventKind::Unreachable
                    | EventKind::ConnectError,
                    _,
                ) if is_connecting => Outcome::Failed(causes::of_event(event.kind, event.status)),
                (EventKind::Rejected | EventKind::Disconnected, _) if !is_connected => {
                    Outcome::Failed(causes::ABANDONED)
                }
                (EventKind::Unreachable | EventKind::ConnectError, _) if !is_connected => {
                    let event = causes::of_event(event.kind, event.status);
                    Outcome::Failed(causes::of_acceptance(event))
                }
                // If the queue pair is in the error state by itself, that explains why the other
                // side left.
                (EventKind::Disconnected, Some(hardware)) if self.has_failed(&hardware) => {
                    Outcome::Ended(End::Broken)
                }
                // So late a rejection comes from a side that left before it got the acceptance.
                (EventKind::Disconnected | EventKind::Rejected, _) => {
                    Outcome::Ended(End::Disconnected)
                }
                (EventKind::Unreachable | EventKind::ConnectError, _) => {
                    Outcome::Ended(End::Broken)
                }
                (EventKind::DeviceRemoval, _) => Outcome::Removed(is_connected),
                // Late, or without meaning here.
                _ => Outcome::Nothing,
            }
        };
        match outcome {
            Outcome::Nothing => {}
            Outcome::Established => self.established(key, &event.private_data),
            Outcome::Failed(upcall) => self.fail_attempt(key, Some(upcall)),
            Outcome::Ended(end) => self.ended_by_peer(end),
            Outcome::Removed(connected) => {
                self.device.engine.device_removed();
                if connected {
                    self.ended_by_peer(End::Broken);
                } else {
                    self.fail_attempt(key, Some(causes::REMOVED));
                }
            }
        }
    }

    /// Returns true if the queue pair is in the error state by itself, or its device was removed:
    /// two connected queue pairs of one device may see each other's end before that of the device.
    fn has_failed(&self, hardware: &verbs::QueuePair) -> bool {
        if self.device.engine.is_removed() {
            return true;
        }
        if !self.device.limits.is_iwarp {
            // A queue pair that does not answer belongs to a removed device.
            return hardware.state().map_or(true, |state| state == QueuePairState::Error);
        }
        // On iWARP this may be its state after any end of the connection.
        let requests = self.sender.lock().queue.completing();
        let receives = self.receiver.lock().queue.completing();
        [requests, receives].iter().any(|posts| {
            posts.queue.collect_quietly();
            posts.work_queue.failure_reported.load(Ordering::Relaxed)
        })
    }

    fn address_resolved(&self, id: &CmId) -> Outcome<'static> {
        let ours = id.port() == self.device.port
            && id.context().is_some_and(|context| context.name() == self.device.context().name());
        if !ours {
            return Outcome::Failed(causes::ELSEWHERE);
        }
        match id.resolve_route(RESOLVE_TIME) {
            Ok(()) => Outcome::Nothing,
            Err(failure) => Outcome::Failed(causes::of_call(Step::Route, failure)),
        }
    }

    /// The connection is established, as far as this side knows.
    fn established(&self, key: u64, private_data: &[u8]) {
        let mut link = self.link.lock();
        let before = std::mem::replace(&mut link.state, State::Unconnected);
        let (attempt, active) = match before {
            State::Connecting(attempt) if attempt.key.value() == key => (attempt, true),
            State::Accepting(attempt) if attempt.key.value() == key => (attempt, false),
            other => {
                link.state = other;
                return;
            }
        };
        let (number, peer, troubled) = (attempt.number, attempt.peer, attempt.troubled);
        let local_port = attempt.local_port.unwrap_or_else(|| attempt.id.local_port().into());
        link.state = State::Connected(attempt);
        let sink = link.listener();
        drop(link);
        let private_data = if active { private_data } else { &[] };
        if let Some(sink) = sink {
            let event = ConnectionUpcall::Established { private_data, peer, local_port };
            sink.connection_event(number, event);
        }
        // What failed before the connection was established is reported after it.
        let work_queues = [
            self.sender.lock().queue.completing().work_queue,
            self.receiver.lock().queue.completing().work_queue,
        ];
        let failed = work_queues.iter().any(|one| one.failure_reported.load(Ordering::Relaxed));
        if troubled || failed {
            self.trouble();
        }
    }

    /// Data arrived on an accepted connection before the final handshake message, and proves the
    /// same: this notifies the connection manager, which establishes the connection. If `number` is
    /// given, an attempt with another number is left alone.
    pub(crate) fn communication_established(&self, number: Option<u64>) {
        let key = match &self.link.lock().state {
            State::Accepting(attempt) if number.is_none_or(|it| it == attempt.number) => {
                // If the kernel refuses this, the final message will arrive, or its absence will
                // end the connection.
                let _ = attempt.id.notify(QueuePairEvent::CommunicationEstablished);
                attempt.key.value()
            }
            _ => return,
        };
        self.established(key, &[]);
    }
}

/// The work after an event, which is done without locks.
enum Outcome<'a> {
    Nothing,
    Established,
    Failed(ConnectionUpcall<'a>),
    Ended(End),
    Removed(bool),
}

/// The connection parameters for that queue pair.
fn connection<'a>(
    link: &Link,
    hardware: &Arc<verbs::QueuePair>,
    private_data: &'a [u8],
) -> ConnectParameters<'a> {
    let depth = |reads: u32| u8::try_from(reads).unwrap_or(u8::MAX);
    ConnectParameters {
        private_data,
        responder_resources: depth(link.limits.max_reads_in),
        initiator_depth: depth(link.limits.max_reads_out),
        retry_count: RETRIES,
        queue_pair: Some((hardware.number(), link.shared.is_some())),
        ..ConnectParameters::default()
    }
}

/// Modifies a queue pair; some transports have nothing to modify in a transition.
fn modify(
    hardware: &verbs::QueuePair,
    attributes: &sys::ibv_qp_attr,
    mask: i32,
) -> std::result::Result<(), Failure> {
    if mask & sys::IBV_QP_STATE == 0 {
        return Ok(());
    }
    hardware.modify_raw(attributes, mask)
}

/// The type of service for a quality of service, if one was requested.
pub(super) const fn type_of_service(qos: Qos) -> Option<u8> {
    if qos.contains(Qos::PREMIUM) {
        Some(0xb8)
    } else if qos.contains(Qos::LOW_LATENCY) {
        Some(0x10)
    } else if qos.contains(Qos::HIGH_THROUGHPUT) {
        Some(0x08)
    } else if qos.contains(Qos::ECONOMY) {
        Some(0x02)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_quality_has_its_type_of_service() {
        assert_eq!(type_of_service(Qos::empty()), None, "best effort is what there is anyway");
        let alone = [Qos::PREMIUM, Qos::LOW_LATENCY, Qos::HIGH_THROUGHPUT, Qos::ECONOMY];
        let mut types: Vec<u8> = alone.into_iter().filter_map(type_of_service).collect();
        assert_eq!(types.len(), alone.len());
        types.dedup();
        assert_eq!(types.len(), alone.len(), "no two are the same");
        assert_eq!(type_of_service(Qos::all()), type_of_service(Qos::PREMIUM));
    }
}
