//! Completions of the engine as work completions.

use std::sync::atomic::Ordering;

use dat_provider::Completion;
use dat_provider::status::{DtoStatus, Operation};

use crate::engine::Engine;
use crate::queue_pair::number_of_port;
use crate::window::Window;
use crate::work_completion::{WcFlags, WcOpcode, WcStatus, WorkCompletion};

/// The kind of packet in the service level of a received datagram, as devices report it for RoCE v2 (annex A17.4.5.1:
/// a flag says whether the frame came by IPv4 or IPv6): over UDP, with a header of IPv4.
const SL_IPV4: u8 = 1 << 3 | 2;
/// As [`SL_IPV4`], with a header of IPv6.
const SL_IPV6: u8 = 1 << 3 | 1;

/// The number of a queue pair in the tag of its completions.
pub(crate) const fn number_of(tag: u64) -> u32 {
    tag as u32
}

/// The opcode of a success, and its flags.
const fn kind(operation: Operation) -> (WcOpcode, WcFlags) {
    let none = WcFlags::empty();
    match operation {
        Operation::RdmaWrite | Operation::RdmaWriteImmediate => (WcOpcode::RDMA_WRITE, none),
        Operation::RdmaRead => (WcOpcode::RDMA_READ, none),
        Operation::Receive => (WcOpcode::RECV, none),
        Operation::ReceiveWithInvalidate => (WcOpcode::RECV, WcFlags::WITH_INV),
        Operation::Bind => (WcOpcode::BIND_MW, none),
        Operation::ReceiveSendImmediate => (WcOpcode::RECV, WcFlags::WITH_IMM),
        Operation::ReceiveImmediate => (WcOpcode::RECV_RDMA_WITH_IMM, WcFlags::WITH_IMM),
        Operation::FetchAdd => (WcOpcode::FETCH_ADD, none),
        Operation::CompareSwap => (WcOpcode::COMP_SWAP, none),
        Operation::ReceiveDatagram => (WcOpcode::RECV, WcFlags::GRH),
        Operation::ReceiveDatagramImmediate => {
            (WcOpcode::RECV, WcFlags::GRH.union(WcFlags::WITH_IMM))
        }
        _ => (WcOpcode::SEND, none),
    }
}

/// The status of a failure.
pub(crate) const fn status(status: DtoStatus) -> WcStatus {
    match status {
        DtoStatus::Success => WcStatus::SUCCESS,
        DtoStatus::Flushed => WcStatus::WR_FLUSH_ERR,
        DtoStatus::LocalLength => WcStatus::LOC_LEN_ERR,
        DtoStatus::LocalEndpoint => WcStatus::LOC_QP_OP_ERR,
        DtoStatus::LocalProtection | DtoStatus::LocalMemoryManagement => WcStatus::LOC_PROT_ERR,
        DtoStatus::BadResponse | DtoStatus::PartialPacket => WcStatus::BAD_RESP_ERR,
        DtoStatus::RemoteAccess => WcStatus::REM_ACCESS_ERR,
        // The engine reports so that the receive of the peer was too short.
        DtoStatus::RemoteResponder => WcStatus::REM_INV_REQ_ERR,
        DtoStatus::Transport => WcStatus::RETRY_EXC_ERR,
        DtoStatus::ReceiverNotReady => WcStatus::RNR_RETRY_EXC_ERR,
        DtoStatus::RmrFailed => WcStatus::MW_BIND_ERR,
        _ => WcStatus::GENERAL_ERR,
    }
}

/// Writes a success, of which this crate need not know more.
#[inline]
pub(crate) fn success(from: &Completion, into: &mut WorkCompletion) {
    let (opcode, flags) = kind(from.operation);
    *into = WorkCompletion {
        wr_id: from.cookie,
        opcode,
        byte_len: from.length as u32,
        qp_num: number_of(from.tag),
        wc_flags: flags.bits(),
        ..WorkCompletion::default()
    };
    if flags.contains(WcFlags::GRH) {
        into.src_qp = number_of_port(from.datagram_port());
        into.sl = if from.is_datagram_ipv4() { SL_IPV4 } else { SL_IPV6 };
    }
    if flags.contains(WcFlags::WITH_IMM) {
        into.imm_data = from.immediate().unwrap_or_default().to_be();
    } else if flags.contains(WcFlags::WITH_INV) {
        into.imm_data = from.extra as u32;
    }
}

/// Writes a completion. Returns false if it is not reported to the program.
#[inline]
pub(crate) fn completion(engine: &Engine, from: &Completion, into: &mut WorkCompletion) -> bool {
    success(from, into);
    if from.status == DtoStatus::Success && from.operation != Operation::Bind {
        note_arrival(engine, into);
        return true;
    }
    special(engine, from, into)
}

/// A queue pair that is not ready to send reports what arrives.
#[inline]
pub(crate) fn note_arrival(engine: &Engine, completion: &WorkCompletion) {
    let is_receive = completion.opcode.0 & WcOpcode::RECV.0 != 0;
    let is_invalidation = completion.wc_flags & WcFlags::WITH_INV.bits() != 0;
    if is_receive && (engine.in_rtr.load(Ordering::Relaxed) != 0 || is_invalidation) {
        arrived(engine, completion);
    }
}

#[cold]
fn arrived(engine: &Engine, completion: &WorkCompletion) {
    let Some(queue_pair) = engine.numbers.find(completion.qp_num) else { return };
    queue_pair.note_arrival();
    if completion.wc_flags & WcFlags::WITH_INV.bits() != 0 {
        let window = Window::find(queue_pair.domain(), completion.imm_data);
        if let Some(window) = window.filter(|it| it.remote_key() == completion.imm_data) {
            window.note_bound(None);
        }
    }
}

/// A failure, or a bind, which may be a local invalidation.
#[cold]
fn special(engine: &Engine, from: &Completion, into: &mut WorkCompletion) -> bool {
    into.status = status(from.status);
    match engine.numbers.find(into.qp_num) {
        Some(queue_pair) => queue_pair.note_special(from, into),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_level_of_a_datagram_says_which_header_precedes_it() {
        let mut wc = WorkCompletion::default();
        let mut from = Completion { extra: 7, ..Completion::default() };
        from.operation = Operation::ReceiveDatagram;
        success(&from, &mut wc);
        assert_eq!((wc.src_qp, wc.sl), (number_of_port(7), 9));
        from.extra |= Completion::DATAGRAM_IPV4 | 5 << 32;
        from.operation = Operation::ReceiveDatagramImmediate;
        success(&from, &mut wc);
        assert_eq!((wc.src_qp, wc.sl, wc.imm_data), (number_of_port(7), 10, 5_u32.to_be()));
    }

    #[test]
    fn immediate_data_is_in_network_order_and_a_key_in_that_of_the_machine() {
        let mut wc = WorkCompletion::default();
        let mut from = Completion {
            tag: 7,
            cookie: 9,
            length: 4,
            extra: 0x0102_0304,
            ..Completion::default()
        };
        from.operation = Operation::ReceiveImmediate;
        success(&from, &mut wc);
        assert_eq!(wc.imm_data.to_ne_bytes(), [1, 2, 3, 4]);
        assert_eq!(
            (wc.opcode, wc.wc_flags),
            (WcOpcode::RECV_RDMA_WITH_IMM, WcFlags::WITH_IMM.bits())
        );
        from.operation = Operation::ReceiveWithInvalidate;
        success(&from, &mut wc);
        assert_eq!((wc.imm_data, wc.wr_id, wc.qp_num, wc.byte_len), (0x0102_0304, 9, 7, 4));
        assert_eq!((wc.opcode, wc.wc_flags), (WcOpcode::RECV, WcFlags::WITH_INV.bits()));
    }
}
