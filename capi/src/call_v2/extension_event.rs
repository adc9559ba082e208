//! Events of the InfiniBand extension: the contents of `event_extension_data`.

use dat_core::{DatagramEvent, DatagramEventKind, DtoCompletion, DtoStatus, Ep, Operation};

use super::address_handle;
use crate::abi::*;
use crate::convert::event::connection_data;
use crate::handle::{self, of_number};

/// Extension data with only its type and status filled in.
fn extension(r#type: DAT_IB_EXT_TYPE, status: DAT_IB_STATUS) -> DAT_IB_EXTENSION_EVENT_DATA {
    // SAFETY: the struct has only numbers and addresses, for which zero is valid.
    let empty: DAT_IB_EXTENSION_EVENT_DATA = unsafe { std::mem::zeroed() };
    DAT_IB_EXTENSION_EVENT_DATA { r#type, status, ..empty }
}

fn write(data: DAT_IB_EXTENSION_EVENT_DATA, to: &mut DAT_EVENT) {
    const { assert!(size_of::<DAT_IB_EXTENSION_EVENT_DATA>() == 64) };
    let output = to.event_extension_data.as_mut_ptr().cast::<DAT_IB_EXTENSION_EVENT_DATA>();
    // SAFETY: the destination has eight words of eight bytes, with the alignment of the data.
    unsafe { output.write(data) };
}

/// A completion of an operation of the extension.
pub(crate) fn completion(done: &DtoCompletion, to: &mut DAT_EVENT) {
    to.event_number = DAT_IB_DTO_EVENT;
    let r#type = match done.operation {
        Operation::FetchAdd => DAT_IB_FETCH_AND_ADD,
        Operation::CompareSwap => DAT_IB_CMP_AND_SWAP,
        Operation::RdmaWriteImmediate => DAT_IB_RDMA_WRITE_IMMED,
        Operation::ReceiveImmediate => DAT_IB_RDMA_WRITE_IMMED_DATA,
        Operation::ReceiveSendImmediate => DAT_IB_RECV_IMMED_DATA,
        Operation::SendDatagram => DAT_IB_UD_SEND,
        Operation::ReceiveDatagram => DAT_IB_UD_RECV,
        _ => return,
    };
    let status = match done.status {
        DtoStatus::Success => DAT_OP_SUCCESS,
        _ => DAT_IB_OP_ERR,
    };
    let mut data = extension(r#type, status);
    if let Some(immediate) = done.immediate() {
        data.val.immed = DAT_IB_IMMED_DATA { data: immediate };
    }
    write(data, to);
}

/// Fills in a datagram request.
pub(crate) fn request(to: &mut DAT_EVENT) {
    to.event_number = DAT_IB_UD_CONNECTION_REQUEST_EVENT;
    write(extension(DAT_IB_UD_CONNECT_REQUEST, DAT_OP_SUCCESS), to);
}

/// Fills in the outcome of a datagram attempt.
pub(crate) fn datagram(event: &DatagramEvent, to: &mut DAT_EVENT) {
    to.event_data.connect_event_data = connection_data(event.ep, &event.private_data);
    let (r#type, status) = match event.kind {
        DatagramEventKind::Established if event.passive => {
            (DAT_IB_UD_PASSIVE_REMOTE_AH, DAT_OP_SUCCESS)
        }
        DatagramEventKind::Established => (DAT_IB_UD_REMOTE_AH, DAT_OP_SUCCESS),
        DatagramEventKind::Rejected => (DAT_IB_UD_CONNECT_REJECT, DAT_IB_OP_ERR),
        _ => (DAT_IB_UD_CONNECT_ERROR, DAT_IB_OP_ERR),
    };
    let mut data = extension(r#type, status);
    let endpoint = handle::get::<Ep>(of_number(event.ep));
    if let (Some(remote), Some(endpoint)) = (&event.remote, endpoint) {
        data.peer.remote_ah = address_handle::make(endpoint.adapter().id(), remote);
    }
    write(data, to);
}
