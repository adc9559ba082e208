//! An open adapter as its objects see it: the device, its limits, its threads.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use dat_provider::error::Result;
use dat_provider::{AdapterSink, AsyncUpcall};

use crate::engine::{self, Engine, InstanceEvents, Threads};
use crate::errors::internal;
use crate::port_counters::PortCounters;
use crate::quirks::{Quirks, block_bad_offset};
use crate::sys::verbs as sys;
use crate::verbs::{CompletionQueue, Context};

/// The state that every object of an adapter keeps alive.
pub(crate) struct Device {
    /// Shared with the other open instances of the device in this process.
    pub(crate) engine: Arc<Engine>,
    /// Ends the threads when the last object of the last instance is gone.
    _threads: Arc<Threads>,
    sink: Arc<dyn AdapterSink>,
    /// True if the removal of the device was reported.
    removed: AtomicBool,
    /// The number of the port; the first is 1.
    pub(crate) port: u8,
    pub(crate) counters: PortCounters,
    /// The local address of connections; its port is 0.
    pub(crate) address: SocketAddr,
    pub(crate) limits: Limits,
}

/// The capabilities of the device.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(Default))]
pub(crate) struct Limits {
    /// The identifier of the device's vendor.
    pub(crate) vendor: u32,
    /// The vendor's identifier of the device.
    pub(crate) part: u32,
    /// The version of the device.
    pub(crate) hardware: u32,
    pub(crate) firmware: String,
    pub(crate) is_iwarp: bool,
    pub(crate) quirks: Quirks,
    /// Maximum number of queue pairs.
    pub(crate) max_qp: u32,
    /// Maximum number of outstanding posts of a queue.
    pub(crate) max_qp_wr: u32,
    /// Maximum number of segments of a post.
    pub(crate) max_sge: u32,
    /// Maximum number of segments of an RDMA read.
    pub(crate) max_sge_rd: u32,
    /// Maximum number of completion queues.
    pub(crate) max_cq: u32,
    /// Maximum number of completions in a queue.
    pub(crate) max_cqe: u32,
    /// True if completion queues can be resized.
    pub(crate) has_resize: bool,
    /// Maximum number of memory regions.
    pub(crate) max_mr: u32,
    /// Maximum length of a memory region in bytes.
    pub(crate) max_mr_size: u64,
    /// Maximum number of protection domains.
    pub(crate) max_pd: u32,
    /// Maximum number of memory windows.
    pub(crate) max_mw: u32,
    /// Maximum number of shared receive queues.
    pub(crate) max_srq: u32,
    /// Maximum number of outstanding receives of a shared queue.
    pub(crate) max_srq_wr: u32,
    /// Maximum number of segments of a receive of a shared queue.
    pub(crate) max_srq_sge: u32,
    /// Maximum number of outstanding RDMA reads by the peer of a connection.
    pub(crate) max_reads_in: u32,
    /// Maximum number of outstanding RDMA reads to the peer of a connection.
    pub(crate) max_reads_out: u32,
    /// Maximum length of a message in bytes.
    pub(crate) max_message: u32,
    /// Maximum length of a datagram in bytes: the payload of a packet, as the port is configured
    /// now.
    pub(crate) mtu: u32,
    /// True if there are memory windows of type 1.
    pub(crate) has_windows_one: bool,
    /// True if there are memory windows of type 2.
    pub(crate) has_windows_two: bool,
    /// True if sends can invalidate a window of the peer.
    pub(crate) has_invalidate: bool,
    pub(crate) has_atomics: bool,
}

/// Number of the provider's own requests for which a queue pair has space.
pub(crate) const INTERNAL_REQUESTS: u32 = 1;

/// Maximum read depth that the connection manager can transmit.
const MOST_READS: u32 = 128;

impl Limits {
    fn new(context: &Context, port: u8) -> Result<Self> {
        let device = context
            .query()
            .map_err(|failure| internal(failure, "cannot query the device limits"))?;
        let port = context
            .query_port(port)
            .map_err(|failure| internal(failure, "cannot query the port state"))?;
        let flags = device.device_cap_flags;
        let has = |bits: u32| flags & bits != 0;
        let max_mw = device.max_mw;
        let is_iwarp = context.is_iwarp();
        Ok(Self {
            vendor: device.vendor_id,
            part: device.vendor_part_id,
            hardware: device.hw_ver,
            firmware: device.firmware,
            is_iwarp,
            quirks: Quirks::of(device.vendor_id, device.vendor_part_id, is_iwarp),
            max_qp: device.max_qp,
            max_qp_wr: device.max_qp_wr,
            max_sge: device.max_sge,
            max_sge_rd: device.max_sge_rd,
            max_cq: device.max_cq,
            max_cqe: device.max_cqe,
            has_resize: has_resize(context),
            max_mr: device.max_mr,
            max_mr_size: device.max_mr_size,
            max_pd: device.max_pd,
            max_mw,
            max_srq: device.max_srq,
            max_srq_wr: device.max_srq_wr,
            max_srq_sge: device.max_srq_sge,
            max_reads_in: device.max_qp_rd_atom.min(MOST_READS),
            max_reads_out: device.max_qp_init_rd_atom.min(MOST_READS),
            max_message: port.max_message,
            mtu: port.active_mtu.bytes(),
            has_windows_one: max_mw > 0 && has(sys::IBV_DEVICE_MEM_WINDOW),
            has_windows_two: max_mw > 0
                && has(sys::IBV_DEVICE_MEM_WINDOW_TYPE_2A | sys::IBV_DEVICE_MEM_WINDOW_TYPE_2B),
            has_invalidate: has(sys::IBV_DEVICE_MEM_MGT_EXTENSIONS),
            has_atomics: device.atomic_cap != sys::IBV_ATOMIC_NONE,
        })
    }
}

/// Returns true if the device can resize completion queues; this is found out by trying.
fn has_resize(context: &Context) -> bool {
    let tried = CompletionQueue::new(context, 1, 0, None).and_then(|queue| {
        let longer = queue.depth() + 1;
        queue.resize(longer)
    });
    !tried.is_err_and(|failure| matches!(failure.errno, libc::EOPNOTSUPP | libc::ENOSYS))
}

impl Device {
    pub(crate) fn open(
        context: Context,
        port: u8,
        address: SocketAddr,
        sink: Arc<dyn AdapterSink>,
    ) -> Result<Arc<Self>> {
        let limits = Limits::new(&context, port)?;
        let counters = PortCounters::of(&context.name(), port);
        let _threads = engine::shared(context, |context| {
            limits.quirks.bad_mmap_offset.then(|| block_bad_offset(context)).flatten()
        })?;
        let engine = Arc::clone(_threads.engine());
        let removed = AtomicBool::new(false);
        let device =
            Arc::new(Self { engine, _threads, sink, removed, port, counters, address, limits });
        let instance: Weak<Self> = Arc::downgrade(&device);
        device.engine.add_instance(instance);
        Ok(device)
    }

    pub(crate) fn context(&self) -> &Context {
        &self.engine.context
    }

    /// The local address with a port.
    pub(crate) fn at_port(&self, port: u16) -> SocketAddr {
        self.reach(self.address.ip(), port)
    }

    /// A remote address and port; a link-local address gets the scope of our network device.
    pub(crate) fn reach(&self, address: IpAddr, port: u16) -> SocketAddr {
        let mut to = SocketAddr::new(address, port);
        if let (SocketAddr::V6(to), SocketAddr::V6(own)) = (&mut to, self.address) {
            if to.ip().is_unicast_link_local() {
                to.set_scope_id(own.scope_id());
            }
        }
        to
    }
}

impl InstanceEvents for Device {
    fn port(&self) -> u8 {
        self.port
    }

    fn report(&self, event: AsyncUpcall) {
        self.sink.async_event(event);
    }

    fn report_removal(&self) {
        if !self.removed.swap(true, Ordering::Relaxed) {
            self.report(AsyncUpcall::Catastrophic);
        }
    }
}
