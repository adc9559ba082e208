//! The queue: creation, software events, dequeues, resizes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::software;
use crate::prelude::*;

pub(super) fn a_refused_create_takes_no_resources() {
    let node = Node::with("max_evd_qlen=256");
    let make = |qlen, flags| node.ia.evd_create(&EvdOptions::new(qlen, flags));
    for qlen in [0, 257] {
        refused(make(qlen, EvdFlags::DTO), Subtype::InvalidArg2);
    }
    for flags in [EvdFlags::empty(), EvdFlags::from_bits_retain(0x2)] {
        refused(make(1, flags), Subtype::InvalidArg4);
    }
    let cno = open("").cno_create(None).expect("made");
    let foreign = EvdOptions::new(1, EvdFlags::DTO).with_cno(&cno);
    refused(node.ia.evd_create(&foreign), Subtype::InvalidHandleCno);
    let cno = node.ia.cno_create(None).expect("made");
    cno.free().expect("unused");
    let freed = EvdOptions::new(1, EvdFlags::DTO).with_cno(&cno);
    refused(node.ia.evd_create(&freed), Subtype::InvalidHandleCno);
    make(256, EvdFlags::all()).expect("the limit itself").free().expect("unused");
    node.finish();
    // One dispatcher belongs to the adapter.
    let ia = open("max_evds=2");
    let options = EvdOptions::new(1, EvdFlags::SOFTWARE);
    let only = ia.evd_create(&options).expect("within the limit");
    refused(ia.evd_create(&options), Subtype::ResourceTevd);
    only.free().expect("unused");
    ia.evd_create(&options).expect("within the limit again");
}

pub(super) fn a_query_returns_the_current_parameters() {
    let node = Node::new();
    let cno = node.ia.cno_create(None).expect("made");
    let flags = EvdFlags::SOFTWARE | EvdFlags::CONNECTION;
    let evd = node.ia.evd_create(&EvdOptions::new(7, flags).with_cno(&cno)).expect("made");
    let param = evd.query().expect("live");
    assert!(param.qlen >= 7);
    assert_eq!((param.flags, param.cno.as_ref()), (flags, Some(&cno)));
    assert!(param.enabled && param.waitable);
    evd.disable().expect("live");
    evd.set_unwaitable().expect("live");
    evd.modify_cno(None).expect("live");
    let param = evd.query().expect("live");
    assert!(!param.enabled && !param.waitable && param.cno.is_none());
}

pub(super) fn a_freed_dispatcher_is_refused() {
    let evd = software(4);
    let clone = evd.clone();
    evd.post_software_event(1).expect("within the limit");
    clone.free().expect("queued events are lost");
    let mut event = Event::default();
    for error in [
        evd.free().expect_err("freed"),
        evd.query().expect_err("freed"),
        evd.post_software_event(2).expect_err("freed"),
        evd.dequeue(&mut event).expect_err("freed"),
        evd.wait(Timeout::ZERO, 1, &mut event).expect_err("freed"),
        evd.resize(9).expect_err("freed"),
        evd.enable().expect_err("freed"),
        evd.disable().expect_err("freed"),
        evd.set_unwaitable().expect_err("freed"),
        evd.clear_unwaitable().expect_err("freed"),
        evd.modify_cno(None).expect_err("freed"),
        evd.arm().expect_err("freed"),
    ] {
        assert_eq!(error.return_type(), ReturnType::InvalidHandle, "{error}");
    }
    assert_eq!(event, Event::None, "nothing was delivered");
}

pub(super) fn software_events_come_in_order_until_the_queue_is_full() {
    let evd = software(4);
    let qlen = u64::from(evd.query().expect("live").qlen);
    post_events(&evd, 0..qlen);
    for _ in 0..2 {
        refused(evd.post_software_event(99), ReturnType::QueueFull);
    }
    let asynchronous = evd.adapter().async_evd().expect("made by the open");
    expect_no_event(&asynchronous);
    assert_eq!(expect_event(&evd, &[]), Event::Software(0));
    evd.post_software_event(qlen).expect("within the limit again");
    let values: Vec<Event> = (1..=qlen).map(Event::Software).collect();
    assert_eq!(drain(&evd), values);
}

pub(super) fn software_events_need_their_flag() {
    let node = Node::new();
    assert!(node.recv.post_software_event(1).is_err());
    expect_no_event(&node.recv);
}

pub(super) fn an_empty_queue_leaves_the_event_untouched() {
    let evd = software(4);
    let mut event = Event::Software(5);
    assert_eq!(evd.dequeue(&mut event), Ok(false));
    assert_eq!(event, Event::Software(5));
}

pub(super) fn a_resize_keeps_software_events() {
    let evd = software(4);
    post_events(&evd, 0..4);
    refused(evd.resize(3), Subtype::InvalidStateEvdInUse);
    assert_eq!(evd.query().expect("live").qlen, 4, "nothing has changed");
    for wrong in [0, u32::MAX] {
        refused(evd.resize(wrong), Subtype::InvalidArg2);
    }
    evd.resize(6).expect("the adapter has more");
    post_events(&evd, 4..6);
    assert!(evd.post_software_event(6).is_err());
    evd.resize(6).expect("exactly what is queued");
    assert_eq!(drain(&evd), (0..6).map(Event::Software).collect::<Vec<_>>());
    evd.resize(1).expect("empty");
    evd.post_software_event(7).expect("within the limit");
    assert!(evd.post_software_event(8).is_err());
}

pub(super) fn a_resize_keeps_completions() {
    let (node, client, server) = linked_pair();
    post_messages(&client, &server, 0..20);
    let mut first = Event::default();
    let waited = node.recv.wait(LIMIT.into(), 20, &mut first).expect("20 messages were sent");
    assert_eq!(waited, WaitResult::Event { more: 19 });
    assert!(matches!(first, Event::Dto(completion) if completion.cookie == 0), "{first:?}");
    fails_with(node.recv.resize(18), ReturnType::InvalidState);
    node.recv.resize(19).expect("exactly what is queued");
    node.recv.resize(40).expect("longer");
    post_messages(&client, &server, 20..40);
    for cookie in 1..40 {
        assert_eq!(expect_dto(&node.recv, &[&client, &server]).cookie, cookie);
    }
}

pub(super) fn each_event_is_delivered_once_however_many_threads_dequeue() {
    const EVENTS: u64 = 10_000;
    let evd = software(64);
    let done = Arc::new(AtomicBool::new(false));
    let takers = [0, 1, 2].map(|_| {
        let (evd, done) = (evd.clone(), Arc::clone(&done));
        Background::run(move || {
            let (mut values, mut event) = (Vec::new(), Event::default());
            loop {
                let last = done.load(Ordering::Acquire);
                while evd.dequeue(&mut event).expect("live") {
                    let Event::Software(value) = event else { panic!("{event:?}") };
                    values.push(value);
                }
                if last {
                    return values;
                }
                std::thread::yield_now();
            }
        })
    });
    for value in 0..EVENTS {
        until("the queue has space", || evd.post_software_event(value).is_ok());
    }
    done.store(true, Ordering::Release);
    let mut all = Vec::new();
    for taker in takers {
        let values = taker.join();
        assert!(values.is_sorted(), "one thread gets events in their order");
        all.extend(values);
    }
    all.sort_unstable();
    assert_eq!(all, (0..EVENTS).collect::<Vec<_>>());
}
