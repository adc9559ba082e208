//! Extended completion queues, and the device clock.

use rdma_verbs::cm::{CmId, CmQueuePairInit, ConnectParameters};
use rdma_verbs::verbs::{
    CompletionFields, CompletionKind, ExtendedCompletion, ExtendedCompletionQueue,
    ExtendedQueueInit, Memory, Operation, RequestData, SendFlags, SendRequest,
};

use crate::common::*;
use crate::objects::open;

#[test]
fn the_device_clock_runs_unless_the_device_has_none() {
    with_device(|address| {
        let (context, ..) = open(address);
        match context.device_clock() {
            Ok(before) => {
                let attributes = context.query_extended().expect("its attributes");
                let after = context.device_clock().expect("the same clock");
                let time = attributes.time_between(before, after).expect("it has a frequency");
                assert!(time < LIMIT, "{time:?}");
            }
            Err(error) => assert_unsupported(error),
        }
    });
}

#[test]
fn an_extended_queue_reports_the_times_that_the_device_has() {
    with_device(|address| {
        let (context, ..) = open(address);
        let has_clock = context.query_extended().expect("its attributes").timestamp_mask != 0;
        let init = ExtendedQueueInit::new(4, CompletionFields::DEVICE_TIME);
        match ExtendedCompletionQueue::new(&context, &init) {
            Ok(queue) => assert!(has_clock && queue.fields() == CompletionFields::DEVICE_TIME),
            Err(error) => assert_unsupported(error),
        }
        let vector = context.completion_vectors();
        let refused = ExtendedQueueInit { vector, ..init };
        let refused = ExtendedCompletionQueue::new(&context, &refused).expect_err("no such vector");
        assert_eq!(refused.errno, libc::EINVAL);
    });
}

/// Takes that number of completions.
fn take(queue: &ExtendedCompletionQueue, count: usize) -> Vec<ExtendedCompletion> {
    let mut taken = Vec::new();
    while taken.len() < count {
        let mut some = [ExtendedCompletion::default(); 8];
        let found = queue.poll(&mut some).expect("polled");
        taken.extend_from_slice(&some[..found]);
    }
    taken
}

#[test]
fn completions_arrive_in_an_extended_queue() {
    with_device(|address| {
        let init = ExtendedQueueInit::new(32, CompletionFields::empty());
        let (context, ..) = open(address);
        if let Err(error) = ExtendedCompletionQueue::new(&context, &init) {
            assert!(!is_soft_roce(&context), "{error}");
            return assert_unsupported(error);
        }
        let (listening, at) = passive_endpoint(address, None, Some(&INIT));
        let active = std::thread::spawn(move || {
            let id = CmId::create_endpoint(&resolve(at, false), None, None).expect("an endpoint");
            let queue = ExtendedCompletionQueue::new(&id.context().expect("resolved"), &init);
            let queue = queue.expect("a queue");
            assert!(queue.queue().depth() >= 32);
            let plain = Some(queue.queue());
            let init = CmQueuePairInit { send_queue: plain, receive_queue: plain, ..INIT };
            id.create_queue_pair(None, &init).expect("a queue pair");
            id.post_receive(7, &[]).expect("posted");
            id.connect(&ConnectParameters::default()).expect("established");
            (id, queue)
        });
        let passive = listening.take_request().expect("a request");
        let target = passive.register_messages(Memory::zeroed(8)).expect("registered");
        for number in 0..3 {
            let segment = target.segment(0..8).expect("inside");
            passive.post_receive(number, &[segment]).expect("posted");
        }
        passive.accept(&ConnectParameters::default()).expect("established");
        let (active, queue) = active.join().expect("the active side");
        assert!(queue.poll_one().expect("polled").is_none());
        let source = active.register_messages(&b"extended"[..]).expect("registered");
        for number in 1..=3 {
            let segment = source.segment(0..8).expect("inside");
            active.post_send(number, &[segment], SendFlags::SIGNALED).expect("posted");
        }
        let sent = take(&queue, 3);
        let ids: Vec<_> = sent.iter().map(|sent| sent.completion.id).collect();
        assert_eq!(ids, [1, 2, 3]);
        for sent in &sent {
            assert!(sent.completion.is_success(), "{}", sent.completion.status);
            assert_eq!(sent.completion.kind, Some(CompletionKind::Send));
            assert_eq!((sent.device_time, sent.wall_time), (None, None));
        }
        for _ in 0..3 {
            assert_eq!(passive.receive_completion().expect("complete").length, 8);
        }
        let request = SendRequest::new(4, Operation::SendImmediate(77), RequestData::Segments(&[]));
        passive.queue_pair().expect("made").post_send(&request).expect("posted");
        let received = take(&queue, 1)[0].completion;
        assert_eq!((received.id, received.kind), (7, Some(CompletionKind::Receive)));
        assert_eq!((received.immediate, received.length), (Some(77), 0));
        let own = active.queue_pair().expect("made");
        assert_eq!(received.queue_pair, own.number());
        // A receive that is flushed, with the queue's own poll.
        own.post_receive(8, &[]).expect("posted");
        own.set_error().expect("in error");
        assert_eq!(completion(queue.queue()).id, 8);
        drop((own, queue));
        disconnect(active, passive);
    });
}
