//! The endpoint state machine: one constant table of state and event.
//!
//! Every pair has an entry, including late and impossible ones, and the compiler proves it: the
//! table is built at compile time from the rules below, each cell exactly once. [`step`] only looks
//! up; its caller performs the actions. The diagram in `docs/endpoint-states.md` is generated from
//! this table.

use super::state::EpState as S;
use crate::event::ConnectionEventKind as Raise;

macro_rules! events {
    ($($(#[$doc:meta])* $event:ident,)+) => {
        /// An event of an endpoint: a call of the consumer, a request on its service point, or a
        /// report of the transport or of the timer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum EpEvent {
            $($(#[$doc])* $event,)+
        }

        impl EpEvent {
            /// Every event.
            pub const ALL: &'static [Self] = &[$(Self::$event),+];

            /// The name of the event.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$event => stringify!($event),)+
                }
            }
        }
    };
}

events! {
    /// dat_ep_connect, dat_ep_dup_connect.
    Connect,
    /// The provider refused to start the attempt.
    ConnectUndone,
    /// dat_rsp_create with the endpoint.
    Reserve,
    /// dat_rsp_free of the endpoint's service point.
    Release,
    /// A request arrived on the service point of the endpoint.
    RequestArrived,
    /// dat_cr_accept with the endpoint.
    Accept,
    /// The provider refused to accept; the request still waits.
    AcceptUndone,
    /// dat_cr_reject of the endpoint's request.
    Reject,
    /// dat_ep_disconnect, graceful.
    DisconnectGraceful,
    /// dat_ep_disconnect, abrupt.
    DisconnectAbrupt,
    /// dat_ep_reset.
    Reset,
    /// dat_ep_free.
    Free,
    /// dat_ep_post_recv.
    PostReceive,
    /// A post of a send, an RDMA operation or a bind.
    PostRequest,
    /// dat_ep_modify of the protection zone.
    ModifyZone,
    /// dat_ep_modify of dispatchers and attributes.
    ModifyAttributes,
    /// dat_ep_modify of transport- and provider-specific attributes.
    ModifySpecific,
    /// The endpoint was given its protection zone.
    Configured,
    /// The transport: the connection is established.
    Established,
    /// The transport: it is established over several paths.
    EstablishedMultiPath,
    /// The transport: only one path is left.
    PathLost,
    /// The transport: several paths work again.
    PathGained,
    /// The transport: the remote consumer rejected the request.
    PeerRejected,
    /// The transport: there is no listener, or it failed.
    NonPeerRejected,
    /// The transport: there is no route to the address.
    Unreachable,
    /// The transport: its own time-out expired.
    TransportTimedOut,
    /// The timer: the consumer's time-out expired.
    ConnectTimedOut,
    /// More receives are at the endpoint than its hard watermark allows.
    HardWatermark,
    /// The transport: an accepted connection was not completed.
    AcceptFailed,
    /// The transport: either side ended the connection.
    Disconnected,
    /// The transport: the connection broke.
    Broken,
}

/// An action that belongs to a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start to connect, and start the consumer's time-out.
    StartAttempt,
    /// Stop the time-out.
    StopClock,
    /// Abort the attempt: ignore what the transport still reports of it.
    AbortAttempt,
    /// End the connection after the posted operations have finished.
    CloseGracefully,
    /// End the connection immediately.
    CloseAbruptly,
    /// Make the queue pair unconnected again.
    ResetQueuePair,
    /// Deliver an event to the connection dispatcher.
    Raise(Raise),
}

/// An entry of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Enter a state and perform actions.
    Go(S, &'static [Action]),
    /// Allowed, without any change.
    Stay,
    /// Return to the state before the accept.
    Back,
    /// The endpoint ends.
    End,
    /// Not allowed here: `DAT_INVALID_STATE`.
    Refuse,
    /// Late or impossible: nothing changes, except that the event is counted.
    Ignore,
}

/// The entry for an event in a state. Pure: no lock, no clock, no effect.
#[must_use]
pub const fn step(state: S, event: EpEvent) -> Step {
    TABLE[state as usize][event as usize]
}

const STATES: usize = S::ALL.len();
const EVENTS: usize = EpEvent::ALL.len();

/// A rule: these events, in these states, take this step.
struct Rule(&'static [EpEvent], &'static [S], Step);

/// Groups of states that the rules use.
const CONNECTED: &[S] = &[S::Connected, S::ConnectedSinglePath, S::ConnectedMultiPath];
const UNCONFIGURED: &[S] = &[
    S::UnconfiguredUnconnected,
    S::UnconfiguredReserved,
    S::UnconfiguredPassive,
    S::UnconfiguredTentative,
];
/// Before the consumer requested or accepted a connection.
const BEFORE: &[S] =
    &[S::Unconnected, S::Reserved, S::PassiveConnectionPending, S::TentativeConnectionPending];
/// From the connect or accept onwards.
const FROM_ATTEMPT: &[S] = &[
    S::ActiveConnectionPending,
    S::CompletionPending,
    S::Connected,
    S::ConnectedSinglePath,
    S::ConnectedMultiPath,
    S::DisconnectPending,
    S::Disconnected,
];
/// The endpoint belongs to a service point or a request.
const BOUND: &[S] = &[
    S::Reserved,
    S::UnconfiguredReserved,
    S::PassiveConnectionPending,
    S::UnconfiguredPassive,
    S::TentativeConnectionPending,
    S::UnconfiguredTentative,
];

use EpEvent as E;
const ESTABLISHED: &[Action] = &[Action::StopClock, Action::Raise(Raise::Established)];
const REFUSED: &[Action] = &[Action::StopClock, Action::Raise(Raise::NonPeerRejected)];
const ACCEPT_FAILED: &[Action] = &[Action::Raise(Raise::AcceptCompletionError)];
const ABORT: &[Action] =
    &[Action::StopClock, Action::AbortAttempt, Action::Raise(Raise::Disconnected)];
const LATE: Step = Step::Ignore;

#[rustfmt::skip]
const RULES: &[Rule] = &[
    // dat_ep_connect(3DAT): from Unconnected only.
    Rule(&[E::Connect], &[S::Unconnected], Step::Go(S::ActiveConnectionPending, &[Action::StartAttempt])),
    Rule(&[E::Connect], UNCONFIGURED, Step::Refuse),
    Rule(&[E::Connect], &[S::Reserved, S::PassiveConnectionPending, S::TentativeConnectionPending], Step::Refuse),
    Rule(&[E::Connect], FROM_ATTEMPT, Step::Refuse),
    Rule(&[E::ConnectUndone], &[S::ActiveConnectionPending], Step::Go(S::Unconnected, &[Action::StopClock])),
    Rule(&[E::ConnectUndone], UNCONFIGURED, LATE),
    Rule(&[E::ConnectUndone], BEFORE, LATE),
    Rule(&[E::ConnectUndone], CONNECTED, LATE),
    Rule(&[E::ConnectUndone], &[S::DisconnectPending, S::Disconnected, S::CompletionPending], LATE),

    // dat_rsp_create(3DAT), dat_rsp_free(3DAT): a request that arrived keeps its endpoint.
    Rule(&[E::Reserve], &[S::Unconnected], Step::Go(S::Reserved, &[])),
    Rule(&[E::Reserve], &[S::UnconfiguredUnconnected], Step::Go(S::UnconfiguredReserved, &[])),
    Rule(&[E::Reserve], BOUND, Step::Refuse),
    Rule(&[E::Reserve], FROM_ATTEMPT, Step::Refuse),
    Rule(&[E::Release], &[S::Reserved], Step::Go(S::Unconnected, &[])),
    Rule(&[E::Release], &[S::UnconfiguredReserved], Step::Go(S::UnconfiguredUnconnected, &[])),
    Rule(&[E::Release], &[S::Unconnected, S::UnconfiguredUnconnected], LATE),
    Rule(&[E::Release], &[S::PassiveConnectionPending, S::UnconfiguredPassive], LATE),
    Rule(&[E::Release], &[S::TentativeConnectionPending, S::UnconfiguredTentative], LATE),
    Rule(&[E::Release], FROM_ATTEMPT, LATE),

    // A request on the service point. An unconnected endpoint receives one only if the provider
    // created it for that request (dat_psp_create(3DAT)).
    Rule(&[E::RequestArrived], &[S::Unconnected], Step::Go(S::TentativeConnectionPending, &[])),
    Rule(&[E::RequestArrived], &[S::UnconfiguredUnconnected], Step::Go(S::UnconfiguredTentative, &[])),
    Rule(&[E::RequestArrived], &[S::Reserved], Step::Go(S::PassiveConnectionPending, &[])),
    Rule(&[E::RequestArrived], &[S::UnconfiguredReserved], Step::Go(S::UnconfiguredPassive, &[])),
    Rule(&[E::RequestArrived], &[S::PassiveConnectionPending, S::UnconfiguredPassive], LATE),
    Rule(&[E::RequestArrived], &[S::TentativeConnectionPending, S::UnconfiguredTentative], LATE),
    Rule(&[E::RequestArrived], FROM_ATTEMPT, LATE),

    // dat_cr_accept(3DAT): with an unconnected endpoint, or the one for which the request arrived.
    Rule(&[E::Accept], &[S::Unconnected, S::PassiveConnectionPending, S::TentativeConnectionPending],
        Step::Go(S::CompletionPending, &[])),
    Rule(&[E::Accept], UNCONFIGURED, Step::Refuse),
    Rule(&[E::Accept], &[S::Reserved], Step::Refuse),
    Rule(&[E::Accept], FROM_ATTEMPT, Step::Refuse),
    Rule(&[E::AcceptUndone], &[S::CompletionPending], Step::Back),
    Rule(&[E::AcceptUndone], BEFORE, LATE),
    Rule(&[E::AcceptUndone], UNCONFIGURED, LATE),
    Rule(&[E::AcceptUndone], CONNECTED, LATE),
    Rule(&[E::AcceptUndone], &[S::ActiveConnectionPending, S::DisconnectPending, S::Disconnected], LATE),

    // dat_cr_reject(3DAT): the endpoint is released.
    Rule(&[E::Reject], &[S::PassiveConnectionPending, S::TentativeConnectionPending], Step::Go(S::Unconnected, &[])),
    Rule(&[E::Reject], &[S::UnconfiguredPassive, S::UnconfiguredTentative], Step::Go(S::UnconfiguredUnconnected, &[])),
    Rule(&[E::Reject], &[S::Unconnected, S::UnconfiguredUnconnected, S::Reserved, S::UnconfiguredReserved], LATE),
    Rule(&[E::Reject], FROM_ATTEMPT, LATE),

    // dat_ep_disconnect(3DAT).
    Rule(&[E::DisconnectGraceful, E::DisconnectAbrupt], &[S::ActiveConnectionPending, S::CompletionPending],
        Step::Go(S::Disconnected, ABORT)),
    Rule(&[E::DisconnectGraceful], CONNECTED, Step::Go(S::DisconnectPending, &[Action::CloseGracefully])),
    Rule(&[E::DisconnectAbrupt], CONNECTED, Step::Go(S::DisconnectPending, &[Action::CloseAbruptly])),
    Rule(&[E::DisconnectGraceful], &[S::DisconnectPending], Step::Stay),
    Rule(&[E::DisconnectAbrupt], &[S::DisconnectPending], Step::Go(S::DisconnectPending, &[Action::CloseAbruptly])),
    Rule(&[E::DisconnectGraceful, E::DisconnectAbrupt], &[S::Disconnected], Step::Stay),
    Rule(&[E::DisconnectGraceful, E::DisconnectAbrupt], BEFORE, Step::Refuse),
    Rule(&[E::DisconnectGraceful, E::DisconnectAbrupt], UNCONFIGURED, Step::Refuse),

    // dat_ep_reset(3DAT).
    Rule(&[E::Reset], &[S::Disconnected], Step::Go(S::Unconnected, &[Action::ResetQueuePair])),
    Rule(&[E::Reset], &[S::Unconnected, S::UnconfiguredUnconnected], Step::Stay),
    Rule(&[E::Reset], BOUND, Step::Refuse),
    Rule(&[E::Reset], CONNECTED, Step::Refuse),
    Rule(&[E::Reset], &[S::ActiveConnectionPending, S::CompletionPending, S::DisconnectPending], Step::Refuse),

    // dat_ep_free(3DAT).
    Rule(&[E::Free], BOUND, Step::Refuse),
    Rule(&[E::Free], &[S::Unconnected, S::UnconfiguredUnconnected], Step::End),
    Rule(&[E::Free], FROM_ATTEMPT, Step::End),

    // Posts: dat_ep_post_recv(3DAT) in all states with a zone, requests while connected, or
    // disconnected, in which case they are flushed.
    Rule(&[E::PostReceive], BEFORE, Step::Stay),
    Rule(&[E::PostReceive], FROM_ATTEMPT, Step::Stay),
    Rule(&[E::PostReceive, E::PostRequest], UNCONFIGURED, Step::Refuse),
    Rule(&[E::PostRequest], CONNECTED, Step::Stay),
    Rule(&[E::PostRequest], &[S::Disconnected], Step::Stay),
    Rule(&[E::PostRequest], BEFORE, Step::Refuse),
    Rule(&[E::PostRequest], &[S::ActiveConnectionPending, S::CompletionPending, S::DisconnectPending], Step::Refuse),

    // dat_ep_modify(3DAT).
    Rule(&[E::ModifyZone], &[S::Unconnected, S::TentativeConnectionPending], Step::Stay),
    Rule(&[E::ModifyZone, E::ModifyAttributes], UNCONFIGURED, Step::Stay),
    Rule(&[E::ModifyZone], &[S::Reserved, S::PassiveConnectionPending], Step::Refuse),
    Rule(&[E::ModifyZone, E::ModifyAttributes, E::ModifySpecific], FROM_ATTEMPT, Step::Refuse),
    Rule(&[E::ModifyAttributes], BEFORE, Step::Stay),
    Rule(&[E::ModifySpecific], &[S::Unconnected, S::UnconfiguredUnconnected], Step::Stay),
    Rule(&[E::ModifySpecific], BOUND, Step::Refuse),
    Rule(&[E::Configured], &[S::UnconfiguredUnconnected], Step::Go(S::Unconnected, &[])),
    Rule(&[E::Configured], &[S::UnconfiguredReserved], Step::Go(S::Reserved, &[])),
    Rule(&[E::Configured], &[S::UnconfiguredPassive], Step::Go(S::PassiveConnectionPending, &[])),
    Rule(&[E::Configured], &[S::UnconfiguredTentative], Step::Go(S::TentativeConnectionPending, &[])),
    Rule(&[E::Configured], BEFORE, Step::Stay),
    Rule(&[E::Configured], FROM_ATTEMPT, LATE),

    // The transport: the outcome of a pending attempt.
    Rule(&[E::Established], &[S::ActiveConnectionPending, S::CompletionPending], Step::Go(S::Connected, ESTABLISHED)),
    Rule(&[E::EstablishedMultiPath], &[S::ActiveConnectionPending, S::CompletionPending],
        Step::Go(S::ConnectedMultiPath, ESTABLISHED)),
    Rule(&[E::PeerRejected], &[S::ActiveConnectionPending],
        Step::Go(S::Disconnected, &[Action::StopClock, Action::Raise(Raise::PeerRejected)])),
    Rule(&[E::NonPeerRejected], &[S::ActiveConnectionPending], Step::Go(S::Disconnected, REFUSED)),
    Rule(&[E::Unreachable], &[S::ActiveConnectionPending],
        Step::Go(S::Disconnected, &[Action::StopClock, Action::Raise(Raise::Unreachable)])),
    Rule(&[E::TransportTimedOut], &[S::ActiveConnectionPending],
        Step::Go(S::Disconnected, &[Action::StopClock, Action::Raise(Raise::TimedOut)])),
    Rule(&[E::ConnectTimedOut], &[S::ActiveConnectionPending],
        Step::Go(S::Disconnected, &[Action::AbortAttempt, Action::Raise(Raise::TimedOut)])),
    // An end before the connection is established is a failure of the attempt.
    Rule(&[E::AcceptFailed, E::Disconnected, E::Broken], &[S::ActiveConnectionPending], Step::Go(S::Disconnected, REFUSED)),
    Rule(&[E::AcceptFailed, E::PeerRejected, E::NonPeerRejected, E::Unreachable, E::TransportTimedOut, E::Disconnected, E::Broken],
        &[S::CompletionPending], Step::Go(S::Disconnected, ACCEPT_FAILED)),
    Rule(&[E::ConnectTimedOut], &[S::CompletionPending], LATE),

    // The transport: events of an established connection.
    Rule(&[E::Disconnected], CONNECTED, Step::Go(S::Disconnected, &[Action::Raise(Raise::Disconnected)])),
    Rule(&[E::Disconnected], &[S::DisconnectPending], Step::Go(S::Disconnected, &[Action::Raise(Raise::Disconnected)])),
    Rule(&[E::Broken], CONNECTED, Step::Go(S::Disconnected, &[Action::Raise(Raise::Broken)])),
    Rule(&[E::Broken], &[S::DisconnectPending], Step::Go(S::Disconnected, &[Action::Raise(Raise::Broken)])),
    Rule(&[E::PathLost], &[S::ConnectedMultiPath], Step::Go(S::ConnectedSinglePath, &[])),
    Rule(&[E::PathGained], &[S::ConnectedSinglePath], Step::Go(S::ConnectedMultiPath, &[])),
    Rule(&[E::PathLost], &[S::Connected, S::ConnectedSinglePath], LATE),
    Rule(&[E::PathGained], &[S::Connected, S::ConnectedMultiPath], LATE),
    Rule(&[E::PathLost, E::PathGained],
        &[S::ActiveConnectionPending, S::CompletionPending, S::DisconnectPending, S::Disconnected], LATE),

    // dat_ep_set_watermark(3DAT): breaks the connection, if there is one.
    Rule(&[E::HardWatermark], CONNECTED, Step::Go(S::Disconnected, &[Action::AbortAttempt, Action::Raise(Raise::Broken)])),
    Rule(&[E::HardWatermark], BEFORE, LATE),
    Rule(&[E::HardWatermark], UNCONFIGURED, LATE),
    Rule(&[E::HardWatermark], &[S::ActiveConnectionPending, S::CompletionPending, S::DisconnectPending, S::Disconnected], LATE),

    // The transport: too late, too early or twice.
    Rule(&[E::Established, E::EstablishedMultiPath, E::PeerRejected, E::NonPeerRejected, E::Unreachable,
        E::TransportTimedOut, E::ConnectTimedOut, E::AcceptFailed], CONNECTED, LATE),
    Rule(&[E::Established, E::EstablishedMultiPath, E::PeerRejected, E::NonPeerRejected, E::Unreachable,
        E::TransportTimedOut, E::ConnectTimedOut, E::AcceptFailed], &[S::DisconnectPending, S::Disconnected], LATE),
    Rule(&[E::Disconnected, E::Broken], &[S::Disconnected], LATE),
    Rule(&[E::Established, E::EstablishedMultiPath, E::PathLost, E::PathGained, E::PeerRejected,
        E::NonPeerRejected, E::Unreachable, E::TransportTimedOut, E::ConnectTimedOut, E::AcceptFailed,
        E::Disconnected, E::Broken], BEFORE, LATE),
    Rule(&[E::Established, E::EstablishedMultiPath, E::PathLost, E::PathGained, E::PeerRejected,
        E::NonPeerRejected, E::Unreachable, E::TransportTimedOut, E::ConnectTimedOut, E::AcceptFailed,
        E::Disconnected, E::Broken], UNCONFIGURED, LATE),
];

/// The table; the build fails if a cell is missing or set twice.
const TABLE: [[Step; EVENTS]; STATES] = dat_sync::transition_table!(RULES, Rule, STATES, EVENTS);
