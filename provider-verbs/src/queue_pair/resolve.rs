//! Resolving the destination of datagrams (the service of rdma_cm(7) for UDP ports).
//!
//! The requesting side gets the address of the other side with the answer. The answering side first
//! sends a request back, to the port that the first request named, and answers once it knows that
//! address. Then both sides have an address from the fabric itself, and the requesting side cannot
//! send its datagrams and close before the other side has resolved its address.

use std::sync::Arc;

use dat_core::error::{Result, Subtype};
use dat_core::flags::Qos;
use dat_core::provider::{ConnectRequest, ConnectionUpcall, Peer, RemoteAddress};
use dat_provider_kit::errors::wrong_state;
use dat_provider_kit::{errors::ip_address, qualifier};
use dat_sync::Mutex;

use super::connect::{Accepted, RESOLVE_TIME, type_of_service};
use super::datagram::Remote;
use super::resolution::{Acceptance, Resolution};
use super::state::{Link, VerbsQp};
use crate::cm::{self, ConnectParameters, EventKind, Id, Parameters, PortSpace};
use crate::engine::{Command, Target};
use crate::errors::exhausted;
use crate::key::Key;
use crate::reject_data;
use crate::ud_handshake::UdRequest;

/// The status with which the connection manager reports a consumer's rejection (`IB_SIDR_REJECT`).
const REFUSED: u32 = 2;

impl VerbsQp {
    /// Requests the address of the endpoint that listens on a qualifier.
    pub(super) fn resolve(&self, request: &ConnectRequest<'_>) -> Result<()> {
        let mut link = self.link.lock();
        self.wake_up(&mut link)?;
        let port = link.datagrams.as_ref().map_or(0, |own| own.asked.local_port());
        let data = UdRequest::First { port }.compose(request.private_data);
        let peer = Peer { address: request.address, port: request.qualifier };
        self.begin(&mut link, request.attempt, None, peer, data, request.qos)
    }

    /// Begins an attempt; later failures are reported by an event.
    fn begin(
        &self,
        link: &mut Link,
        attempt: u64,
        acceptance: Option<Acceptance>,
        peer: Peer,
        request: Vec<u8>,
        qos: Qos,
    ) -> Result<()> {
        let Some(own) = &mut link.datagrams else {
            return Err(wrong_state(Subtype::InvalidStateEpNotready));
        };
        let device = &self.device;
        let key = Key::new(device);
        let value = key.value();
        let id = Id::new(&device.engine.channel, value, PortSpace::Udp)
            .map_err(|failure| exhausted(failure, Subtype::ResourceDevice, "identifier"))?;
        id.bind(device.at_port(0)).map_err(|failure| {
            exhausted(failure, Subtype::ResourceDevice, "local port for the address handle request")
        })?;
        if let Some(tos) = type_of_service(qos) {
            // The quality of service is only a preference: without it the address is resolved
            // nevertheless.
            let _ = id.set_type_of_service(tos);
        }
        let port = qualifier::to_port(peer.port);
        let to = device.reach(ip_address(peer.address)?, port);
        device.engine.register(value, Target::QueuePair(self.me.clone()));
        let is_elsewhere = to.ip().is_loopback() && !device.address.ip().is_loopback();
        own.resolving.insert(
            value,
            Resolution { id: id.clone(), _key: key, attempt, peer, request, acceptance },
        );
        if is_elsewhere || id.resolve_address(None, to, RESOLVE_TIME).is_err() {
            let event = ConnectionUpcall::Unreachable;
            device.engine.send(Command::Fail(self.me.clone(), value, event));
        }
        Ok(())
    }

    /// Accepts a datagram request: sends a request back, and answers when the address is known. If
    /// that cannot be attempted, the request is returned.
    pub(crate) fn accept_datagrams(
        &self,
        accepted: Accepted,
        port: u16,
    ) -> std::result::Result<(), (dat_core::Error, Box<Accepted>)> {
        let mut link = self.link.lock();
        let number = match self.wake_up(&mut link).and_then(|()| link.connectable()) {
            Ok(hardware) => hardware.number(),
            Err(error) => return Err((error, Box::new(accepted))),
        };
        let queue_pair = (number, link.shared.is_some());
        let Accepted { id, key, attempt, private_data, peer, .. } = accepted;
        let acceptance = Acceptance { id, _key: key, private_data, queue_pair };
        let asked = Peer { address: peer.address, port: port.into() };
        let data = UdRequest::Back.compose(&[]);
        let begun = self.begin(&mut link, attempt, Some(acceptance), asked, data, Qos::empty());
        let sink = link.listener();
        drop(link);
        if let (Err(_), Some(sink)) = (begun, sink) {
            sink.connection_event(attempt, ConnectionUpcall::AcceptFailed);
        }
        Ok(())
    }

    /// An event of one of its identifiers.
    pub(super) fn datagram_event(&self, mut event: cm::Event) {
        let mut link = self.link.lock();
        let number = link.hardware.as_ref().map_or(0, |hardware| hardware.number());
        let Some(own) = &mut link.datagrams else { return };
        if event.kind == EventKind::ConnectRequest {
            answer(&mut event, number);
            return;
        }
        let Some(resolution) = own.resolving.get(&event.key) else { return };
        let outcome = match event.kind {
            EventKind::AddressResolved if self.is_own(&resolution.id) => {
                resolution.id.resolve_route(RESOLVE_TIME).map_err(|_| Failure::Unreachable)
            }
            EventKind::RouteResolved => {
                let private_data = &resolution.request[..];
                let request = ConnectParameters { private_data, ..Default::default() };
                resolution.id.connect(&request).map_err(|_| Failure::Unreachable)
            }
            EventKind::Established => return self.resolved(link, event),
            EventKind::Unreachable | EventKind::Rejected => Err(Failure::of(&event)),
            EventKind::DeviceRemoval => {
                self.device.engine.device_removed();
                Err(Failure::Unreachable)
            }
            EventKind::AddressResolved
            | EventKind::AddressError
            | EventKind::RouteError
            | EventKind::ConnectError => Err(Failure::Unreachable),
            // Without meaning here.
            _ => Ok(()),
        };
        drop(link);
        if let Err(failure) = outcome {
            let upcall = match failure {
                Failure::Unreachable => ConnectionUpcall::Unreachable,
                Failure::TimedOut => ConnectionUpcall::TimedOut,
                Failure::Transport => ConnectionUpcall::REFUSED,
                Failure::Consumer => ConnectionUpcall::PeerRejected {
                    private_data: reject_data::data(&event.private_data).unwrap_or_default(),
                },
            };
            self.fail_resolution(event.key, upcall);
        }
    }

    fn is_own(&self, id: &Id) -> bool {
        id.port() == self.device.port
            && id.context().is_some_and(|context| context.name() == self.device.context().name())
    }

    /// The answer arrived.
    fn resolved(&self, mut link: dat_sync::MutexGuard<'_, Link>, event: cm::Event) {
        let Some(own) = &mut link.datagrams else { return };
        let Some(resolution) = own.resolving.remove(&event.key) else { return };
        let Parameters::Datagram { address: way, queue_pair: number, queue_key: key } =
            event.parameters
        else {
            return;
        };
        let sink = link.listener();
        drop(link);
        if let Some(Err(_)) = resolution.acceptance.as_ref().map(Acceptance::answer) {
            // The other side gave up in the meantime.
            if let Some(sink) = sink {
                sink.connection_event(resolution.attempt, ConnectionUpcall::AcceptFailed);
            }
            return;
        }
        let device = Arc::clone(&self.device);
        let remote = Remote { device, way, number, key, handles: Mutex::default() };
        let address = resolution.peer.address;
        let remote = RemoteAddress { address, number, handle: Arc::new(remote) };
        let is_passive = resolution.acceptance.is_some();
        let private_data = if is_passive { &[][..] } else { &event.private_data };
        if let Some(sink) = sink {
            let event = ConnectionUpcall::Resolved { remote: &remote, private_data };
            sink.connection_event(resolution.attempt, event);
        }
    }

    /// Ends an attempt without an address.
    pub(super) fn fail_resolution(&self, key: u64, event: ConnectionUpcall<'_>) {
        let mut link = self.link.lock();
        let Some(own) = &mut link.datagrams else { return };
        let Some(resolution) = own.resolving.remove(&key) else { return };
        let sink = link.listener();
        drop(link);
        let event =
            if resolution.acceptance.is_some() { ConnectionUpcall::AcceptFailed } else { event };
        if let Some(sink) = sink {
            sink.connection_event(resolution.attempt, event);
        }
    }
}

/// Answers an endpoint that requests an address; any other request is rejected by its drop.
fn answer(event: &mut cm::Event, number: u32) {
    let is_question = matches!(UdRequest::read(&event.private_data), Some((UdRequest::Back, _)));
    if let (Some(request), true) = (event.request.take(), is_question) {
        let queue_pair = Some((number, false));
        // Without an answer the other side asks again, or its time-out expires.
        let _ = request.accept(&ConnectParameters { queue_pair, ..Default::default() });
    }
}

/// Why there is no address.
enum Failure {
    Unreachable,
    TimedOut,
    /// There is no listener, or none for datagrams.
    Transport,
    /// The remote consumer rejected the request.
    Consumer,
}

impl Failure {
    fn of(event: &cm::Event) -> Self {
        match event.status {
            REFUSED if reject_data::data(&event.private_data).is_some() => Self::Consumer,
            status if status == libc::ETIMEDOUT.unsigned_abs() => Self::TimedOut,
            status if status == libc::EHOSTUNREACH.unsigned_abs() => Self::Unreachable,
            _ => Self::Transport,
        }
    }
}
