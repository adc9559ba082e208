//! The connection manager with queue pairs: their states, and messages over the connections that it sets up.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dat_soft_verbs::cm::{ConnectParameters, EventKind, Identifier, PortSpace};
use dat_soft_verbs::{
    Access, CompletionQueue, Context, Data, Domain, QueuePair, QueuePairCapacity, QueuePairInit,
    QueuePairState, QueuePairType, SendFlags, SendOperation, SendRequest, WcOpcode, WcStatus,
    WorkCompletion, devices,
};

use crate::sides::*;

/// What a side has besides its identifier.
struct Verbs {
    context: Arc<Context>,
    domain: Arc<Domain>,
    queue: Arc<CompletionQueue>,
}

impl Verbs {
    fn new() -> Self {
        let context = devices()[0].open().expect("the device");
        let domain = context.create_domain().expect("a domain");
        let queue = context.create_completion_queue(64, 0, None).expect("a queue");
        Self { context, domain, queue }
    }

    fn queue_pair(&self, kind: QueuePairType) -> Arc<QueuePair> {
        let capacity = QueuePairCapacity {
            max_send_wr: 8,
            max_recv_wr: 8,
            max_send_sge: 1,
            max_recv_sge: 1,
            max_inline_data: 0,
        };
        let init = QueuePairInit {
            user: 0,
            send_queue: Arc::clone(&self.queue),
            receive_queue: Arc::clone(&self.queue),
            shared_receives: None,
            capacity,
            kind,
            signals_all: true,
        };
        self.domain.create_queue_pair(&init).expect("a queue pair")
    }

    #[track_caller]
    fn completion(&self) -> WorkCompletion {
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut found = [WorkCompletion::default()];
        while self.queue.poll(&mut found) == 0 {
            assert!(Instant::now() < deadline, "nothing completes");
            std::thread::yield_now();
        }
        found[0]
    }
}

fn offer() -> ConnectParameters<'static> {
    ConnectParameters {
        responder_resources: 1,
        initiator_depth: 1,
        retry_count: 7,
        rnr_retry_count: 7,
        ..ConnectParameters::default()
    }
}

fn post_message(queue_pair: &QueuePair) {
    let request = SendRequest {
        wr_id: 1,
        operation: SendOperation::Send,
        flags: SendFlags::empty(),
        data: Data::Segments(&[]),
        destination: None,
    };
    queue_pair.post_send(&request).expect("posted");
}

/// Both identifiers of a connection with queue pairs of that type.
fn connect(
    sides: &mut Sides,
    verbs: &Verbs,
    kind: QueuePairType,
) -> (Arc<Identifier>, Arc<QueuePair>, Arc<QueuePair>) {
    let near = verbs.queue_pair(kind);
    sides.active.attach(&near).expect("bound");
    assert_eq!(near.state(), QueuePairState::Init);
    let passive = sides.request(&offer());
    let far = verbs.queue_pair(kind);
    passive.attach(&far).expect("bound");
    far.post_receive(7, &[]).expect("posted before the connection");
    passive.accept(None).expect("a request waits");
    assert_eq!(far.state(), QueuePairState::Rts);
    expect(&sides.here, EventKind::Established);
    assert_eq!(near.state(), QueuePairState::Rts);
    expect(&sides.there, EventKind::Established);
    (passive, near, far)
}

#[test]
fn messages_cross_a_connection_and_a_disconnection_flushes() {
    let (mut sides, verbs) = (Sides::new(PortSpace::Tcp), Verbs::new());
    let (passive, near, far) = connect(&mut sides, &verbs, QueuePairType::Rc);
    near.post_receive(8, &[]).expect("posted");
    post_message(&near);
    let mut found = [verbs.completion(), verbs.completion()];
    found.sort_by_key(|one| one.opcode.0);
    assert!(found.iter().all(|one| one.status == WcStatus::SUCCESS), "{found:?}");
    assert_eq!((found[1].opcode, found[1].wr_id), (WcOpcode::RECV, 7));
    let (to_near, to_far) = (near.query(), far.query());
    assert_eq!((to_near.dest_qp_num, to_far.dest_qp_num), (far.number(), near.number()));
    sides.active.disconnect().expect("connected");
    assert_eq!(near.state(), QueuePairState::Err);
    let flushed = verbs.completion();
    assert_eq!((flushed.wr_id, flushed.status), (8, WcStatus::WR_FLUSH_ERR));
    expect(&sides.there, EventKind::Disconnected);
    passive.disconnect().expect("connected");
    assert_eq!(far.state(), QueuePairState::Err);
    expect(&sides.here, EventKind::Disconnected);
}

#[test]
fn queue_pairs_connect_at_an_address_that_is_not_in_the_table() {
    let (mut sides, verbs) = (Sides::at("127.0.0.5:0"), Verbs::new());
    let (_passive, near, far) = connect(&mut sides, &verbs, QueuePairType::Rc);
    // The one with the greater number connects.
    assert!(far.number() > near.number());
    post_message(&near);
    assert_eq!(verbs.completion().status, WcStatus::SUCCESS);
    assert_eq!(verbs.completion().status, WcStatus::SUCCESS);
}

#[test]
fn unreliable_connections_are_of_the_port_space_of_infiniband() {
    let (mut sides, verbs) = (Sides::new(PortSpace::Ib), Verbs::new());
    let (_passive, near, _far) = connect(&mut sides, &verbs, QueuePairType::Uc);
    post_message(&near);
    assert_eq!(verbs.completion().status, WcStatus::SUCCESS);
}

#[test]
fn a_queue_pair_of_another_type_or_a_second_one_is_refused() {
    let (sides, verbs) = (Sides::new(PortSpace::Tcp), Verbs::new());
    let unreliable = verbs.queue_pair(QueuePairType::Uc);
    assert_eq!(sides.active.attach(&unreliable).expect_err("its type").errno, libc::EINVAL);
    let (first, second) =
        (verbs.queue_pair(QueuePairType::Rc), verbs.queue_pair(QueuePairType::Rc));
    sides.active.attach(&first).expect("bound");
    assert_eq!(sides.active.attach(&second).expect_err("the second").errno, libc::EINVAL);
    assert!(sides.active.establish().is_err());
    assert!(sides.active.detach().is_some_and(|found| Arc::ptr_eq(&found, &first)));
    let another = verbs.queue_pair(QueuePairType::Rc);
    sides.active.attach(&another).expect("none is attached");
}

#[test]
fn a_program_moves_its_own_queue_pairs_with_the_attributes_of_the_identifiers() {
    let (mut sides, verbs) = (Sides::new(PortSpace::Tcp), Verbs::new());
    let (near, far) = (verbs.queue_pair(QueuePairType::Rc), verbs.queue_pair(QueuePairType::Rc));
    let go = |id: &Identifier, queue_pair: &QueuePair, states: &[QueuePairState]| {
        for state in states {
            let (attributes, mask) = id.attributes(&verbs.context, *state).expect("known");
            queue_pair.modify(&attributes, mask).expect("allowed");
        }
    };
    let all = [QueuePairState::Init, QueuePairState::Rtr, QueuePairState::Rts];
    assert!(sides.active.attributes(&verbs.context, QueuePairState::Rtr).is_err(), "no peer yet");
    let passive = sides.request(&ConnectParameters { number: near.number(), ..offer() });
    go(&passive, &far, &all);
    far.post_receive(7, &[]).expect("posted");
    let number = far.number();
    passive.accept(Some(&ConnectParameters { number, ..offer() })).expect("a request waits");
    expect(&sides.here, EventKind::ConnectResponse);
    go(&sides.active, &near, &all);
    sides.active.establish().expect("an answer waits");
    expect(&sides.there, EventKind::Established);
    post_message(&near);
    assert_eq!(verbs.completion().status, WcStatus::SUCCESS);
    assert_eq!(verbs.completion().status, WcStatus::SUCCESS);
}

#[test]
fn the_peer_may_write_and_may_read_only_if_the_side_has_resources_for_it() {
    for (responder_resources, expected) in [(0, Access::REMOTE_WRITE), (4, Access::REMOTE)] {
        let mut sides = Sides::new(PortSpace::Tcp);
        let (one, other) = (Verbs::new(), Verbs::new());
        let (active, answering) =
            (one.queue_pair(QueuePairType::Rc), other.queue_pair(QueuePairType::Rc));
        sides.active.attach(&active).expect("bound to the device");
        let access = |queue_pair: &QueuePair| queue_pair.query().qp_access_flags;
        assert_eq!(access(&active), Access::empty(), "nothing is agreed yet");
        let wanted = ConnectParameters {
            responder_resources,
            initiator_depth: 4,
            ..ConnectParameters::default()
        };
        let passive = sides.request(&wanted);
        passive.attach(&answering).expect("bound to the device");
        passive.accept(Some(&wanted)).expect("a request waits");
        expect(&sides.here, EventKind::Established);
        assert_eq!([access(&active), access(&answering)], [expected; 2]);
    }
}

#[test]
fn a_program_gets_the_event_of_the_end_before_its_requests_fail() {
    let mut sides = Sides::new(PortSpace::Tcp);
    let (one, other) = (Verbs::new(), Verbs::new());
    let (active, answering) =
        (one.queue_pair(QueuePairType::Rc), other.queue_pair(QueuePairType::Rc));
    sides.active.attach(&active).expect("bound to the device");
    let wanted =
        ConnectParameters { retry_count: 7, rnr_retry_count: 7, ..ConnectParameters::default() };
    let passive = sides.request(&wanted);
    passive.attach(&answering).expect("bound to the device");
    passive.accept(Some(&wanted)).expect("a request waits");
    expect(&sides.here, EventKind::Established);
    expect(&sides.there, EventKind::Established);
    // The peer has no receive, and goes without a word.
    let data = Data::Segments(&[]);
    let (operation, flags) = (SendOperation::Send, SendFlags::SIGNALED);
    let send = SendRequest { wr_id: 5, operation, flags, data, destination: None };
    active.post_send(&send).expect("connected");
    passive.detach();
    answering.destroy().expect("detached");
    passive.destroy().expect("no event waits");
    expect(&sides.here, EventKind::Disconnected);
    let mut found = [WorkCompletion::default()];
    assert_eq!(one.queue.poll(&mut found), 0, "{found:?}");
    sides.active.disconnect().expect("connected");
    assert_eq!((one.completion().wr_id, active.state()), (5, QueuePairState::Err));
}
