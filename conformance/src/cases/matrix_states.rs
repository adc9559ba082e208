//! Every call that takes an endpoint, in every state that an endpoint can be kept in.
//!
//! The table below was written from the manual pages. A refused call must name the state and
//! change nothing: neither the endpoint, nor its peer, nor the request or the service point
//! that decide over it, and no event may come of it.

use std::cell::RefCell;

use super::invalidate::region;
use crate::prelude::*;

cases! {
    "dat_ep_connect(3DAT)":
        connect;
    "dat_ep_dup_connect(3DAT)":
        dup_connect,
        dup_connect_of,
        dup_connect_of_the_passive_side;
    "DAT 2.0, dat_ep_common_connect":
        common_connect;
    "dat_ep_disconnect(3DAT)":
        disconnect_gracefully,
        disconnect_abruptly;
    "dat_ep_reset(3DAT)":
        reset;
    "dat_ep_free(3DAT)":
        free;
    "dat_ep_post_recv(3DAT)":
        post_recv;
    "dat_ep_post_send(3DAT)":
        post_send;
    "DAT 2.0, dat_ep_post_send_with_invalidate":
        post_send_with_invalidate;
    "dat_ep_post_rdma_write(3DAT)":
        post_rdma_write;
    "DAT 2.0, IB extension: dat_ib_post_rdma_write_immed":
        post_rdma_write_immediate;
    "dat_ep_post_rdma_read(3DAT)":
        post_rdma_read;
    "DAT 2.0, dat_ep_post_rdma_read_to_rmr":
        post_rdma_read_to_rmr;
    "DAT 2.0, IB extension: dat_ib_post_fetch_and_add":
        post_fetch_and_add;
    "DAT 2.0, IB extension: dat_ib_post_cmp_and_swap":
        post_compare_and_swap;
    "dat_rmr_bind(3DAT)":
        bind;
    "dat_ep_modify(3DAT)":
        modify_zone,
        modify_dispatchers,
        modify_attributes;
    "dat_rsp_create(3DAT)":
        rsp_create;
    "dat_cr_accept(3DAT)":
        accept,
        accept_on_the_endpoint_of_the_request;
    "dat_ep_query(3DAT)":
        query;
    "dat_ep_get_status(3DAT)":
        status;
    "dat_ep_recv_query(3DAT)":
        recv_query;
    "dat_ep_set_watermark(3DAT)":
        set_watermark;
}

/// The expected result of a call in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The call succeeds, and the endpoint changes to another state.
    To(EpState),
    /// The call succeeds, and the state does not change.
    Works,
    /// The posted operation is flushed.
    Flushed,
    /// The call succeeds and has no effect.
    Nothing,
    /// The endpoint is freed.
    Ends,
    /// `DAT_INVALID_STATE` with the subtype of the state.
    Refused,
}

type Row = [Outcome; STATES.len()];

/// The expected results by the pages; the columns are those of [`STATES`]. Pages that do not name
/// the unconfigured states treat them as their configured counterparts, except that no call works
/// that needs a protection zone.
#[rustfmt::skip]
mod table {
    use super::Outcome::{Ends as END, Flushed as FLU, Nothing as NIL, Refused as NO, Works as OK};
    use super::Row;
    use super::Outcome::To;
    use dat_core::EpState as S;

    const RES: super::Outcome = To(S::Reserved);
    const URE: super::Outcome = To(S::UnconfiguredReserved);
    const PAS: super::Outcome = To(S::PassiveConnectionPending);
    const UNC: super::Outcome = To(S::Unconnected);
    const ACT: super::Outcome = To(S::ActiveConnectionPending);
    const CON: super::Outcome = To(S::Connected);
    const DIS: super::Outcome = To(S::Disconnected);

    //                                        Unconnected
    //                                        |    Reserved
    //                                        |    |    Unconfigured Reserved
    //                                        |    |    |    Passive Connection Pending
    //                                        |    |    |    |    Unconfigured Passive
    //                                        |    |    |    |    |    Active Connection Pending
    //                                        |    |    |    |    |    |    Tentative Connection Pending
    //                                        |    |    |    |    |    |    |    Unconfigured Unconnected
    //                                        |    |    |    |    |    |    |    |    Connected
    //                                        |    |    |    |    |    |    |    |    |    Disconnect Pending
    //                                        |    |    |    |    |    |    |    |    |    |    Disconnected
    pub(super) const CONNECT: Row =          [ACT, NO,  NO,  NO,  NO,  NO,  NO,  NO,  NO,  NO,  NO ];
    pub(super) const DUP_CONNECT_OF: Row =   [NO,  NO,  NO,  NO,  NO,  NO,  NO,  NO,  OK,  NO,  NO ];
    pub(super) const GRACEFUL: Row =         [NO,  NO,  NO,  NO,  NO,  DIS, NO,  NO,  DIS, NIL, NIL];
    pub(super) const ABRUPT: Row =           [NO,  NO,  NO,  NO,  NO,  DIS, NO,  NO,  DIS, DIS, NIL];
    pub(super) const RESET: Row =            [NIL, NO,  NO,  NO,  NO,  NO,  NO,  NIL, NO,  NO,  UNC];
    pub(super) const FREE: Row =             [END, NO,  NO,  NO,  NO,  END, NO,  END, END, END, END];
    pub(super) const RECEIVE: Row =          [OK,  OK,  NO,  OK,  NO,  OK,  OK,  NO,  OK,  OK,  FLU];
    pub(super) const REQUEST: Row =          [NO,  NO,  NO,  NO,  NO,  NO,  NO,  NO,  OK,  NO,  FLU];
    pub(super) const ZONE: Row =             [OK,  NO,  RES, NO,  PAS, NO,  OK,  UNC, NO,  NO,  NO ];
    pub(super) const DISPATCHERS: Row =      [OK,  OK,  OK,  OK,  OK,  NO,  OK,  OK,  NO,  NO,  NO ];
    pub(super) const ATTRIBUTES: Row =       [OK,  OK,  OK,  OK,  OK,  NO,  OK,  OK,  NO,  NO,  NO ];
    pub(super) const RSP_CREATE: Row =       [RES, NO,  NO,  NO,  NO,  NO,  NO,  URE, NO,  NO,  NO ];
    pub(super) const ACCEPT: Row =           [CON, NO,  NO,  NO,  NO,  NO,  NO,  NO,  NO,  NO,  NO ];
    pub(super) const LOOK: Row =             [NIL; 11];
    pub(super) const WATERMARK: Row =        [OK; 11];
}

/// The subtype that names a state (dat_error.h).
fn subtype(state: EpState) -> Subtype {
    match state {
        EpState::Unconnected => Subtype::InvalidStateEpUnconnected,
        EpState::UnconfiguredUnconnected => Subtype::InvalidStateEpUnconfigured,
        EpState::Reserved => Subtype::InvalidStateEpReserved,
        EpState::UnconfiguredReserved => Subtype::InvalidStateEpUnconfreserved,
        EpState::PassiveConnectionPending => Subtype::InvalidStateEpPassconnpending,
        EpState::UnconfiguredPassive => Subtype::InvalidStateEpUnconfpassive,
        EpState::ActiveConnectionPending => Subtype::InvalidStateEpActconnpending,
        EpState::TentativeConnectionPending => Subtype::InvalidStateEpTentconnpending,
        EpState::UnconfiguredTentative => Subtype::InvalidStateEpUnconftentative,
        EpState::Connected | EpState::ConnectedSinglePath | EpState::ConnectedMultiPath => {
            Subtype::InvalidStateEpConnected
        }
        EpState::DisconnectPending => Subtype::InvalidStateEpDiscpending,
        EpState::Disconnected => Subtype::InvalidStateEpDisconnected,
        EpState::CompletionPending => Subtype::InvalidStateEpComplpending,
    }
}

/// An endpoint in a state, and every object that a call on it needs.
struct Scene {
    staged: EpInState,
    /// Another endpoint, unconnected.
    spare: Endpoint,
    /// A qualifier at which no request is answered.
    psp: Psp,
    csp: Option<Csp>,
    /// A request of another endpoint, which brought none along.
    request: ConnectionRequest,
    asking: Endpoint,
    zone: ProtectionZone,
    evds: [EventDispatcher; 3],
    buffer: Buffer,
    /// Memory for the peer, also for atomic operations if the provider has them.
    target: Buffer,
    rmr: Option<Rmr>,
    /// The object that a call created with the endpoint.
    rsp: RefCell<Option<Rsp>>,
    node: Node,
}

/// The state that a refused call must not change.
#[derive(Debug, PartialEq)]
struct Snapshot {
    status: EpStatus,
    param: EpParam,
    buffers: RecvBuffers,
    peer: Option<EpParam>,
    spare: EpParam,
    asking: EpParam,
    own_request: Option<CrParam>,
    request: CrParam,
    rsp: bool,
    bound: Option<u32>,
}

const COOKIE: u64 = 0x00c0_0c1e;
const PORT: u16 = 4_242;
/// A qualifier that `ep_states` does not use.
const QUALIFIER: u64 = 7_801;

impl Scene {
    fn new(wanted: EpState) -> Self {
        let node = Node::new();
        let offers = node.ia.provider_attributes();
        let privileges = if offers.atomics_supported {
            Privileges::ALL | Privileges::REMOTE_ATOMIC
        } else {
            Privileges::ALL
        };
        let rmr = node.has_rmrs().then(|| node.rmr());
        let memory = Memory::zeroed(64).expect("memory");
        let source = MemorySource::Memory(&memory);
        let lmr = node.ia.lmr_create(source, &node.pz, privileges).expect("a region");
        let staged = ep_in_state(&node, wanted);
        let psp = node.psp();
        let address = node.address();
        let csp = HAS_2_0.then(|| {
            let socket = node.socket(PORT);
            let csp = node.ia.csp_create(Comm::for_address(socket.ip()), socket, &node.requests);
            csp.expect("a port of the adapter's")
        });
        let asking = node.ep();
        asking.connect(&Connect::to(address, psp.qualifier())).expect("an attempt");
        let request = expect_request(&node.requests).request;
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
            target: Buffer { memory, lmr },
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

    fn ep(&self) -> &Endpoint {
        &self.staged.ep
    }

    fn dispatchers(&self) -> [&EventDispatcher; 7] {
        let Node { recv, request, connect, requests, .. } = &self.node;
        let [one, two, three] = &self.evds;
        [recv, request, connect, requests, one, two, three]
    }

    fn snapshot(&self) -> Snapshot {
        let query = |ep: &Endpoint| ep.query().expect("a live endpoint");
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
    fn untouched(&self, before: &Snapshot, what: &str) {
        assert_eq!(&self.snapshot(), before, "{what}");
        for evd in self.dispatchers() {
            expect_no_event(evd);
        }
    }

    fn csp(&self) -> &Csp {
        match &self.csp {
            Some(csp) => csp,
            None => skip("the API has no common service points"),
        }
    }

    fn rmr(&self) -> &Rmr {
        match &self.rmr {
            Some(rmr) => rmr,
            None => skip("the provider has no remote memory regions"),
        }
    }

    /// Closes the adapter abruptly, which frees the rest.
    fn close(self) {
        self.node.ia.close(Close::Abrupt).expect("an open adapter");
    }
}

/// Makes a call in every state; `done` checks its effect if it succeeds.
fn try_everywhere(
    row: Row,
    call: impl Fn(&Scene) -> Result<()>,
    done: impl Fn(&Scene, EpState, Outcome),
) {
    for (from, outcome) in STATES.into_iter().zip(row) {
        let scene = Scene::new(from);
        let before = scene.snapshot();
        let result = call(&scene);
        let what = format!("{from}, where the call has the outcome {outcome:?}");
        match outcome {
            Outcome::Refused => {
                assert!(result.is_err(), "{what}: it worked");
                let error = refused(result, ReturnType::InvalidState, subtype(from));
                let text = error.to_string();
                assert!(text.contains(from.name()), "the text does not name the state: {text}");
                scene.untouched(&before, &what);
            }
            Outcome::Nothing => {
                result.unwrap_or_else(|error| panic!("{what}: {error}"));
                scene.untouched(&before, &what);
            }
            Outcome::Ends => {
                result.unwrap_or_else(|error| panic!("{what}: {error}"));
                let query = scene.ep().query();
                refused(query, ReturnType::InvalidHandle, Subtype::InvalidHandleEp);
            }
            Outcome::To(next) => {
                result.unwrap_or_else(|error| panic!("{what}: {error}"));
                until(&what, || state(scene.ep()) == next);
            }
            Outcome::Works | Outcome::Flushed => {
                result.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(state(scene.ep()), from, "{what}");
            }
        }
        if outcome != Outcome::Refused {
            done(&scene, from, outcome);
        }
        scene.close();
    }
}

/// The `done` of calls without a further effect to check.
fn nothing_more(_: &Scene, _: EpState, _: Outcome) {}

fn connect() {
    let call = |scene: &Scene| {
        scene.ep().connect(&Connect::to(scene.node.address(), scene.psp.qualifier()))
    };
    try_everywhere(table::CONNECT, call, a_request_arrived);
}

fn a_request_arrived(scene: &Scene, _: EpState, _: Outcome) {
    expect_request(&scene.node.requests);
}

fn dup_connect() {
    for (from, outcome) in STATES.into_iter().zip(table::CONNECT) {
        let scene = Scene::new(from);
        let (client, server) = scene.node.pair();
        let before = scene.snapshot();
        let ep = scene.ep();
        let result = ep.dup_connect(&client, Timeout::Infinite, b"", Default::default());
        if outcome == Outcome::Refused {
            refused(result, ReturnType::InvalidState, subtype(from));
            scene.untouched(&before, from.name());
        } else {
            result.unwrap_or_else(|error| panic!("{from}: {error}"));
            // The service point to which the pair connected is freed.
            expect_connection(&scene.node.connect, ep, ConnectionEventKind::NonPeerRejected);
            assert_eq!(state(ep), EpState::Disconnected);
        }
        assert_eq!((state(&client), state(&server)), (EpState::Connected, EpState::Connected));
        scene.close();
    }
}

fn dup_connect_of() {
    let call = |scene: &Scene| {
        let other = scene.ep();
        scene.spare.dup_connect(other, Timeout::Infinite, b"", Default::default())
    };
    let done = |scene: &Scene, _: EpState, _: Outcome| {
        // The duplicate goes to the same qualifier, whose service point is freed.
        let kind = ConnectionEventKind::NonPeerRejected;
        expect_connection(&scene.node.connect, &scene.spare, kind);
        assert_eq!(state(&scene.spare), EpState::Disconnected);
    };
    try_everywhere(table::DUP_CONNECT_OF, call, done);
}

fn dup_connect_of_the_passive_side() {
    let scene = Scene::new(EpState::Connected);
    let before = scene.snapshot();
    let passive = scene.staged.peer.as_ref().expect("a connection has two sides");
    let result = scene.spare.dup_connect(passive, Timeout::Infinite, b"", Default::default());
    // The passive side has no connection qualifier to duplicate.
    refused(result, ReturnType::InvalidState, Subtype::InvalidStateEpConnected);
    scene.untouched(&before, "the passive side");
    scene.close();
}

fn common_connect() {
    let call = |scene: &Scene| {
        let place = scene.csp().query().expect("live").address;
        // Skips the case if the adapter has no IP address to connect to.
        let _ = scene.node.ip();
        scene.ep().common_connect(place, Timeout::Infinite, b"")
    };
    try_everywhere(table::CONNECT, call, a_request_arrived);
}

fn disconnect_gracefully() {
    let call = |scene: &Scene| scene.ep().disconnect(Close::Graceful);
    try_everywhere(table::GRACEFUL, call, one_disconnected_event);
}

fn disconnect_abruptly() {
    let call = |scene: &Scene| scene.ep().disconnect(Close::Abrupt);
    try_everywhere(table::ABRUPT, call, one_disconnected_event);
}

fn one_disconnected_event(scene: &Scene, _: EpState, outcome: Outcome) {
    if outcome == Outcome::Nothing {
        return;
    }
    let events = || drain(&scene.node.connect).into_iter();
    let mut of_ep = 0;
    until("the event of the disconnect", || {
        of_ep += events()
            .filter(|event| match event {
                Event::Connection(event) if event.ep == scene.ep().id() => {
                    assert_eq!(event.kind, ConnectionEventKind::Disconnected);
                    true
                }
                _ => false,
            })
            .count();
        of_ep > 0
    });
    assert_eq!(of_ep, 1);
    let status = scene.ep().status().expect("live");
    assert!(status.recv_idle && status.request_idle, "{status:?}");
}

fn reset() {
    let call = |scene: &Scene| scene.ep().reset();
    let done = |scene: &Scene, _: EpState, _: Outcome| {
        let param = scene.ep().query().expect("live");
        assert_eq!(param.remote_address, None);
    };
    try_everywhere(table::RESET, call, done);
}

fn free() {
    let call = |scene: &Scene| scene.ep().free();
    try_everywhere(table::FREE, call, nothing_more);
}

fn post_recv() {
    let call = |scene: &Scene| scene.ep().post_recv(&[scene.buffer.piece(0, 32)], COOKIE, NONE);
    let done = |scene: &Scene, _: EpState, outcome: Outcome| {
        if outcome == Outcome::Flushed {
            let done =
                expect_completion(&scene.node.recv, &[scene.ep()], COOKIE, DtoStatus::Flushed);
            assert_eq!(done.operation, Operation::Receive);
        } else {
            assert!(!scene.ep().status().expect("live").recv_idle);
            assert_eq!(scene.ep().recv_query().expect("live").allocated, 1);
        }
    };
    try_everywhere(table::RECEIVE, call, done);
}

/// Takes the completion of a request, which must be a success if the call was.
fn completed(scene: &Scene, outcome: Outcome, operation: Operation) {
    let done = expect_dto(&scene.node.request, &[scene.ep()]);
    assert_eq!((done.cookie, done.operation), (COOKIE, operation));
    assert_eq!(done.status, expected(outcome));
    assert!(scene.ep().status().expect("live").request_idle);
}

/// Posts a request in every state, whose completion must be of an operation.
fn try_request(operation: Operation, call: impl Fn(&Scene) -> Result<()>) {
    try_everywhere(table::REQUEST, call, |scene, _, outcome| completed(scene, outcome, operation));
}

fn expected(outcome: Outcome) -> DtoStatus {
    if outcome == Outcome::Flushed { DtoStatus::Flushed } else { DtoStatus::Success }
}

fn post_send() {
    try_request(Operation::Send, |scene: &Scene| {
        scene.ep().post_send(&[scene.buffer.piece(32, 32)], COOKIE, NONE)
    });
}

fn post_send_with_invalidate() {
    Node::new().need(|it| it.invalidate_supported, "send with invalidate");
    Node::new().need(|it| it.rmr_supported, "remote memory regions");
    for (from, outcome) in STATES.into_iter().zip(table::REQUEST) {
        let scene = Scene::new(from);
        let closable = region(&scene.node, &scene.node.pz);
        let mut context = 0;
        if from == EpState::Connected {
            // The peer binds a remote region, whose context the send invalidates.
            let peer = scene.staged.peer.as_ref().expect("two sides");
            context = closable.bind(peer, &whole(&scene)).expect("connected");
            expect_bind(&scene.node.request, &[peer]);
        }
        let before = scene.snapshot();
        let iov = [scene.buffer.piece(32, 32)];
        let result = scene.ep().post_send_with_invalidate(&iov, COOKIE, NONE, context);
        if outcome == Outcome::Refused {
            refused(result, ReturnType::InvalidState, subtype(from));
            scene.untouched(&before, from.name());
        } else {
            result.unwrap_or_else(|error| panic!("{from}: {error}"));
            completed(&scene, outcome, Operation::Send);
        }
        scene.close();
    }
}

fn whole(scene: &Scene) -> Bind<'_> {
    Bind {
        lmr: &scene.target.lmr,
        triplet: scene.target.piece(0, 64),
        privileges: Privileges::REMOTE_READ | Privileges::REMOTE_WRITE,
        cookie: COOKIE,
        flags: NONE,
    }
}

fn post_rdma_write() {
    try_request(Operation::RdmaWrite, |scene: &Scene| {
        let iov = [scene.buffer.piece(0, 32)];
        scene.ep().post_rdma_write(&iov, COOKIE, scene.target.remote(0, 32), NONE)
    });
}

fn post_rdma_write_immediate() {
    Node::new().need(|it| it.immediate_data_supported, "immediate data");
    try_request(Operation::RdmaWriteImmediate, |scene: &Scene| {
        let iov = [scene.buffer.piece(0, 32)];
        let remote = scene.target.remote(0, 32);
        scene.ep().post_rdma_write_immediate(&iov, COOKIE, remote, 7, NONE)
    });
}

fn post_rdma_read() {
    try_request(Operation::RdmaRead, |scene: &Scene| {
        let iov = [scene.buffer.piece(0, 32)];
        scene.ep().post_rdma_read(&iov, COOKIE, scene.target.remote(0, 32), NONE)
    });
}

fn post_rdma_read_to_rmr() {
    Node::new().need(|it| it.read_to_rmr_supported, "reads to a remote context");
    try_request(Operation::RdmaRead, |scene: &Scene| {
        let local = scene.buffer.remote(0, 32);
        scene.ep().post_rdma_read_to_rmr(local, COOKIE, scene.target.remote(0, 32), NONE)
    });
}

fn post_fetch_and_add() {
    Node::new().need(|it| it.atomics_supported, "atomic operations");
    try_request(Operation::FetchAdd, |scene: &Scene| {
        let (local, remote) = (scene.buffer.piece(0, 8), scene.target.remote(0, 8));
        scene.ep().post_fetch_and_add(1, local, COOKIE, remote, NONE)
    });
}

fn post_compare_and_swap() {
    Node::new().need(|it| it.atomics_supported, "atomic operations");
    try_request(Operation::CompareSwap, |scene: &Scene| {
        let (local, remote) = (scene.buffer.piece(0, 8), scene.target.remote(0, 8));
        scene.ep().post_compare_and_swap((0, 1), local, COOKIE, remote, NONE)
    });
}

fn bind() {
    Node::new().need(|it| it.rmr_supported, "remote memory regions");
    let call = |scene: &Scene| scene.rmr().bind(scene.ep(), &whole(scene)).map(|_| ());
    let done = |scene: &Scene, _: EpState, outcome: Outcome| {
        let done = expect_bind(&scene.node.request, &[scene.ep()]);
        assert_eq!((done.cookie, done.status), (COOKIE, expected(outcome)));
        assert_eq!(done.rmr, scene.rmr().id());
    };
    try_everywhere(table::REQUEST, call, done);
}

fn modify_zone() {
    let call = |scene: &Scene| scene.ep().modify(&EpChange::new().pz(&scene.zone));
    let done = |scene: &Scene, _: EpState, _: Outcome| {
        assert_eq!(scene.ep().query().expect("live").pz.as_ref(), Some(&scene.zone));
    };
    try_everywhere(table::ZONE, call, done);
}

fn modify_dispatchers() {
    let call = |scene: &Scene| {
        let [recv, request, connect] = &scene.evds;
        let change = EpChange::new().recv_evd(Some(recv)).request_evd(Some(request));
        scene.ep().modify(&change.connect_evd(Some(connect)))
    };
    let done = |scene: &Scene, _: EpState, _: Outcome| {
        let param = scene.ep().query().expect("live");
        let after = [param.recv_evd, param.request_evd, param.connect_evd];
        assert_eq!(after.map(|evd| evd.expect("given")), scene.evds);
    };
    try_everywhere(table::DISPATCHERS, call, done);
}

fn modify_attributes() {
    fn smaller(scene: &Scene) -> EpAttributes {
        let mut attributes = scene.node.ia.default_ep_attributes().clone();
        attributes.max_message_size /= 2;
        attributes.max_recv_dtos /= 2;
        attributes.max_rdma_read_out /= 2;
        attributes
    }
    let call = |scene: &Scene| scene.ep().modify(&EpChange::new().attributes(&smaller(scene)));
    let done = |scene: &Scene, _: EpState, _: Outcome| {
        let (after, wanted) = (scene.ep().query().expect("live").attributes, smaller(scene));
        assert!(after.max_message_size >= wanted.max_message_size);
        assert_eq!(after.max_rdma_read_out, wanted.max_rdma_read_out);
        assert!(after.max_recv_dtos >= wanted.max_recv_dtos);
    };
    try_everywhere(table::ATTRIBUTES, call, done);
}

fn rsp_create() {
    let call = |scene: &Scene| {
        let Node { ia, requests, .. } = &scene.node;
        let rsp = ia.rsp_create(QUALIFIER, Some(scene.ep()), requests)?;
        assert_eq!(rsp.query()?.ep, *scene.ep());
        *scene.rsp.borrow_mut() = Some(rsp);
        Ok(())
    };
    let done = |scene: &Scene, from: EpState, _: Outcome| {
        let rsp = scene.rsp.take().expect("made");
        rsp.free().expect("live");
        assert_eq!(state(scene.ep()), from, "it is given back");
    };
    try_everywhere(table::RSP_CREATE, call, done);
}

fn accept() {
    let call = |scene: &Scene| scene.request.accept(Some(scene.ep()), b"");
    let done = |scene: &Scene, _: EpState, _: Outcome| {
        until("the other side is connected", || state(&scene.asking) == EpState::Connected);
        refused(scene.request.query(), ReturnType::InvalidHandle, Subtype::InvalidHandleCr);
    };
    try_everywhere(table::ACCEPT, call, done);
}

/// A refused accept leaves the request valid: another endpoint can accept it.
fn accept_on_the_endpoint_of_the_request() {
    for (from, works) in [
        (EpState::PassiveConnectionPending, true),
        (EpState::TentativeConnectionPending, true),
        (EpState::UnconfiguredPassive, false),
    ] {
        let scene = Scene::new(from);
        let own = scene.staged.request.as_ref().expect("it waits");
        if !works {
            let before = scene.snapshot();
            refused(own.accept(None, b""), ReturnType::InvalidState, subtype(from));
            scene.untouched(&before, from.name());
            scene.ep().modify(&EpChange::new().pz(&scene.node.pz)).expect("it needs a zone");
        }
        own.accept(None, b"").unwrap_or_else(|error| panic!("{from}: {error}"));
        until("the connection is established", || state(scene.ep()) == EpState::Connected);
        refused(own.query(), ReturnType::InvalidHandle, Subtype::InvalidHandleCr);
        scene.close();
    }
}

fn query() {
    let call = |scene: &Scene| {
        let param = scene.ep().query()?;
        assert_eq!(param.local_address, scene.node.address());
        let configured = STATES.into_iter().find(|state| *state == param.state);
        let unconfigured = configured.is_some_and(EpState::is_unconfigured);
        assert_eq!(param.pz.is_none(), unconfigured, "{}", param.state);
        Ok(())
    };
    try_everywhere(table::LOOK, call, |scene, from, _| {
        assert_eq!(scene.ep().query().map(|param| param.state), Ok(from));
    });
}

fn status() {
    let call = |scene: &Scene| scene.ep().status().map(|_| ());
    try_everywhere(table::LOOK, call, |scene, from, _| {
        assert_eq!(scene.ep().status().map(|status| status.state), Ok(from));
    });
}

fn recv_query() {
    let call = |scene: &Scene| scene.ep().recv_query().map(|_| ());
    try_everywhere(table::LOOK, call, |scene, _, _| {
        assert_eq!(scene.ep().recv_query(), Ok(RecvBuffers { allocated: 0, span: 0 }));
    });
}

fn set_watermark() {
    Node::new().need(|it| it.srq_watermarks_supported, "watermarks");
    let call = |scene: &Scene| scene.ep().set_watermark(Some(3), Some(4));
    try_everywhere(table::WATERMARK, call, |scene, _, _| {
        for evd in scene.dispatchers() {
            expect_no_event(evd);
        }
        scene.ep().set_watermark(None, None).expect("any state");
    });
}
