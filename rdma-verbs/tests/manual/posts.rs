//! Posts of every operation, over queue pairs that are connected by hand.

use std::net::SocketAddr;
use std::sync::Arc;

use rdma_verbs::verbs::{
    Access, AddressHandle, AddressVector, Capabilities, CompletionKind, CompletionQueue,
    CompletionStatus, Context, Gid, GlobalRoute, MemoryRegion, MemoryWindow, Mtu, Operation,
    ProtectionDomain, QueuePair, QueuePairInit, QueuePairState, QueuePairType, ReceiveSide,
    RequestData, SendFlags, SendOperations, SendRequest, SendSide, Service, Sge,
    SharedReceiveQueue, Unrecorded, WindowBind, WindowType, WorkCompletion,
};

use crate::common::*;
use crate::objects::{gid_index, open};

const EVERYTHING: Access = Access::LOCAL_WRITE
    .union(Access::REMOTE_READ)
    .union(Access::REMOTE_WRITE)
    .union(Access::REMOTE_ATOMIC)
    .union(Access::WINDOW_BIND);

const CAPABILITIES: Capabilities = Capabilities { max_send_wr: 8, ..SIZE };

fn own_address(context: &Context, port: u8, address: SocketAddr) -> AddressVector {
    let source_index = gid_index(context, port, address);
    let destination: Gid = context.gid(port, source_index.into()).expect("its own");
    let route = GlobalRoute { destination, source_index, hop_limit: 1, ..GlobalRoute::default() };
    AddressVector { port, route: Some(route), ..AddressVector::default() }
}

fn create(
    context: &Context,
    domain: &Arc<ProtectionDomain>,
    queue_pair_type: QueuePairType,
    shared: Option<&Arc<SharedReceiveQueue>>,
    operations: Option<SendOperations>,
) -> rdma_verbs::Result<QueuePair> {
    let send_queue = &CompletionQueue::new(context, 32, 1, None).expect("a queue");
    let receive_queue = &CompletionQueue::new(context, 32, 2, None).expect("a queue");
    let capabilities = CAPABILITIES;
    let init =
        QueuePairInit { key: 3, send_queue, receive_queue, shared, capabilities, queue_pair_type };
    match operations {
        Some(operations) => QueuePair::new_extended(domain, &init, operations),
        None => QueuePair::new(domain, &init),
    }
}

fn start(context: &Context, port: u8, address: SocketAddr, pair: [&QueuePair; 2]) {
    let to = own_address(context, port, address);
    for (own, other) in [(pair[0], pair[1]), (pair[1], pair[0])] {
        assert_eq!(own.state(), Ok(QueuePairState::Reset));
        own.to_init(port, 0, Service::Connected(EVERYTHING - Access::WINDOW_BIND)).expect("init");
        let side = ReceiveSide {
            address: to,
            mtu: Mtu::Bytes1024,
            peer: other.number(),
            packet_number: 7,
            responder_resources: 1,
            rnr_timer: 12,
        };
        own.to_ready_to_receive(&side).expect("ready to receive");
        let side = SendSide { packet_number: 7, ..SendSide::default() };
        own.to_ready_to_send(&side).expect("ready to send");
        assert_eq!(own.state(), Ok(QueuePairState::ReadyToSend));
    }
}

/// Two queue pairs of a reliable connection; the second may share its receives.
pub(crate) fn pair(
    address: SocketAddr,
    port: u8,
    domain: &Arc<ProtectionDomain>,
    shared: Option<&Arc<SharedReceiveQueue>>,
) -> (QueuePair, QueuePair) {
    let (context, queue_pair_type) = (domain.context(), QueuePairType::Rc);
    let one = create(context, domain, queue_pair_type, None, None).expect("a queue pair");
    let other = create(context, domain, queue_pair_type, shared, None).expect("a queue pair");
    start(context, port, address, [&one, &other]);
    (one, other)
}

fn with_pair(test: impl FnOnce(&Arc<ProtectionDomain>, &QueuePair, &QueuePair) + Send + 'static) {
    with_device(|address| {
        let (_, port, domain) = open(address);
        let (one, other) = pair(address, port, &domain, None);
        test(&domain, &one, &other);
    });
}

fn send(queue_pair: &QueuePair, operation: Operation<'_>, data: RequestData<'_>) {
    queue_pair.post_send(&SendRequest::new(4, operation, data)).expect("posted");
    let done = completion(queue_pair.send_queue());
    assert_eq!((done.id, done.status), (4, CompletionStatus::Success));
}

#[test]
fn sends_carry_immediate_data() {
    with_pair(|_, one, other| {
        other.post_receive(1, &[]).expect("posted");
        send(one, Operation::SendImmediate(0x1234_5678), RequestData::Segments(&[]));
        let received = completion(other.receive_queue());
        assert_eq!((received.immediate, received.length), (Some(0x1234_5678), 0));
        assert_eq!(received.queue_pair, other.number());
    });
}

#[test]
fn writes_carry_immediate_data() {
    with_pair(|domain, one, other| {
        let target = region(domain, 8, EVERYTHING);
        other.post_receive(1, &[]).expect("posted");
        let operation = Operation::WriteImmediate(target.remote(2), 99);
        send(one, operation, RequestData::Inline(&[b"ab", b"cd"]));
        let received = completion(other.receive_queue());
        assert_eq!(received.kind, Some(CompletionKind::ReceiveWriteImmediate));
        assert_eq!((received.immediate, received.length), (Some(99), 4));
        assert_eq!(target.to_vec(0..8).expect("inside"), b"\0\0abcd\0\0");
    });
}

#[test]
fn atomics_return_the_old_value() {
    with_pair(|domain, one, _| {
        let target = region(domain, 16, EVERYTHING);
        target.write(8, &5_u64.to_ne_bytes()).expect("inside");
        let local = region(domain, 8, Access::LOCAL_WRITE);
        let segments = [local.segment(0..8).expect("inside")];
        let word = |region: &MemoryRegion, at: usize| {
            let bytes = region.to_vec(at..at + 8).expect("inside");
            u64::from_ne_bytes(bytes.try_into().expect("eight"))
        };
        let remote = target.remote(8);
        send(one, Operation::FetchAdd { remote, add: 3 }, RequestData::Segments(&segments));
        assert_eq!((word(&local, 0), word(&target, 8)), (5, 8));
        let operation = Operation::CompareSwap { remote, compare: 8, swap: 21 };
        send(one, operation, RequestData::Segments(&segments));
        assert_eq!((word(&local, 0), word(&target, 8)), (8, 21));
        let operation = Operation::CompareSwap { remote, compare: 8, swap: 22 };
        send(one, operation, RequestData::Segments(&segments));
        assert_eq!((word(&local, 0), word(&target, 8)), (21, 21), "it was not 8");
    });
}

#[test]
fn a_send_invalidates_a_key_of_the_peer() {
    with_pair(|domain, one, other| {
        let target = region(domain, 8, EVERYTHING);
        let window = match MemoryWindow::new(domain, WindowType::Two) {
            Ok(window) => Arc::new(window),
            Err(error) => return assert_eq!(error.errno, libc::EOPNOTSUPP),
        };
        let segment = target.segment(0..8).expect("inside");
        let flags = SendFlags::SIGNALED;
        let key = other.bind_window(1, &window, &segment, Access::REMOTE_WRITE, flags);
        let key = key.expect("posted");
        assert!(completion(other.send_queue()).is_success());
        other.post_receive(2, &[]).expect("posted");
        send(one, Operation::SendInvalidate(key), RequestData::Segments(&[]));
        // soft-RoCE does not set the flag that says that the completion has the key.
        let received = completion(other.receive_queue());
        assert!(received.is_success() && received.invalidated_key.is_none_or(|it| it == key));
        // This side ends the binding of another window itself.
        let window = Arc::new(MemoryWindow::new(domain, WindowType::Two).expect("another one"));
        let next = other.bind_window(3, &window, &segment, Access::REMOTE_WRITE, flags);
        let next = next.expect("posted");
        assert_ne!(next, key);
        let bound = completion(other.send_queue());
        assert!(bound.is_success(), "{}", bound.status);
        send(other, Operation::Invalidate(next), RequestData::Segments(&[]));
    });
}

#[test]
fn an_unsignaled_request_has_no_completion_and_ends_with_a_later_one() {
    with_pair(|domain, one, other| {
        let source = region(domain, 8, Access::LOCAL_WRITE);
        for number in 0..2 {
            other.post_receive(number, &[]).expect("posted");
        }
        let segments = [source.segment(0..0).expect("inside")];
        let (operation, data) = (Operation::Send, RequestData::Segments(&segments));
        let quiet =
            SendRequest { flags: SendFlags::empty(), ..SendRequest::new(1, operation, data) };
        one.post_send(&quiet).expect("posted");
        assert_eq!(one.sends_in_flight(), 1);
        assert_eq!(source.deregister().expect_err("a post uses it").errno, libc::EBUSY);
        let loud = SendRequest::new(2, Operation::Send, RequestData::Segments(&[]));
        one.post_send(&loud).expect("posted");
        assert_eq!(completion(one.send_queue()).id, 2);
        assert_eq!(one.sends_in_flight(), 0);
        source.deregister().expect("unused");
    });
}

#[test]
fn requests_that_are_undefined_in_c_are_refused() {
    with_pair(|domain, one, _| {
        let refused = |operation, data| {
            let error = one.post_send(&SendRequest::new(1, operation, data));
            error.expect_err("refused").errno
        };
        let source = region(domain, 64, Access::LOCAL_WRITE);
        let segment = source.segment(0..1).expect("inside");
        let many = vec![segment; 64];
        assert_eq!(refused(Operation::Send, RequestData::Segments(&many)), libc::EINVAL);
        let long = vec![0; one.capabilities().max_inline_data as usize + 1];
        let long = [&long[..]];
        assert_eq!(refused(Operation::Send, RequestData::Inline(&long)), libc::EMSGSIZE);
        let read = Operation::Read(source.remote(0));
        assert_eq!(refused(read, RequestData::Inline(&[b"a"])), libc::EINVAL);
        let other = ProtectionDomain::new(domain.context()).expect("another one");
        let window = MemoryWindow::new(&other, WindowType::One);
        if let Ok(window) = window {
            let segment = source.segment(0..1).expect("inside");
            let (access, flags) = (Access::REMOTE_READ, SendFlags::SIGNALED);
            let bound = one.bind_window(1, &Arc::new(window), &segment, access, flags);
            assert_eq!(bound.expect_err("of another domain").errno, libc::EPERM);
        }
        assert_eq!(one.sends_in_flight(), 0);
    });
}

#[test]
fn memory_without_a_record_is_posted_under_the_id_of_the_program() {
    with_pair(|domain, one, other| {
        const ID: u64 = u64::MAX - 1;
        // Called in a test with a time limit.
        let take = |queue: &CompletionQueue| {
            let mut taken = [WorkCompletion::default()];
            while queue.poll_raw(&mut taken).expect("polled") == 0 {
                std::thread::yield_now();
            }
            assert_eq!((taken[0].wr_id, taken[0].status), (ID, 0));
        };
        let [source, target] = [(); 2].map(|()| region(domain, 8, EVERYTHING));
        source.write(0, b"recorded").expect("inside");
        let sge = |region: &MemoryRegion| {
            let (addr, lkey) = (region.address(), region.local_key());
            Sge { addr, length: 8, lkey }
        };
        other.post_receive(ID, Unrecorded::new(&[sge(&target)])).expect("posted");
        let sent = [sge(&source)];
        let data = RequestData::Unrecorded(Unrecorded::new(&sent));
        one.post_send(&SendRequest::new(ID, Operation::Send, data)).expect("posted");
        assert_eq!((one.sends_in_flight(), other.receives_in_flight()), (0, 0));
        take(one.send_queue());
        take(other.receive_queue());
        assert_eq!(target.to_vec(0..8).expect("inside"), b"recorded");
        let bytes = *b"inline";
        let inline =
            [Sge { addr: (&raw const bytes).expose_provenance() as u64, length: 6, lkey: 0 }];
        // SAFETY: the bytes live over the post, and are fewer than the queue pair supports inline.
        let data = RequestData::Unrecorded(unsafe { Unrecorded::unchecked(&inline, true) });
        let operation = Operation::Write(target.remote(0));
        one.post_send(&SendRequest::new(ID, operation, data)).expect("posted");
        take(one.send_queue());
        assert_eq!(target.to_vec(0..8).expect("inside"), b"inlineed");
    });
}

#[test]
fn posts_need_the_right_state() {
    with_device(|address| {
        let (context, port, domain) = open(address);
        let queue_pair_type = QueuePairType::Rc;
        let queue_pair =
            create(&context, &domain, queue_pair_type, None, None).expect("a queue pair");
        let request = SendRequest::new(1, Operation::Send, RequestData::Segments(&[]));
        let early = queue_pair.post_receive(1, &[]).expect_err("in the state reset");
        assert_eq!(early.errno, libc::ENOTCONN);
        queue_pair.to_init(port, 0, Service::Connected(Access::empty())).expect("init");
        queue_pair.post_receive(1, &[]).expect("posted");
        assert_eq!(queue_pair.post_send(&request).expect_err("init").errno, libc::ENOTCONN);
        let skipped = queue_pair.to_ready_to_send(&SendSide::default()).expect_err("not yet");
        assert_eq!(skipped.errno, libc::EINVAL);
        queue_pair.set_error().expect("in error");
        assert_eq!(completion(queue_pair.receive_queue()).status, CompletionStatus::Flushed);
        queue_pair.post_receive(2, &[]).expect("posted, to be flushed");
        queue_pair.reset().expect("reset");
        assert_eq!(queue_pair.receives_in_flight(), 0, "it does not complete any more");
        assert_eq!(queue_pair.state(), Ok(QueuePairState::Reset));
    });
}

#[test]
fn objects_of_another_open_device_are_refused() {
    with_device(|address| {
        let [(context, _, domain), (other, _, other_domain)] = [open(address), open(address)];
        let queue_pair_type = QueuePairType::Rc;
        for operations in [None, Some(SendOperations::SEND)] {
            let refused = create(&other, &domain, queue_pair_type, None, operations);
            assert_eq!(refused.expect_err("queues of the other").errno, libc::EINVAL);
        }
        let shared = SharedReceiveQueue::new(&other_domain, 4, 1, 0).expect("a queue");
        let refused = create(&context, &domain, queue_pair_type, Some(&shared), None);
        assert_eq!(refused.expect_err("a shared queue of the other").errno, libc::EINVAL);
        let queue_pair =
            create(&context, &domain, queue_pair_type, None, None).expect("a queue pair");
        if let Ok(window) = MemoryWindow::new(&other_domain, WindowType::One) {
            let region = region(&other_domain, 8, EVERYTHING);
            let bind = WindowBind {
                id: 1,
                flags: SendFlags::empty(),
                window: &window,
                region: Some(&region),
                address: region.address(),
                length: 8,
                access: Access::REMOTE_READ.bits(),
                key: 0,
            };
            let refused = queue_pair.bind_window_raw(&bind).expect_err("a window of the other");
            assert_eq!(refused.errno, libc::EPERM);
        }
    });
}

#[test]
fn unreliable_connections_send_and_write() {
    with_device(|address| {
        let (context, port, domain) = open(address);
        let queue_pair_type = QueuePairType::Uc;
        let one = create(&context, &domain, queue_pair_type, None, None).expect("a queue pair");
        let other = create(&context, &domain, queue_pair_type, None, None).expect("a queue pair");
        start(&context, port, address, [&one, &other]);
        let target = region(&domain, 8, EVERYTHING);
        send(&one, Operation::Write(target.remote(0)), RequestData::Inline(&[b"written"]));
        other.post_receive(1, &[]).expect("posted");
        send(&one, Operation::Send, RequestData::Segments(&[]));
        assert!(completion(other.receive_queue()).is_success());
        assert_eq!(target.to_vec(0..7).expect("inside"), b"written");
        let read =
            SendRequest::new(1, Operation::Read(target.remote(0)), RequestData::Segments(&[]));
        assert_eq!(one.post_send(&read).expect_err("no reads").errno, libc::EINVAL);
    });
}

#[test]
fn datagrams_go_by_address_handles() {
    with_device(|address| {
        let (context, port, domain) = open(address);
        let queue_pair_type = QueuePairType::Ud;
        let [one, other] = [(); 2].map(|()| {
            let queue_pair =
                create(&context, &domain, queue_pair_type, None, None).expect("a queue pair");
            queue_pair.to_init(port, 0, Service::Datagram(0x11)).expect("init");
            queue_pair.to_ready_to_receive(&ReceiveSide::default()).expect("ready to receive");
            queue_pair.to_ready_to_send(&SendSide::default()).expect("ready to send");
            queue_pair
        });
        let handle = AddressHandle::new(&domain, &own_address(&context, port, address));
        let handle = &handle.expect("reachable");
        let target = region(&domain, 64, Access::LOCAL_WRITE);
        other.post_receive(1, &[target.segment(0..64).expect("inside")]).expect("posted");
        let operation = Operation::Datagram {
            handle,
            queue_pair: other.number(),
            queue_key: 0x11,
            immediate: Some(7),
        };
        send(&one, operation, RequestData::Inline(&[b"hello"]));
        let received = completion(other.receive_queue());
        assert_eq!((received.length, received.immediate), (45, Some(7)));
        assert_eq!(received.source_queue_pair, one.number());
        assert_eq!(target.to_vec(40..45).expect("inside"), b"hello");
        let connected = SendRequest::new(1, Operation::Send, RequestData::Segments(&[]));
        assert_eq!(one.post_send(&connected).expect_err("no destination").errno, libc::EINVAL);
        let other_domain = ProtectionDomain::new(&context).expect("another one");
        let foreign = AddressHandle::new(&other_domain, &own_address(&context, port, address));
        let handle = &foreign.expect("reachable");
        let operation =
            Operation::Datagram { handle, queue_pair: 1, queue_key: 1, immediate: None };
        let request = SendRequest::new(1, operation, RequestData::Segments(&[]));
        assert_eq!(one.post_send(&request).expect_err("of another domain").errno, libc::EPERM);
        let request =
            SendRequest { data: RequestData::Unrecorded(Unrecorded::new(&[])), ..request };
        assert_eq!(one.post_send(&request).expect_err("unchecked handle").errno, libc::EINVAL);
    });
}

#[test]
fn a_batch_is_posted_at_once_or_not_at_all() {
    with_device(|address| {
        let (context, port, domain) = open(address);
        let queue_pair_type = QueuePairType::Rc;
        let operations = SendOperations::SEND
            | SendOperations::SEND_IMMEDIATE
            | SendOperations::WRITE
            | SendOperations::READ
            | SendOperations::FETCH_ADD;
        let one = match create(&context, &domain, queue_pair_type, None, Some(operations)) {
            Ok(one) => one,
            // The device has no extended posts.
            Err(error) => return assert_eq!(error.errno, libc::EOPNOTSUPP, "{error}"),
        };
        let other = create(&context, &domain, queue_pair_type, None, None).expect("a queue pair");
        assert_eq!(other.start_batch().expect_err("not extended").errno, libc::EOPNOTSUPP);
        assert_eq!(one.start_batch().expect_err("in the state reset").errno, libc::ENOTCONN);
        start(&context, port, address, [&one, &other]);
        let target = region(&domain, 16, EVERYTHING);
        let local = region(&domain, 16, Access::LOCAL_WRITE);
        let segments = [local.segment(0..8).expect("inside")];
        other.post_receive(1, &[]).expect("posted");
        let mut batch = one.start_batch().expect("begun");
        let write = Operation::Write(target.remote(0));
        let requests = [
            SendRequest::new(1, write, RequestData::Inline(&[b"12345678"])),
            SendRequest::new(
                2,
                Operation::Read(target.remote(0)),
                RequestData::Segments(&segments),
            ),
            SendRequest::new(3, Operation::SendImmediate(5), RequestData::Segments(&[])),
        ];
        for request in &requests {
            batch.push(request).expect("added");
        }
        let long = vec![0; 4096];
        let long = [&long[..]];
        let refused = SendRequest::new(4, Operation::Send, RequestData::Inline(&long));
        assert_eq!(batch.push(&refused).expect_err("too long").errno, libc::EMSGSIZE);
        batch.complete().expect("posted");
        for id in 1..=3 {
            let done = completion(one.send_queue());
            assert_eq!((done.id, done.status), (id, CompletionStatus::Success));
        }
        assert_eq!(completion(other.receive_queue()).immediate, Some(5));
        assert_eq!(local.to_vec(0..8).expect("inside"), b"12345678");
        // Dropped before it is complete.
        let mut batch = one.start_batch().expect("begun");
        batch.push(&requests[0]).expect("added");
        drop(batch);
        assert_eq!(one.sends_in_flight(), 0);
        // The queue still works.
        send(&one, write, RequestData::Inline(&[b"again"]));
        assert_eq!(target.to_vec(0..5).expect("inside"), b"again");
    });
}

#[test]
fn a_region_is_kept_until_its_post_completes() {
    with_pair(|domain, one, other| {
        let target = region(domain, 8, Access::LOCAL_WRITE);
        let weak = Arc::downgrade(&target);
        other.post_receive(1, &[target.segment(0..8).expect("inside")]).expect("posted");
        drop(target);
        assert!(weak.upgrade().is_some(), "the receive keeps it");
        send(one, Operation::Send, RequestData::Inline(&[b"kept"]));
        assert!(completion(other.receive_queue()).is_success());
        assert!(weak.upgrade().is_none(), "it is over");
    });
}

#[test]
fn a_full_queue_refuses_posts() {
    with_pair(|_, _, other| {
        let mut posted = 0;
        let full = loop {
            match other.post_receive(posted, &[]) {
                Ok(()) => posted += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(full.errno, libc::ENOMEM, "{full}");
        assert!(posted >= u64::from(SIZE.max_recv_wr));
        assert_eq!(other.receives_in_flight() as u64, posted);
    });
}
