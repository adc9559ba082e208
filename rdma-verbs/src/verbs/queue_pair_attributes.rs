//! The attributes of a queue pair, as the device reports them (ibv_query_qp(3)).

use std::mem::MaybeUninit;

use super::{
    Access, AddressVector, Capabilities, Error, Mtu, QueuePair, QueuePairState, ReceiveSide,
    Result, SendSide, Service, library, pointer_to_key,
};
use crate::sys::verbs::{self as sys, ibv_qp_attr, ibv_qp_init_attr};

/// The state of the migration of a connection to its alternate path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathMigration {
    /// It migrated, or has no alternate path.
    #[default]
    Migrated,
    /// The alternate path is to be used after the next one is set.
    Rearm,
    /// It migrates when the path in use fails.
    Armed,
    /// A state that this version does not know.
    Unknown(u32),
}

/// The path to which a connection migrates when the one in use fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AlternatePath {
    /// The port of the peer.
    pub address: AddressVector,
    /// The index of the partition key.
    pub pkey_index: u16,
    /// The local port.
    pub port: u8,
    /// The acknowledgement time-out, as in [`SendSide::timeout`].
    pub timeout: u8,
}

/// The attributes of a queue pair (ibv_query_qp(3)). Those that its [state](Self::state) does not
/// need yet have no meaning. Another queue pair can be moved with them, by
/// [`to_init`](QueuePair::to_init), [`to_ready_to_receive`](QueuePair::to_ready_to_receive) and
/// [`to_ready_to_send`](QueuePair::to_ready_to_send).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuePairAttributes {
    /// The key by which asynchronous events name it.
    pub key: u64,
    /// Its state.
    pub state: QueuePairState,
    /// Its size.
    pub capabilities: Capabilities,
    /// The accesses of the peer of a connection, or the queue key of datagrams.
    pub service: Service,
    /// Its port.
    pub port: u8,
    /// The index of its partition key.
    pub pkey_index: u16,
    /// The receiving side of a connection; the default for datagrams. The last two parameters are
    /// those of a reliable connection.
    pub receive_side: ReceiveSide,
    /// The sending side. Only the first parameter is that of every queue pair, the others are those of
    /// a reliable connection, and 0 otherwise.
    pub send_side: SendSide,
    /// The state of the migration of a connection.
    pub migration: PathMigration,
    /// The alternate path of a connection, if it has one.
    pub alternate_path: Option<AlternatePath>,
    /// True if requests are still in progress, in the state
    /// [`SendQueueDrained`](QueuePairState::SendQueueDrained).
    pub is_draining: bool,
    /// True if every request generates a completion, whatever its flags.
    pub all_signaled: bool,
}

const ALL: i32 = sys::IBV_QP_STATE
    | sys::IBV_QP_CAP
    | sys::IBV_QP_PORT
    | sys::IBV_QP_PKEY_INDEX
    | sys::IBV_QP_SQ_PSN;
const CONNECTED: i32 = sys::IBV_QP_ACCESS_FLAGS
    | sys::IBV_QP_AV
    | sys::IBV_QP_PATH_MTU
    | sys::IBV_QP_DEST_QPN
    | sys::IBV_QP_RQ_PSN
    | sys::IBV_QP_ALT_PATH
    | sys::IBV_QP_PATH_MIG_STATE;
const RELIABLE: i32 = sys::IBV_QP_TIMEOUT
    | sys::IBV_QP_RETRY_CNT
    | sys::IBV_QP_RNR_RETRY
    | sys::IBV_QP_MAX_QP_RD_ATOMIC
    | sys::IBV_QP_MAX_DEST_RD_ATOMIC
    | sys::IBV_QP_MIN_RNR_TIMER;
// The library refuses attributes beyond this one.
const _: () = assert!((ALL | CONNECTED | RELIABLE) & !((sys::IBV_QP_DEST_QPN << 1) - 1) == 0);

impl QueuePairAttributes {
    /// The attributes in the mask.
    fn new(c: &ibv_qp_attr, init: &ibv_qp_init_attr, mask: i32) -> Self {
        let is_connected = mask & sys::IBV_QP_AV != 0;
        let reliable = |value: u8| if mask & sys::IBV_QP_TIMEOUT != 0 { value } else { 0 };
        let receive_side = ReceiveSide {
            address: AddressVector::from_c(&c.ah_attr),
            mtu: Mtu::from_code(c.path_mtu),
            peer: c.dest_qp_num,
            packet_number: c.rq_psn,
            responder_resources: reliable(c.max_dest_rd_atomic),
            rnr_timer: reliable(c.min_rnr_timer),
        };
        let alternate_path = AlternatePath {
            address: AddressVector::from_c(&c.alt_ah_attr),
            pkey_index: c.alt_pkey_index,
            port: c.alt_port_num,
            timeout: c.alt_timeout,
        };
        let migration = match c.path_mig_state {
            sys::IBV_MIG_MIGRATED => PathMigration::Migrated,
            sys::IBV_MIG_REARM => PathMigration::Rearm,
            sys::IBV_MIG_ARMED => PathMigration::Armed,
            other => PathMigration::Unknown(other),
        };
        Self {
            key: pointer_to_key(init.qp_context),
            state: QueuePairState::new(c.qp_state),
            capabilities: Capabilities::from_c(&init.cap),
            service: if is_connected {
                Service::Connected(Access::from_bits_retain(c.qp_access_flags))
            } else {
                Service::Datagram(c.qkey)
            },
            port: c.port_num,
            pkey_index: c.pkey_index,
            receive_side: if is_connected { receive_side } else { ReceiveSide::default() },
            send_side: SendSide {
                packet_number: c.sq_psn,
                timeout: reliable(c.timeout),
                retry_count: reliable(c.retry_cnt),
                rnr_retry_count: reliable(c.rnr_retry),
                initiator_depth: reliable(c.max_rd_atomic),
            },
            migration: if is_connected { migration } else { PathMigration::default() },
            alternate_path: (is_connected && c.alt_port_num != 0).then_some(alternate_path),
            is_draining: c.qp_state == sys::IBV_QPS_SQD && c.sq_draining != 0,
            all_signaled: init.sq_sig_all != 0,
        }
    }
}

impl QueuePair {
    /// Its attributes, as the device reports them (ibv_query_qp(3)). An iWARP device reports no more
    /// than the size.
    ///
    /// # Errors
    /// The error of the device.
    pub fn query(&self) -> Result<QueuePairAttributes> {
        const CALL: &str = "ibv_query_qp";
        let mask = ALL | self.of_kind(0, CONNECTED, RELIABLE);
        let mask = if mask & CONNECTED == 0 { mask | sys::IBV_QP_QKEY } else { mask };
        let mut attributes = ibv_qp_attr::default();
        let mut init = MaybeUninit::<ibv_qp_init_attr>::zeroed();
        // SAFETY: the queue pair is alive and the pointers valid.
        let code = unsafe {
            let call = library!(verbs).ibv_query_qp;
            call(self.raw(), &raw mut attributes, mask, init.as_mut_ptr())
        };
        Error::check(CALL, code).map_err(|error| error.on(self.error_object()))?;
        // SAFETY: the memory was zeroed, which is valid for the type, and then filled.
        Ok(QueuePairAttributes::new(&attributes, &unsafe { init.assume_init() }, mask))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn init() -> ibv_qp_init_attr {
        // SAFETY: all zeros is a valid value of the type.
        let mut init: ibv_qp_init_attr = unsafe { MaybeUninit::zeroed().assume_init() };
        init.cap.max_send_wr = 9;
        init.sq_sig_all = 1;
        init
    }

    fn filled() -> ibv_qp_attr {
        ibv_qp_attr {
            qp_state: sys::IBV_QPS_SQD,
            sq_draining: 1,
            path_mtu: 3,
            path_mig_state: 7,
            qkey: 11,
            rq_psn: 12,
            sq_psn: 13,
            dest_qp_num: 14,
            qp_access_flags: sys::IBV_ACCESS_REMOTE_READ,
            max_rd_atomic: 15,
            max_dest_rd_atomic: 16,
            min_rnr_timer: 17,
            port_num: 1,
            timeout: 18,
            retry_cnt: 6,
            rnr_retry: 5,
            alt_port_num: 2,
            alt_timeout: 19,
            ..ibv_qp_attr::default()
        }
    }

    #[test]
    fn a_reliable_connection_has_every_attribute_of_both_sides() {
        let attributes = QueuePairAttributes::new(&filled(), &init(), ALL | CONNECTED | RELIABLE);
        assert_eq!(attributes.state, QueuePairState::SendQueueDrained);
        assert!(attributes.is_draining && attributes.all_signaled);
        assert_eq!(attributes.capabilities.max_send_wr, 9);
        assert_eq!(attributes.service, Service::Connected(Access::REMOTE_READ));
        let receives = attributes.receive_side;
        assert_eq!((receives.peer, receives.packet_number, receives.mtu), (14, 12, Mtu::Bytes1024));
        assert_eq!((receives.responder_resources, receives.rnr_timer), (16, 17));
        let sends = attributes.send_side;
        assert_eq!((sends.packet_number, sends.timeout, sends.initiator_depth), (13, 18, 15));
        assert_eq!((sends.retry_count, sends.rnr_retry_count), (6, 5));
        assert_eq!(attributes.migration, PathMigration::Unknown(7));
        let path = attributes.alternate_path.expect("it has one");
        assert_eq!((path.port, path.timeout), (2, 19));
    }

    #[test]
    fn attributes_that_its_kind_does_not_have_are_left_out() {
        let unreliable = QueuePairAttributes::new(&filled(), &init(), ALL | CONNECTED);
        assert_eq!(unreliable.receive_side.peer, 14);
        assert_eq!(unreliable.receive_side.rnr_timer, 0);
        assert_eq!((unreliable.send_side.packet_number, unreliable.send_side.timeout), (13, 0));
        let datagrams = QueuePairAttributes::new(&filled(), &init(), ALL | sys::IBV_QP_QKEY);
        assert_eq!(datagrams.service, Service::Datagram(11));
        assert_eq!(datagrams.receive_side, ReceiveSide::default());
        assert_eq!(datagrams.send_side.packet_number, 13);
        assert_eq!(datagrams.migration, PathMigration::Migrated);
        assert_eq!(datagrams.alternate_path, None);
        let without = ibv_qp_attr { alt_port_num: 0, ..filled() };
        let without = QueuePairAttributes::new(&without, &init(), ALL | CONNECTED);
        assert_eq!(without.alternate_path, None);
    }
}
