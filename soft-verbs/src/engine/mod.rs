//! The engine of the process: one adapter, which all contexts share.

pub(crate) mod dial;
pub(crate) mod gids;
pub(crate) mod numbers;
pub(crate) mod parameters;
mod shown;
pub(crate) mod timer;

use std::net::IpAddr;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Weak};

use dat_core::monitor;
use dat_provider::{
    Adapter, AdapterAttributes, AdapterSink, AsyncUpcall, MAX_SEGMENTS, OpenRequest, Provider,
    WaiterProgress,
};
use dat_provider_auto::AutoProvider;
use dat_sync::{Mutex, PerProcess};

use crate::async_event::{AsyncElement, AsyncEventType};
use crate::context::Context;
use crate::device::DeviceAttributes;
use crate::error::{Error, Result};
use gids::{GidEntry, Gids};
use numbers::Numbers;
use timer::Timer;

/// The engine of a process. It is opened once, and never closed.
pub(crate) struct Engine {
    pub(crate) adapter: Arc<dyn Adapter>,
    pub(crate) attributes: AdapterAttributes,
    /// The progress of its connections, for threads that wait.
    pub(crate) progress: Option<Arc<dyn WaiterProgress>>,
    pub(crate) numbers: Numbers,
    pub(crate) timer: Timer,
    /// Number of queue pairs in the state RTR, which report what arrives.
    pub(crate) in_rtr: AtomicU32,
    gids: Gids,
    contexts: Arc<Contexts>,
    /// The monitor of `dat top` has it, unless the variable excludes it.
    is_shown: Mutex<bool>,
}

/// The open contexts, which get an event when the device is gone.
#[derive(Default)]
struct Contexts(Mutex<Vec<Weak<Context>>>);

impl AdapterSink for Contexts {
    fn async_event(&self, event: AsyncUpcall) {
        if event != AsyncUpcall::Catastrophic {
            return;
        }
        let contexts: Vec<_> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        for context in contexts {
            context.async_events().push(AsyncEventType::DeviceFatal, AsyncElement::Device);
        }
    }
}

impl Engine {
    /// The engine of this process. A child of a fork opens its own.
    ///
    /// # Errors
    /// `EINVAL` for an unknown parameter, otherwise what the system refuses.
    pub(crate) fn get() -> Result<&'static Self> {
        static ENGINES: PerProcess<Mutex<Option<&'static Engine>>> = PerProcess::new();
        let mut engine = ENGINES.get().lock();
        let opened = match *engine {
            Some(opened) => opened,
            None => Box::leak(Box::new(Self::open(&parameters::of_adapter())?)),
        };
        *engine = Some(opened);
        drop(engine);
        opened.show()?;
        Ok(opened)
    }

    /// Adds the engine to what `dat top` shows, once.
    ///
    /// # Errors
    /// `EINVAL` if the variable is wrong, in each call.
    fn show(&'static self) -> Result<()> {
        let mut is_shown = self.is_shown.lock();
        if !*is_shown {
            monitor::show(self, &parameters::of_adapter()).map_err(|error| {
                let why = format!("{}: {error}", parameters::VARIABLE);
                Error::new(libc::EINVAL, why)
            })?;
            *is_shown = true;
        }
        Ok(())
    }

    fn open(parameters: &str) -> Result<Self> {
        let contexts = Arc::new(Contexts::default());
        let parameters = monitor::without_choice(parameters);
        let request = OpenRequest {
            name: AutoProvider::NAME,
            parameters: &parameters,
            sink: Arc::clone(&contexts) as Arc<dyn AdapterSink>,
        };
        let adapter = AutoProvider.open(request).map_err(|error| {
            let opened = Error::from(error);
            let text = format!(
                "cannot open {} with {}={parameters:?}: {opened}",
                parameters::DEVICE_NAME,
                parameters::VARIABLE
            );
            Error::new(opened.errno, text)
        })?;
        let progress = adapter.waiter_progress();
        let attributes = adapter.attributes();
        Ok(Self {
            adapter,
            attributes,
            progress,
            numbers: Numbers::default(),
            timer: Timer::default(),
            in_rtr: AtomicU32::new(0),
            gids: Gids::default(),
            contexts,
            is_shown: Mutex::new(false),
        })
    }

    /// A context was opened.
    pub(crate) fn add_context(&self, context: &Arc<Context>) {
        let mut contexts = self.contexts.0.lock();
        contexts.retain(|one| one.strong_count() != 0);
        contexts.push(Arc::downgrade(context));
    }

    fn reported(&self) -> Option<IpAddr> {
        self.attributes.ia.address.ip()
    }

    /// The table of GIDs.
    pub(crate) fn gids(&self) -> Vec<GidEntry> {
        self.gids.all(self.reported())
    }

    /// A GID by its index.
    pub(crate) fn gid(&self, index: usize) -> Option<[u8; 16]> {
        self.gids.get(index, self.reported())
    }

    /// Maximum number of segments of a request.
    pub(crate) fn max_segments(&self) -> u32 {
        self.attributes.ia.max_iov_segments_per_dto.min(MAX_SEGMENTS as u32)
    }

    pub(crate) fn device_attributes(&self) -> DeviceAttributes {
        let ia = &self.attributes.ia;
        DeviceAttributes {
            firmware_version: env!("CARGO_PKG_VERSION").to_owned(),
            node_guid: gids::guid(),
            max_mr_size: ia.max_lmr_block_size,
            page_size_cap: !0xfff,
            vendor_id: 0xff_ffff,
            vendor_part_id: 0,
            max_qp: ia.max_eps,
            max_qp_wr: ia.max_dto_per_ep,
            device_cap_flags: DeviceAttributes::CAPABILITIES,
            max_sge: self.max_segments(),
            max_cq: ia.max_evds,
            max_cqe: ia.max_evd_qlen,
            max_mr: ia.max_lmrs,
            max_pd: ia.max_pzs,
            max_qp_rd_atom: ia.max_rdma_read_per_ep_in,
            max_res_rd_atom: ia.max_rdma_read_in,
            max_qp_init_rd_atom: ia.max_rdma_read_per_ep_out,
            atomic_cap: 1,
            max_mw: ia.max_rmrs,
            max_ah: ia.max_eps,
            max_srq: ia.max_srqs,
            max_srq_wr: ia.max_recv_per_srq,
            max_srq_sge: self.max_segments(),
            max_pkeys: 1,
            phys_port_cnt: 1,
            max_inline_data: crate::queue_pair::MAX_INLINE,
        }
    }
}
