//! Streams of events and completions in tokio, over a device whose address `DAT_TEST_RDMA` names.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use rdma_verbs::cm::{
    CmId, CmQueuePairInit, ConnectParameters, EventChannel, EventKind, PortSpace,
};
use rdma_verbs::stream::{CompletionStream, EventStream};
use rdma_verbs::verbs::{
    Capabilities, Completion, CompletionChannel, CompletionQueue, QueuePairType, SendFlags,
};

const LIMIT: Duration = Duration::from_secs(20);

fn with_device<F: Future<Output = ()>>(test: impl FnOnce(SocketAddr) -> F) {
    let Ok(text) = std::env::var("DAT_TEST_RDMA") else {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        let text = "NOT RUN: no RDMA device is named by DAT_TEST_RDMA";
        let _ = writeln!(std::io::stderr(), "{text}: {name}");
        return;
    };
    let address: IpAddr = text.parse().expect("DAT_TEST_RDMA is the address of an RDMA device");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    runtime.expect("a runtime").block_on(test(SocketAddr::new(address, 0)));
}

/// Waits for the next item through the trait `Stream`.
async fn item<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    std::future::poll_fn(|context| pin!(&mut *stream).poll_next(context)).await
}

fn init(queue: &Arc<CompletionQueue>) -> CmQueuePairInit<'_> {
    let size = Capabilities {
        max_send_wr: 4,
        max_recv_wr: 4,
        max_send_sge: 1,
        max_recv_sge: 1,
        max_inline_data: 0,
    };
    CmQueuePairInit { receive_queue: Some(queue), ..CmQueuePairInit::new(QueuePairType::Rc, size) }
}

#[test]
fn a_task_takes_events_and_completions() {
    with_device(|address| async move {
        let channel = EventChannel::new().expect("a channel");
        let mut events = EventStream::new(&channel).expect("in a runtime");
        let listener = CmId::new(&channel, 1, PortSpace::Tcp).expect("an identifier");
        listener.bind(address).expect("the device's own address");
        listener.listen(4).expect("it listens");
        let at = SocketAddr::new(address.ip(), listener.local_port());
        let client = CmId::new(&channel, 2, PortSpace::Tcp).expect("an identifier");
        client.resolve_address(None, at, LIMIT).expect("it begins");
        let event = events.next().await.expect("an event");
        assert_eq!((event.key, event.kind), (2, EventKind::AddressResolved));
        client.resolve_route(LIMIT).expect("it begins");
        let event = item(&mut events).await.expect("endless").expect("an event");
        assert_eq!(event.kind, EventKind::RouteResolved);
        let device = client.context().expect("bound");
        let channel = CompletionChannel::new(&device).expect("a channel");
        let queue = CompletionQueue::new(&device, 16, 0, Some(&channel)).expect("a queue");
        let mut completions = CompletionStream::new(&queue).expect("in a runtime");
        client.create_queue_pair(None, &init(&queue)).expect("a queue pair");
        client.connect(&ConnectParameters::default()).expect("it begins");
        let event = events.next().await.expect("an event");
        assert_eq!((event.key, event.kind), (1, EventKind::ConnectRequest));
        let server = event.request.expect("an identifier");
        server.set_key(3);
        let size = *client.queue_pair().expect("made").capabilities();
        let queue_pair_type = QueuePairType::Rc;
        server
            .create_queue_pair(None, &CmQueuePairInit::new(queue_pair_type, size))
            .expect("a queue pair");
        server.accept(&ConnectParameters::default()).expect("it begins");
        for _ in 0..2 {
            let event = events.next().await.expect("an event");
            assert_eq!(event.kind, EventKind::Established, "key {}", event.key);
        }
        for number in 0..3 {
            client.post_receive(number, &[]).expect("posted");
        }
        for number in 0..3 {
            server.post_send(number, &[], SendFlags::SIGNALED).expect("posted");
            let done: Completion = match number {
                0 => item(&mut completions).await.expect("endless").expect("a completion"),
                _ => completions.next().await.expect("a completion"),
            };
            assert!(done.is_success());
            assert_eq!(done.id, number);
        }
        // Completions that are polled before their events are taken leave the events in the
        // channel.
        for number in 3..5 {
            client.post_receive(number, &[]).expect("posted");
            queue.arm(false).expect("armed");
            server.post_send(number, &[], SendFlags::SIGNALED).expect("posted");
            // The send queue holds few requests.
            assert!(server.send_completion().expect("complete").is_success());
            while queue.poll_one().expect("polled").is_none() {
                std::thread::yield_now();
            }
        }
        client.post_receive(5, &[]).expect("posted");
        let sender = server.clone();
        let later = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            sender.post_send(5, &[], SendFlags::SIGNALED)
        });
        assert_eq!(completions.next().await.expect("a completion").id, 5);
        later.join().expect("the sender").expect("posted");
        let left = std::iter::from_fn(|| channel.take_event().ok()).count();
        assert!(left <= 1, "{left} events are left; the last completion may leave one");
    });
}

#[test]
fn a_queue_without_a_channel_has_no_stream() {
    with_device(|address| async move {
        let id = CmId::new_synchronous(PortSpace::Tcp).expect("an identifier");
        id.bind(address).expect("the device's own address");
        let context = id.context().expect("bound");
        let queue = CompletionQueue::new(&context, 16, 0, None).expect("a queue");
        assert_eq!(CompletionStream::new(&queue).expect_err("no channel").errno, libc::EINVAL);
    });
}
