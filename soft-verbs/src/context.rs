//! An open device.

use std::sync::Arc;

use crate::async_event::AsyncEvents;
use crate::channel::CompletionChannel;
use crate::completion_queue::CompletionQueue;
use crate::device::{Device, DeviceAttributes};
use crate::domain::Domain;
use crate::engine::{Engine, gids};
use crate::error::{Error, Result};
use crate::port::{PORT, PortAttributes};

pub use crate::engine::gids::GidEntry;

/// An open device (ibv_open_device(3)), which creates all other objects. They keep it.
pub struct Context {
    device: Device,
    pub(crate) engine: &'static Engine,
    events: AsyncEvents,
}

impl Context {
    pub(crate) fn open(device: Device) -> Result<Arc<Self>> {
        let engine = Engine::get()?;
        let context = Arc::new(Self { device, engine, events: AsyncEvents::new()? });
        engine.add_context(&context);
        Ok(context)
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The attributes of the device (ibv_query_device(3)).
    #[must_use]
    pub fn attributes(&self) -> DeviceAttributes {
        self.engine.device_attributes()
    }

    /// The attributes of a port (ibv_query_port(3)).
    ///
    /// # Errors
    /// `EINVAL` for any port but 1.
    pub fn port(&self, port: u8) -> Result<PortAttributes> {
        if port != PORT {
            return Err(Error::invalid(format!(
                "cannot query port {port} of {}: it has only port 1",
                self.device.name()
            )));
        }
        let message = self.engine.attributes.ia.max_message_size;
        let message = u32::try_from(message).unwrap_or(u32::MAX);
        Ok(PortAttributes::new(gids::TABLE_LENGTH, message))
    }

    /// The GIDs of the port, one for each address of the machine; their places in the list are their indices
    /// (ibv_query_gid(3)). An address that vanishes leaves a zero GID, and a new one is appended, so an index keeps its
    /// meaning.
    #[must_use]
    pub fn gids(&self) -> Vec<GidEntry> {
        self.engine.gids()
    }

    /// Creates a protection domain (ibv_alloc_pd(3)).
    ///
    /// # Errors
    /// `ENOMEM`.
    pub fn create_domain(self: &Arc<Self>) -> Result<Arc<Domain>> {
        Domain::create(self)
    }

    /// Creates a completion channel (ibv_create_comp_channel(3)).
    ///
    /// # Errors
    /// `EMFILE` and `ENFILE` if there is no descriptor left.
    pub fn create_channel(self: &Arc<Self>) -> Result<Arc<CompletionChannel>> {
        CompletionChannel::create(self)
    }

    /// Creates a completion queue for at least `depth` completions (ibv_create_cq(3)). `user` is returned by
    /// [`CompletionChannel::next`] and in asynchronous events.
    ///
    /// # Errors
    /// `EINVAL` for a depth of 0 or beyond the maximum of the device, `ENOMEM`.
    pub fn create_completion_queue(
        self: &Arc<Self>,
        depth: u32,
        user: u64,
        channel: Option<&Arc<CompletionChannel>>,
    ) -> Result<Arc<CompletionQueue>> {
        CompletionQueue::create(self, depth, user, channel)
    }

    /// The asynchronous events of the objects of this context (ibv_get_async_event(3)).
    #[must_use]
    pub const fn async_events(&self) -> &AsyncEvents {
        &self.events
    }
}

/// Ends the connections of this process, which has opened the device and is about to exit. What has arrived is
/// acknowledged, which a device does at once and the engine may leave to a later message: requests of peers that have
/// been received succeed.
pub fn end_connections() {
    if let Ok(engine) = Engine::get() {
        engine.numbers.all().iter().for_each(|queue_pair| queue_pair.leave());
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Context({})", self.device.name())
    }
}
