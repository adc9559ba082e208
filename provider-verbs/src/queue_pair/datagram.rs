//! Datagrams: queue pairs that are never connected, and destinations.
//!
//! Such a queue pair becomes operational with the first attempt to resolve an address, or with the
//! first post to one. Its receives wait until then, and are kept when it is modified.
#![allow(unsafe_code, reason = "the device may read inline segments at once")]

use std::any::Any;
use std::sync::Arc;

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::status::Operation;
use dat_provider::{AsyncUpcall, RemoteAddress, Request};
use dat_provider_kit::errors::{foreign_object, wrong_state};
use dat_sync::Mutex;

use super::resolution::Datagrams;
use super::state::{Link, Mode, Sender, VerbsQp};
use crate::cm::{CmId, PortSpace};
use crate::completion_queue;
use crate::device::Device;
use crate::engine::{InstanceEvents, Target};
use crate::errors::{exhausted, no_datagrams};
use crate::key::Key;
use crate::segments;
use crate::sys::verbs as sys;
use crate::verbs::{
    self, AddressHandle, AddressVector, QueuePairState, RequestData, SendRequest, Unrecorded,
};
use crate::work_queue::Record;

/// Maximum number of address requests that wait in the kernel.
const BACKLOG: i32 = 128;

/// A destination of datagrams, for any queue pair of the device.
pub(super) struct Remote {
    pub(super) device: Arc<Device>,
    pub(super) way: AddressVector,
    /// The number of the peer's queue pair.
    pub(super) number: u32,
    /// The key with which it accepts datagrams (Q_Key).
    pub(super) key: u32,
    /// One handle for each domain that sends to it.
    pub(super) handles: Mutex<Vec<Arc<AddressHandle>>>,
}

impl Remote {
    /// The handle for queue pairs of a domain.
    fn handle(&self, domain: &Arc<verbs::ProtectionDomain>) -> Result<Arc<AddressHandle>> {
        let mut handles = self.handles.lock();
        if let Some(there) = handles.iter().find(|one| Arc::ptr_eq(one.domain(), domain)) {
            return Ok(Arc::clone(there));
        }
        let fresh = AddressHandle::new(domain, &self.way)
            .map_err(|failure| exhausted(failure, Subtype::ResourceDevice, "address handle"))?;
        handles.try_reserve(1).map_err(|_| Error::no_memory("the address handle"))?;
        handles.push(Arc::clone(&fresh));
        Ok(fresh)
    }
}

impl VerbsQp {
    pub(super) fn post_datagram(&self, to: &RemoteAddress, request: &Request<'_>) -> Result<()> {
        let remote: &dyn Any = &*to.handle;
        let remote = match remote.downcast_ref::<Remote>() {
            Some(remote) if Arc::ptr_eq(&remote.device, &self.device) => remote,
            _ => return Err(foreign_object("address", Subtype::InvalidArg4)),
        };
        if !self.datagrams {
            return Err(wrong_state(Subtype::InvalidStateEpNotready));
        }
        let most = u64::from(self.device.limits.mtu);
        if request.length > most {
            return Err(Error::new(ReturnType::LengthError, Subtype::NoSubtype)
                .because(format!("datagrams on this port have at most {most} bytes"))
                .advise(
                    "send smaller datagrams: the transport attribute MAX_DATAGRAM is the \
                     limit",
                ));
        }
        if self.sender.lock().queue.mode() == Mode::Early {
            self.wake_up(&mut self.link.lock())?;
        }
        let record = Record {
            cookie: request.cookie,
            length: request.length as u32,
            flags: request.flags,
            operation: Operation::SendDatagram,
            ..Record::default()
        };
        Sender::submit(self.sender.lock(), record, |sender, hardware, id, flags| {
            let handle = remote.handle(hardware.domain())?;
            sender
                .handles
                .borrow_mut()
                .try_reserve(1)
                .map_err(|_| Error::no_memory("the requests of the endpoint"))?;
            let operation = verbs::Operation::Datagram {
                handle: &handle,
                queue_pair: remote.number,
                queue_key: remote.key,
                immediate: None,
            };
            let is_inline = request.length <= sender.inline;
            segments::with(request.segments, |segments| {
                // SAFETY: the core checked the segments against their regions, whose memory is
                // readable while they are registered (`Span::new`). The sender keeps the handle.
                let memory = unsafe { Unrecorded::unchecked(segments, is_inline) };
                let data = RequestData::Unrecorded(memory);
                hardware.post_send(&SendRequest { id, operation, data, flags })
            })
            .map_err(super::post::refused)?;
            sender.keep(completion_queue::number_of(id), handle);
            Ok(())
        })
    }

    /// Makes the device's queue pair operational, once, with a port at which its address can be
    /// requested.
    pub(super) fn wake_up(&self, link: &mut Link) -> Result<()> {
        if link.datagrams.is_some() {
            return Ok(());
        }
        let hardware = link.connectable()?;
        let device = &self.device;
        let key = Key::new(device);
        let id = CmId::new(&device.engine.channel, key.value(), PortSpace::Udp)
            .map_err(|failure| exhausted(failure, Subtype::ResourceDevice, "identifier"))?;
        let refused = |failure| {
            exhausted(failure, Subtype::ResourceDevice, "local port for address handle requests")
        };
        id.bind(device.at_port(0)).map_err(refused)?;
        device.engine.register(key.value(), Target::QueuePair(self.me.clone()));
        id.listen(BACKLOG).map_err(refused)?;
        let (attributes, mask) =
            id.queue_pair_attributes_raw(sys::IBV_QPS_INIT).map_err(no_datagrams)?;
        hardware.modify_raw(&attributes, mask).map_err(no_datagrams)?;
        self.post_early(&hardware).map_err(no_datagrams)?;
        let step = |qp_state| sys::ibv_qp_attr { qp_state, ..sys::ibv_qp_attr::default() };
        hardware.modify_raw(&step(sys::IBV_QPS_RTR), sys::IBV_QP_STATE).map_err(no_datagrams)?;
        let sends = sys::IBV_QP_STATE | sys::IBV_QP_SQ_PSN;
        hardware.modify_raw(&step(sys::IBV_QPS_RTS), sends).map_err(no_datagrams)?;
        self.sender.lock().queue.go_live(&hardware);
        link.datagrams = Some(Datagrams::new(id, key));
        Ok(())
    }

    /// A failure that does not end a connection.
    pub(super) fn datagram_trouble(&self) {
        let link = self.link.lock();
        let Some(hardware) = &link.hardware else { return };
        let is_broken = match hardware.state() {
            // Only sends are stuck, and they are known.
            Ok(QueuePairState::SendQueueError) => hardware.recover_send_queue().is_err(),
            Ok(QueuePairState::Error) | Err(_) => true,
            Ok(_) => false,
        };
        let retired = link.retired;
        drop(link);
        let sent = self.sender.lock().queue.completing().work_queue;
        let received = self.receiver.lock().queue.completing().work_queue;
        if is_broken && !retired {
            self.device.report(AsyncUpcall::QueuePairBroken { tag: sent.tag });
        } else {
            // The next failure must be reported again.
            for work_queue in [sent, received] {
                work_queue.failure_reported.store(false, std::sync::atomic::Ordering::Relaxed);
            }
        }
    }
}

impl Sender {
    /// Keeps an address handle alive until the post with that sequence number has completed. Space for it is reserved.
    fn keep(&self, number: u32, handle: Arc<AddressHandle>) {
        let mut handles = self.handles.borrow_mut();
        while handles.front().is_some_and(|(number, _)| {
            self.queue.posts.work_queue.has_reached(number.wrapping_add(1))
        }) {
            handles.pop_front();
        }
        handles.push_back((number, handle));
    }
}
