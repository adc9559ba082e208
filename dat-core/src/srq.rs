//! Shared receive queues.

use std::sync::{Arc, Weak};

use dat_sync::Mutex;

use crate::ep::{Gathered, gather};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::event::AsyncErrorKind;
use crate::flags::{CompletionFlags, Privileges};
use crate::ia::{Ia, IaInner, Object};
use crate::kind::ObjectKind;
use crate::lifecycle::{Base, Hold, object_handle};
use crate::provider::{self, ReceiveRequest, SharedReceiveLimits, SharedReceiveSink};
use crate::pz::{Pz, PzInner};
use crate::triplet::LmrTriplet;

/// A shared receive queue (dat_srq_create(3DAT)): several endpoints take their receives from it.
///
/// ```
/// use dat_core::{
///     Ep, EpSpec, Evd, Ia, Lmr, Pz, Result, SrqAttributes,
/// };
///
/// /// Endpoints that share 64 receives of 4 KiB; the cookie is the number of the buffer.
/// fn endpoints(
///     ia: &Ia,
///     pz: &Pz,
///     evd: &Evd,
///     buffers: &Lmr,
/// ) -> Result<Vec<Ep>> {
///     let attributes = SrqAttributes { max_recv_dtos: 64, max_recv_iov: 1, low_watermark: 0 };
///     let srq = ia.srq_create(pz, attributes)?;
///     for number in 0..64 {
///         srq.post_recv(&[buffers.triplet(number * 4096, 4096)?], number)?;
///     }
///     let spec = EpSpec::new(pz).recv_evd(evd).request_evd(evd).connect_evd(evd).srq(&srq);
///     (0..8).map(|_| ia.ep_create(&spec)).collect()
/// }
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// # let pz = ia.pz_create()?;
/// # let evd = ia.evd_create(&dat_core::EvdOptions::new(256, dat_core::EvdFlags::DEFAULT))?;
/// # let memory = dat_core::Memory::zeroed(64 * 4096)?;
/// # let lmr = ia.lmr_create(&memory, &pz, dat_core::Privileges::ALL)?;
/// # let endpoints = endpoints(&ia, &pz, &evd, &lmr)?;
/// # assert_eq!(endpoints[7].query()?.srq.expect("shared").query()?.available_dto_count, 64);
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Srq {
    inner: Arc<SrqInner>,
}

pub(crate) struct SrqInner {
    pub(crate) base: Base,
    pub(crate) queue: Arc<dyn provider::SharedReceiveQueue>,
    /// The number of the zone in the region table.
    zone: u32,
    pz: Mutex<Option<Hold<PzInner>>>,
    attributes: Mutex<SrqAttributes>,
}

object_handle!(Srq, shared SrqInner);

/// The configuration of a shared receive queue (`DAT_SRQ_ATTR`).
///
/// ```
/// use dat_core::{Memory, Privileges, SrqAttributes};
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// # let pz = ia.pz_create()?;
/// let attributes = SrqAttributes { max_recv_dtos: 16, max_recv_iov: 1, low_watermark: 0 };
/// let srq = ia.srq_create(&pz, attributes)?;
/// let lmr = ia.lmr_create(&Memory::zeroed(64)?, &pz, Privileges::ALL)?;
/// srq.post_recv(&[lmr.triplet(0, 64)?], 1)?;
/// assert_eq!(srq.query()?.available_dto_count, 1);
/// srq.set_low_watermark(1)?; // one event when the last buffer is taken
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SrqAttributes {
    /// Maximum number of outstanding buffers.
    pub max_recv_dtos: u32,
    /// Maximum number of segments of one buffer.
    pub max_recv_iov: u32,
    /// An asynchronous event is raised once if fewer buffers than this are on the queue; 0 for none
    /// (`DAT_SRQ_LW_DEFAULT`).
    pub low_watermark: u32,
}

/// The parameters of a shared receive queue (`DAT_SRQ_PARAM`; dat_srq_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SrqParam {
    /// The zone of its buffers.
    pub pz: Pz,
    /// Its configuration.
    pub attributes: SrqAttributes,
    /// Number of buffers on the queue.
    pub available_dto_count: u32,
    /// Number of buffers on the queue, at an endpoint, or completed and not dequeued.
    pub outstanding_dto_count: u32,
}

const CREATE: &str = "dat_srq_create";
const QUERY: &str = "dat_srq_query";
const POST: &str = "dat_srq_post_recv";
const RESIZE: &str = "dat_srq_resize";
const SET_LW: &str = "dat_srq_set_lw";

impl Ia {
    /// Creates a shared receive queue (dat_srq_create(3DAT)).
    ///
    /// # Errors
    /// `DAT_MODEL_NOT_SUPPORTED` if the provider has none; `DAT_INVALID_PARAMETER` for an attribute
    /// beyond the adapter's limits; `DAT_INVALID_HANDLE` for a zone that was freed or belongs to
    /// another adapter; `DAT_INSUFFICIENT_RESOURCES` if the adapter has no resources left.
    pub fn srq_create(&self, pz: &Pz, attributes: SrqAttributes) -> Result<Srq> {
        let ia = self.inner();
        let adapter = ia.adapter(CREATE)?;
        if !ia.attributes.provider.srq_supported {
            let error = Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
                .because("the provider does not support shared receive queues");
            return Err(ia.describe(error, CREATE));
        }
        check(ia, attributes).map_err(|error| ia.describe(error, CREATE))?;
        let pz = Hold::new(pz.inner(), ia, CREATE, Subtype::InvalidHandlePz)?;
        let base = ia.new_object(ObjectKind::Srq, CREATE)?;
        let sink = Arc::new(Watermark { ia: Arc::downgrade(ia), srq: base.id });
        let limits = SharedReceiveLimits {
            max_receives: attributes.max_recv_dtos,
            max_segments: attributes.max_recv_iov,
        };
        let queue = adapter
            .create_shared_receive_queue(Arc::clone(&pz.domain), limits, sink)
            .map_err(|error| base.describe(error, CREATE))?;
        if attributes.low_watermark > 0 {
            queue.arm_low_watermark(attributes.low_watermark);
        }
        let inner = Arc::new(SrqInner {
            base,
            queue,
            zone: pz.owner,
            pz: Mutex::new(Some(pz)),
            attributes: Mutex::new(attributes),
        });
        ia.insert(&inner.base, Arc::downgrade(&inner), CREATE)?;
        Ok(Srq { inner })
    }
}

fn check(ia: &IaInner, attributes: SrqAttributes) -> Result<()> {
    let limits = &ia.attributes.ia;
    let invalid = |reason: String| {
        Err(Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg3).because(reason))
    };
    if attributes.max_recv_dtos == 0 || attributes.max_recv_dtos > limits.max_recv_per_srq {
        return invalid(format!(
            "max_recv_dtos {} is not between 1 and the adapter's limit of {}",
            attributes.max_recv_dtos, limits.max_recv_per_srq
        ));
    }
    if attributes.max_recv_iov > limits.max_iov_segments_per_dto {
        return invalid(format!(
            "max_recv_iov {} exceeds the adapter's limit of {}",
            attributes.max_recv_iov, limits.max_iov_segments_per_dto
        ));
    }
    if attributes.low_watermark > attributes.max_recv_dtos {
        return invalid(format!(
            "low_watermark {} exceeds max_recv_dtos {}",
            attributes.low_watermark, attributes.max_recv_dtos
        ));
    }
    if attributes.low_watermark > 0 {
        check_watermarks(ia)?;
    }
    Ok(())
}

fn check_watermarks(ia: &IaInner) -> Result<()> {
    if ia.attributes.provider.srq_watermarks_supported {
        return Ok(());
    }
    Err(Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
        .because("the provider does not support low watermarks on shared receive queues"))
}

impl Srq {
    /// Adds a buffer (dat_srq_post_recv(3DAT)).
    ///
    /// # Errors
    /// As [`Ep::post_recv`](crate::Ep::post_recv), with the zone and the limits of the
    /// queue.
    pub fn post_recv(&self, iov: &[LmrTriplet], cookie: u64) -> Result<()> {
        let inner = &*self.inner;
        inner.base.check_live(POST)?;
        let most = inner.attributes.lock().max_recv_iov;
        if iov.len() > most as usize {
            let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg2)
                .because(format!("{} segments exceed the queue's maximum of {most}", iov.len()));
            return Err(inner.base.describe(error, POST));
        }
        let regions = &inner.base.ia.regions;
        let mut local = Gathered::new(&inner.base.ia.epochs);
        gather(&mut local, regions, inner.zone, iov, Privileges::LOCAL_WRITE)
            .map_err(|error| inner.base.describe(error, POST))?;
        let flags = CompletionFlags::empty();
        let Gathered { segments, checked, .. } = &local;
        let receive = ReceiveRequest { segments, cookie, flags, checked: *checked };
        inner.queue.post_receive(&receive).map_err(|error| inner.base.describe_post(error, POST))
    }

    /// The parameters of the queue (dat_srq_query(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn query(&self) -> Result<SrqParam> {
        let inner = &*self.inner;
        inner.base.check_process(QUERY)?;
        let pz = inner.pz.lock();
        let pz = pz.as_ref().ok_or_else(|| inner.base.freed(QUERY))?;
        let (available_dto_count, outstanding_dto_count) = inner.queue.counts();
        Ok(SrqParam {
            pz: Pz::from_inner(pz.arc()),
            attributes: *inner.attributes.lock(),
            available_dto_count,
            outstanding_dto_count,
        })
    }

    /// Changes the maximum number of outstanding buffers; none is lost (dat_srq_resize(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` if more are outstanding or the low watermark is higher;
    /// `DAT_INVALID_PARAMETER` for 0 or more than the adapter's maximum. After an error nothing has
    /// changed.
    pub fn resize(&self, max_recv_dtos: u32) -> Result<()> {
        let inner = &*self.inner;
        inner.base.check_live(RESIZE)?;
        let fail = |error: Error| Err(inner.base.describe(error, RESIZE));
        let most = inner.base.ia.attributes.ia.max_recv_per_srq;
        if max_recv_dtos == 0 || max_recv_dtos > most {
            return fail(Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg2).because(
                format!(
                    "srq_max_recv_dto {max_recv_dtos} is not between 1 and the adapter's limit of \
                     {most}"
                ),
            ));
        }
        let mut attributes = inner.attributes.lock();
        if max_recv_dtos < attributes.low_watermark {
            return fail(
                Error::new(ReturnType::InvalidState, Subtype::InvalidStateSrqInUse)
                    .because(format!(
                        "the low watermark {} is above {max_recv_dtos}",
                        attributes.low_watermark
                    ))
                    .advise("lower the watermark first"),
            );
        }
        inner.queue.resize(max_recv_dtos).or_else(fail)?;
        attributes.max_recv_dtos = max_recv_dtos;
        Ok(())
    }

    /// Requests one asynchronous event when fewer than `low_watermark` buffers are on the queue
    /// (dat_srq_set_lw(3DAT)); 0 for none.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` above the queue's capacity; `DAT_MODEL_NOT_SUPPORTED` if the
    /// provider has no watermarks; `DAT_INVALID_HANDLE` when it was freed.
    pub fn set_low_watermark(&self, low_watermark: u32) -> Result<()> {
        let inner = &*self.inner;
        inner.base.check_live(SET_LW)?;
        check_watermarks(&inner.base.ia).map_err(|error| inner.base.describe(error, SET_LW))?;
        {
            let mut attributes = inner.attributes.lock();
            if low_watermark > attributes.max_recv_dtos {
                let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg2).because(
                    format!(
                        "low_watermark {low_watermark} exceeds max_recv_dtos {}",
                        attributes.max_recv_dtos
                    ),
                );
                return Err(inner.base.describe(error, SET_LW));
            }
            attributes.low_watermark = low_watermark;
        }
        inner.queue.arm_low_watermark(low_watermark);
        Ok(())
    }

    /// Frees the queue; buffers on it are lost (dat_srq_free(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` while endpoints use it; `DAT_INVALID_HANDLE` when it was freed
    /// before.
    pub fn free(&self) -> Result<()> {
        self.inner.base.retire("dat_srq_free", Subtype::InvalidStateSrqInUse)?;
        self.inner.abandon();
        Ok(())
    }
}

impl SrqInner {
    pub(crate) fn zone(&self) -> u32 {
        self.zone
    }
}

impl Object for SrqInner {
    const KIND: ObjectKind = ObjectKind::Srq;

    fn abandon(&self) {
        self.base.lifecycle.force();
        *self.pz.lock() = None;
        self.base.leave();
    }
}

/// Forwards the low watermark upcall to the adapter's dispatcher.
struct Watermark {
    ia: Weak<IaInner>,
    srq: u64,
}

impl SharedReceiveSink for Watermark {
    fn low_watermark_reached(&self) {
        if let Some(ia) = self.ia.upgrade() {
            ia.raise_async(AsyncErrorKind::SrqLowWatermark, self.srq);
        }
    }
}
