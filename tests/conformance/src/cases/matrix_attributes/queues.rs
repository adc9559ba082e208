//! Dispatchers, shared receive queues and watermarks.

use super::bounds::{affordable, modest, out_of_bounds, refused_with, small};
use crate::prelude::*;

/// The longest queue, if it is affordable.
fn longest_queue(node: &Node) -> u32 {
    let most = node.ia.attributes().max_evd_qlen;
    affordable(u64::from(most) * size_of::<Event>() as u64, "the longest queue");
    most
}

pub(super) fn queue_lengths_reach_the_limit() {
    let node = small();
    let most = longest_queue(&node);
    for flags in [EvdFlags::SOFTWARE, EvdFlags::COMPLETIONS, EvdFlags::CONNECTION] {
        for qlen in [0, most + 1, MOST] {
            let made = node.ia.evd_create(&EvdOptions::new(qlen, flags));
            refused_with(made, Subtype::InvalidArg2, &[&"evd_min_qlen", &qlen, &most]);
        }
        for qlen in [1, most - 1, most] {
            let evd = node.evd_of(qlen, flags);
            assert!(evd.query().expect("live").qlen >= qlen);
            if flags == EvdFlags::SOFTWARE {
                post_events(&evd, 0..qlen.into());
                for value in 0..qlen {
                    assert_eq!(expect_event(&evd, &[]), Event::Software(value.into()));
                }
            }
            evd.free().expect("unused");
        }
    }
    node.finish();
}

pub(super) fn a_resize_has_the_same_limits() {
    let node = small();
    let most = longest_queue(&node);
    let evd = node.evd_of(2, EvdFlags::SOFTWARE);
    evd.post_software_event(7).expect("within the limit");
    for qlen in [0, most + 1, MOST] {
        let before = evd.query();
        refused_with(evd.resize(qlen), Subtype::InvalidArg2, &[&"evd_min_qlen", &qlen, &most]);
        assert_eq!(evd.query(), before);
    }
    for qlen in [1, most] {
        evd.resize(qlen).expect("within the bound");
        assert!(evd.query().expect("live").qlen >= qlen);
    }
    post_events(&evd, 1..most.into());
    assert_eq!(drain(&evd).len(), most as usize);
    node.finish_with(&[&evd]);
}

pub(super) fn thresholds_reach_the_queue_length() {
    let node = small();
    let evd = node.evd_of(5, EvdFlags::SOFTWARE);
    let qlen = evd.query().expect("live").qlen;
    let mut event = Event::default();
    for threshold in [0, qlen + 1, MOST] {
        for timeout in [Timeout::ZERO, Timeout::Infinite] {
            let result = evd.wait(timeout, threshold, &mut event);
            refused_with(result, Subtype::InvalidArg3, &[&"threshold", &threshold, &qlen]);
        }
    }
    for value in 0..qlen {
        let waited = evd.wait(Timeout::ZERO, qlen, &mut event);
        assert_eq!(waited, Ok(WaitResult::TimedOut { queued: value }));
        evd.post_software_event(value.into()).expect("within the limit");
    }
    let waited = evd.wait(Timeout::Infinite, qlen, &mut event);
    assert_eq!(waited, Ok(WaitResult::Event { more: qlen - 1 }));
    assert_eq!(event, Event::Software(0));
    node.finish_with(&[&evd]);
}

pub(super) fn shared_queues_reach_the_limits() {
    let node = small();
    node.need(|it| it.srq_supported, "shared receive queues");
    let ia = node.ia.attributes();
    let (most, segments) = (ia.max_recv_per_srq, ia.max_iov_segments_per_dto);
    let good = SrqAttributes { max_recv_dtos: 2, max_recv_iov: 1, low_watermark: 0 };
    let bad = |attributes, words: &[&dyn std::fmt::Display]| {
        refused_with(node.ia.srq_create(&node.pz, attributes), Subtype::InvalidArg3, words);
    };
    for max_recv_dtos in [0, most + 1, MOST] {
        let words: [&dyn std::fmt::Display; 3] = [&"max_recv_dtos", &max_recv_dtos, &most];
        bad(SrqAttributes { max_recv_dtos, ..good }, &words);
    }
    for max_recv_iov in [segments + 1, MOST] {
        let words: [&dyn std::fmt::Display; 3] = [&"max_recv_iov", &max_recv_iov, &segments];
        bad(SrqAttributes { max_recv_iov, ..good }, &words);
    }
    if node.ia.provider_attributes().srq_watermarks_supported {
        bad(SrqAttributes { low_watermark: 3, ..good }, &[&"low_watermark", &3, &2]);
    }
    for (max_recv_dtos, max_recv_iov) in [(1, 1), (most, 1), (1, segments)] {
        let attributes = SrqAttributes { max_recv_dtos, max_recv_iov, low_watermark: 0 };
        let srq = node.ia.srq_create(&node.pz, attributes).expect("within the bounds");
        let has = srq.query().expect("live").attributes;
        assert!(has.max_recv_dtos >= max_recv_dtos && has.max_recv_iov >= max_recv_iov);
        let buffer = node.buffer(has.max_recv_iov as usize + 1);
        let iov: Vec<_> = (0..=has.max_recv_iov as usize).map(|at| buffer.piece(at, 1)).collect();
        out_of_bounds(srq.post_recv(&iov, 0), &[&iov.len(), &has.max_recv_iov]);
        for cookie in 0..has.max_recv_dtos {
            srq.post_recv(&iov[1..], cookie.into()).expect("within the queue");
        }
        fails_with(srq.post_recv(&iov[1..], 0), ReturnType::InsufficientResources);
        assert_eq!(srq.query().expect("live").outstanding_dto_count, has.max_recv_dtos);
        free_all(&[&srq, &buffer]);
    }
    node.finish();
}

pub(super) fn a_resize_of_a_shared_queue_has_the_same_limits() {
    let node = small();
    let most = node.ia.attributes().max_recv_per_srq;
    let srq = node.srq(2);
    post_shared(&srq, 0..2);
    for wanted in [0, most + 1, MOST] {
        let before = srq.query();
        let result = srq.resize(wanted);
        refused_with(result, Subtype::InvalidArg2, &[&"srq_max_recv_dto", &wanted, &most]);
        assert_eq!(srq.query(), before);
    }
    srq.resize(most).expect("within the bound");
    post_shared(&srq, 2..most.into());
    assert_eq!(srq.query().expect("live").outstanding_dto_count, most);
    node.finish_with(&[&srq]);
}

pub(super) fn low_watermarks_reach_the_queue_length() {
    let node = small();
    node.need(|it| it.srq_watermarks_supported, "watermarks");
    let srq = node.srq(4);
    let limit = srq.query().expect("live").attributes.max_recv_dtos;
    post_shared(&srq, 0..limit.into());
    for watermark in [limit + 1, MOST] {
        let before = srq.query();
        let result = srq.set_low_watermark(watermark);
        refused_with(result, Subtype::InvalidArg2, &[&"low_watermark", &watermark, &limit]);
        assert_eq!(srq.query(), before);
    }
    for watermark in [0, 1, limit] {
        srq.set_low_watermark(watermark).expect("within the queue");
        assert_eq!(srq.query().expect("live").attributes.low_watermark, watermark);
    }
    // A full queue is not below its own length; one buffer less is.
    let evd = node.ia.async_evd().expect("the adapter made one");
    expect_no_event(&evd);
    let client = node.ep();
    let server = node.ep_of(&node.spec().srq(&srq));
    link(&node, &client, &node, &server);
    client.post_send(&[], 1, NONE).expect("connected");
    expect_dto(&node.recv, &[&server]);
    match expect_event(&evd, &[]) {
        Event::Async(error) => {
            assert_eq!((error.kind, error.object), (AsyncErrorKind::SrqLowWatermark, srq.id()));
        }
        other => panic!("{other:?}"),
    }
}

pub(super) fn high_watermarks_reach_the_limit() {
    let node = small();
    node.need(|it| it.srq_watermarks_supported, "watermarks");
    let most = node.ia.attributes().max_dto_per_ep;
    let attributes = EpAttributes { max_recv_dtos: most, ..modest(&node) };
    let ep = node.ep_of(&node.spec().attributes(&attributes));
    let above = most + 1;
    let soft = ep.set_watermark(Some(above), None);
    refused_with(soft, Subtype::InvalidArg2, &[&"soft_high_watermark", &above, &most]);
    let result = ep.set_watermark(Some(1), Some(above));
    refused_with(result, Subtype::InvalidArg3, &[&"hard_high_watermark", &above, &most]);
    let evd = node.ia.async_evd().expect("the adapter made one");
    // These two receives would exceed the soft watermark if the refused call had set it.
    post_receives(&ep, 0..2);
    expect_no_event(&evd);
    ep.set_watermark(Some(most), Some(most)).expect("at the bound");
    ep.set_watermark(Some(most - 1), None).expect("below the bound");
    let last = u64::from(most - 1);
    post_receives(&ep, 2..last);
    expect_no_event(&evd);
    post_receives(&ep, last..last + 1);
    match expect_event(&evd, &[&ep]) {
        Event::Async(error) => {
            assert_eq!((error.kind, error.object), (AsyncErrorKind::EpSoftHighWatermark, ep.id()));
        }
        other => panic!("{other:?}"),
    }
}
