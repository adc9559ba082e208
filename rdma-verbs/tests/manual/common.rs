//! Set-up that the tests over a device share.
//!
//! They need an RDMA device, whose address `DAT_TEST_RDMA` names: `.ci/guest` has one. Without it
//! each test reports on standard error that it did not run, even if the test runner captures
//! output.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rdma_verbs::Error;
use rdma_verbs::cm::{
    AddressInfo, CmId, CmQueuePairInit, ConnectParameters, Event, EventChannel, EventKind, Flags,
    Hints, Parameters, PortSpace,
};
use rdma_verbs::verbs::{
    Access, AddressVector, Capabilities, Completion, CompletionQueue, Context, Memory,
    MemoryRegion, ProtectionDomain, QueuePairType,
};

/// The time that a test, or a step that it waits for, may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

pub(crate) const SIZE: Capabilities = Capabilities {
    max_send_wr: 5,
    max_recv_wr: 6,
    max_send_sge: 2,
    max_recv_sge: 2,
    max_inline_data: 16,
};

pub(crate) const INIT: CmQueuePairInit<'static> = CmQueuePairInit::new(QueuePairType::Rc, SIZE);

pub(crate) const DATAGRAMS: CmQueuePairInit<'static> =
    CmQueuePairInit::new(QueuePairType::Ud, SIZE);

/// Runs a test with the address of the device, in a thread that must end in time.
pub(crate) fn with_device(test: impl FnOnce(SocketAddr) + Send + 'static) {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let Ok(text) = std::env::var("DAT_TEST_RDMA") else {
        let text = "NOT RUN: no RDMA device is named by DAT_TEST_RDMA";
        let _ = writeln!(std::io::stderr(), "{text}: {name}");
        return;
    };
    let address: IpAddr = text.parse().expect("DAT_TEST_RDMA is the address of an RDMA device");
    in_time(move || test(SocketAddr::new(address, 0)));
}

/// Runs a function in a thread that must end in time.
pub(crate) fn in_time<R: Send + 'static>(call: impl FnOnce() -> R + Send + 'static) -> R {
    let thread = std::thread::spawn(call);
    let deadline = Instant::now() + LIMIT;
    while !thread.is_finished() {
        assert!(Instant::now() < deadline, "it did not end in time");
        std::thread::sleep(Duration::from_millis(5));
    }
    thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}

pub(crate) fn new_channel() -> Arc<EventChannel> {
    EventChannel::new().expect("a channel")
}

#[track_caller]
pub(crate) fn expect(channel: &Arc<EventChannel>, kind: EventKind) -> Event {
    let event = channel.take_event().expect("an event");
    assert_eq!(event.kind, kind, "status {}", event.status);
    event
}

pub(crate) fn synchronous(space: PortSpace) -> CmId {
    CmId::new_synchronous(space).expect("an identifier")
}

/// A synchronous identifier that is bound to the device.
pub(crate) fn bound(address: SocketAddr, space: PortSpace) -> CmId {
    let id = synchronous(space);
    id.bind(address).expect("the device's own address");
    id
}

/// A listening identifier on a channel, and the address that it listens on.
pub(crate) fn listener(
    channel: &Arc<EventChannel>,
    address: SocketAddr,
    key: u64,
    space: PortSpace,
) -> (CmId, SocketAddr) {
    let id = CmId::new(channel, key, space).expect("an identifier");
    id.bind(address).expect("the device's own address");
    id.listen(4).expect("it listens");
    let port = id.local_port();
    (id, SocketAddr::new(address.ip(), port))
}

/// Resolves address and route, for the only identifier of the channel that gets events meanwhile.
#[track_caller]
pub(crate) fn resolve_to(id: &CmId, channel: &Arc<EventChannel>, to: SocketAddr) {
    id.resolve_address(None, to, LIMIT).expect("it begins");
    expect(channel, EventKind::AddressResolved);
    id.resolve_route(LIMIT).expect("it begins");
    expect(channel, EventKind::RouteResolved);
}

pub(crate) fn hints(space: PortSpace, passive: bool) -> Hints {
    let flags = Flags { passive, ..Flags::default() };
    let queue_pair_type = match space {
        PortSpace::Udp => QueuePairType::Ud,
        _ => QueuePairType::Rc,
    };
    Hints {
        flags,
        port_space: Some(space),
        queue_pair_type: Some(queue_pair_type),
        ..Hints::default()
    }
}

pub(crate) fn resolve(address: SocketAddr, passive: bool) -> AddressInfo {
    let hints = hints(PortSpace::Tcp, passive);
    AddressInfo::from_address(address, &hints).expect("an address of the device")
}

/// A synchronous listener that rdma_create_ep created, and the address that it listens on.
pub(crate) fn passive_endpoint(
    address: SocketAddr,
    domain: Option<&Arc<ProtectionDomain>>,
    init: Option<&CmQueuePairInit<'_>>,
) -> (CmId, SocketAddr) {
    let id = CmId::create_endpoint(&resolve(address, true), domain, init).expect("an identifier");
    id.listen(4).expect("it listens");
    let at = SocketAddr::new(address.ip(), id.local_port());
    (id, at)
}

/// An address that only has to resolve: no program listens on the port.
pub(crate) fn elsewhere(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip(), 4_791)
}

/// A synchronous identifier that rdma_create_ep created for the active side, with its queue pair.
pub(crate) fn active_endpoint(to: SocketAddr) -> CmId {
    CmId::create_endpoint(&resolve(to, false), None, Some(&INIT)).expect("an endpoint")
}

/// Connects an active endpoint in a thread, which ends when the peer accepts.
pub(crate) fn connecting(to: SocketAddr) -> JoinHandle<CmId> {
    std::thread::spawn(move || {
        let id = active_endpoint(to);
        id.connect(&ConnectParameters::default()).expect("established");
        id
    })
}

/// Both sides of an established connection; the domain is for the passive one.
pub(crate) fn connected(
    address: SocketAddr,
    domain: Option<&Arc<ProtectionDomain>>,
) -> (CmId, CmId) {
    let (passive, at) = passive_endpoint(address, domain, Some(&INIT));
    let active = connecting(at);
    let request = passive.take_request().expect("a request");
    request.accept(&ConnectParameters::default()).expect("established");
    (active.join().expect("the active side"), request)
}

/// Both sides of a datagram service, and where the client sends its datagrams.
pub(crate) struct DatagramPeers {
    pub(crate) channel: Arc<EventChannel>,
    pub(crate) client: CmId,
    pub(crate) server: CmId,
    pub(crate) address: AddressVector,
    pub(crate) queue_pair: u32,
    _listener: CmId,
}

pub(crate) fn datagram_peers(address: SocketAddr) -> DatagramPeers {
    let channel = new_channel();
    let (_listener, at) = listener(&channel, address, 1, PortSpace::Udp);
    let client = CmId::new(&channel, 2, PortSpace::Udp).expect("an identifier");
    resolve_to(&client, &channel, at);
    client.create_queue_pair(None, &DATAGRAMS).expect("a queue pair");
    client.connect(&ConnectParameters::default()).expect("it begins");
    let server = expect(&channel, EventKind::ConnectRequest).request.expect("an identifier");
    server.create_queue_pair(None, &DATAGRAMS).expect("a queue pair");
    server.accept(&ConnectParameters::default()).expect("answered");
    let event = expect(&channel, EventKind::Established);
    let Parameters::Datagram { address, queue_pair, .. } = event.parameters else {
        panic!("not of datagrams");
    };
    DatagramPeers { channel, client, server, address, queue_pair, _listener }
}

/// Ends a connection: synchronous sides wait for each other.
pub(crate) fn disconnect(active: CmId, passive: CmId) {
    let active = std::thread::spawn(move || {
        let _ = active.disconnect();
        active
    });
    // The peer may have ended the connection first.
    let _ = passive.disconnect();
    drop(passive);
    drop(active.join().expect("the active side"));
}

pub(crate) fn region(
    domain: &Arc<ProtectionDomain>,
    length: usize,
    access: Access,
) -> Arc<MemoryRegion> {
    MemoryRegion::new(domain, Memory::zeroed(length), access).expect("registered")
}

/// Checks the error of a call that the device, its driver or the library does not have.
#[track_caller]
pub(crate) fn assert_unsupported(error: Error) {
    assert!(matches!(error.errno, libc::EOPNOTSUPP | libc::ENOSYS), "{error}");
    assert!(error.to_string().contains("not support"), "{error}");
}

/// Returns true if the device is one of soft-RoCE, of which it is known what it has.
pub(crate) fn is_soft_roce(context: &Context) -> bool {
    context.name().starts_with("rxe")
}

/// The next completion of a queue.
pub(crate) fn completion(queue: &CompletionQueue) -> Completion {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(completion) = queue.poll_one().expect("polled") {
            return completion;
        }
        assert!(Instant::now() < deadline, "nothing completes");
        std::thread::sleep(Duration::from_millis(1));
    }
}
