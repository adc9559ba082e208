//! The handle types and calls, with the names that they have in `dat_core`.

pub(crate) mod library;
pub(crate) mod object;

pub(crate) mod adapter;
pub(crate) mod address;
pub(crate) mod attributes;
mod cno;
mod counters;
pub(crate) mod cr;
pub(crate) mod datagram;
mod ep;
mod evd;
pub(crate) mod event;
pub(crate) mod lmr;
mod post;
mod pz;
pub mod registry;
pub(crate) mod result;
mod rmr;
mod service_point;
mod srq;

pub use adapter::{AsyncErrors, IaOptions, InterfaceAdapter};
pub use cno::{Cno, ProxyAgent};
pub use counters::Counters;
pub use cr::{ConnectionRequest, CrParam};
pub use datagram::DatagramAddress;
pub use ep::{Endpoint, EpChange, EpParam, EpSpec};
pub use evd::{EvdOptions, EvdParam, EventDispatcher};
pub use event::{CrArrival, DatagramEvent, Event};
pub use library::load;
pub use lmr::{Lmr, LmrParam, MemorySource};
pub(crate) use post::Segments;
pub use pz::ProtectionZone;
pub use registry::{IaQuery, Registry};
pub use rmr::{Bind, Rmr, RmrParam};
pub use service_point::{Csp, CspParam, Psp, PspParam, Rsp, RspParam};
pub use srq::{SharedReceiveQueue, SrqParam};

// Types that are not handles are those of `dat-core`.
pub use real::registry::ApiVersion;
pub use real::{
    AsyncError, AsyncErrorKind, Close, Collective, Comm, Compat, CompletionFlags, Connect,
    ConnectFlags, ConnectionEvent, ConnectionEventKind, DatagramEventKind, DtoCompletion,
    DtoStatus, EndpointId, EpAttributes, EpCounter, EpState, EpStatus, Error, EvdCounter, EvdFlags,
    Failure, IaCounter, LmrTriplet, Memory, ObjectKind, Operation, Privileges, PspMaker, Qos,
    RecvBuffers, Result, ReturnType, RmrBindCompletion, RmrScope, RmrTriplet, ServicePoint,
    SrqAttributes, Subtype, Timeout, Waited, attr, error, flags, mem, provider,
};
