//! Identifiers (rdma_create_id(3)).

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::Arc;

use dat_soft_verbs::cm::{Identifier, PortSpace};
use dat_soft_verbs::{DEFAULT_PKEY, PORT, QueuePairType, gid_of};
use dat_sync::{Mutex, MutexGuard};
use rdma_verbs::sys::rdma_cma::{rdma_cm_id, rdma_event_channel};
use rdma_verbs::sys::verbs::{ibv_gid, ibv_pd, ibv_qp_init_attr};

use super::{address, channel, device};
use crate::guard::{self, Result, invalid};
use crate::object::{self, Zero};
use crate::verbs::marshal::ibv_sa_path_rec;
use crate::verbs::queue_pair;

/// An identifier.
#[repr(C)]
struct Whole {
    c: rdma_cm_id,
    core: Arc<Identifier>,
    extra: Mutex<Extra>,
    /// The only path of the route, when it is resolved.
    path: ibv_sa_path_rec,
}

/// The state that the structure of C does not have.
#[derive(Default)]
pub(super) struct Extra {
    /// It has a channel of its own, and its calls wait for their event.
    is_synchronous: bool,
    /// With what the queue pairs of requests are created (rdma_create_ep(3)).
    pub(super) requests: Option<RequestInit>,
    /// The bytes before the private data of the program (`ai_connect`).
    pub(super) connect_data: Vec<u8>,
}

/// The arguments of rdma_create_ep(3), for the requests of a listener.
pub(super) struct RequestInit {
    pub(super) domain: *mut ibv_pd,
    pub(super) init: ibv_qp_init_attr,
}

// SAFETY: any thread may use the objects of verbs.
unsafe impl Send for RequestInit {}

// SAFETY: numbers, pointers and addresses.
unsafe impl Zero for rdma_cm_id {}

/// The path between two addresses. The kernel chooses it, so this is what it has in common with one of RoCE, and the
/// attributes of the port.
fn path(sgid: ibv_gid, dgid: ibv_gid) -> ibv_sa_path_rec {
    /// `IBV_MTU_4096`, `IBV_RATE_100_GBPS`, and the selector of exactly this value.
    const MTU: u8 = 5;
    const RATE: u8 = 16;
    const EXACTLY: u8 = 2;
    ibv_sa_path_rec {
        dgid,
        sgid,
        hop_limit: 64,
        reversible: 1,
        numb_path: 1,
        pkey: DEFAULT_PKEY.to_be(),
        mtu_selector: EXACTLY,
        mtu: MTU,
        rate_selector: EXACTLY,
        rate: RATE,
        packet_life_time_selector: EXACTLY,
        // 4.096 µs * 2^16.
        packet_life_time: 16,
        ..ibv_sa_path_rec::default()
    }
}

/// A live identifier. Calls of C have it as a parameter in place of the pointer: the program guarantees that it is alive.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Id<'a> {
    whole: *mut Whole,
    alive: PhantomData<&'a Whole>,
}

impl<'a> Id<'a> {
    /// # Safety
    /// The identifier must be alive as long as this is used.
    pub(super) unsafe fn new(id: *mut rdma_cm_id) -> Self {
        Self { whole: id.cast(), alive: PhantomData }
    }

    /// The pointer of the program.
    pub(super) fn pointer(self) -> *mut rdma_cm_id {
        self.whole.cast()
    }

    /// The identifier of the core.
    pub(super) fn core(self) -> &'a Arc<Identifier> {
        // SAFETY: it is alive; the field never changes.
        unsafe { &(*self.whole).core }
    }

    /// The state that the structure of C does not have.
    pub(super) fn extra(self) -> MutexGuard<'a, Extra> {
        // SAFETY: it is alive; the field never changes its place.
        unsafe { &(*self.whole).extra }.lock()
    }

    /// Reads or changes the structure of C. As in rdma-core, the program makes no other call with it meanwhile; the
    /// function makes no call with it either.
    pub(super) fn with<R>(self, call: impl FnOnce(&mut rdma_cm_id) -> R) -> R {
        // SAFETY: it is alive, and only this thread uses the structure.
        call(unsafe { &mut (*self.whole).c })
    }

    /// True if its calls wait for their event.
    pub(super) fn is_synchronous(self) -> bool {
        self.extra().is_synchronous
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
    ) -> Result<Self> {
        let space = PortSpace::from_number(space).ok_or_else(|| {
            invalid(format!("cannot create an identifier: there is no port space {space:#x}"))
        })?;
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
        let id = Self::wrap(core, events, context)?;
        id.extra().is_synchronous = is_synchronous;
        Ok(id)
    }

    /// Makes an identifier of C of one of the core.
    pub(super) fn wrap(
        core: Arc<Identifier>,
        channel: *mut rdma_event_channel,
        context: *mut c_void,
    ) -> Result<Self> {
        let whole = object::create(|user| {
            core.set_user(user);
            let mut c = rdma_cm_id::zero();
            c.channel = channel;
            c.context = context;
            c.ps = core.space() as u32;
            c.qp_type = core.qp_type() as u32;
            Ok(Whole { c, core, extra: Mutex::default(), path: ibv_sa_path_rec::default() })
        })?;
        Ok(Self { whole, alive: PhantomData })
    }

    /// Copies what the core knows into the structure of C: addresses, device, default domain, and the state of the
    /// queue pair.
    pub(super) fn refresh(self) -> Result<()> {
        let core = self.core();
        let (local, peer) = (core.local_address(), core.peer_address());
        let is_on_device = core.is_on_device();
        let lacks_device = is_on_device && self.with(|c| c.verbs.is_null());
        let opened = if lacks_device { Some(device::opened()?) } else { None };
        self.with(|c| {
            address::write(&mut c.route.addr.src, local);
            address::write(&mut c.route.addr.dst, peer);
            if is_on_device {
                let gid = |address: Option<std::net::SocketAddr>| ibv_gid {
                    raw: address.map(|address| gid_of(address.ip())).unwrap_or_default(),
                };
                c.route.addr.ib.sgid = gid(local);
                c.route.addr.ib.dgid = gid(peer);
                c.route.addr.ib.pkey = u16::MAX;
                c.port_num = PORT;
                if core.has_route() && c.route.num_paths == 0 {
                    let record = path(c.route.addr.ib.sgid, c.route.addr.ib.dgid);
                    // SAFETY: it is alive, and the program does not know the place yet.
                    let place = unsafe { &raw mut (*self.whole).path };
                    // SAFETY: as above.
                    unsafe { place.write(record) };
                    (c.route.path_rec, c.route.num_paths) = (place.cast(), 1);
                }
            }
            if let Some(opened) = opened {
                c.verbs = opened.context;
                if c.pd.is_null() {
                    c.pd = opened.domain;
                }
            }
            if !c.qp.is_null() {
                // SAFETY: the program destroys the queue pair of an identifier by its identifier.
                let state = unsafe { queue_pair::core(c.qp) }.state();
                // SAFETY: as above; as in rdma-core, the program does not read the field meanwhile.
                unsafe { (*c.qp).state = state as u32 };
            }
        });
        Ok(())
    }

    /// Moves it to another channel, or makes it synchronous.
    ///
    /// # Safety
    /// The channel must be null or alive.
    pub(super) unsafe fn migrate(self, channel: *mut rdma_event_channel) -> Result<()> {
        let was_synchronous = self.is_synchronous();
        if was_synchronous && channel.is_null() {
            return Err(invalid(
                "cannot migrate an identifier to no channel: it has one of its own already",
            ));
        }
        let next = if channel.is_null() { channel::create()? } else { channel };
        if was_synchronous {
            self.release_event();
        }
        // SAFETY: the channel is alive.
        self.core().migrate(unsafe { channel::core(next) });
        let before = self.with(|c| std::mem::replace(&mut c.channel, next));
        self.extra().is_synchronous = channel.is_null();
        if was_synchronous {
            // SAFETY: the channel of a synchronous identifier is its own, and it has moved.
            unsafe { channel::soft_rdma_destroy_event_channel(before) };
        }
        Ok(())
    }
}

/// Creates an identifier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_create_id(
    channel: *mut rdma_event_channel,
    id: &mut MaybeUninit<*mut rdma_cm_id>,
    context: *mut c_void,
    space: u32,
) -> c_int {
    guard::zero(|| {
        // SAFETY: the caller guarantees the channel.
        let new = unsafe { Id::create(channel, context, space, None) }?;
        id.write(new.pointer());
        Ok(())
    })
}

/// Destroys an identifier, when its events are acknowledged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_destroy_id(id: Id<'_>) -> c_int {
    guard::zero(|| {
        id.release_event();
        id.core().destroy()?;
        if id.is_synchronous() {
            // SAFETY: the channel of a synchronous identifier is its own.
            unsafe { channel::soft_rdma_destroy_event_channel(id.with(|c| c.channel)) };
        }
        // SAFETY: its events are acknowledged, so nothing refers to it.
        unsafe { object::delete(id.whole) };
        Ok(())
    })
}

/// Moves an identifier to another channel, or makes it synchronous.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_migrate_id(
    id: Id<'_>,
    channel: *mut rdma_event_channel,
) -> c_int {
    // SAFETY: the caller guarantees the channel.
    guard::zero(|| unsafe { id.migrate(channel) })
}

/// The port of the identifier, in network order.
#[unsafe(no_mangle)]
pub extern "C" fn soft_rdma_get_src_port(id: Id<'_>) -> u16 {
    id.core().local_address().map_or(0, |address| address.port().to_be())
}

/// The port of the peer, in network order.
#[unsafe(no_mangle)]
pub extern "C" fn soft_rdma_get_dst_port(id: Id<'_>) -> u16 {
    id.core().peer_address().map_or(0, |address| address.port().to_be())
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;

    use super::*;
    use crate::cm::call::{soft_rdma_resolve_addr, soft_rdma_resolve_route};

    #[test]
    fn a_resolved_route_has_a_path_between_its_gids() {
        let mut id = MaybeUninit::uninit();
        // SAFETY: there is no channel.
        let created =
            unsafe { soft_rdma_create_id(null_mut(), &mut id, null_mut(), PortSpace::Tcp as u32) };
        assert_eq!(created, 0);
        // SAFETY: the call has succeeded.
        let id = unsafe { id.assume_init() };
        // SAFETY: it was just created.
        let id = unsafe { Id::new(id) };
        let mut space = MaybeUninit::<libc::sockaddr_storage>::zeroed();
        // SAFETY: all zeros is valid.
        address::write(unsafe { space.assume_init_mut() }, Some(([127, 0, 0, 1], 4000).into()));
        // SAFETY: an address.
        let resolved =
            unsafe { soft_rdma_resolve_addr(id, std::ptr::null(), space.as_ptr().cast(), 1000) };
        assert_eq!((resolved, id.with(|c| c.route.num_paths)), (0, 0));
        assert_eq!(soft_rdma_resolve_route(id, 1000), 0);
        let (paths, record) = id.with(|c| (c.route.num_paths, c.route.path_rec));
        assert_eq!(paths, 1);
        // SAFETY: a route with a path has its record.
        let record = unsafe { &*record.cast::<ibv_sa_path_rec>() };
        let local = gid_of([127, 0, 0, 1].into());
        assert_eq!((record.sgid.raw, record.dgid.raw, record.pkey), (local, local, u16::MAX));
        // SAFETY: nothing uses it any more.
        assert_eq!(unsafe { soft_rdma_destroy_id(id) }, 0);
    }
}
