//! What most cases use: the API under test, the helpers, and a short name for no flags.

pub(crate) use dat_core::{
    ApiVersion, AsyncErrorKind, AsyncEvd, Bind, Close, Cno, Collective, Comm, Compat,
    CompletionFlags, Connect, ConnectFlags, ConnectionEvent, ConnectionEventKind, Cr, CrParam, Csp,
    DatagramAddress, DatagramEvent, DatagramEventKind, DtoCompletion, DtoStatus, Ep, EpAttributes,
    EpCounter, EpParam, EpProvision, EpSpec, EpState, EpStatus, EpUpdate, Error, Evd, EvdCounter,
    EvdFlags, EvdOptions, EvdParam, Event, Failure, Ia, IaCounter, IaOptions, Lmr, LmrParam,
    LmrTriplet, Memory, MemorySource, Operation, Privileges, ProxyAgent, Psp, Pz, Qos, RecvStatus,
    Registry, Result, ReturnType, Rmr, RmrParam, RmrScope, RmrTriplet, Rsp, ServicePoint, Srq,
    SrqAttributes, SrqParam, Subtype, Timeout, WaitResult,
};

pub(crate) use crate::case::{cases, skip};
pub(crate) use crate::check::{fails_with, refused, refused_naming};
pub(crate) use crate::ep_states::{EpInState, STATES, ep_in_state, in_every_state};
pub(crate) use crate::fixture::{
    Buffer, Free, Node, boxed, exchange, finish_all, free_all, link, linked_nodes, linked_pair,
    open, requester, unconnected, unconnected_pair, with_psp,
};
pub(crate) use crate::posts::{
    post_events, post_message, post_messages, post_receives, post_sends, post_shared,
};
pub(crate) use crate::target::{
    HAS_2_0, LONGEST, MOST, Target, fresh_address, rounds, takes_parameters, target, try_open,
    with_parameters,
};
pub(crate) use crate::wait::{
    Background, LIMIT, arrived, becomes, becomes_readable, drain, expect_async, expect_bind,
    expect_completion, expect_connection, expect_connection_of, expect_connections, expect_dto,
    expect_event, expect_no_event, expect_no_events, expect_request, expect_unsignalled_dto,
    flushed, is_readable, state, until, until_owned, until_waited_on, waiter,
};

/// No completion flags.
pub(crate) const NONE: CompletionFlags = CompletionFlags::empty();
