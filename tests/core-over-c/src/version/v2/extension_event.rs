//! Events of the InfiniBand extensions.

use std::sync::Arc;

use real::{DatagramEventKind, Operation};

use super::conversion::completion;
use super::extension::Remote;
use crate::abi::*;
use crate::adapter::Adapter;
use crate::convert::{id, private_data};
use crate::datagram::DatagramAddress;
use crate::event::{CrArrival, DatagramEvent, Event};

/// The extension data of an event.
fn extension_data(from: &DAT_EVENT) -> DAT_IB_EXTENSION_EVENT_DATA {
    const { assert!(size_of::<DAT_IB_EXTENSION_EVENT_DATA>() <= size_of::<[DAT_UINT64; 8]>()) };
    let place = (&raw const from.event_extension_data).cast::<DAT_IB_EXTENSION_EVENT_DATA>();
    // SAFETY: the library writes the struct there, and every bit pattern is valid for it.
    unsafe { place.read() }
}

/// Converts an event of the extension; `None` for other events.
pub(crate) fn extension_event(from: &DAT_EVENT, ia: &Arc<Adapter>) -> Option<Event> {
    let data = &from.event_data;
    let kind = match from.event_number {
        DAT_IB_DTO_EVENT => {
            // SAFETY: the event number says which member of the union is set.
            let mut done = completion(unsafe { &data.dto_completion_event_data });
            let more = extension_data(from);
            if done.operation == Operation::ReceiveImmediate {
                assert_eq!(more.r#type, DAT_IB_RDMA_WRITE_IMMED_DATA);
                // SAFETY: the type says which member of the union is set.
                done.extra = unsafe { more.val.immed.data };
            }
            return Some(Event::Dto(done));
        }
        DAT_IB_UD_CONNECTION_REQUEST_EVENT => {
            assert_eq!(extension_data(from).r#type, DAT_IB_UD_CONNECT_REQUEST);
            // SAFETY: the event number says which member of the union is set.
            let arrival = CrArrival::read(unsafe { &data.cr_arrival_event_data }, ia, true);
            return Some(Event::ConnectionRequest(arrival));
        }
        DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED => DatagramEventKind::Established,
        DAT_IB_UD_CONNECTION_REJECT_EVENT => DatagramEventKind::Rejected,
        DAT_IB_UD_CONNECTION_ERROR_EVENT => DatagramEventKind::Error,
        _ => return None,
    };
    // SAFETY: the event number says which member of the union is set.
    let data = unsafe { &data.connect_event_data };
    let remote = (kind == DatagramEventKind::Established).then(|| {
        let more = extension_data(from);
        assert!(matches!(more.r#type, DAT_IB_UD_REMOTE_AH | DAT_IB_UD_PASSIVE_REMOTE_AH));
        // SAFETY: the type says which member of the union is set.
        let address = unsafe { more.peer.remote_ah };
        DatagramAddress { remote: Remote::new(address, data.ep_handle) }
    });
    Some(Event::Datagram(DatagramEvent {
        kind,
        ep: id(data.ep_handle),
        passive: extension_data(from).r#type == DAT_IB_UD_PASSIVE_REMOTE_AH,
        remote,
        private_data: private_data(data.private_data_size, data.private_data),
    }))
}
