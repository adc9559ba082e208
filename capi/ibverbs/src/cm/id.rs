//! Identifiers (rdma_create_id(3)).

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use dat_soft_verbs::cm::{Identifier, PortSpace};
use dat_soft_verbs::{PORT, QueuePairType, gid_of};
use dat_sync::Mutex;
use rdma_verbs::sys::rdma_cma::{rdma_cm_id, rdma_event_channel};
use rdma_verbs::sys::verbs::{ibv_gid, ibv_pd, ibv_qp_init_attr};

use super::{address, channel, device, event};
use crate::guard::{self, INVALID, Result};
use crate::object::{self, Zero, fields_of};
use crate::verbs::queue_pair;

/// An identifier.
#[repr(C)]
pub(super) struct Id {
    pub(super) c: rdma_cm_id,
    pub(super) core: Arc<Identifier>,
    pub(super) extra: Mutex<Extra>,
}

/// What the structure of C does not have.
#[derive(Default)]
pub(crate) struct Extra {
    /// It has a channel of its own, and its calls wait for their event.
    pub(super) is_synchronous: bool,
    /// With what the queue pairs of requests are created (rdma_create_ep(3)).
    pub(super) requests: Option<RequestInit>,
    /// What precedes the private data of the program (`ai_connect`).
    pub(super) connect_data: Vec<u8>,
}

/// The arguments of rdma_create_ep(3), for the requests of a listener.
pub(crate) struct RequestInit {
    pub(super) domain: *mut ibv_pd,
    pub(super) init: ibv_qp_init_attr,
}

// SAFETY: any thread may use the objects of verbs.
unsafe impl Send for RequestInit {}

// SAFETY: numbers, pointers and addresses.
unsafe impl Zero for rdma_cm_id {}

fields_of!(rdma_cm_id as Id: core: Arc<Identifier>, extra: Mutex<Extra>);

/// Whether its calls wait for their event.
///
/// # Safety
/// The identifier must be alive.
pub(super) unsafe fn is_synchronous(id: *mut rdma_cm_id) -> bool {
    // SAFETY: as the caller guarantees.
    unsafe { extra(id) }.lock().is_synchronous
}

/// Creates an identifier; without a channel it is synchronous.
///
/// # Safety
/// The channel must be null or alive.
pub(super) unsafe fn create(
    mut events: *mut rdma_event_channel,
    context: *mut c_void,
    space: u32,
    qp_type: Option<u32>,
) -> Result<*mut rdma_cm_id> {
    let space = PortSpace::from_number(space).ok_or(INVALID)?;
    let qp_type = match qp_type {
        Some(number) => queue_pair::kind_of(number)?,
        None if space.is_datagram() => QueuePairType::Ud,
        None => QueuePairType::Rc,
    };
    let is_synchronous = events.is_null();
    if is_synchronous {
        events = channel::create()?;
    }
    // SAFETY: the caller guarantees a live channel, or it was just created.
    let core = Identifier::new(unsafe { channel::core(events) }, 0, space, qp_type);
    let id = wrap(core, events, context)?;
    // SAFETY: just created.
    unsafe { extra(id) }.lock().is_synchronous = is_synchronous;
    Ok(id)
}

/// Makes an identifier of C of one of the core.
pub(super) fn wrap(
    core: Arc<Identifier>,
    channel: *mut rdma_event_channel,
    context: *mut c_void,
) -> Result<*mut rdma_cm_id> {
    let id = object::create(|user| {
        core.set_user(user);
        let mut c = rdma_cm_id::zero();
        c.channel = channel;
        c.context = context;
        c.ps = core.space() as u32;
        c.qp_type = core.qp_type() as u32;
        Ok(Id { c, core, extra: Mutex::default() })
    })?;
    Ok(id.cast())
}

/// Copies what the core knows into the structure of C: addresses, device, default domain, and the state of the queue
/// pair.
///
/// # Safety
/// The identifier must be alive.
pub(super) unsafe fn refresh(id: *mut rdma_cm_id) -> Result<()> {
    // SAFETY: as the caller guarantees.
    let core = unsafe { core(id) };
    let (local, peer) = (core.local_address(), core.peer_address());
    // SAFETY: as above; as in rdma-core, the program does not read these fields while a call changes them.
    let c = unsafe { &mut *id };
    address::write(&mut c.route.addr.src, local);
    address::write(&mut c.route.addr.dst, peer);
    if core.is_on_device() {
        let gid = |address: Option<std::net::SocketAddr>| ibv_gid {
            raw: address.map(|address| gid_of(address.ip())).unwrap_or_default(),
        };
        c.route.addr.ib.sgid = gid(local);
        c.route.addr.ib.dgid = gid(peer);
        c.route.addr.ib.pkey = u16::MAX;
        c.port_num = PORT;
        if c.verbs.is_null() {
            let opened = device::opened()?;
            c.verbs = opened.context;
            if c.pd.is_null() {
                c.pd = opened.domain;
            }
        }
    }
    if !c.qp.is_null() {
        // SAFETY: the program destroys the queue pair of an identifier by its identifier.
        let state = unsafe { queue_pair::core(c.qp) }.state();
        // SAFETY: as above; as in rdma-core, the program does not read the field meanwhile.
        unsafe { (*c.qp).state = state as u32 };
    }
    Ok(())
}

/// Creates an identifier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_create_id(
    channel: *mut rdma_event_channel,
    id: *mut *mut rdma_cm_id,
    context: *mut c_void,
    space: u32,
) -> c_int {
    guard::number(|| {
        // SAFETY: the caller guarantees the channel.
        let new = unsafe { create(channel, context, space, None) }?;
        // SAFETY: the caller guarantees the pointer.
        unsafe { id.write(new) };
        Ok(0)
    })
}

/// Destroys an identifier, when its events are acknowledged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_destroy_id(id: *mut rdma_cm_id) -> c_int {
    guard::number(|| {
        // SAFETY: the caller guarantees a live identifier.
        unsafe { event::release(id) };
        // SAFETY: as above.
        unsafe { core(id) }.destroy()?;
        // SAFETY: as above.
        if unsafe { is_synchronous(id) } {
            // SAFETY: as above.
            let events = unsafe { (*id).channel };
            // SAFETY: the channel of a synchronous identifier is its own.
            unsafe { channel::soft_rdma_destroy_event_channel(events) };
        }
        // SAFETY: its events are acknowledged, so nothing refers to it.
        unsafe { object::delete(id.cast::<Id>()) };
        Ok(0)
    })
}

/// Moves an identifier to another channel, or makes it synchronous.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_migrate_id(
    id: *mut rdma_cm_id,
    channel: *mut rdma_event_channel,
) -> c_int {
    // SAFETY: as the caller guarantees.
    guard::number(|| unsafe { migrate(id, channel) }.map(|()| 0))
}

/// As [`soft_rdma_migrate_id`].
///
/// # Safety
/// As there.
pub(super) unsafe fn migrate(id: *mut rdma_cm_id, channel: *mut rdma_event_channel) -> Result<()> {
    // SAFETY: the caller guarantees a live identifier.
    let was_synchronous = unsafe { is_synchronous(id) };
    if was_synchronous && channel.is_null() {
        return Err(INVALID);
    }
    let next = if channel.is_null() { channel::create()? } else { channel };
    if was_synchronous {
        // SAFETY: as above.
        unsafe { event::release(id) };
    }
    // SAFETY: the channel is alive.
    let events = unsafe { channel::core(next) };
    // SAFETY: as above.
    unsafe { core(id) }.migrate(events);
    // SAFETY: as above.
    let before = std::mem::replace(unsafe { &mut (*id).channel }, next);
    // SAFETY: as above.
    unsafe { extra(id) }.lock().is_synchronous = channel.is_null();
    if was_synchronous {
        // SAFETY: the channel of a synchronous identifier is its own, and it has moved.
        unsafe { channel::soft_rdma_destroy_event_channel(before) };
    }
    Ok(())
}

/// The port of the identifier, in network order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_get_src_port(id: *mut rdma_cm_id) -> u16 {
    // SAFETY: the caller guarantees a live identifier.
    unsafe { core(id) }.local_address().map_or(0, |address| address.port().to_be())
}

/// The port of the peer, in network order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_get_dst_port(id: *mut rdma_cm_id) -> u16 {
    // SAFETY: the caller guarantees a live identifier.
    unsafe { core(id) }.peer_address().map_or(0, |address| address.port().to_be())
}
