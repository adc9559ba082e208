//! Listening, and requests for a connection.

use std::any::Any;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use dat_core::error::{Result, Subtype};
use dat_core::provider::{Incoming, ListenSink, Listener, Peer, QueuePair};
use parking_lot::Mutex;

use crate::cm::{self, EventKind, Id, Parameters, PortSpace};
use crate::device::Device;
use crate::engine::Target;
use crate::errors::{exhausted, internal, wrong_state};
use crate::queue_pair::{self, Accepted, Key};
use crate::verbs::Failure;
use crate::{qualifier, refusal};

/// Requests that may wait in the kernel; those in the dispatcher have left it.
const BACKLOG: i32 = 128;

/// How often a port that is in use is tried again.
const BIND_TRIES: u32 = 10;

/// The pause before that.
const BIND_PAUSE: Duration = Duration::from_millis(5);

pub(crate) struct Listening {
    device: Arc<Device>,
    key: Key,
    /// Nothing once it does not listen any more.
    id: Mutex<Option<Id>>,
    qualifier: u64,
    sink: Arc<dyn ListenSink>,
}

struct Handle(Arc<Listening>);

/// A request that nobody has answered yet.
struct Pending {
    /// Nothing once it is answered.
    waiting: Mutex<Option<Waiting>>,
    peer: Peer,
    qualifier: u64,
    private_data: Vec<u8>,
    parameters: Parameters,
}

struct Waiting {
    id: Id,
    key: Key,
}

/// Listens on a qualifier, or on one of the system's choice.
pub(crate) fn listen(
    device: &Arc<Device>,
    wanted: Option<u64>,
    sink: Arc<dyn ListenSink>,
) -> Result<Box<dyn Listener>> {
    let engine = &device.engine;
    let key = Key::new(device);
    let value = key.value();
    let id = Id::new(&engine.channel, value, PortSpace::Tcp).map_err(|failure| {
        exhausted(failure, Subtype::ResourceDevice, "communication identifier")
    })?;
    let address = device.at_port(wanted.map_or(0, qualifier::to_port));
    bind(&id, address).map_err(|failure| qualifier::refused(failure, wanted))?;
    let qualifier = wanted.unwrap_or_else(|| id.local_port().into());
    let listening = Arc::new_cyclic(|me: &Weak<Listening>| {
        engine.register(value, Target::Listener(Weak::clone(me)));
        let (device, id) = (Arc::clone(device), Mutex::new(Some(id.clone())));
        Listening { device, key, id, qualifier, sink }
    });
    id.listen(BACKLOG).map_err(|failure| qualifier::refused(failure, wanted))?;
    Ok(Box::new(Handle(listening)))
}

/// Binds to an address. A port that is in use may be so by a service point whose last reference
/// a thread is just letting go of, after an upcall: that is waited for, shortly.
fn bind(id: &Id, address: SocketAddr) -> std::result::Result<(), Failure> {
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

impl Listener for Handle {
    fn qualifier(&self) -> u64 {
        self.0.qualifier
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.device.engine.forget(self.0.key.value());
        // Here and not when the thread is done with it: the port is free at once.
        drop(self.0.id.lock().take());
    }
}

impl Listening {
    /// An event of the listening identifier, in the thread.
    pub(crate) fn connection_event(&self, event: cm::Event) {
        match event.kind {
            EventKind::ConnectRequest => self.request(event),
            EventKind::DeviceRemoval => self.device.engine.device_removed(),
            _ => {}
        }
    }

    fn request(&self, event: cm::Event) {
        let Some(id) = event.request else { return };
        let Some(address) = id.peer_address() else { return };
        let key = Key::new(&self.device);
        id.set_key(key.value());
        let pending = Pending {
            peer: Peer { address: address.ip(), port: address.port().into() },
            waiting: Mutex::new(Some(Waiting { id, key })),
            qualifier: self.qualifier,
            private_data: event.private_data,
            parameters: event.parameters,
        };
        // One that comes back is refused by its drop.
        drop(self.sink.connection_request(Box::new(pending)));
    }
}

impl Pending {
    fn answer(&self) -> Result<Waiting> {
        self.waiting.lock().take().ok_or_else(|| {
            wrong_state(Subtype::NoSubtype)
                .because("the request for a connection was answered before")
        })
    }
}

impl Incoming for Pending {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn peer(&self) -> Peer {
        self.peer
    }

    fn private_data(&self) -> &[u8] {
        &self.private_data
    }

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
        endpoint.accept(accepted).map_err(|(error, back)| {
            let Accepted { id, key, .. } = *back;
            *self.waiting.lock() = Some(Waiting { id, key });
            error
        })
    }

    fn reject(&self, private_data: &[u8]) -> Result<()> {
        let Waiting { id, .. } = self.answer()?;
        match id.reject(&refusal::compose(private_data)) {
            // The other side gave up before: there is nobody to refuse.
            Err(failure) if failure.errno == libc::EINVAL => Ok(()),
            sent => sent.map_err(|failure| internal(failure, "the refusal was not sent")),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(waiting) = self.waiting.get_mut().take() {
            // Without a consumer's mark: as when nobody listens.
            let _ = waiting.id.reject(&[]);
        }
    }
}
