//! The extended attributes of a device (ibv_query_device_ex(3)).

use std::mem::MaybeUninit;
use std::time::Duration;

use super::{Context, DeviceAttributes, Error, Result, library};
use crate::sys::device_ex::{self as sys, ibv_device_attr_ex};
use crate::sys::operations;

bitflags::bitflags! {
    /// The operations of a kind of queue pair that may use memory which is paged in on demand
    /// (ibv_query_device_ex(3)).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct PagedOperations: u32 {
        /// Sends.
        const SEND = sys::IBV_ODP_SUPPORT_SEND;
        /// Receives.
        const RECEIVE = sys::IBV_ODP_SUPPORT_RECV;
        /// RDMA writes.
        const WRITE = sys::IBV_ODP_SUPPORT_WRITE;
        /// RDMA reads.
        const READ = sys::IBV_ODP_SUPPORT_READ;
        /// Atomics.
        const ATOMIC = sys::IBV_ODP_SUPPORT_ATOMIC;
        /// Receives of a shared queue.
        const SHARED_RECEIVE = sys::IBV_ODP_SUPPORT_SRQ_RECV;
        /// Operations that this version does not know.
        const _ = !0;
    }
}

bitflags::bitflags! {
    /// The offloads of a device for raw Ethernet packets (`IBV_RAW_PACKET_CAP_…`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct RawPacketOffloads: u32 {
        /// It removes the VLAN tag of packets that arrive.
        const STRIP_VLAN = sys::IBV_RAW_PACKET_CAP_CVLAN_STRIPPING;
        /// It writes the frame check sequence to memory.
        const SCATTER_CHECK_SEQUENCE = sys::IBV_RAW_PACKET_CAP_SCATTER_FCS;
        /// It computes IP checksums.
        const IP_CHECKSUM = sys::IBV_RAW_PACKET_CAP_IP_CSUM;
        /// It delays packets for which there is no receive, instead of dropping them.
        const DELAY_DROP = sys::IBV_RAW_PACKET_CAP_DELAY_DROP;
        /// Offloads that this version does not know.
        const _ = !0;
    }
}

bitflags::bitflags! {
    /// The lengths of operands of an atomic operation over PCI.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct AtomicSizes: u16 {
        /// 4 bytes.
        const BYTES_4 = sys::IBV_PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP;
        /// 8 bytes.
        const BYTES_8 = sys::IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP;
        /// 16 bytes.
        const BYTES_16 = sys::IBV_PCI_ATOMIC_OPERATION_16_BYTE_SIZE_SUP;
        /// Lengths that this version does not know.
        const _ = !0;
    }
}

/// The device's support for on-demand paging, for each kind of queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OnDemandPaging {
    /// True if regions can be registered with [`Access::ON_DEMAND`](super::Access::ON_DEMAND).
    pub is_supported: bool,
    /// True if one region can span the whole address space.
    pub is_implicit: bool,
    /// The supported operations of reliable connections.
    pub reliable_connected: PagedOperations,
    /// The supported operations of unreliable connections.
    pub unreliable_connected: PagedOperations,
    /// The supported operations of datagrams.
    pub datagram: PagedOperations,
    /// The supported operations of extended reliable connections (XRC).
    pub extended_reliable: PagedOperations,
}

/// Segmentation of TCP packets by the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Segmentation {
    /// The length of the longest payload, in bytes; 0: not supported.
    pub max_payload: u32,
    /// The types of queue pairs that support it: bit `n` for the value `n` of `IBV_QPT_…`.
    pub queue_pair_types: u32,
}

/// Distribution of packets to receive queues by a hash (RSS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceiveHashing {
    /// The types of queue pairs that support it: bit `n` for the value `n` of `IBV_QPT_…`.
    pub queue_pair_types: u32,
    /// Maximum number of indirection tables.
    pub max_tables: u32,
    /// Maximum number of entries of an indirection table.
    pub max_table_length: u32,
    /// The fields of a packet that can be hashed: a set of `IBV_RX_HASH_…`.
    pub fields: u64,
    /// The hash functions: a set of `IBV_RX_HASH_FUNC_…`.
    pub functions: u8,
}

/// Limits of the rate of a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketPacing {
    /// The lowest rate, in kbit/s.
    pub min_rate: u32,
    /// The highest rate, in kbit/s; 0: not supported.
    pub max_rate: u32,
    /// The types of queue pairs that support it: bit `n` for the value `n` of `IBV_QPT_…`.
    pub queue_pair_types: u32,
}

/// Matching of messages with receives by a tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TagMatching {
    /// The length of the longest header of a rendezvous request, in bytes.
    pub max_rendezvous_header: u32,
    /// Maximum number of receives in the list of a queue; 0: not supported.
    pub max_tags: u32,
    /// A set of `IBV_TM_CAP_…`.
    pub flags: u32,
    /// Maximum number of operations on the list in flight.
    pub max_operations: u32,
    /// Maximum number of segments of a receive.
    pub max_segments: u32,
}

/// The limits of [`Moderation`](super::Moderation) of completion queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ModerationLimits {
    /// Maximum number of completions; 0: the device moderates nothing.
    pub completions: u16,
    /// The longest time, in microseconds.
    pub microseconds: u16,
}

/// The lengths of atomic operations that the device can do over PCI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PciAtomics {
    /// Fetch and add.
    pub fetch_add: AtomicSizes,
    /// Unconditional swap.
    pub swap: AtomicSizes,
    /// Compare and swap.
    pub compare_swap: AtomicSizes,
}

/// The extended attributes of a device (ibv_query_device_ex(3)). A value of 0 says that the device,
/// its driver or the library does not support it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtendedDeviceAttributes {
    /// The attributes that [`Context::query`] returns.
    pub device: DeviceAttributes,
    /// On-demand paging.
    pub on_demand_paging: OnDemandPaging,
    /// The bits of a time of the device clock that count; later times begin with 0 again.
    pub timestamp_mask: u64,
    /// The frequency of the device clock, in kHz.
    pub clock_frequency: u64,
    /// A set of `IBV_DEVICE_…`, with those above 32 bits.
    pub device_cap_flags: u64,
    /// Segmentation of TCP packets.
    pub segmentation: Segmentation,
    /// Distribution of packets to receive queues.
    pub receive_hashing: ReceiveHashing,
    /// Maximum number of work queues for receives.
    pub max_receive_work_queues: u32,
    /// Limits of the rate of a queue pair.
    pub packet_pacing: PacketPacing,
    /// The offloads for raw Ethernet packets.
    pub raw_packets: RawPacketOffloads,
    /// Matching of messages by a tag.
    pub tag_matching: TagMatching,
    /// The limits of [`CompletionQueue::moderate`](super::CompletionQueue::moderate).
    pub moderation: ModerationLimits,
    /// The length of the memory of the device that programs can allocate, in bytes.
    pub max_device_memory: u64,
    /// Atomic operations over PCI.
    pub pci_atomics: PciAtomics,
    /// The number of ports, also above 255.
    pub port_count: u32,
}

impl ExtendedDeviceAttributes {
    fn new(c: &ibv_device_attr_ex) -> Self {
        let device = DeviceAttributes::new(&c.orig_attr);
        Self {
            on_demand_paging: OnDemandPaging {
                is_supported: c.odp_caps.general_caps & sys::IBV_ODP_SUPPORT != 0,
                is_implicit: c.odp_caps.general_caps & sys::IBV_ODP_SUPPORT_IMPLICIT != 0,
                reliable_connected: PagedOperations::from_bits_retain(c.odp_caps.rc_odp_caps),
                unreliable_connected: PagedOperations::from_bits_retain(c.odp_caps.uc_odp_caps),
                datagram: PagedOperations::from_bits_retain(c.odp_caps.ud_odp_caps),
                extended_reliable: PagedOperations::from_bits_retain(c.xrc_odp_caps),
            },
            timestamp_mask: c.completion_timestamp_mask,
            clock_frequency: c.hca_core_clock,
            device_cap_flags: c.device_cap_flags_ex | u64::from(device.device_cap_flags),
            segmentation: Segmentation {
                max_payload: c.tso_caps.max_tso,
                queue_pair_types: c.tso_caps.supported_qpts,
            },
            receive_hashing: ReceiveHashing {
                queue_pair_types: c.rss_caps.supported_qpts,
                max_tables: c.rss_caps.max_rwq_indirection_tables,
                max_table_length: c.rss_caps.max_rwq_indirection_table_size,
                fields: c.rss_caps.rx_hash_fields_mask,
                functions: c.rss_caps.rx_hash_function,
            },
            max_receive_work_queues: c.max_wq_type_rq,
            packet_pacing: PacketPacing {
                min_rate: c.packet_pacing_caps.qp_rate_limit_min,
                max_rate: c.packet_pacing_caps.qp_rate_limit_max,
                queue_pair_types: c.packet_pacing_caps.supported_qpts,
            },
            raw_packets: RawPacketOffloads::from_bits_retain(c.raw_packet_caps),
            tag_matching: TagMatching {
                max_rendezvous_header: c.tm_caps.max_rndv_hdr_size,
                max_tags: c.tm_caps.max_num_tags,
                flags: c.tm_caps.flags,
                max_operations: c.tm_caps.max_ops,
                max_segments: c.tm_caps.max_sge,
            },
            moderation: ModerationLimits {
                completions: c.cq_mod_caps.max_cq_count,
                microseconds: c.cq_mod_caps.max_cq_period,
            },
            max_device_memory: c.max_dm_size,
            pci_atomics: PciAtomics {
                fetch_add: AtomicSizes::from_bits_retain(c.pci_atomic_caps.fetch_add),
                swap: AtomicSizes::from_bits_retain(c.pci_atomic_caps.swap),
                compare_swap: AtomicSizes::from_bits_retain(c.pci_atomic_caps.compare_swap),
            },
            port_count: c.phys_port_cnt_ex.max(u32::from(device.phys_port_cnt)),
            device,
        }
    }

    /// The time between two times of the device clock, of which the second is later by less than one
    /// round of the clock; `None` if the device has no clock with a known frequency.
    #[must_use]
    pub fn time_between(&self, from: u64, to: u64) -> Option<Duration> {
        if self.clock_frequency == 0 || self.timestamp_mask == 0 {
            return None;
        }
        let ticks = to.wrapping_sub(from) & self.timestamp_mask;
        let nanoseconds = u128::from(ticks) * 1_000_000 / u128::from(self.clock_frequency);
        let (seconds, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
        Some(Duration::new(u64::try_from(seconds).ok()?, rest as u32))
    }
}

impl Context {
    /// All attributes of the device (ibv_query_device_ex(3)). If the driver or the library knows only
    /// those of [`query`](Self::query), all others are 0.
    ///
    /// # Errors
    /// The error of the kernel.
    pub fn query_extended(&self) -> Result<ExtendedDeviceAttributes> {
        self.attributes_ex().map(|attributes| ExtendedDeviceAttributes::new(&attributes))
    }

    /// The device's support for on-demand paging; all fields are empty if it has none
    /// (ibv_query_device_ex(3)).
    ///
    /// # Errors
    /// The error of the kernel.
    pub fn on_demand_paging(&self) -> Result<OnDemandPaging> {
        self.query_extended().map(|attributes| attributes.on_demand_paging)
    }

    fn attributes_ex(&self) -> Result<ibv_device_attr_ex> {
        let mut attributes = MaybeUninit::<ibv_device_attr_ex>::zeroed();
        let size = size_of::<ibv_device_attr_ex>();
        // SAFETY: the context is open and the memory has the given size.
        let code =
            unsafe { operations::query_device_ex(self.raw(), attributes.as_mut_ptr(), size) };
        match Error::check("ibv_query_device_ex", code) {
            Err(error) if matches!(error.errno, libc::EOPNOTSUPP | libc::ENOSYS) => {}
            // SAFETY: the memory was zeroed, which is valid for the type, and then filled.
            outcome => return outcome.map(|()| unsafe { attributes.assume_init() }),
        }
        attributes = MaybeUninit::zeroed();
        // SAFETY: the memory belongs to the attributes.
        let plain = unsafe { &raw mut (*attributes.as_mut_ptr()).orig_attr };
        // SAFETY: the context is open and the memory of the type's size.
        let code = unsafe { (library!(verbs).ibv_query_device)(self.raw(), plain) };
        Error::check("ibv_query_device", code)?;
        // SAFETY: the memory was zeroed, which is valid for the type, and then filled.
        Ok(unsafe { attributes.assume_init() })
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{c_int, c_void};

    use super::super::fake;
    use super::*;
    use crate::sys::verbs::ibv_context;

    unsafe extern "C" fn query(
        _context: *mut ibv_context,
        input: *const c_void,
        attributes: *mut ibv_device_attr_ex,
        size: usize,
    ) -> c_int {
        assert!(input.is_null());
        assert_eq!(size, size_of::<ibv_device_attr_ex>());
        // SAFETY: the caller passes memory of that size.
        let attributes = unsafe { &mut *attributes };
        attributes.orig_attr.max_qp = 12;
        attributes.orig_attr.phys_port_cnt = 2;
        attributes.orig_attr.device_cap_flags = 1;
        attributes.odp_caps.general_caps = 3;
        attributes.odp_caps.rc_odp_caps = sys::IBV_ODP_SUPPORT_READ;
        attributes.xrc_odp_caps = 1 << 30;
        attributes.completion_timestamp_mask = 0xffff;
        attributes.hca_core_clock = 1_000;
        attributes.device_cap_flags_ex = 1 << 40;
        attributes.tso_caps.max_tso = 1;
        attributes.rss_caps.rx_hash_function = 2;
        attributes.max_wq_type_rq = 3;
        attributes.packet_pacing_caps.qp_rate_limit_max = 4;
        attributes.raw_packet_caps = sys::IBV_RAW_PACKET_CAP_IP_CSUM | 1 << 20;
        attributes.tm_caps.max_sge = 5;
        attributes.cq_mod_caps.max_cq_period = 6;
        attributes.max_dm_size = 7;
        attributes.pci_atomic_caps.compare_swap = 1;
        0
    }

    unsafe extern "C" fn failing(
        _context: *mut ibv_context,
        _input: *const c_void,
        _attributes: *mut ibv_device_attr_ex,
        _size: usize,
    ) -> c_int {
        libc::EIO
    }

    #[test]
    fn the_attributes_of_the_device_and_its_driver_are_returned() {
        let context = fake::context(|operations| operations.query_device_ex = Some(query));
        let attributes = context.query_extended().expect("its attributes");
        assert_eq!(attributes.device.max_qp, 12);
        assert_eq!(attributes.port_count, 2, "the plain attribute, if there is no extended one");
        let paging = attributes.on_demand_paging;
        assert!(paging.is_supported && paging.is_implicit);
        assert_eq!(paging.reliable_connected, PagedOperations::READ);
        assert_eq!(paging.extended_reliable.bits(), 1 << 30, "unknown bits are kept");
        assert_eq!(attributes.device_cap_flags, 1 << 40 | 1);
        assert_eq!(attributes.segmentation.max_payload, 1);
        assert_eq!(attributes.receive_hashing.functions, 2);
        assert_eq!(attributes.max_receive_work_queues, 3);
        assert_eq!(attributes.packet_pacing.max_rate, 4);
        assert!(attributes.raw_packets.contains(RawPacketOffloads::IP_CHECKSUM));
        assert_eq!(attributes.raw_packets.bits() >> 20, 1);
        assert_eq!(attributes.tag_matching.max_segments, 5);
        assert_eq!(attributes.moderation.microseconds, 6);
        assert_eq!(attributes.max_device_memory, 7);
        assert_eq!(attributes.pci_atomics.compare_swap, AtomicSizes::BYTES_4);
        assert_eq!(context.on_demand_paging(), Ok(paging));
    }

    #[test]
    fn a_failed_query_is_an_error() {
        let context = fake::context(|operations| operations.query_device_ex = Some(failing));
        let error = context.query_extended().expect_err("it fails");
        assert_eq!((error.call, error.errno), ("ibv_query_device_ex", libc::EIO));
    }

    #[test]
    fn the_time_between_two_times_of_the_clock_is_exact_also_when_it_wraps() {
        let at_1_mhz = |timestamp_mask| ExtendedDeviceAttributes {
            clock_frequency: 1_000,
            timestamp_mask,
            ..ExtendedDeviceAttributes::default()
        };
        let short = at_1_mhz(0xffff);
        assert_eq!(short.time_between(10, 25), Some(Duration::from_micros(15)));
        assert_eq!(short.time_between(0xfffe, 3), Some(Duration::from_micros(5)));
        let long = at_1_mhz(u64::MAX);
        assert_eq!(long.time_between(0, u64::MAX), Some(Duration::from_micros(u64::MAX)));
        assert_eq!(ExtendedDeviceAttributes::default().time_between(0, 1), None);
    }
}
