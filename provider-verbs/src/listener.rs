//! Listeners, and connection requests.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use dat_provider::error::{Result, Subtype};
use dat_provider::{
    IncomingRequest, ListenSink, Listener, ListenerParts, Peer, QueuePair, Responder,
};
use dat_provider_kit::errors::wrong_state;
use dat_provider_kit::qualifier;
use dat_sync::Mutex;

use crate::cm::{self, CmId, EventKind, Parameters, PortSpace};
use crate::device::Device;
use crate::engine::{ListenerEvents, Target};
use crate::errors::{exhausted, internal};
use crate::key::Key;
use crate::queue_pair::{self, Accepted};
use crate::reject_data;
use crate::ud_handshake::UdRequest;
use crate::verbs::Error as Failure;

/// Maximum number of requests that wait in the kernel, before they reach the dispatcher.
const BACKLOG: i32 = 128;

/// Number of attempts to bind to a port that is in use.
const BIND_TRIES: u32 = 10;

/// The pause between two attempts.
const BIND_PAUSE: Duration = Duration::from_millis(5);

pub(crate) struct Listening {
    device: Arc<Device>,
    key: Key,
    /// The identifiers for connections and for datagrams; empty once it no longer listens.
    ids: Mutex<Vec<CmId>>,
    qualifier: u64,
    sink: Arc<dyn ListenSink>,
}

/// The object that the core holds; dropping it ends listening, even while the thread still handles
/// an event.
struct ListenerHandle(Arc<Listening>);

/// A request that has not been answered.
struct Pending {
    /// `None` once it was answered.
    waiting: Mutex<Option<Waiting>>,
    peer: Peer,
    qualifier: u64,
    parameters: Parameters,
    /// For a datagram request: the port at which the address of its endpoint can be requested.
    introduced: Option<u16>,
}

struct Waiting {
    id: CmId,
    key: Key,
}

/// Listens on a qualifier, or on one that the system chooses.
pub(crate) fn listen(
    device: &Arc<Device>,
    wanted: Option<u64>,
    sink: Arc<dyn ListenSink>,
) -> Result<ListenerParts> {
    let engine = &device.engine;
    let key = Key::new(device);
    let value = key.value();
    let refused = |failure: Failure| qualifier::refused(failure.call, failure.errno, wanted);
    let ids = bound(device, value, wanted)?;
    let qualifier = wanted.unwrap_or_else(|| ids[0].local_port().into());
    let listening = Arc::new_cyclic(|me: &Weak<Listening>| {
        engine.register(value, Target::Listener(me.clone()));
        let (device, ids) = (Arc::clone(device), Mutex::new(ids.clone()));
        Listening { device, key, ids, qualifier, sink }
    });
    for id in &ids {
        id.listen(BACKLOG).map_err(refused)?;
    }
    Ok(ListenerParts { qualifier, listener: Box::new(ListenerHandle(listening)) })
}

/// Creates identifiers for connections and, if the device supports them, for datagrams, bound to
/// the same port.
fn bound(device: &Arc<Device>, key: u64, wanted: Option<u64>) -> Result<Vec<CmId>> {
    let new = |space| {
        CmId::new(&device.engine.channel, key, space).map_err(|failure| {
            exhausted(failure, Subtype::ResourceDevice, "communication identifier")
        })
    };
    let refused = |failure: Failure| qualifier::refused(failure.call, failure.errno, wanted);
    let mut tries = BIND_TRIES;
    loop {
        let connections = new(PortSpace::Tcp)?;
        let port = wanted.map_or(0, qualifier::to_port);
        bind(&connections, device.at_port(port)).map_err(refused)?;
        if device.limits.is_iwarp {
            return Ok(vec![connections]);
        }
        let datagrams = new(PortSpace::Udp)?;
        let outcome = match wanted {
            Some(_) => bind(&datagrams, device.at_port(port)),
            None => datagrams.bind(device.at_port(connections.local_port())),
        };
        match outcome {
            Ok(()) => return Ok(vec![connections, datagrams]),
            // The port that the system chose is free only for connections: let it choose again.
            Err(failure) if failure.errno == libc::EADDRINUSE && wanted.is_none() && tries > 0 => {
                tries -= 1;
            }
            Err(failure) => return Err(refused(failure)),
        }
    }
}

/// Binds to an address. A port may be in use by a service point whose last reference another thread
/// is just dropping, after an upcall; this waits briefly for that.
fn bind(id: &CmId, address: SocketAddr) -> std::result::Result<(), Failure> {
    let mut tries = BIND_TRIES;
    loop {
        match id.bind(address) {
            Err(failure) if failure.errno == libc::EADDRINUSE && tries > 0 => {
                tries -= 1;
                std::thread::sleep(BIND_PAUSE);
            }
            outcome => return outcome,
        }
    }
}

impl Listener for ListenerHandle {}

impl Drop for ListenerHandle {
    fn drop(&mut self) {
        self.0.device.engine.forget(self.0.key.value());
        // Dropped here and not when the thread is done with it, so that the port is free at once.
        drop(std::mem::take(&mut *self.0.ids.lock()));
    }
}

impl ListenerEvents for Listening {
    fn connection_event(&self, event: cm::Event) {
        match event.kind {
            EventKind::ConnectRequest => self.request(event),
            EventKind::DeviceRemoval => self.device.engine.device_removed(),
            _ => {}
        }
    }
}

impl Listening {
    fn request(&self, event: cm::Event) {
        let Some(id) = event.request else { return };
        let Some(address) = id.peer_address() else { return };
        let key = Key::new(&self.device);
        id.set_key(key.value());
        let (introduced, private_data) = match event.parameters {
            Parameters::Connection { .. } => (None, event.private_data),
            Parameters::Datagram { .. } => match UdRequest::read(&event.private_data) {
                Some((UdRequest::First { port }, data)) => (Some(port), data.to_vec()),
                // A request of another kind of program, which could not be answered: rejected.
                _ => return,
            },
        };
        let peer = Peer { address: address.ip().into(), port: address.port().into() };
        let incoming = IncomingRequest {
            peer,
            is_datagram: introduced.is_some(),
            private_data: private_data.into(),
            responder: Box::new(Pending {
                introduced,
                peer,
                waiting: Mutex::new(Some(Waiting { id, key })),
                qualifier: self.qualifier,
                parameters: event.parameters,
            }),
        };
        // A request that is returned is rejected by its drop.
        drop(self.sink.connection_request(incoming));
    }
}

impl Pending {
    fn answer(&self) -> Result<Waiting> {
        self.waiting.lock().take().ok_or_else(|| {
            wrong_state(Subtype::NoSubtype).because("the connection request was already answered")
        })
    }
}

impl Responder for Pending {
    fn accept(&self, queue_pair: &dyn QueuePair, attempt: u64, private_data: &[u8]) -> Result<()> {
        let endpoint = queue_pair::find(queue_pair)?;
        let Waiting { id, key } = self.answer()?;
        let accepted = Accepted {
            id,
            key,
            attempt,
            private_data: private_data.to_vec(),
            peer: self.peer,
            qualifier: self.qualifier,
            parameters: self.parameters,
        };
        let outcome = match self.introduced {
            Some(port) => endpoint.accept_datagrams(accepted, port),
            None => endpoint.accept(accepted),
        };
        outcome.map_err(|(error, back)| {
            let Accepted { id, key, .. } = *back;
            *self.waiting.lock() = Some(Waiting { id, key });
            error
        })
    }

    fn reject(&self, private_data: &[u8]) -> Result<()> {
        let Waiting { id, .. } = self.answer()?;
        match id.reject(&reject_data::compose(private_data)) {
            // The peer gave up before: there is no request to reject.
            Err(failure) if failure.errno == libc::EINVAL => Ok(()),
            sent => sent.map_err(|failure| internal(failure, "cannot send the rejection")),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(waiting) = self.waiting.get_mut().take() {
            // Without the mark of a consumer's rejection: as if there were no listener.
            let _ = waiting.id.reject(&[]);
        }
    }
}
