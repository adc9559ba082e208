//! Resolving the destination of datagrams (the service of rdma_cm(7) for UDP ports).
//!
//! The requesting side gets the address of the other side with the answer. The answering side first
//! sends a request back, to the port that the first request named, and answers once it knows that
//! address. Then both sides have an address from the fabric itself, and the requesting side cannot
//! send its datagrams and close before the other side has resolved its address.

use std::net::SocketAddr;
use std::sync::Arc;

use dat_provider::error::{Error, Result, Subtype};
use dat_provider::flags::Qos;
use dat_provider::{ConnectRequest, ConnectionUpcall, Peer, RemoteAddress};
use dat_provider_kit::errors::wrong_state;
use dat_provider_kit::{errors::ip_address, qualifier};
use dat_sync::Mutex;

use super::causes::{self, Step};
use super::connect::{Accepted, RESOLVE_TIME, type_of_service};
use super::datagram::Remote;
use super::resolution::{Acceptance, Resolution};
use super::state::{Link, VerbsQp};
use crate::cm::{self, CmId, ConnectParameters, EventKind, Parameters, PortSpace};
use crate::engine::{Command, Target};
use crate::errors::exhausted;
use crate::key::Key;
use crate::ud_handshake::UdRequest;

/// The needs of an attempt: its identifier, and the address of the peer.
struct Ready {
    id: CmId,
    key: Key,
    to: SocketAddr,
}

impl VerbsQp {
    /// Requests the address of the endpoint that listens on a qualifier.
    pub(super) fn resolve(&self, request: &ConnectRequest<'_>) -> Result<()> {
        let mut link = self.link.lock();
        self.wake_up(&mut link)?;
        let port = link.datagrams.as_ref().map_or(0, |own| own.asked.local_port());
        let data = UdRequest::First { port }.compose(request.private_data);
        let peer = Peer { address: request.address, port: request.qualifier };
        let ready = self.prepare(&mut link, peer, request.qos)?;
        self.begin(&mut link, ready, (request.attempt, peer, data, None));
        Ok(())
    }

    /// Creates what an attempt needs.
    fn prepare(&self, link: &mut Link, peer: Peer, qos: Qos) -> Result<Ready> {
        let Some(own) = &mut link.datagrams else {
            return Err(wrong_state(Subtype::InvalidStateEpNotready));
        };
        own.resolving.try_reserve(1).map_err(|_| Error::no_memory("another datagram attempt"))?;
        let device = &self.device;
        let to = device.reach(ip_address(peer.address)?, qualifier::to_port(peer.port));
        let key = Key::new(device);
        let id = CmId::new(&device.engine.channel, key.value(), PortSpace::Udp)
            .map_err(|failure| exhausted(failure, Subtype::ResourceDevice, "identifier"))?;
        id.bind(device.at_port(0)).map_err(|failure| {
            exhausted(failure, Subtype::ResourceDevice, "local port for the address handle request")
        })?;
        if let Some(tos) = type_of_service(qos) {
            // The quality of service is only a preference: without it the address is resolved
            // nevertheless.
            let _ = id.set_type_of_service(tos);
        }
        Ok(Ready { id, key, to })
    }

    /// Begins an attempt: its number, the peer, the contents of the request, and the request of the
    /// other side that it answers. Its failure is reported by an event.
    fn begin(
        &self,
        link: &mut Link,
        Ready { id, key, to }: Ready,
        (attempt, peer, request, acceptance): (u64, Peer, Vec<u8>, Option<Acceptance>),
    ) {
        let device = &self.device;
        let Some(own) = &mut link.datagrams else { return };
        let value = key.value();
        device.engine.register(value, Target::QueuePair(self.me.clone()));
        let resolution =
            Resolution { id: id.clone(), _key: key, attempt, peer, request, acceptance };
        own.resolving.insert(value, resolution);
        let is_elsewhere = to.ip().is_loopback() && !device.address.ip().is_loopback();
        let event = match is_elsewhere {
            true => Some(causes::ELSEWHERE),
            false => id
                .resolve_address(None, to, RESOLVE_TIME)
                .err()
                .map(|failure| causes::of_call(Step::Address, failure)),
        };
        if let Some(event) = event {
            device.engine.send(Command::Fail(self.me.clone(), value, event));
        }
    }

    /// Accepts a datagram request: sends a request back, and answers when the address is known. If
    /// that cannot be attempted, the request is returned.
    pub(crate) fn accept_datagrams(
        &self,
        accepted: Accepted,
        port: u16,
    ) -> std::result::Result<(), (Error, Box<Accepted>)> {
        let mut link = self.link.lock();
        let asked = Peer { address: accepted.peer.address, port: port.into() };
        let prepared = self.wake_up(&mut link).and_then(|()| {
            let number = link.connectable()?.number();
            Ok((number, self.prepare(&mut link, asked, Qos::empty())?))
        });
        let (number, ready) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return Err((error, Box::new(accepted))),
        };
        let queue_pair = (number, link.shared.is_some());
        let Accepted { id, key, attempt, private_data, .. } = accepted;
        let acceptance = Acceptance { id, _key: key, private_data, queue_pair };
        let data = UdRequest::Back.compose(&[]);
        self.begin(&mut link, ready, (attempt, asked, data, Some(acceptance)));
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
        let failure = match event.kind {
            EventKind::AddressResolved if self.is_own(&resolution.id) => {
                let resolving = resolution.id.resolve_route(RESOLVE_TIME);
                resolving.err().map(|failure| causes::of_call(Step::Route, failure))
            }
            EventKind::AddressResolved => Some(causes::ELSEWHERE),
            EventKind::RouteResolved => {
                let private_data = &resolution.request[..];
                let request = ConnectParameters { private_data, ..Default::default() };
                let requested = resolution.id.connect(&request);
                requested.err().map(|failure| causes::of_call(Step::Request, failure))
            }
            EventKind::Established => return self.resolved(link, event),
            EventKind::Unreachable | EventKind::Rejected => {
                Some(causes::of_answer(event.kind, event.status, &event.private_data))
            }
            EventKind::DeviceRemoval => {
                self.device.engine.device_removed();
                Some(causes::REMOVED)
            }
            EventKind::AddressError | EventKind::RouteError | EventKind::ConnectError => {
                Some(causes::of_event(event.kind, event.status))
            }
            // Without meaning here.
            _ => None,
        };
        drop(link);
        if let Some(failure) = failure {
            self.fail_resolution(event.key, failure);
        }
    }

    fn is_own(&self, id: &CmId) -> bool {
        id.port() == self.device.port
            && id.context().is_some_and(|context| context.name() == self.device.context().name())
    }

    /// The answer arrived.
    fn resolved(&self, mut link: dat_sync::MutexGuard<'_, Link>, event: cm::Event) {
        let Some(own) = &mut link.datagrams else { return };
        let Parameters::Datagram { address: way, queue_pair: number, queue_key: key } =
            event.parameters
        else {
            drop(link);
            return self.fail_resolution(event.key, ConnectionUpcall::REFUSED);
        };
        let Some(resolution) = own.resolving.remove(&event.key) else { return };
        let sink = link.listener();
        drop(link);
        if let Some(Err(failure)) = resolution.acceptance.as_ref().map(Acceptance::answer) {
            if let Some(sink) = sink {
                sink.connection_event(resolution.attempt, causes::of_accept_call(failure));
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
        let event = match resolution.acceptance {
            Some(_) => causes::of_acceptance(event),
            None => event,
        };
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
