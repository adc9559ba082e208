//! Endpoints in every state that can be kept.

use dat_core::{
    Close, Connect, ConnectionEventKind, ConnectionRequest, Endpoint, EpChange, EpState, Psp,
    PspMaker, Rsp,
};

use crate::node::{Node, link};
use crate::wait::{becomes, expect_connection, expect_request};

/// The states that an endpoint can be kept in. Missing are the multi-path ones, which the
/// transport does not have, and Completion Pending, which it leaves within the accept.
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

/// An endpoint in a state, with what keeps it there.
#[derive(Debug)]
pub struct Staged {
    /// The endpoint.
    pub ep: Endpoint,
    /// The other end of its connection, or of the attempt.
    pub peer: Option<Endpoint>,
    /// The request that waits for the consumer's answer.
    pub request: Option<ConnectionRequest>,
    /// The service point that the request arrived on.
    pub psp: Option<Psp>,
    /// The service point that the endpoint is reserved for.
    pub rsp: Option<Rsp>,
}

impl Staged {
    fn alone(ep: Endpoint) -> Self {
        Self { ep, peer: None, request: None, psp: None, rsp: None }
    }
}

/// The qualifier of the reserved service points: of this process alone, since others may try
/// their cases at the same address.
fn qualifier() -> u64 {
    20_000 + u64::from(std::process::id() % 10_000)
}

/// An endpoint of the node in that state. A zone is given to one that the provider made, unless
/// the state is that it has none.
///
/// # Panics
/// When it can't be brought there.
#[track_caller]
#[must_use]
pub fn stage(node: &Node, wanted: EpState) -> Staged {
    let ask = |qualifier| {
        let client = node.ep();
        client.connect(&Connect::to(node.address(), qualifier)).expect("an attempt");
        (client, expect_request(&node.requests).request)
    };
    let reserve = |ep: Option<&Endpoint>| {
        let rsp = node.ia.rsp_create(qualifier(), ep, &node.requests).expect("a service point");
        let ep = rsp.query().expect("a live service point").ep;
        Staged { rsp: Some(rsp), ..Staged::alone(ep) }
    };
    let arrived = |mut staged: Staged| {
        let (peer, request) = ask(qualifier());
        (staged.peer, staged.request) = (Some(peer), Some(request));
        staged
    };
    let staged = match wanted {
        EpState::Unconnected => Staged::alone(node.ep()),
        EpState::Reserved => reserve(Some(&node.ep())),
        EpState::UnconfiguredReserved => reserve(None),
        EpState::PassiveConnectionPending => arrived(reserve(Some(&node.ep()))),
        EpState::UnconfiguredPassive => arrived(reserve(None)),
        EpState::UnconfiguredUnconnected => {
            let staged = arrived(reserve(None));
            staged.request.as_ref().map(|request| request.reject(b"")).transpose().expect("live");
            if let Some(peer) = &staged.peer {
                // Its event would come in the middle of a case.
                expect_connection(&node.connect, peer, ConnectionEventKind::PeerRejected);
            }
            Staged { request: None, ..staged }
        }
        EpState::ActiveConnectionPending => {
            let psp = node.ia.psp_create_any(&node.requests, PspMaker::Consumer).expect("a point");
            let (ep, request) = ask(psp.qualifier());
            Staged { request: Some(request), psp: Some(psp), ..Staged::alone(ep) }
        }
        EpState::TentativeConnectionPending => {
            let psp = node.ia.psp_create_any(&node.requests, PspMaker::Provider).expect("a point");
            let (peer, request) = ask(psp.qualifier());
            let ep = request.query().expect("live").local_ep.expect("made by the provider");
            let change = EpChange::new()
                .pz(&node.pz)
                .recv_evd(Some(&node.recv))
                .request_evd(Some(&node.request))
                .connect_evd(Some(&node.connect));
            ep.modify(&change).expect("may be changed before the accept");
            Staged { peer: Some(peer), request: Some(request), psp: Some(psp), ..Staged::alone(ep) }
        }
        EpState::Connected | EpState::DisconnectPending | EpState::Disconnected => {
            let (ep, peer) = (node.ep(), node.ep());
            link(node, &ep, node, &peer);
            match wanted {
                EpState::DisconnectPending => {
                    // A message that nobody receives keeps a graceful disconnect waiting.
                    ep.post_send(&[], 0, Default::default()).expect("connected");
                    ep.disconnect(Close::Graceful).expect("connected");
                }
                EpState::Disconnected => ep.disconnect(Close::Abrupt).expect("connected"),
                _ => {}
            }
            Staged { peer: Some(peer), ..Staged::alone(ep) }
        }
        other => panic!("no way to {other}"),
    };
    becomes(&staged.ep, wanted);
    if let (EpState::Disconnected, Some(peer)) = (wanted, &staged.peer) {
        becomes(peer, wanted);
    }
    staged
}
