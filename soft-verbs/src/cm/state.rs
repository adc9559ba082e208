//! The states of an identifier.

use dat_sync::transition_table;

use self::Input as I;
use self::Report as R;
use self::State as S;
use self::Step::{Ignore, Refuse, To};

/// The state of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(super) enum State {
    /// It was created.
    Idle,
    /// It has a local address.
    Bound,
    /// It has the address of a peer.
    AddressResolved,
    /// It can connect.
    RouteResolved,
    /// It takes requests.
    Listening,
    /// Active side: the request was sent.
    Connecting,
    /// Active side: the peer has accepted, which the program does not know yet.
    Answered,
    /// Passive side: the request waits for the program.
    Requested,
    /// Passive side: the program has accepted.
    Accepted,
    /// It is connected.
    Connected,
    /// The program has disconnected, and the peer has not answered.
    Leaving,
    /// The peer has disconnected, and the program has not answered.
    Left,
    /// The attempt or the connection is over.
    Ended,
    /// The program has destroyed it.
    Destroyed,
}

/// An input of the state machine: a call of the program, a message of the peer, or the end of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(super) enum Input {
    Bind,
    ResolveAddress,
    ResolveRoute,
    Listen,
    Connect,
    Accept,
    Reject,
    Establish,
    Disconnect,
    Destroy,
    /// The peer has accepted the request.
    PeerAccepts,
    /// The peer has rejected or abandoned the request.
    PeerRejects,
    /// The peer considers the connection established.
    PeerIsReady,
    /// The peer disconnects.
    PeerDisconnects,
    /// The peer has answered the disconnection.
    PeerAgrees,
    /// The link is closed, or the time for an answer of the peer is over.
    PeerIsGone,
}

/// The result of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The call fails with `EINVAL`; a peer that sends this violates the protocol, and its message is ignored.
    Refuse,
    /// Nothing, and a call succeeds.
    Ignore,
    /// The state changes, and the program gets that event.
    To(State, Report),
}

/// The event that the program gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    Nothing,
    AddressResolved,
    RouteResolved,
    /// `CONNECT_RESPONSE`, or `ESTABLISHED` if the identifier has a queue pair.
    Response,
    Established,
    Disconnected,
    /// `REJECTED` or `UNREACHABLE`.
    Failed,
}

const STATES: usize = S::Destroyed as usize + 1;
const INPUTS: usize = I::PeerIsGone as usize + 1;

#[derive(Clone, Copy)]
struct Rule(&'static [I], &'static [S], Step);

/// rdma_disconnect(3) is for both sides, whichever comes first, so it succeeds on an ended connection.
const RULES: &[Rule] = &[
    Rule(&[I::Bind], &[S::Idle], To(S::Bound, R::Nothing)),
    Rule(&[I::Bind], ALL_BUT_IDLE, Refuse),
    Rule(&[I::ResolveAddress], &[S::Idle, S::Bound], To(S::AddressResolved, R::AddressResolved)),
    Rule(&[I::ResolveAddress], FROM_ADDRESS_RESOLVED, Refuse),
    Rule(&[I::ResolveRoute], &[S::AddressResolved], To(S::RouteResolved, R::RouteResolved)),
    Rule(&[I::ResolveRoute], &[S::Idle, S::Bound], Refuse),
    Rule(&[I::ResolveRoute, I::Listen], FROM_ROUTE_RESOLVED, Refuse),
    Rule(&[I::Listen], &[S::Bound], To(S::Listening, R::Nothing)),
    Rule(&[I::Listen], &[S::Idle, S::AddressResolved], Refuse),
    Rule(&[I::Connect], &[S::RouteResolved], To(S::Connecting, R::Nothing)),
    Rule(&[I::Connect, I::Establish, I::Disconnect], BEFORE_ROUTE, Refuse),
    Rule(&[I::Connect], FROM_LISTENING, Refuse),
    Rule(&[I::Accept], &[S::Requested], To(S::Accepted, R::Nothing)),
    Rule(&[I::Accept], UP_TO_ANSWERED, Refuse),
    Rule(&[I::Accept], FROM_ACCEPTED, Refuse),
    Rule(&[I::Reject], &[S::Answered, S::Requested], To(S::Ended, R::Nothing)),
    Rule(&[I::Reject], UP_TO_CONNECTING, Refuse),
    Rule(&[I::Reject], FROM_ACCEPTED, Refuse),
    Rule(&[I::Establish], &[S::Answered], To(S::Connected, R::Nothing)),
    Rule(&[I::Establish], &[S::RouteResolved, S::Listening, S::Connecting, S::Requested], Refuse),
    Rule(&[I::Establish], FROM_ACCEPTED, Refuse),
    Rule(&[I::Disconnect], &[S::Accepted, S::Connected, S::Answered], To(S::Leaving, R::Nothing)),
    Rule(&[I::Disconnect], &[S::Left], To(S::Ended, R::Nothing)),
    Rule(&[I::Disconnect], &[S::Leaving, S::Ended], Ignore),
    Rule(
        &[I::Disconnect],
        &[S::RouteResolved, S::Listening, S::Connecting, S::Requested, S::Destroyed],
        Refuse,
    ),
    Rule(&[I::Destroy], ALL_BUT_DESTROYED, To(S::Destroyed, R::Nothing)),
    Rule(&[I::Destroy], &[S::Destroyed], Refuse),
    Rule(&[I::PeerAccepts], &[S::Connecting], To(S::Answered, R::Response)),
    Rule(&[I::PeerAccepts], UP_TO_LISTENING, Ignore),
    Rule(&[I::PeerAccepts], &[S::Answered, S::Requested], Ignore),
    Rule(&[I::PeerAccepts], FROM_ACCEPTED, Ignore),
    Rule(
        &[I::PeerRejects],
        &[S::Connecting, S::Answered, S::Requested, S::Accepted],
        To(S::Ended, R::Failed),
    ),
    Rule(&[I::PeerRejects, I::PeerIsGone], UP_TO_LISTENING, Ignore),
    Rule(&[I::PeerRejects], FROM_CONNECTED, Ignore),
    Rule(&[I::PeerIsReady], &[S::Accepted], To(S::Connected, R::Established)),
    Rule(&[I::PeerIsReady], UP_TO_ANSWERED, Ignore),
    Rule(&[I::PeerIsReady], &[S::Requested], Ignore),
    Rule(&[I::PeerIsReady], FROM_CONNECTED, Ignore),
    Rule(&[I::PeerDisconnects], &[S::Answered], To(S::Ended, R::Failed)),
    Rule(&[I::PeerDisconnects], &[S::Accepted, S::Connected], To(S::Left, R::Disconnected)),
    Rule(&[I::PeerDisconnects, I::PeerAgrees], &[S::Leaving], To(S::Ended, R::Disconnected)),
    Rule(&[I::PeerDisconnects, I::PeerAgrees], UP_TO_CONNECTING, Ignore),
    Rule(&[I::PeerDisconnects, I::PeerAgrees], &[S::Requested], Ignore),
    Rule(&[I::PeerDisconnects, I::PeerAgrees], &[S::Left, S::Ended, S::Destroyed], Ignore),
    Rule(&[I::PeerAgrees], &[S::Answered, S::Accepted, S::Connected], Ignore),
    Rule(
        &[I::PeerIsGone],
        &[S::Connecting, S::Answered, S::Requested, S::Accepted],
        To(S::Ended, R::Failed),
    ),
    Rule(&[I::PeerIsGone], &[S::Connected, S::Leaving], To(S::Ended, R::Disconnected)),
    Rule(&[I::PeerIsGone], &[S::Left], To(S::Ended, R::Nothing)),
    Rule(&[I::PeerIsGone], &[S::Ended, S::Destroyed], Ignore),
];

const ORDER: [S; STATES] = [
    S::Idle,
    S::Bound,
    S::AddressResolved,
    S::RouteResolved,
    S::Listening,
    S::Connecting,
    S::Answered,
    S::Requested,
    S::Accepted,
    S::Connected,
    S::Leaving,
    S::Left,
    S::Ended,
    S::Destroyed,
];

/// The first `N` states, and those from the `AT`-th on.
const fn first<const N: usize>() -> [S; N] {
    part::<N>(0)
}

const fn part<const N: usize>(from: usize) -> [S; N] {
    let mut states = [S::Idle; N];
    let mut at = 0;
    while at < N {
        states[at] = ORDER[from + at];
        at += 1;
    }
    states
}

const ALL_BUT_IDLE: &[S] = &part::<{ STATES - 1 }>(1);
const ALL_BUT_DESTROYED: &[S] = &first::<{ STATES - 1 }>();
const BEFORE_ROUTE: &[S] = &first::<{ S::RouteResolved as usize }>();
const UP_TO_LISTENING: &[S] = &first::<{ S::Connecting as usize }>();
const UP_TO_CONNECTING: &[S] = &first::<{ S::Answered as usize }>();
const UP_TO_ANSWERED: &[S] = &first::<{ S::Requested as usize }>();
const FROM_ADDRESS_RESOLVED: &[S] =
    &part::<{ STATES - S::AddressResolved as usize }>(S::AddressResolved as usize);
const FROM_ROUTE_RESOLVED: &[S] =
    &part::<{ STATES - S::RouteResolved as usize }>(S::RouteResolved as usize);
const FROM_LISTENING: &[S] = &part::<{ STATES - S::Listening as usize }>(S::Listening as usize);
const FROM_ACCEPTED: &[S] = &part::<{ STATES - S::Accepted as usize }>(S::Accepted as usize);
const FROM_CONNECTED: &[S] = &part::<{ STATES - S::Connected as usize }>(S::Connected as usize);

static TABLE: [[Step; INPUTS]; STATES] = transition_table!(RULES, Rule, STATES, INPUTS);

impl State {
    /// The result of an input in this state.
    pub(super) fn step(self, input: Input) -> Step {
        TABLE[self as usize][input as usize]
    }

    /// Returns true if the identifier waits for the end of a connection, or has seen it.
    pub(super) const fn was_connected(self) -> bool {
        matches!(self, Self::Connected | Self::Leaving | Self::Left | Self::Ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The states after the inputs, each of which must be allowed.
    fn after(inputs: &[Input]) -> State {
        inputs.iter().fold(S::Idle, |state, input| match state.step(*input) {
            To(next, _) => next,
            other => panic!("{state:?}, {input:?}: {other:?}"),
        })
    }

    #[test]
    fn both_sides_go_through_a_connection() {
        let active = [I::ResolveAddress, I::ResolveRoute, I::Connect, I::PeerAccepts, I::Establish];
        assert_eq!(after(&active), S::Connected);
        assert_eq!(after(&[&active[..], &[I::Disconnect, I::PeerAgrees]].concat()), S::Ended);
        assert_eq!(after(&[&active[..], &[I::PeerDisconnects, I::Disconnect]].concat()), S::Ended);
        assert_eq!(after(&[I::Bind, I::Listen]), S::Listening);
    }

    #[test]
    fn both_sides_may_disconnect_at_once() {
        assert_eq!(S::Leaving.step(I::PeerDisconnects), To(S::Ended, R::Disconnected));
        assert_eq!(S::Ended.step(I::Disconnect), Ignore);
    }

    #[test]
    fn a_destroyed_identifier_refuses_calls_and_ignores_the_peer() {
        for input in [I::PeerAccepts, I::PeerIsReady, I::PeerIsGone, I::PeerDisconnects] {
            assert_eq!(S::Destroyed.step(input), Ignore);
        }
        for input in [I::Bind, I::Connect, I::Accept, I::Disconnect, I::Destroy] {
            assert_eq!(S::Destroyed.step(input), Refuse);
        }
    }

    #[test]
    fn a_connection_is_reported_as_ended_once() {
        for end in [I::PeerDisconnects, I::PeerIsGone] {
            let To(next, R::Disconnected) = S::Connected.step(end) else { panic!("{end:?}") };
            for again in [I::PeerIsGone, I::Disconnect, I::PeerDisconnects] {
                assert!(!matches!(next.step(again), To(_, R::Disconnected)), "{next:?} {again:?}");
            }
        }
    }
}
