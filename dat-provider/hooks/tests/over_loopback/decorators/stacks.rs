//! Decorators around decorators.

use super::*;
use crate::dat::{End, LONG, next};
use dat_core::DtoStatus::Success;
use dat_core::{Bind, ConnectionEventKind, EpSpec, Event, Privileges, SrqAttributes};

/// Uses every operation of endpoints, so that objects of all layers meet.
fn exchange(site: &Site) {
    let srq = SrqAttributes { max_recv_dtos: 8, max_recv_iov: 1, low_watermark: 2 };
    let srq = site.ia.srq_create(&site.pz, srq).unwrap();
    let dto = site.evd(dat_core::EvdFlags::COMPLETIONS);
    let (a, b) = (site.end(), site.end_from(EpSpec::new(&site.pz).srq(&srq), &dto));
    site.join(&a, &b);
    site.memory.write(0, b"by a send").unwrap();
    srq.post_recv(&site.iov(100, 9), 1).unwrap();
    srq.post_recv(&site.iov(200, 9), 2).unwrap();
    a.ep.post_send(&site.iov(0, 9), 3, NONE).unwrap();
    assert!(matches!(next(&b.dto), Event::Dto(one) if (one.cookie, one.length) == (1, 9)));
    assert!(matches!(next(&a.dto), Event::Dto(one) if one.cookie == 3));
    assert_eq!(site.memory.to_vec(100, 9).unwrap(), b"by a send");
    assert_eq!(srq.query().unwrap().available_dto_count, 1);
    assert!(site.async_error().is_some(), "the low watermark");
    srq.resize(16).unwrap();

    // A window that the peer uses, and then invalidates.
    let rmr = site.ia.rmr_create(&site.pz).unwrap();
    let triplet = site.lmr.triplet(1000, 100).unwrap();
    let privileges = Privileges::REMOTE;
    let bind = Bind { lmr: &site.lmr, triplet, privileges, cookie: 4, flags: NONE };
    let context = rmr.bind(&b.ep, &bind).unwrap();
    assert!(
        matches!(next(&b.dto), Event::RmrBind(one) if (one.cookie, one.status) == (4, Success))
    );
    let mut window = site.lmr.remote_triplet(1000, 8).unwrap();
    window.context = context;
    a.ep.post_rdma_write(&site.iov(0, 8), 5, window, NONE).unwrap();
    a.ep.post_rdma_read(&site.iov(300, 8), 6, window, NONE).unwrap();
    a.ep.post_fetch_and_add(0, site.iov(400, 8)[0], 7, window, NONE).unwrap();
    a.ep.post_rdma_write_immediate(&site.iov(0, 8), 8, window, 77, NONE).unwrap();
    for cookie in 5..=8 {
        let Event::Dto(one) = next(&a.dto) else { panic!("a bind?") };
        assert_eq!((one.cookie, one.status), (cookie, Success));
    }
    assert!(matches!(next(&b.dto), Event::Dto(one) if one.immediate() == Some(77)));
    assert_eq!(site.memory.to_vec(1000, 8).unwrap(), b"by a sen");
    assert_eq!(site.memory.to_vec(300, 8).unwrap(), b"by a sen");
    srq.post_recv(&site.iov(200, 9), 9).unwrap();
    a.ep.post_send_with_invalidate(&[], 10, NONE, context).unwrap();
    assert!(matches!(next(&b.dto), Event::Dto(one) if one.invalidated() == Some(context)));

    // An endpoint whose dispatchers are changed before it connects.
    let c = site.end();
    let other = site.evd(dat_core::EvdFlags::COMPLETIONS);
    let change = dat_core::EpUpdate::new().recv_evd(Some(&other)).request_evd(Some(&other));
    c.ep.modify(&change).unwrap();
    let c = End { dto: other, ..c };
    let d = site.end();
    site.join(&c, &d);
    d.receive(11).unwrap();
    c.send(12).unwrap();
    assert!(matches!(next(&c.dto), Event::Dto(one) if one.cookie == 12));

    // Datagrams.
    let (e, f) = (site.datagram_end(), site.datagram_end());
    site.connect(&e, LONG);
    let request = site.request();
    request.accept(Some(&f.ep), b"").unwrap();
    let to = e.datagram_event().remote.unwrap();
    assert!(f.datagram_event().remote.is_some());
    f.ep.post_recv(&site.iov(500, 100), 13, NONE).unwrap();
    e.ep.post_send_datagram(&site.iov(0, 9), &to, 14, NONE).unwrap();
    assert!(matches!(next(&f.dto), Event::Dto(one) if (one.cookie, one.length) == (13, 49)));
    assert!(matches!(next(&e.dto), Event::Dto(one) if one.cookie == 14));
    assert_eq!(site.memory.to_vec(540, 9).unwrap(), b"by a send");

    a.ep.disconnect(Close::Graceful).unwrap();
    for end in [&a, &b] {
        assert_eq!(end.event(), ConnectionEventKind::Disconnected);
        end.ep.reset().unwrap();
    }
    site.join(&b, &a);
    site.connect(&site.end(), LONG);
    drop(site.request());
    site.register().unwrap().free().unwrap();
    for end in [&a, &b, &c, &d, &e, &f] {
        end.ep.free().unwrap();
    }
    srq.free().unwrap();
    rmr.free().unwrap();
}

/// A layer that traces into its own ring.
fn with_ring(inner: Arc<dyn Provider>) -> (Arc<TraceRing>, Arc<dyn Provider>) {
    let ring = Arc::new(TraceRing::new(10_000));
    let sink = Arc::clone(&ring) as Arc<dyn TraceSink>;
    (ring, Arc::new(TracingProvider::new(inner, sink)))
}

#[test]
fn decorators_stack_in_any_order_and_depth() {
    const POSTS: [&str; 8] = [
        " post_send ",
        " post_rdma_write ",
        " post_rdma_read ",
        " post_bind ",
        " post_fetch_and_add ",
        " post_rdma_write_immediate ",
        " post_receive ",
        " post_datagram ",
    ];
    bounded(|| {
        let faulty = |inner, plan| Arc::new(FaultyProvider::new(inner, plan)) as Arc<dyn Provider>;
        let loopback = dat_provider_loopback::provider;
        let posts = |ring: &TraceRing| POSTS.map(|post| seen(&ring.lines(), post));

        let (ring, stack) = with_ring(faulty(loopback(), FaultPlan::new().delay(5).reorder(7)));
        exchange(&Site::over(stack));
        let lines = ring.lines();
        for (text, times) in [(" Established", 6), (" Resolved", 2), (" post_bind ", 1)] {
            assert_eq!(seen(&lines, text), times, "{text}");
        }
        let posted = posts(&ring);

        // Layers around layers of the same kind, and in the other order.
        let (inner, stack) = with_ring(loopback());
        let (outer, stack) = with_ring(with_ring(stack).1);
        exchange(&Site::over(stack));
        assert_eq!((posts(&inner), posts(&outer)), (posted, posted));
        let (inner, stack) = with_ring(loopback());
        let stack = faulty(with_ring(faulty(stack, FaultPlan::new())).1, FaultPlan::new());
        exchange(&Site::over(stack));
        assert_eq!(posts(&inner), posted);
    });
}

#[test]
fn faults_below_are_traced_above() {
    bounded(|| {
        let plan = FaultPlan::new().break_after(1);
        let faulty = FaultyProvider::new(dat_provider_loopback::provider(), plan);
        let (ring, stack) = with_ring(Arc::new(faulty));
        let site = Site::over(stack);
        let (a, b) = site.pair();
        b.receive(1).unwrap();
        a.send(2).unwrap();
        assert_eq!(b.event(), ConnectionEventKind::Broken);
        assert_eq!(seen(&ring.lines(), " Broken"), 2);
        // Below the faults, the break is an abrupt disconnect.
        let (ring, stack) = with_ring(dat_provider_loopback::provider());
        let plan = FaultPlan::new().break_after(1);
        let site = Site::over(Arc::new(FaultyProvider::new(stack, plan)));
        let (a, _b) = site.pair();
        a.send(2).unwrap();
        assert_eq!(a.event(), ConnectionEventKind::Broken);
        let lines = ring.lines();
        assert_eq!((seen(&lines, " disconnect "), seen(&lines, " Disconnected")), (1, 2));
    });
}
