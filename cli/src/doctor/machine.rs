//! Facts that several checks use.

use super::container::Container;
use super::device::Device;
use super::interface::Interfaces;
use super::system::System;
use super::user::User;

/// The system with cached reads.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) system: System,
    pub(super) user: Option<User>,
    pub(super) container: Option<Container>,
    pub(super) devices: Vec<Device>,
    pub(super) interfaces: Interfaces,
}

impl Machine {
    /// Reads it.
    pub(super) fn read(system: System) -> Self {
        Self {
            user: User::read(&system),
            container: Container::detect(&system),
            devices: Device::all(&system),
            interfaces: Interfaces::read(&system),
            system,
        }
    }

    /// Returns true if there is an RDMA device.
    pub(super) fn has_devices(&self) -> bool {
        !self.devices.is_empty()
    }
}
