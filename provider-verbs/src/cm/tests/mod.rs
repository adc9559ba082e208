//! The layer against the manual pages rdma_create_id(3), rdma_create_qp(3) and
//! rdma_create_ep(3), a test for each sentence that can be tried.
//!
//! They need an RDMA device, whose address `DAT_TEST_RDMA` names: `.ci/guest` has one. Without
//! it each says on standard error that it did not run, whatever the test runner captures.

mod connect;
mod create_ep;
mod create_id;
mod create_qp;

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{
    AddressInfo, Channel, ConnectParameters, Event, EventKind, Hints, Id, IdQueuePairInit,
    PortSpace,
};
use crate::sys::verbs::ibv_qp_cap;
use crate::verbs::{
    CompletionQueue, MemoryRegion, Post, ProtectionDomain, QueuePair, QueuePairKind, Sge, What,
    WorkCompletion, devices,
};

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(20);

const CAPABILITIES: ibv_qp_cap = ibv_qp_cap {
    max_send_wr: 5,
    max_recv_wr: 6,
    max_send_sge: 2,
    max_recv_sge: 1,
    max_inline_data: 0,
};

const INIT: IdQueuePairInit<'static> = IdQueuePairInit {
    send_queue: None,
    receive_queue: None,
    shared: None,
    capabilities: CAPABILITIES,
    kind: QueuePairKind::Connected,
};

/// Runs a test with the address of the device, in a thread that has to end.
fn with_device(test: impl FnOnce(SocketAddr) + Send + 'static) {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let Ok(text) = std::env::var("DAT_TEST_RDMA") else {
        let text = "NOT RUN: no RDMA device is named by DAT_TEST_RDMA";
        let _ = writeln!(std::io::stderr(), "{text}: {name}");
        return;
    };
    let address: IpAddr = text.parse().expect("DAT_TEST_RDMA is the address of an RDMA device");
    let thread = std::thread::spawn(move || test(SocketAddr::new(address, 0)));
    let deadline = Instant::now() + LIMIT;
    while !thread.is_finished() {
        assert!(Instant::now() < deadline, "it does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    if let Err(payload) = thread.join() {
        std::panic::resume_unwind(payload);
    }
}

fn new_channel() -> Arc<Channel> {
    Channel::new().expect("the libraries").expect("a channel")
}

#[track_caller]
fn expect(channel: &Arc<Channel>, kind: EventKind) -> Event {
    let event = channel.take_event().expect("an event");
    assert_eq!(event.kind, kind, "status {}", event.status);
    event
}

fn bound(address: SocketAddr, space: PortSpace) -> Id {
    let id = Id::new_synchronous(space).expect("an identifier");
    id.bind(address).expect("the device's own address");
    id
}

/// A listening identifier on a channel, and the address that it listens on.
fn listener(channel: &Arc<Channel>, address: SocketAddr, key: u64) -> (Id, SocketAddr) {
    let id = Id::new(channel, key, PortSpace::Tcp).expect("an identifier");
    id.bind(address).expect("the device's own address");
    id.listen(4).expect("it listens");
    let port = id.local_port();
    (id, SocketAddr::new(address.ip(), port))
}

/// Finds the way to an address, for an identifier on a channel of which nothing else comes.
#[track_caller]
fn find_way(id: &Id, channel: &Arc<Channel>, to: SocketAddr) {
    id.resolve_address(None, to, LIMIT).expect("it begins");
    expect(channel, EventKind::AddressResolved);
    id.resolve_route(LIMIT).expect("it begins");
    expect(channel, EventKind::RouteResolved);
}

fn resolve(address: SocketAddr, passive: bool) -> AddressInfo {
    let hints = Hints { space: PortSpace::Tcp, passive };
    AddressInfo::resolve(address, hints).expect("an address of the device")
}

/// Two sides of a connection that stands; the domain is for the side that was asked.
fn connected(address: SocketAddr, domain: Option<&Arc<ProtectionDomain>>) -> (Id, Id) {
    let passive = Id::create_endpoint(&resolve(address, true), domain, Some(&INIT));
    let passive = passive.expect("an identifier");
    passive.listen(4).expect("at once");
    let at = SocketAddr::new(address.ip(), passive.local_port());
    let active = std::thread::spawn(move || {
        let id = Id::create_endpoint(&resolve(at, false), None, Some(&INIT)).expect("whole");
        id.connect(&ConnectParameters::default()).expect("connected when it returns");
        id
    });
    let request = passive.take_request().expect("a request");
    let queue_pair = request.queue_pair(CAPABILITIES).expect("made with the request");
    drop(queue_pair);
    request.accept(&ConnectParameters::default()).expect("connected when it returns");
    (active.join().expect("the active side"), request)
}

/// Memory that a queue pair can send from and receive into.
struct Registered {
    memory: Box<[u8]>,
    region: MemoryRegion,
}

impl Registered {
    fn new(domain: &Arc<ProtectionDomain>, length: usize) -> Self {
        let mut memory = vec![0; length].into_boxed_slice();
        let address = memory.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: the memory stays as long as the region, and is looked at only while nothing
        // is outstanding.
        let region = unsafe {
            MemoryRegion::new(domain, address, length, crate::sys::verbs::IBV_ACCESS_LOCAL_WRITE)
        };
        Self { memory, region: region.expect("registered") }
    }

    fn piece(&self, at: usize, length: u32) -> Sge {
        let addr = self.memory.as_ptr() as u64 + at as u64;
        Sge { addr, length, lkey: self.region.local_key() }
    }
}

fn post(queue_pair: &QueuePair, id: u64, segments: &[Sge], what: What<'_>) {
    let flags = crate::sys::verbs::IBV_SEND_SIGNALED;
    // SAFETY: nothing is inline.
    let posted = unsafe { queue_pair.post(&Post { id, flags, segments, what }) };
    posted.expect("posted");
}

/// The next completion of a queue.
fn completion(queue: &CompletionQueue) -> WorkCompletion {
    let mut done = [WorkCompletion::default()];
    while queue.poll(&mut done).expect("polled") == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    done[0]
}
