//! The Direct Access Transport (DAT) objects as a safe, typed Rust API.
//!
//! A [`Registry`] opens an [`Ia`] by name; the adapter creates every other object.
//! Handles are cheap clones that keep their parents alive. `free` ends an object at once and
//! returns an error if that is impossible; dropping the last handle ends it silently. Every object
//! is `Send` and `Sync`.
//!
//! The [`guide`] leads from the first open to the last close, in short pages with a program each.
//!
//! Two endpoints of one process exchange a message; the provider is for instance
//! `dat_provider_loopback::provider()`:
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use dat_core::{Connect, EpProvision, EpSpec, EvdFlags, EvdOptions, Event, Memory, Privileges, Registry};
//!
//! fn exchange(provider: Arc<dyn dat_core::provider::Provider>, name: &str) -> dat_core::Result<()> {
//!     let registry = Registry::from_environment(); // dat.conf, if there is one
//!     registry.add_provider(provider)?;
//!     let ia = registry.open(name)?;
//!     let pz = ia.pz_create()?;
//!     let evd = ia.evd_create(&EvdOptions::new(256, EvdFlags::DEFAULT))?;
//!     let spec = EpSpec::new(&pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd);
//!     let (client, server) = (ia.ep_create(&spec)?, ia.ep_create(&spec)?);
//!
//!     let memory = Memory::copy_of(b"hello.....")?;
//!     let lmr = ia.lmr_create(&memory, &pz, Privileges::ALL)?;
//!     server.receive(&[lmr.triplet(5, 5)?], 1)?;
//!
//!     let psp = ia.psp_create_any(&evd, EpProvision::Consumer)?;
//!     client.connect(&Connect::to_psp(&psp))?;
//!     if let Some(Event::ConnectionRequest(arrival)) = evd.next_event(Duration::from_secs(5))? {
//!         arrival.request.accept(Some(&server), b"welcome")?;
//!     }
//!     client.send(&[lmr.triplet(0, 5)?], 2)?;
//!     for event in evd.queued_events() {
//!         println!("{}", event?);
//!     }
//!     assert_eq!(memory.to_vec(0, 10)?, b"hellohello");
//!     Ok(())
//! }
//! # exchange(dat_provider_loopback::provider(), "loopback")?;
//! # Ok::<(), dat_core::Error>(())
//! ```
//!
//! | object | created by | manual page |
//! | --- | --- | --- |
//! | [`Ia`] | [`Registry::open`] | dat_ia_open |
//! | [`Pz`] | [`Ia::pz_create`] | dat_pz_create |
//! | [`Lmr`] | [`Ia::lmr_create`] | dat_lmr_create |
//! | [`Rmr`] | [`Ia::rmr_create`] | dat_rmr_create |
//! | [`Evd`] | [`Ia::evd_create`] | dat_evd_create |
//! | [`Cno`] | [`Ia::cno_create`] | dat_cno_create |
//! | [`Ep`] | [`Ia::ep_create`] | dat_ep_create, dat_ep_create_with_srq |
//! | [`Psp`] | [`Ia::psp_create`] | dat_psp_create |
//! | [`Rsp`] | [`Ia::rsp_create`] | dat_rsp_create |
//! | [`Csp`] | [`Ia::csp_create`] | dat_csp_create (DAT 2.0) |
//! | [`Cr`] | a request that arrives | dat_cr_query |
//! | [`Srq`] | [`Ia::srq_create`] | dat_srq_create |
//!
//! The semantics are those of the 3DAT manual pages; the documentation of each call names its page.
//! Authors of providers should start at [`provider`].
//!
//! One feature, which is off by default: `tokio` adds `EventStream`, the events of a dispatcher for
//! tasks of a tokio runtime. Other event loops can use the descriptor of a dispatcher directly: see
//! [`Evd::arm`].

#![deny(unsafe_code)]

pub mod blocking;
mod claim;
mod cno;
mod collective;
pub mod compat;
pub mod counters;
mod cr;
mod csp;
mod deferred_upcalls;
mod ep;
mod evd;
mod event;
#[cfg(any(doc, doctest))]
pub mod guide;
mod ia;
mod id_allocator;
mod kind;
mod lifecycle;
mod link_sleep;
mod lmr;
#[cfg(all(test, loom))]
mod loom_models;
pub mod monitor;
mod named;
mod private_data;
mod psp;
mod pz;
pub mod registry;
mod rmr;
mod rsp;
mod service_point;
mod srq;
#[cfg(feature = "tokio")]
mod stream;
mod sync;
mod timeout;
mod timer;
mod wakeup;

pub use dat_provider as provider;
pub use dat_provider::{attr, error, flags, mem};
pub(crate) use dat_provider::{status, triplet};

pub use attr::EpAttributes;
pub use cno::{Cno, ProxyAgent};
pub use collective::Collective;
pub use compat::Compat;
pub use counters::{Counters, EpCounter, EvdCounter, IaCounter};
pub use cr::{Cr, CrParam};
pub use csp::{Comm, Csp, CspParam};
pub use dat_provider::{
    Address, FabricAddress, Failure, LocalCause, PathCause, RefusalCause, WaitCause,
};
pub use ep::{Connect, Ep, EpParam, EpSpec, EpState, EpStatus, EpUpdate, RecvStatus, table};
pub use error::{Error, Result, ReturnType, Subtype};
pub use evd::{Evd, EvdOptions, EvdParam, QueuedEvents, WaitResult};
pub use event::{
    AsyncError, AsyncErrorKind, ConnectionEvent, ConnectionEventKind, CrArrival, DatagramAddress,
    DatagramEvent, DatagramEventKind, DtoCompletion, EpId, Event, EventText, RmrBindCompletion,
    ServicePoint,
};
pub use flags::{Close, CompletionFlags, ConnectFlags, EvdFlags, Privileges, Qos};
pub use ia::{AsyncEvd, Ia, IaOptions, IaQuery};
pub use id_allocator::{DisplayId, IdAllocator};
pub use kind::ObjectKind;
pub use lmr::{Lmr, LmrParam, MemorySource};
pub use mem::Memory;
pub use psp::{EpProvision, Psp, PspParam};
pub use pz::Pz;
pub use registry::{ApiVersion, Registry};
pub use rmr::{Bind, Rmr, RmrParam, RmrScope};
pub use rsp::{Rsp, RspParam};
pub use srq::{Srq, SrqAttributes, SrqParam};
pub use status::{DtoStatus, Operation};
#[cfg(feature = "tokio")]
pub use stream::EventStream;
pub use timeout::Timeout;
#[doc(hidden)]
pub use timer::simulated as simulated_timer;
pub use triplet::{LmrTriplet, RmrTriplet};
