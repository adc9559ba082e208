//! Creation of an endpoint.

use std::sync::atomic::{AtomicU8, AtomicU32};
use std::sync::{Arc, OnceLock};

use super::control::Control;
use super::post_checks::PostChecks;
use super::spec::EpSpec;
use super::{Config, Ep, EpInner, EpState, Reads, attributes};
use crate::attr::EpAttributes;
use crate::deferred_upcalls::UpcallFreeMutex;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::evd::{Evd, EvdInner, Stream, StreamBindings};
use crate::flags::{CompletionFlags, EvdFlags};
use crate::ia::{Ia, IaInner};
use crate::kind::ObjectKind;
use crate::lifecycle::Hold;
use crate::monitor;
use crate::provider::Service;
use crate::srq::SrqInner;
use dat_sync::{FirstUse, SlabArc, SlabWeak};

impl Ia {
    /// Creates an endpoint, in the Unconnected state (dat_ep_create(3DAT)).
    ///
    /// # Errors
    /// - `DAT_INVALID_HANDLE` for a zone, dispatcher or shared receive queue that was freed or
    ///   belongs to another adapter, and for a dispatcher that was not created for the stream;
    /// - `DAT_INVALID_PARAMETER` for an attribute, named in the text, that exceeds the adapter's
    ///   limits or contradicts another, and for completion flags that conflict with those of other
    ///   endpoints on the same dispatcher;
    /// - `DAT_MODEL_NOT_SUPPORTED` for what the provider does not support;
    /// - `DAT_INSUFFICIENT_RESOURCES` if the adapter has no resources left.
    pub fn ep_create(&self, spec: &EpSpec) -> Result<Ep> {
        self.ep_create_in(EpState::Unconnected, spec)
    }

    /// As [`ep_create`](Self::ep_create), in an initial state.
    pub(crate) fn ep_create_in(&self, state: EpState, spec: &EpSpec) -> Result<Ep> {
        let ia = self.inner();
        let call = if spec.srq.is_some() { Call::CreateWithSrq } else { Call::Create };
        let create = call.operation();
        let base = ia.new_object(ObjectKind::Ep, create)?;
        let config = Config::new(ia, base.id, spec, (0, 0), call)?;
        let (zone, is_shared) = (config.zone(), config.srq.is_some());
        let post_checks = PostChecks::new(state, zone, &config.attributes, is_shared, ia.compat);
        let adapter = ia.adapter(create)?;
        let is_deferred = attributes::service(&config.attributes) == Service::Connection
            && adapter.defers_queue_pairs().map_err(|error| base.describe(error, create))?;
        let no_memory = || Error::no_memory("the endpoint").during(create);
        let make = |me: &SlabWeak<EpInner>| {
            let queue_pair = FirstUse::new();
            if !is_deferred {
                let spec = config.queue_pair_spec(base.id, &ia.epochs, me);
                let created = adapter.create_queue_pair(spec);
                let _ = queue_pair.set(created.map_err(|error| base.describe(error, create))?);
                post_checks.admit_posts();
            }
            Ok::<_, Error>(EpInner {
                queue_pair,
                regions: Arc::clone(&ia.regions),
                epochs: Arc::clone(&ia.epochs),
                post_checks,
                base,
                counter_set: OnceLock::new(),
                weak_self: SlabWeak::clone(me),
                state: AtomicU8::new(state as u8),
                state_before_accept: AtomicU8::new(state as u8),
                ignored: AtomicU32::new(0),
                control: UpcallFreeMutex::new(Control::new(config.connect_evd())),
                call: UpcallFreeMutex::new(Some(config)),
            })
        };
        let inner = SlabArc::try_new_cyclic(make, no_memory)?;
        ia.insert(&inner.base, SlabArc::downgrade(&inner), create)?;
        if ia.counts_all {
            inner.set_counted(true);
        }
        monitor::sample(ia);
        Ok(Ep { inner })
    }
}

impl Config {
    /// Checks the objects that an endpoint is to use, and registers their use.
    pub(super) fn new(
        ia: &Arc<IaInner>,
        id: u64,
        spec: &EpSpec,
        reads_before: (u32, u32),
        call: Call,
    ) -> Result<Self> {
        let operation = call.operation();
        let pz = match &spec.pz {
            Some(pz) => Some(Hold::new(pz.inner(), ia, operation, Subtype::InvalidHandlePz)?),
            None => None,
        };
        let recv = use_evd(ia, spec.recv_evd.as_ref(), Use::Recv, operation)?;
        let request = use_evd(ia, spec.request_evd.as_ref(), Use::Request, operation)?;
        let connect = use_evd(ia, spec.connect_evd.as_ref(), Use::Connect, operation)?;
        let srq = match &spec.srq {
            Some(srq) => Some(Hold::new(srq.inner(), ia, operation, Subtype::InvalidHandleSrq)?),
            None => None,
        };
        let describe = |error: Error| ia.describe(call.relate(error), operation);
        if let Some(srq) = srq.as_ref().filter(|_| call != Call::Modify) {
            check_users(ia, srq).map_err(describe)?;
        }
        if let (Some(pz), Some(srq)) = (&pz, &srq) {
            if pz.owner != srq.zone() && !ia.attributes.provider.srq_ep_pz_difference_supported {
                let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg2)
                    .because("the protection zone differs from that of the shared receive queue")
                    .advise("use the same protection zone: the provider requires it");
                return Err(describe(error));
            }
        }
        let requested = spec.attributes.as_ref().unwrap_or(&ia.attributes.default_ep);
        let attributes =
            attributes::check(requested, &ia.attributes, srq.is_some()).map_err(describe)?;
        let (recv_flags, request_flags) = stream_flags(&attributes);
        let mut bindings = StreamBindings::new(id);
        bindings.begin(Stream::Receive, recv, recv_flags).map_err(describe)?;
        if let (Some(recv), Some(request)) = (bindings.evd(Stream::Receive), &request) {
            if Arc::ptr_eq(recv.arc(), request.arc()) {
                StreamBindings::check_pair(recv, recv_flags, request_flags).map_err(describe)?;
            }
        }
        bindings.begin(Stream::Request, request, request_flags).map_err(describe)?;
        let amount = (attributes.max_rdma_read_in, attributes.max_rdma_read_out);
        let reads = Reads::reserve(ia, reads_before, amount).map_err(describe)?;
        let attributes = ia.ep_attributes.of(attributes);
        Ok(Self { pz, bindings, connect, srq, attributes, reads })
    }

    /// Registers the streams again, after those of another configuration of the endpoint on the
    /// same dispatchers have ended.
    pub(super) fn renew_feeds(&self) {
        let (recv_flags, request_flags) = stream_flags(&self.attributes);
        self.bindings.renew(recv_flags, request_flags);
    }

    /// Makes this configuration effective for posts and connection events.
    pub(super) fn publish(&self, endpoint: &EpInner) {
        let (is_shared, compat) = (self.srq.is_some(), endpoint.base.ia.compat);
        endpoint.post_checks.set(self.zone(), &self.attributes, is_shared, compat);
        endpoint.control().connect_evd = self.connect_evd();
    }

    /// The number of the zone in the region table; 0 if there is none.
    fn zone(&self) -> u32 {
        self.pz.as_ref().map_or(0, |pz| pz.owner)
    }

    fn connect_evd(&self) -> Option<Arc<EvdInner>> {
        self.connect.as_ref().map(|evd| Arc::clone(evd.arc()))
    }
}

/// The flags that decide which streams may share a dispatcher: of receives, and of requests.
fn stream_flags(attributes: &EpAttributes) -> (CompletionFlags, CompletionFlags) {
    let request_mode = attributes::request_mode(attributes.request_completion_flags);
    (attributes.recv_completion_flags, request_mode)
}

/// Checks the adapter's limit of endpoints per shared receive queue, including this one.
fn check_users(ia: &IaInner, srq: &SrqInner) -> Result<()> {
    let most = ia.attributes.ia.max_ep_per_srq;
    if srq.base.lifecycle.uses() <= most {
        return Ok(());
    }
    Err(Error::new(ReturnType::InsufficientResources, Subtype::ResourceSrq)
        .because(format!("{} already serves its maximum of {most} endpoints", srq.base.label()))
        .advise("use another shared receive queue, or free an endpoint"))
}

/// The calls that check the objects of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Create,
    CreateWithSrq,
    Modify,
}

impl Call {
    pub(super) const fn operation(self) -> &'static str {
        match self {
            Self::Create => "dat_ep_create",
            Self::CreateWithSrq => "dat_ep_create_with_srq",
            Self::Modify => "dat_ep_modify",
        }
    }

    /// Translates an error about attributes, the sixth argument of dat_ep_create, to this call. For
    /// dat_ep_modify(3DAT), what is not supported is an invalid parameter.
    fn relate(self, error: Error) -> Error {
        let attributes = match self {
            Self::Create => return error,
            Self::CreateWithSrq => Subtype::InvalidArg7,
            Self::Modify => Subtype::InvalidArg3,
        };
        match (error.return_type(), error.subtype()) {
            (_, Subtype::InvalidArg6) => error.with_subtype(attributes),
            (ReturnType::ModelNotSupported, _) if self == Self::Modify => {
                Error::new(ReturnType::InvalidParameter, attributes)
                    .because(error.reason().to_owned())
                    .advise(error.advice().to_owned())
            }
            _ => error,
        }
    }
}

/// The purpose for which an endpoint uses a dispatcher.
#[derive(Clone, Copy)]
enum Use {
    Recv,
    Request,
    Connect,
}

impl Use {
    const fn parts(self) -> (&'static str, EvdFlags, Subtype) {
        match self {
            Self::Recv => ("recv_evd", EvdFlags::DTO, Subtype::InvalidHandleEvdRecv),
            // A dispatcher for either kind of completion is accepted; binds check for their own
            // flag when they are posted.
            Self::Request => ("request_evd", EvdFlags::DTO, Subtype::InvalidHandleEvdRequest),
            Self::Connect => ("connect_evd", EvdFlags::CONNECTION, Subtype::InvalidHandleEvdConn),
        }
    }
}

fn use_evd(
    ia: &Arc<IaInner>,
    evd: Option<&Evd>,
    purpose: Use,
    operation: &'static str,
) -> Result<Option<Hold<EvdInner>>> {
    let Some(evd) = evd else { return Ok(None) };
    let (name, flags, subtype) = purpose.parts();
    let takes_completions = flags.intersects(EvdFlags::COMPLETIONS);
    let hold = Hold::of_same_adapter(evd.inner(), ia, takes_completions, operation, subtype)?;
    if !hold.flags().contains(flags) {
        let error = Error::new(ReturnType::InvalidHandle, subtype)
            .because(format!("{name}: the dispatcher was created for {}", hold.flags()))
            .advise(format!("create it with {flags}"));
        return Err(ia.describe(error, operation));
    }
    Ok(Some(hold))
}
