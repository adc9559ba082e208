//! Devices, memory, windows, completion queues and shared receive queues.

use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;

use rdma_verbs::cm::{CmId, CmQueuePairInit, ConnectParameters, PortSpace};
use rdma_verbs::verbs::{
    Access, AsyncEvent, CompletionChannel, CompletionKind, CompletionQueue, CompletionStatus,
    Context, Gid, Memory, MemoryRegion, MemoryWindow, Operation, PortState, ProtectionDomain,
    RemoteAddress, RequestData, SendFlags, SendRequest, SharedReceiveEvent, SharedReceiveQueue,
    WindowType, devices,
};

use crate::common::*;

/// Opens the device with the address once more. Returns the number of its port and a domain too.
pub(crate) fn open(address: SocketAddr) -> (Context, u8, Arc<ProtectionDomain>) {
    let id = bound(address, PortSpace::Tcp);
    let name = id.context().expect("bound").name();
    let devices = devices().expect("devices");
    let device = devices.iter().find(|device| device.name == name).expect("the same one");
    let context = device.open().expect("opened");
    let domain = ProtectionDomain::new(&context).expect("a domain");
    (context, id.port(), domain)
}

/// The index of the GID of the address.
pub(crate) fn gid_index(context: &Context, port: u8, address: SocketAddr) -> u8 {
    let IpAddr::V4(v4) = address.ip() else { panic!("the guest has IPv4") };
    let wanted = Gid::from(v4.to_ipv6_mapped());
    let length = context.query_port(port).expect("its port").gid_table_length;
    let found = (0..length).find(|&index| context.gid(port, index) == Ok(wanted));
    found.and_then(|index| u8::try_from(index).ok()).expect("a GID of the address")
}

#[test]
fn devices_and_ports_have_attributes() {
    with_device(|address| {
        let (context, port, _) = open(address);
        let attributes = context.query().expect("its attributes");
        assert!(attributes.max_qp > 0 && attributes.max_mr_size > 0);
        assert!((1..=attributes.phys_port_cnt).contains(&port));
        assert!(context.completion_vectors() > 0);
        let state = context.query_port(port).expect("its port");
        assert_eq!(state.state, PortState::Active);
        assert!(state.active_mtu.bytes() >= 256 && state.gid_table_length > 0);
        let refused = context.query_port(attributes.phys_port_cnt + 1).expect_err("no such port");
        assert!(refused.to_string().contains("on port"), "{refused}");
        context.on_demand_paging().expect("an answer");
    });
}

#[test]
fn the_partition_key_of_a_port_is_readable() {
    with_device(|address| {
        let (context, port, _) = open(address);
        assert_ne!(context.partition_key(port, 0).expect("the first"), 0);
    });
}

#[test]
fn a_region_owns_its_memory_and_copies_it() {
    with_device(|address| {
        let (context, _, domain) = open(address);
        let region = MemoryRegion::new(&domain, &b"0123456789"[..], Access::LOCAL_WRITE);
        let region = region.expect("registered");
        region.write(3, b"abc").expect("inside");
        assert_eq!(region.to_vec(0..10).expect("inside"), b"012abc6789");
        for outside in
            [region.write(8, b"abc"), region.read(11, &mut []), region.write(usize::MAX, b"a")]
        {
            assert_eq!(outside.expect_err("outside").errno, libc::EFAULT);
        }
        assert!(region.segment(4..11).is_err() && region.to_vec(9..11).is_err());
        assert_eq!(region.remote(4).address, region.address() + 4);
        // The region keeps the domain.
        drop((domain, context));
        assert_eq!(region.to_vec(3..6).expect("inside"), b"abc");
    });
}

#[test]
fn a_region_has_an_address_of_choice() {
    with_device(|address| {
        let (active, passive) = connected(address, None);
        let domain = passive.domain().expect("the default one");
        let access = Access::LOCAL_WRITE | Access::REMOTE_READ;
        let remote = MemoryRegion::with_address(&domain, &b"abcdefgh"[..], 0x1000, access);
        let remote = remote.expect("registered");
        assert_eq!(remote.remote(2).address, 0x1002);
        let local = active.register_messages(Memory::zeroed(4)).expect("registered");
        let segments = [local.segment(0..4).expect("inside")];
        active.post_read(1, &segments, SendFlags::SIGNALED, remote.remote(2)).expect("posted");
        assert!(active.send_completion().expect("complete").is_success());
        assert_eq!(local.to_vec(0..4).expect("inside"), b"cdef");
        disconnect(active, passive);
    });
}

#[test]
fn on_demand_paging_is_registered_or_refused() {
    with_device(|address| {
        let (context, _, domain) = open(address);
        let has = context.on_demand_paging().expect("an answer").is_supported;
        let access = Access::LOCAL_WRITE | Access::ON_DEMAND;
        let region = MemoryRegion::new(&domain, Memory::zeroed(4096), access);
        assert_eq!(region.is_ok(), has, "{region:?}");
    });
}

#[test]
fn a_file_other_than_a_dma_buffer_is_refused() {
    with_device(|address| {
        let (_, _, domain) = open(address);
        let file = File::open("/dev/null").expect("every system has it");
        let access = Access::LOCAL_WRITE;
        let refused = MemoryRegion::from_dmabuf(&domain, file.as_fd(), 0, 4096, 0, access);
        assert_ne!(refused.expect_err("not a DMA buffer").errno, 0);
    });
}

fn bind_and_read(active: &CmId, passive: &CmId, window_type: WindowType) {
    let domain = passive.domain().expect("the default one");
    let everything = Access::LOCAL_WRITE | Access::REMOTE_READ | Access::WINDOW_BIND;
    let region = MemoryRegion::new(&domain, &b"through a window"[..], everything);
    let region = region.expect("registered");
    let window = Arc::new(MemoryWindow::new(&domain, window_type).expect("a window"));
    let queue_pair = passive.queue_pair().expect("made");
    let segment = region.segment(8..16).expect("inside");
    let key = queue_pair
        .bind_window(5, &window, &segment, Access::REMOTE_READ, SendFlags::SIGNALED)
        .expect("posted");
    let bound = passive.send_completion().expect("complete");
    assert_eq!((bound.id, bound.status), (5, CompletionStatus::Success));
    assert_eq!(bound.kind, Some(CompletionKind::Bind));
    let busy = region.deregister().expect_err("a window is bound to it");
    assert_eq!(busy.errno, libc::EBUSY);
    let local = active.register_messages(Memory::zeroed(8)).expect("registered");
    let segments = [local.segment(0..8).expect("inside")];
    let from = RemoteAddress { key, ..region.remote(8) };
    active.post_read(6, &segments, SendFlags::SIGNALED, from).expect("posted");
    let read = active.send_completion().expect("complete");
    assert!(read.is_success(), "{}", read.status);
    assert_eq!(local.to_vec(0..8).expect("inside"), b"a window");
    drop((segment, window));
    region.deregister().expect("unused");
}

#[test]
fn a_window_of_type_1_opens_a_part_of_a_region() {
    with_device(|address| {
        let (active, passive) = connected(address, None);
        let domain = passive.domain().expect("the default one");
        match MemoryWindow::new(&domain, WindowType::One) {
            Ok(window) => {
                assert_eq!(window.window_type(), WindowType::One);
                drop(window);
                bind_and_read(&active, &passive, WindowType::One);
            }
            Err(error) => assert_eq!(error.errno, libc::EOPNOTSUPP, "{error}"),
        }
        disconnect(active, passive);
    });
}

#[test]
fn a_window_of_type_2_opens_a_part_of_a_region() {
    with_device(|address| {
        let (active, passive) = connected(address, None);
        let domain = passive.domain().expect("the default one");
        match MemoryWindow::new(&domain, WindowType::Two) {
            Ok(_) => bind_and_read(&active, &passive, WindowType::Two),
            Err(error) => assert_eq!(error.errno, libc::EOPNOTSUPP, "{error}"),
        }
        disconnect(active, passive);
    });
}

#[test]
fn a_channel_reports_the_next_completion_of_an_armed_queue() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let context = id.context().expect("bound");
        let channel = CompletionChannel::new(&context).expect("a channel");
        channel.set_nonblocking().expect("its descriptor");
        let queue = CompletionQueue::new(&context, 16, 42, Some(&channel)).expect("a queue");
        let init = CmQueuePairInit { receive_queue: Some(&queue), ..INIT };
        id.create_queue_pair(None, &init).expect("a queue pair");
        let queue_pair = id.queue_pair().expect("made");
        queue_pair.post_receive(1, &[]).expect("posted");
        queue.arm(false).expect("armed");
        assert!(channel.take_event().expect_err("nothing completed").would_block());
        queue_pair.set_error().expect("in error");
        assert_eq!(completion(&queue).id, 1);
        assert_eq!(channel.take_event().expect("an event"), 42);
    });
}

#[test]
fn a_completion_queue_is_resized_unless_the_device_cannot() {
    with_device(|address| {
        let (context, _, _) = open(address);
        let queue = CompletionQueue::new(&context, 4, 0, None).expect("a queue");
        let longer = queue.depth() * 2;
        match queue.resize(longer) {
            Ok(()) => assert!(queue.depth() >= longer),
            Err(error) => {
                assert!(matches!(error.errno, libc::EOPNOTSUPP | libc::ENOSYS), "{error}")
            }
        }
        let vectors = context.completion_vectors();
        let refused = CompletionQueue::with_vector(&context, 4, 0, None, vectors);
        assert_eq!(refused.expect_err("no such vector").errno, libc::EINVAL);
    });
}

#[test]
fn receives_of_a_shared_queue_serve_each_queue_pair() {
    with_device(|address| {
        let listening = bound(address, PortSpace::Tcp);
        let device = listening.context().expect("bound");
        let domain = ProtectionDomain::new(&device).expect("a domain");
        let shared = SharedReceiveQueue::new(&domain, 8, 1, 7).expect("a queue");
        let queue = CompletionQueue::new(&device, 32, 0, None).expect("a queue");
        let init = CmQueuePairInit { shared: Some(&shared), receive_queue: Some(&queue), ..INIT };
        let target = region(&domain, 64, Access::LOCAL_WRITE);
        for number in 0..4 {
            let segment = target.segment(number * 16..number * 16 + 16).expect("inside");
            shared.post_receive(number as u64, &[segment]).expect("posted");
        }
        assert_eq!(shared.receives_in_flight(), 4);
        let (passive, at) = passive_endpoint(address, Some(&domain), Some(&init));
        let mut sides = Vec::new();
        for _ in 0..2 {
            let active = connecting(at);
            let request = passive.take_request().expect("a request");
            let own = request.queue_pair().expect("made").post_receive(9, &[]);
            assert_eq!(own.expect_err("it has no queue of its own").errno, libc::EINVAL);
            request.accept(&ConnectParameters::default()).expect("established");
            sides.push((active.join().expect("the active side"), request));
        }
        let mut seen = Vec::new();
        for (active, _) in &sides {
            let source = active.register_messages(&b"shared"[..]).expect("registered");
            let segment = source.segment(0..6).expect("inside");
            active.post_send(1, &[segment], SendFlags::SIGNALED).expect("posted");
            assert!(active.send_completion().expect("complete").is_success());
            let received = completion(&queue);
            assert!(received.is_success() && received.length == 6);
            seen.push(received.id);
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 2, "each receive once");
        assert_eq!(shared.receives_in_flight(), 2);
        for (active, passive) in sides {
            disconnect(active, passive);
        }
    });
}

#[test]
fn a_shared_queue_reports_once_that_it_runs_low() {
    with_device(|address| {
        let (context, port, domain) = open(address);
        let shared = SharedReceiveQueue::new(&domain, 8, 1, 77).expect("a queue");
        for number in 0..4 {
            shared.post_receive(number, &[]).expect("posted");
        }
        shared.set_limit(3).expect("a limit");
        let attributes = shared.query().expect("its attributes");
        assert_eq!(attributes.limit, 3);
        assert!(attributes.max_receives >= 8);
        assert!(shared.set_limit(1_000_000).is_err(), "beyond its size");
        let (one, other) = crate::posts::pair(address, port, &domain, Some(&shared));
        for number in 0..2 {
            let request = SendRequest::new(number, Operation::Send, RequestData::Segments(&[]));
            one.post_send(&request).expect("posted");
            assert!(completion(one.send_queue()).is_success());
            assert!(completion(other.receive_queue()).is_success());
        }
        let event = in_time({
            let context = context.clone();
            move || loop {
                let event = context.take_async_event().expect("an event");
                if matches!(event, AsyncEvent::SharedReceive { .. }) {
                    break event;
                }
            }
        });
        assert_eq!(
            event,
            AsyncEvent::SharedReceive { key: 77, event: SharedReceiveEvent::LimitReached }
        );
    });
}
