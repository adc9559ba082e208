//! The API of `dat-core`, implemented by calls of libdat.so or libdat2.so, which is loaded at run time. The conformance
//! suite is compiled against this crate instead of `dat-core`.
//!
//! It is compiled twice, for DAT 1.2 and with `cfg(dat2)` for DAT 2.0; `version` has what differs.

pub(crate) mod address;
pub(crate) mod convert;
pub(crate) mod library;
pub(crate) mod registration;
pub(crate) mod result;
pub(crate) mod segments;
pub(crate) mod shared_object;

pub(crate) mod adapter;
mod handle;
mod handle_type;
mod object;

pub(crate) mod attributes;
mod cno;
mod counters;
mod cr;
pub(crate) mod datagram;
mod delivery;
mod ep;
#[path = "../../../dat-core/src/ep/spec.rs"]
mod ep_spec;
mod evd;
pub(crate) mod event;
mod ia_open;
mod lmr;
mod post;
mod pz;
pub mod registry;
mod rmr;
mod service_point;
mod srq;
mod version;

pub use ::abi;
pub use adapter::Ia;
pub use cno::{Cno, ProxyAgent};
pub use cr::{Cr, CrParam};
pub use datagram::DatagramAddress;
pub use ep::{Ep, EpParam};
pub use ep_spec::{EpSpec, EpUpdate};
pub use evd::{Evd, EvdOptions, EvdParam};
pub use event::{CrArrival, DatagramEvent, Event};
pub use ia_open::{AsyncEvd, IaOptions};
pub use library::load;
pub use lmr::{Lmr, LmrParam, MemorySource};
pub use pz::Pz;
pub use real::counters::Counters;
pub use registry::{IaQuery, Registry};
pub use rmr::{Bind, Rmr, RmrParam};
pub use service_point::{Csp, CspParam, Psp, PspParam, Rsp, RspParam};
pub use srq::{Srq, SrqParam};

// Types that are not handles are those of `dat-core`.
pub use real::registry::ApiVersion;
pub use real::{
    Address, AsyncError, AsyncErrorKind, Close, Collective, Comm, Compat, CompletionFlags, Connect,
    ConnectFlags, ConnectionEvent, ConnectionEventKind, DatagramEventKind, DtoCompletion,
    DtoStatus, EpAttributes, EpCounter, EpId, EpProvision, EpState, EpStatus, Error, EvdCounter,
    EvdFlags, FabricAddress, Failure, IaCounter, LmrTriplet, Memory, ObjectKind, Operation,
    Privileges, Qos, RecvStatus, Result, ReturnType, RmrBindCompletion, RmrScope, RmrTriplet,
    ServicePoint, SrqAttributes, Subtype, Timeout, WaitResult, attr, error, flags, mem, provider,
};
