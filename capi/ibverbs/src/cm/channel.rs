//! Event channels (rdma_create_event_channel(3)).

use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use dat_soft_verbs::cm::EventChannel;
use rdma_verbs::sys::rdma_cma::rdma_event_channel;

use super::device;
use crate::guard::{self, Result};
use crate::object::{self, fields_of};

/// A channel.
#[repr(C)]
pub(super) struct Channel {
    c: rdma_event_channel,
    core: Arc<EventChannel>,
}

fields_of!(rdma_event_channel as Channel: core: Arc<EventChannel>);

/// Creates a channel.
pub(super) fn create() -> Result<*mut rdma_event_channel> {
    let core = EventChannel::new()?;
    let c = rdma_event_channel { fd: core.as_fd().as_raw_fd() };
    Ok(object::create(|_| Ok(Channel { c, core }))?.cast())
}

/// Creates a channel: null with errno if that fails, or if there is no device. The device is opened here, so that the
/// first connection does not wait for it.
#[unsafe(no_mangle)]
pub extern "C" fn soft_rdma_create_event_channel() -> *mut rdma_event_channel {
    guard::object(|| {
        device::opened()?;
        create()
    })
}

/// Destroys a channel, and closes its descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_destroy_event_channel(channel: *mut rdma_event_channel) {
    let _ = guard::run(|| {
        // SAFETY: the caller guarantees a live channel that nothing uses.
        unsafe { object::delete(channel.cast::<Channel>()) };
        Ok(())
    });
}
