//! Keys of the engine.

use std::sync::Arc;

use crate::device::Device;

/// A key under which an object receives events; released on drop.
pub(crate) struct Key {
    device: Arc<Device>,
    value: u64,
}

impl Key {
    pub(crate) fn new(device: &Arc<Device>) -> Self {
        Self { device: Arc::clone(device), value: device.engine.fresh_key() }
    }

    pub(crate) const fn value(&self) -> u64 {
        self.value
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.device.engine.forget(self.value);
    }
}
