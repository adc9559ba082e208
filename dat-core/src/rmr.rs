//! Remote memory regions: windows onto local memory that a peer may access.

use std::sync::Arc;

use crate::deferred_upcalls::UpcallFreeMutex;
use crate::ep::{Ep, EpState};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::flags::{CompletionFlags, Privileges};
use crate::ia::{Ia, Object};
use crate::id_allocator::DisplayId;
use crate::kind::ObjectKind;
use crate::lifecycle::{Base, Hold, object_handle};
use crate::lmr::{Lmr, LmrInner};
use crate::provider::{BindRequest, MemoryWindow, WindowScope};
use crate::pz::{Pz, PzInner};
use crate::triplet::LmrTriplet;

/// A remote memory region (dat_rmr_create(3DAT)): opens a part of a local region to the peer, until it
/// is bound to another part, unbound or freed. It is a memory window of other interfaces.
///
/// ```
/// use dat_core::{
///     Bind, CompletionFlags, Ep, Event, Evd, Lmr, Privileges, Result, Rmr,
///     RmrTriplet,
/// };
/// # use dat_core::{Connect, EpSpec, EvdFlags, EvdOptions, Memory, EpProvision};
/// use std::time::Duration;
///
/// /// Lets the peer write 64 bytes; returns what to send to it.
/// fn open(rmr: &Rmr, ep: &Ep, evd: &Evd, lmr: &Lmr) -> Result<RmrTriplet> {
///     let triplet = lmr.triplet(128, 64)?;
///     let flags = CompletionFlags::empty();
///     let bind = Bind { lmr, triplet, privileges: Privileges::REMOTE_WRITE, cookie: 1, flags };
///     let context = rmr.bind(ep, &bind)?;
///     let Some(Event::RmrBind(_)) = evd.next_event(Duration::from_secs(5))? else { panic!("not bound") };
///     Ok(RmrTriplet { context, address: triplet.address, length: triplet.length })
/// }
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// # let pz = ia.pz_create()?;
/// # let evd = ia.evd_create(&EvdOptions::new(64, EvdFlags::DEFAULT))?;
/// # let client = ia.ep_create(&EpSpec::new(&pz))?;
/// # let server = ia.ep_create(&EpSpec::new(&pz).request_evd(&evd))?;
/// # let psp = ia.psp_create_any(&evd, EpProvision::Consumer)?;
/// # client.connect(&Connect::to_psp(&psp))?;
/// # let Some(Event::ConnectionRequest(arrival)) = evd.next_event(Duration::from_secs(5))? else { panic!() };
/// # arrival.request.accept(Some(&server), b"")?;
/// # let memory = Memory::copy_of(&[7; 256])?;
/// # let lmr = ia.lmr_create(&memory, &pz, Privileges::ALL)?;
/// # let rmr = ia.rmr_create(&pz)?;
/// # let remote = open(&rmr, &server, &evd, &lmr)?;
/// # client.rdma_write(&[lmr.triplet(0, 64)?], 2, remote)?;
/// # assert_eq!(rmr.query()?.rmr_context, remote.context);
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Rmr {
    inner: Arc<RmrInner>,
}

pub(crate) struct RmrInner {
    pub(crate) base: Base,
    scope: RmrScope,
    /// `None` once the region is freed.
    state: UpcallFreeMutex<Option<State>>,
}

struct State {
    pz: Hold<PzInner>,
    window: Arc<dyn MemoryWindow>,
    binding: Option<Binding>,
}

struct Binding {
    /// Prevents the local region from being freed.
    _lmr: Hold<LmrInner>,
    triplet: LmrTriplet,
    privileges: Privileges,
    context: u32,
}

object_handle!(Rmr, RmrInner);

/// The connections over which a remote memory region can be used (`DAT_RMR_SCOPE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RmrScope {
    /// Connections of all endpoints of its zone.
    Pz,
    /// Only the connection of the endpoint on which it was bound.
    Ep,
}

/// The parameters of a remote memory region (`DAT_RMR_PARAM`; dat_rmr_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RmrParam {
    /// Its zone.
    pub pz: Pz,
    /// The connections over which it can be used.
    pub scope: RmrScope,
    /// The memory of the last bind that was posted while connected; `None` if it is not bound.
    pub lmr_triplet: Option<LmrTriplet>,
    /// The accesses that the peer may make.
    pub privileges: Privileges,
    /// The context of the last bind; 0 if it is not bound.
    pub rmr_context: u32,
}

/// A bind to post (dat_rmr_bind(3DAT)).
#[derive(Clone, Debug)]
pub struct Bind<'a> {
    /// The local region.
    pub lmr: &'a Lmr,
    /// The part of it that the peer may access; a length of 0 unbinds the remote region.
    pub triplet: LmrTriplet,
    /// The remote privileges that the peer gets.
    pub privileges: Privileges,
    /// Returned in the completion.
    pub cookie: u64,
    /// How the bind completes.
    pub flags: CompletionFlags,
}

const CREATE: &str = "dat_rmr_create";
const BIND: &str = "dat_rmr_bind";

impl Ia {
    /// Creates an unbound remote memory region (dat_rmr_create(3DAT)).
    ///
    /// # Errors
    /// `DAT_MODEL_NOT_SUPPORTED` if the provider has none; `DAT_INVALID_HANDLE` for a zone that was
    /// freed or belongs to another adapter; `DAT_INSUFFICIENT_RESOURCES` if the adapter has no
    /// resources left.
    pub fn rmr_create(&self, pz: &Pz) -> Result<Rmr> {
        self.make_rmr(pz, RmrScope::Pz)
    }

    /// Creates a remote memory region that can be used only over the connection of the endpoint on
    /// which it is bound (dat_rmr_create_for_ep of DAT 2.0).
    ///
    /// # Errors
    /// As [`rmr_create`](Self::rmr_create).
    pub fn rmr_create_for_ep(&self, pz: &Pz) -> Result<Rmr> {
        self.make_rmr(pz, RmrScope::Ep)
    }

    fn make_rmr(&self, pz: &Pz, scope: RmrScope) -> Result<Rmr> {
        let ia = self.inner();
        ia.check_open(CREATE)?;
        let provider = &ia.attributes.provider;
        let (offered, window_scope) = match scope {
            RmrScope::Pz => (provider.rmr_supported, WindowScope::Domain),
            RmrScope::Ep => (provider.rmr_scope_ep_supported, WindowScope::QueuePair),
        };
        if !offered {
            let error =
                Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype).because(format!(
                    "the provider does not support remote memory regions of scope \
                     {scope:?}"
                ));
            return Err(ia.describe(error, CREATE));
        }
        let pz = Hold::new(pz.inner(), ia, CREATE, Subtype::InvalidHandlePz)?;
        let base = ia.new_object(ObjectKind::Rmr, CREATE)?;
        let window = pz
            .domain
            .create_window(base.id, window_scope)
            .map_err(|error| base.describe(error, CREATE))?;
        let state = UpcallFreeMutex::new(Some(State { pz, window, binding: None }));
        let inner = Arc::new(RmrInner { base, scope, state });
        ia.insert(&inner.base, Arc::downgrade(&inner), CREATE)?;
        Ok(Rmr { inner })
    }
}

impl Rmr {
    /// Posts a bind on an endpoint and returns the new context for the peer (dat_rmr_bind(3DAT)).
    /// Later operations on the endpoint start after the bind; when it completes, the former context
    /// is invalid.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` unless the endpoint is connected, or disconnected, in which case the
    /// bind is flushed; `DAT_INVALID_PARAMETER` for a piece that is not inside the local region, or
    /// flags that a bind does not have; `DAT_PRIVILEGES_VIOLATION` for a remote privilege if the
    /// region lacks the corresponding local one; `DAT_PROTECTION_VIOLATION` if the zones differ;
    /// `DAT_INVALID_HANDLE` for an object that was freed or belongs to another adapter.
    pub fn bind(&self, endpoint: &Ep, bind: &Bind<'_>) -> Result<u32> {
        let inner = &*self.inner;
        let ep = endpoint.inner();
        inner.base.check_process(BIND)?;
        let mut state = inner.state.lock();
        let state = state.as_mut().ok_or_else(|| inner.base.freed(BIND))?;
        if !Arc::ptr_eq(&ep.base.ia, &inner.base.ia) {
            let error = Error::new(ReturnType::InvalidHandle, Subtype::InvalidHandleEp)
                .because(format!("{endpoint:?} belongs to another open adapter"));
            return Err(inner.base.describe(error, BIND));
        }
        ep.check_requests(BIND)?;
        let flags = ep.check_bind_flags(bind.flags, Subtype::InvalidArg8, BIND)?;
        let lmr = Hold::new(bind.lmr.inner(), &inner.base.ia, BIND, Subtype::InvalidHandleLmr)?;
        inner.check(state, &lmr, ep.zone(), bind)?;
        let disconnected = || ep.state() == Some(EpState::Disconnected);
        let was_disconnected = disconnected();
        let context = ep.post_bind(
            &BindRequest {
                window: &*state.window,
                region: (bind.triplet.length > 0).then_some(&*lmr.region),
                address: bind.triplet.address,
                remote_address: bind.triplet.address,
                length: bind.triplet.length,
                privileges: bind.privileges & Privileges::REMOTE,
                key: None,
                cookie: bind.cookie,
                flags,
            },
            BIND,
        )?;
        // The bind was flushed at once and did not take place, so the region is unchanged.
        if was_disconnected && disconnected() {
            return Ok(context);
        }
        state.binding = (bind.triplet.length > 0).then(|| Binding {
            _lmr: lmr,
            triplet: bind.triplet,
            privileges: bind.privileges & Privileges::REMOTE,
            context,
        });
        Ok(context)
    }

    /// The parameters of the region (dat_rmr_query(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn query(&self) -> Result<RmrParam> {
        const QUERY: &str = "dat_rmr_query";
        self.inner.base.check_process(QUERY)?;
        let state = self.inner.state.lock();
        let state = state.as_ref().ok_or_else(|| self.inner.base.freed(QUERY))?;
        let binding = state.binding.as_ref();
        Ok(RmrParam {
            pz: Pz::from_inner(state.pz.arc()),
            scope: self.inner.scope,
            lmr_triplet: binding.map(|binding| binding.triplet),
            privileges: binding.map_or(Privileges::empty(), |binding| binding.privileges),
            rmr_context: binding.map_or(0, |binding| binding.context),
        })
    }

    /// Frees the region; its context is invalid (dat_rmr_free(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed before.
    pub fn free(&self) -> Result<()> {
        self.inner.base.retire("dat_rmr_free", Subtype::NoSubtype)?;
        self.inner.abandon();
        Ok(())
    }
}

impl RmrInner {
    fn check(&self, state: &State, lmr: &LmrInner, zone: u32, bind: &Bind<'_>) -> Result<()> {
        let fail = |error: Error| Err(self.base.describe(error, BIND));
        let own = state.pz.base.id;
        if state.pz.owner != zone || (bind.triplet.length > 0 && own != lmr.pz_id()) {
            return fail(Error::new(ReturnType::ProtectionViolation, Subtype::NoSubtype).because(
                format!(
                    "the protection zones differ: RMR {}, LMR {}, EP {}",
                    DisplayId(own),
                    DisplayId(lmr.pz_id()),
                    DisplayId(self.base.ia.regions.name_of(zone))
                ),
            ));
        }
        if bind.triplet.length == 0 {
            return Ok(());
        }
        let triplet = bind.triplet;
        if triplet.context != lmr.context() || !lmr.contains(triplet.address, triplet.length) {
            return fail(
                Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg3)
                    .because("lmr_triplet is not inside the local region")
                    .advise("use a part of the region, with its own lmr_context"),
            );
        }
        for (remote, local, subtype) in [
            (Privileges::REMOTE_READ, Privileges::LOCAL_READ, Subtype::PrivilegesRead),
            (Privileges::REMOTE_WRITE, Privileges::LOCAL_WRITE, Subtype::PrivilegesWrite),
        ] {
            if bind.privileges.contains(remote) && !lmr.privileges().contains(local) {
                return fail(
                    Error::new(ReturnType::PrivilegesViolation, subtype)
                        .because(format!("{remote} requires {local} on the local region")),
                );
            }
        }
        Ok(())
    }
}

impl Object for RmrInner {
    const KIND: ObjectKind = ObjectKind::Rmr;

    fn abandon(&self) {
        self.base.lifecycle.force();
        let state = self.state.lock().take();
        drop(state);
        self.base.leave();
    }
}
