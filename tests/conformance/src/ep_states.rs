//! Endpoints in every state in which an endpoint can be kept.

use dat_core::{Close, ConnectionEventKind, Cr, Ep, EpProvision, EpState, EpUpdate, Psp, Rsp};

use crate::fixture::{Node, link};
use crate::wait::{becomes, expect_connection};

/// The states in which an endpoint can be kept. Not among them are the multi-path states, which
/// the transport does not have, and Completion Pending, which an endpoint leaves within the accept.
pub const STATES: [EpState; 11] = [
    EpState::Unconnected,
    EpState::Reserved,
    EpState::UnconfiguredReserved,
    EpState::PassiveConnectionPending,
    EpState::UnconfiguredPassive,
    EpState::ActiveConnectionPending,
    EpState::TentativeConnectionPending,
    EpState::UnconfiguredUnconnected,
    EpState::Connected,
    EpState::DisconnectPending,
    EpState::Disconnected,
];

/// An endpoint in a state, with the objects that keep it there.
#[derive(Debug)]
pub struct EpInState {
    /// The endpoint.
    pub ep: Ep,
    /// The other endpoint of the connection, or of the attempt.
    pub peer: Option<Ep>,
    /// The connection request that the consumer has not answered yet.
    pub request: Option<Cr>,
    /// The public service point at which the request arrived.
    pub psp: Option<Psp>,
    /// The reserved service point of the endpoint.
    pub rsp: Option<Rsp>,
}

impl EpInState {
    fn alone(ep: Ep) -> Self {
        Self { ep, peer: None, request: None, psp: None, rsp: None }
    }
}

/// The connection qualifier of the reserved service points. It depends on the process, since
/// another one may run cases at the same address.
fn qualifier() -> u64 {
    20_000 + u64::from(std::process::id() % 10_000)
}

/// Makes an endpoint of the node and brings it into a state. An endpoint that the provider makes
/// gets a protection zone, unless its state requires that it has none.
///
/// # Panics
/// If the endpoint does not reach the state.
#[track_caller]
#[must_use]
pub fn ep_in_state(node: &Node, wanted: EpState) -> EpInState {
    let reserve = |ep: Option<&Ep>| {
        let rsp = node.ia.rsp_create(qualifier(), ep, &node.requests).expect("a service point");
        let ep = rsp.query().expect("a live service point").ep;
        EpInState { rsp: Some(rsp), ..EpInState::alone(ep) }
    };
    let arrived = |mut staged: EpInState| {
        let (peer, request) = node.asking(qualifier());
        (staged.peer, staged.request) = (Some(peer), Some(request));
        staged
    };
    let staged = match wanted {
        EpState::Unconnected => EpInState::alone(node.ep()),
        EpState::Reserved => reserve(Some(&node.ep())),
        EpState::UnconfiguredReserved => reserve(None),
        EpState::PassiveConnectionPending => arrived(reserve(Some(&node.ep()))),
        EpState::UnconfiguredPassive => arrived(reserve(None)),
        EpState::UnconfiguredUnconnected => {
            let staged = arrived(reserve(None));
            staged.request.as_ref().map(|request| request.reject(b"")).transpose().expect("live");
            if let Some(peer) = &staged.peer {
                // Otherwise the event would arrive in the middle of a case.
                expect_connection(&node.connect, peer, ConnectionEventKind::PeerRejected);
            }
            EpInState { request: None, ..staged }
        }
        EpState::ActiveConnectionPending => {
            let psp = node.psp();
            let (ep, request) = node.asking(psp.qualifier());
            EpInState { request: Some(request), psp: Some(psp), ..EpInState::alone(ep) }
        }
        EpState::TentativeConnectionPending => {
            let psp =
                node.ia.psp_create_any(&node.requests, EpProvision::Provider).expect("a point");
            let (peer, request) = node.asking(psp.qualifier());
            let ep = request.query().expect("live").local_ep.expect("made by the provider");
            let change = EpUpdate::new()
                .pz(&node.pz)
                .recv_evd(Some(&node.recv))
                .request_evd(Some(&node.request))
                .connect_evd(Some(&node.connect));
            ep.modify(&change).expect("may be changed before the accept");
            EpInState {
                peer: Some(peer),
                request: Some(request),
                psp: Some(psp),
                ..EpInState::alone(ep)
            }
        }
        EpState::Connected | EpState::DisconnectPending | EpState::Disconnected => {
            let (ep, peer) = (node.ep(), node.ep());
            link(node, &ep, node, &peer);
            match wanted {
                EpState::DisconnectPending => {
                    // A message without a posted receive keeps the graceful disconnect pending.
                    ep.post_send(&[], 0, Default::default()).expect("connected");
                    ep.disconnect(Close::Graceful).expect("connected");
                }
                EpState::Disconnected => ep.disconnect(Close::Abrupt).expect("connected"),
                _ => {}
            }
            EpInState { peer: Some(peer), ..EpInState::alone(ep) }
        }
        other => panic!("cannot keep an endpoint in {other}"),
    };
    becomes(&staged.ep, wanted);
    if let (EpState::Disconnected, Some(peer)) = (wanted, &staged.peer) {
        becomes(peer, wanted);
    }
    staged
}

/// Runs a check of an endpoint in each of the [`STATES`], on an adapter of its own.
#[track_caller]
pub(crate) fn in_every_state(check: impl Fn(Node, EpInState, EpState)) {
    for wanted in STATES {
        let node = Node::new();
        let staged = ep_in_state(&node, wanted);
        check(node, staged, wanted);
    }
}
