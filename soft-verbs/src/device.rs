//! The device, and what it can do.

use std::fmt;
use std::sync::Arc;

use crate::context::Context;
use crate::engine;
use crate::error::Result;

/// The devices of this process: one.
#[must_use]
pub fn devices() -> Vec<Device> {
    vec![Device(())]
}

/// A device: `soft0`, whose transport is that of InfiniBand and whose link layer is Ethernet (RoCE v2).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Device(());

impl Device {
    /// The name of the device, for `ibv_get_device_name`.
    #[must_use]
    pub fn name(&self) -> &str {
        engine::parameters::DEVICE_NAME
    }

    /// Its GUID, in the order of the bytes on a wire: locally administered, and the same in all processes of a machine.
    #[must_use]
    pub fn guid(&self) -> [u8; 8] {
        engine::gids::guid()
    }

    /// Opens the device (ibv_open_device(3)). All contexts share the engine of the process.
    ///
    /// # Errors
    /// `EINVAL` if the environment variable `SOFT_VERBS` has an unknown parameter; otherwise what the system refuses.
    pub fn open(&self) -> Result<Arc<Context>> {
        Context::open(*self)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.name())
    }
}

/// The attributes of the device (`ibv_device_attr`, ibv_query_device(3)). The engine sets its limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceAttributes {
    /// The version of this crate.
    pub firmware_version: String,
    /// The GUID of the device, in the order of the bytes on a wire.
    pub node_guid: [u8; 8],
    /// Maximum length of a region, in bytes.
    pub max_mr_size: u64,
    /// The sizes of pages, as bits.
    pub page_size_cap: u64,
    /// 0xffffff, which no vendor has; the one of `rdma_rxe`.
    pub vendor_id: u32,
    /// 0.
    pub vendor_part_id: u32,
    /// Maximum number of queue pairs.
    pub max_qp: u32,
    /// Maximum number of outstanding requests of a work queue.
    pub max_qp_wr: u32,
    /// `ibv_device_cap_flags`.
    pub device_cap_flags: u32,
    /// Maximum number of segments of a request.
    pub max_sge: u32,
    /// Maximum number of completion queues.
    pub max_cq: u32,
    /// Maximum number of entries of a completion queue.
    pub max_cqe: u32,
    /// Maximum number of regions.
    pub max_mr: u32,
    /// Maximum number of protection domains.
    pub max_pd: u32,
    /// Maximum number of reads and atomics of the peer in flight, of a queue pair.
    pub max_qp_rd_atom: u32,
    /// Maximum number of them of all queue pairs.
    pub max_res_rd_atom: u32,
    /// Maximum number of own reads and atomics in flight, of a queue pair.
    pub max_qp_init_rd_atom: u32,
    /// `ibv_atomic_cap`: 1, atomic among the operations of the device. They are also atomic to the processor, but programs
    /// (UCX) use only what all devices have.
    pub atomic_cap: u32,
    /// Maximum number of windows.
    pub max_mw: u32,
    /// Maximum number of address handles.
    pub max_ah: u32,
    /// Maximum number of shared receive queues.
    pub max_srq: u32,
    /// Maximum number of outstanding receives of one.
    pub max_srq_wr: u32,
    /// Maximum number of segments of a receive in one.
    pub max_srq_sge: u32,
    /// Number of partitions.
    pub max_pkeys: u16,
    /// Number of ports.
    pub phys_port_cnt: u8,
    /// Maximum length of inline data, in bytes; not a field of `ibv_device_attr`.
    pub max_inline_data: u32,
}

impl DeviceAttributes {
    /// The `ibv_device_cap_flags` of the device: the current state of a queue pair as an argument, receiver-not-ready
    /// answers, shared receive queues that can be resized, windows of both types, send with invalidate.
    pub const CAPABILITIES: u32 =
        1 << 7 | 1 << 11 | 1 << 12 | 1 << 13 | 1 << 17 | 1 << 21 | 1 << 24;
}
