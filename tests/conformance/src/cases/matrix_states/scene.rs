//! An endpoint in a state, with all that a call on it needs, and what a refused call must not change.

use std::cell::RefCell;

use crate::prelude::*;

/// An endpoint in a state, and every object that a call on it needs.
pub(super) struct Scene {
    pub(super) staged: EpInState,
    /// Another endpoint, unconnected.
    pub(super) spare: Ep,
    /// A qualifier at which no request is answered.
    pub(super) psp: Psp,
    csp: Option<Csp>,
    /// A request of another endpoint, which brought none along.
    pub(super) request: Cr,
    pub(super) asking: Ep,
    pub(super) zone: Pz,
    pub(super) evds: [Evd; 3],
    pub(super) buffer: Buffer,
    /// Memory for the peer, also for atomic operations if the provider has them.
    pub(super) target: Buffer,
    rmr: Option<Rmr>,
    /// The object that a call created with the endpoint.
    pub(super) rsp: RefCell<Option<Rsp>>,
    pub(super) node: Node,
}

/// The state that a refused call must not change.
#[derive(Debug, PartialEq)]
pub(super) struct Snapshot {
    status: EpStatus,
    param: EpParam,
    buffers: RecvStatus,
    peer: Option<EpParam>,
    spare: EpParam,
    asking: EpParam,
    own_request: Option<CrParam>,
    request: CrParam,
    rsp: bool,
    bound: Option<u32>,
}

const PORT: u16 = 4_242;

impl Scene {
    pub(super) fn new(wanted: EpState) -> Self {
        let node = Node::new();
        let offers = node.ia.provider_attributes();
        let privileges = if offers.atomics_supported {
            Privileges::ALL | Privileges::REMOTE_ATOMIC
        } else {
            Privileges::ALL
        };
        let rmr = node.has_rmrs().then(|| node.rmr());
        let target = node.buffer_with(64, privileges);
        let staged = ep_in_state(&node, wanted);
        let psp = node.psp();
        let csp = HAS_2_0.then(|| node.csp(PORT));
        let (asking, request) = node.asking(psp.qualifier());
        let scene = Self {
            spare: node.ep(),
            csp,
            zone: node.ia.pz_create().expect("a zone"),
            evds: [
                node.evd(EvdFlags::DTO),
                node.evd(EvdFlags::COMPLETIONS),
                node.evd(EvdFlags::CONNECTION),
            ],
            buffer: node.buffer(64),
            target,
            staged,
            psp,
            request,
            asking,
            rmr,
            rsp: RefCell::default(),
            node,
        };
        if wanted == EpState::Disconnected {
            until("the other side gets the event", || {
                scene.staged.peer.as_ref().is_none_or(|peer| state(peer) == wanted)
            });
        }
        if wanted == EpState::Connected {
            if let Some(peer) = &scene.staged.peer {
                peer.post_recv(&[scene.buffer.piece(0, 32)], 1, NONE).expect("any state");
            }
        }
        for evd in scene.dispatchers() {
            drain(evd);
        }
        scene
    }

    pub(super) fn ep(&self) -> &Ep {
        &self.staged.ep
    }

    pub(super) fn dispatchers(&self) -> [&Evd; 7] {
        let Node { recv, request, connect, requests, .. } = &self.node;
        let [one, two, three] = &self.evds;
        [recv, request, connect, requests, one, two, three]
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let query = |ep: &Ep| ep.query().expect("a live endpoint");
        Snapshot {
            status: self.ep().status().expect("a live endpoint"),
            param: query(self.ep()),
            buffers: self.ep().recv_query().expect("a live endpoint"),
            peer: self.staged.peer.as_ref().map(query),
            spare: query(&self.spare),
            asking: query(&self.asking),
            own_request: self.staged.request.as_ref().map(|own| own.query().expect("waiting")),
            request: self.request.query().expect("waiting"),
            rsp: self.staged.rsp.as_ref().is_some_and(|rsp| rsp.query().is_ok()),
            bound: self.rmr.as_ref().map(|rmr| rmr.query().expect("live").rmr_context),
        }
    }

    /// Checks that a call changed nothing.
    pub(super) fn untouched(&self, before: &Snapshot, what: &str) {
        assert_eq!(&self.snapshot(), before, "{what}");
        for evd in self.dispatchers() {
            expect_no_event(evd);
        }
    }

    pub(super) fn csp(&self) -> &Csp {
        match &self.csp {
            Some(csp) => csp,
            None => skip("the API has no common service points"),
        }
    }

    pub(super) fn rmr(&self) -> &Rmr {
        match &self.rmr {
            Some(rmr) => rmr,
            None => skip("the provider has no remote memory regions"),
        }
    }

    /// Closes the adapter abruptly, which frees the rest.
    pub(super) fn close(self) {
        self.node.ia.close(Close::Abrupt).expect("an open adapter");
    }
}
