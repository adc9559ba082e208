//! Tracing, and decorators over decorators.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use crate::common::bounded;
use crate::dat::{End, LONG, Site, next, poll};
use DtoStatus::Success;
use dat_core::provider::decorate::faults::{FaultPlan, FaultyProvider};
use dat_core::provider::decorate::trace::{TraceRing, TraceSink, TraceWriter, TracingProvider};
use dat_core::provider::decorate::{Kind, trace::Record};
use dat_core::provider::{AsyncUpcall, Provider};
use dat_core::{
    Bind, Close, CompletionFlags, ConnectionEventKind, DtoStatus, EpSpec, Event, MemorySource,
    Privileges, SrqAttributes,
};

const NONE: CompletionFlags = CompletionFlags::empty();

fn traced(sink: Arc<dyn TraceSink>) -> Arc<dyn Provider> {
    Arc::new(TracingProvider::new(dat_provider_loopback::provider(), sink))
}

/// The lines about objects of a kind, without the adapter's name.
fn of(kind: Kind, lines: &[String]) -> Vec<&str> {
    let kind = format!(" {kind} ");
    lines
        .iter()
        .filter(|line| line.contains(&kind))
        .map(|line| line.strip_prefix("loopback ").expect("the adapter's name first"))
        .collect()
}

#[test]
fn each_call_and_upcall_is_a_line() {
    bounded(|| {
        let ring = Arc::new(TraceRing::new(1000));
        let site = Site::over(traced(Arc::clone(&ring) as _));
        let lines = ring.take();
        let address = site.ia.attributes().address;
        let opened = &of(Kind::Adapter, &lines)[0];
        assert!(opened.ends_with(&format!("open parameters=\"address={address} \": ok")));
        assert_eq!(of(Kind::Domain, &lines), ["-> domain 1 create: ok"]);
        let region = of(Kind::Region, &lines);
        assert_eq!(region.len(), 1);
        assert!(region[0].contains("register bytes=4096 privileges="), "{region:?}");
        assert!(of(Kind::Listener, &lines)[0].ends_with("listen qualifier=any: ok"));

        let (a, b) = site.pair();
        let (a_id, b_id) = (a.ep.id(), b.ep.id());
        let lines = ring.take();
        let pairs = of(Kind::QueuePair, &lines);
        for (line, id) in [(&pairs[0], a_id), (&pairs[1], b_id)] {
            let created = format!("-> queue pair {id} create max_receives=");
            assert!(line.starts_with(&created) && line.ends_with(": ok"), "{pairs:?}");
        }
        let qualifier = site.psp.qualifier();
        let connect = format!(
            "-> queue pair {a_id} connect attempt=1 address={address} qualifier={qualifier} \
             private_data=0: ok"
        );
        assert_eq!(pairs[2], connect);
        // The accept made both upcalls, and returned after them.
        assert_eq!(
            pairs[3..],
            [
                format!("<- queue pair {b_id} connection_event attempt=1 Established"),
                format!("<- queue pair {a_id} connection_event attempt=1 Established"),
            ]
        );
        let requests = of(Kind::Request, &lines);
        assert!(requests[0].contains("connection_request peer=127."), "{requests:?}");
        assert!(requests[1].ends_with("accept attempt=1 private_data=0: ok"), "{requests:?}");
        assert_eq!(requests.len(), 2);

        b.ep.post_recv(&site.iov(0, 10), 5, NONE).unwrap();
        a.ep.post_send(&site.iov(100, 8), 6, NONE).unwrap();
        assert!(poll(&a.dto).is_some() && poll(&b.dto).is_some());
        assert!(poll(&a.dto).is_none());
        let lines = ring.take();
        assert_eq!(
            of(Kind::QueuePair, &lines),
            [
                format!("-> queue pair {b_id} post_receive cookie=5 segments=1 bytes=10: ok"),
                format!("-> queue pair {a_id} post_send cookie=6 segments=1 bytes=8: ok"),
            ]
        );
        let polls = of(Kind::CompletionQueue, &lines);
        assert_eq!(polls.len(), 2, "none of the poll that found nothing");
        let found = format!("poll [tag={a_id} Send cookie=6 length=8 DAT_DTO_SUCCESS]: ok");
        assert!(polls[0].ends_with(&found), "{polls:?}");
        let found = format!("poll [tag={b_id} Receive cookie=5 length=8 DAT_DTO_SUCCESS]: ok");
        assert!(polls[1].ends_with(&found), "{polls:?}");
    });
}

#[test]
fn a_failure_is_recorded_with_its_error() {
    bounded(|| {
        let ring = Arc::new(TraceRing::new(1000));
        let faulty = FaultyProvider::new(dat_provider_loopback::provider(), FaultPlan::new());
        let faults = faulty.faults();
        let traced = TracingProvider::new(Arc::new(faulty), Arc::clone(&ring) as _);
        let site = Site::over(Arc::new(traced));
        let end = site.end();
        faults.set(FaultPlan::new().post_nth(1));
        let _ = ring.take();
        end.receive(1).unwrap_err();
        faults.raise(AsyncUpcall::ProviderInternal);
        let lines = ring.take();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("post_receive cookie=1 segments=0 bytes=0: "), "{lines:?}");
        assert!(lines[0].contains("DAT_INSUFFICIENT_RESOURCES"), "{lines:?}");
        // Raised below, outside of any call, and seen as it passes.
        assert!(lines[1].contains("async_event ProviderInternal"), "{lines:?}");
        assert!(site.async_error().is_some());
    });
}

#[test]
fn the_ring_is_bounded_and_can_be_switched_off() {
    bounded(|| {
        let ring = Arc::new(TraceRing::new(3));
        let site = Site::over(traced(Arc::clone(&ring) as _));
        let end = site.end();
        // The first has the queue pair made.
        end.receive(9).unwrap();
        let before = ring.lost();
        for cookie in 0..5 {
            end.receive(cookie).unwrap();
        }
        assert_eq!(ring.lost(), before + 5);
        let lines = ring.lines();
        assert_eq!(lines.len(), 3);
        for (line, cookie) in lines.iter().zip(2..) {
            assert!(line.contains(&format!("cookie={cookie} ")), "{line}");
        }
        ring.switch(false);
        end.receive(9).unwrap();
        assert_eq!(ring.lines(), lines);
        ring.switch(true);
        end.receive(10).unwrap();
        assert!(ring.lines()[2].contains("cookie=10 "));
    });
}

/// A writer that can be read, and that can fail.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut paper = self.0.lock().unwrap();
        if paper.len() > 400 {
            return Err(io::Error::other("full"));
        }
        paper.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_writer_gets_whole_lines_and_its_failures_hurt_nobody() {
    bounded(|| {
        let paper = Paper::default();
        let writer = Arc::new(TraceWriter::new(paper.clone()));
        let site = Site::over(traced(Arc::clone(&writer) as _));
        let end = site.end();
        end.receive(1).unwrap();
        assert!(writer.failures() > 0, "the paper is short");
        let text = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        assert!(text.ends_with('\n') && text.lines().count() > 2);
        assert!(text.lines().all(|line| line.starts_with("loopback -> ")), "{text}");
    });
}

#[test]
fn a_sink_sees_the_parts_of_a_record() {
    #[derive(Default)]
    struct Sends(Mutex<Vec<(u64, &'static str, String, bool)>>);
    impl TraceSink for Sends {
        fn record(&self, record: &Record<'_>) {
            if record.object.kind == Kind::QueuePair && record.operation().contains("send") {
                let failed = record.error.is_some();
                assert!(!record.is_upcall() && record.adapter == "loopback");
                let entry = (record.object.number, record.operation(), record.figures(), failed);
                self.0.lock().unwrap().push(entry);
            }
        }
    }
    bounded(|| {
        let sends = Arc::new(Sends::default());
        let site = Site::over(traced(Arc::clone(&sends) as _));
        let (a, _b) = site.pair();
        a.send(4).unwrap();
        let figures = "cookie=4 segments=0 bytes=0".to_owned();
        assert_eq!(*sends.0.lock().unwrap(), [(a.ep.id(), "post_send", figures, false)]);
    });
}

/// Everything that endpoints can do, with the objects of all layers in it.
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

    // A window, used by the peer and made invalid by it.
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

    // Other dispatchers and attributes, before a connection of their own.
    let c = site.end();
    let other = site.evd(dat_core::EvdFlags::COMPLETIONS);
    let change = dat_core::EpChange::new().recv_evd(Some(&other)).request_evd(Some(&other));
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
    let again = MemorySource::Memory(&site.memory);
    let lmr = site.ia.lmr_create(again, &site.pz, Privileges::ALL).unwrap();
    lmr.free().unwrap();
    for end in [&a, &b, &c, &d, &e, &f] {
        end.ep.free().unwrap();
    }
    srq.free().unwrap();
    rmr.free().unwrap();
}

/// The number of lines that contain a text.
fn seen(lines: &[String], text: &str) -> usize {
    lines.iter().filter(|line| line.contains(text)).count()
}

/// A layer that traces into a ring of its own.
fn ringed(inner: Arc<dyn Provider>) -> (Arc<TraceRing>, Arc<dyn Provider>) {
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

        let (ring, stack) = ringed(faulty(loopback(), FaultPlan::new().delay(5).reorder(7)));
        exchange(&Site::over(stack));
        let lines = ring.lines();
        for (text, times) in [(" Established", 6), (" Resolved", 2), (" post_bind ", 1)] {
            assert_eq!(seen(&lines, text), times, "{text}");
        }
        let posted = posts(&ring);

        // Layers over layers of the same kind, and the other way round.
        let (inner, stack) = ringed(loopback());
        let (outer, stack) = ringed(ringed(stack).1);
        exchange(&Site::over(stack));
        assert_eq!((posts(&inner), posts(&outer)), (posted, posted));
        let (inner, stack) = ringed(loopback());
        let stack = faulty(ringed(faulty(stack, FaultPlan::new())).1, FaultPlan::new());
        exchange(&Site::over(stack));
        assert_eq!(posts(&inner), posted);
    });
}

#[test]
fn faults_below_are_traced_above() {
    bounded(|| {
        let plan = FaultPlan::new().break_after(1);
        let faulty = FaultyProvider::new(dat_provider_loopback::provider(), plan);
        let (ring, stack) = ringed(Arc::new(faulty));
        let site = Site::over(stack);
        let (a, b) = site.pair();
        b.receive(1).unwrap();
        a.send(2).unwrap();
        assert_eq!(b.event(), ConnectionEventKind::Broken);
        assert_eq!(seen(&ring.lines(), " Broken"), 2);
        // Below the faults there is an abrupt disconnect instead.
        let (ring, stack) = ringed(dat_provider_loopback::provider());
        let plan = FaultPlan::new().break_after(1);
        let site = Site::over(Arc::new(FaultyProvider::new(stack, plan)));
        let (a, _b) = site.pair();
        a.send(2).unwrap();
        assert_eq!(a.event(), ConnectionEventKind::Broken);
        let lines = ring.lines();
        assert_eq!((seen(&lines, " disconnect "), seen(&lines, " Disconnected")), (1, 2));
    });
}

#[test]
fn a_parameter_of_the_name_traces_to_a_file() {
    let file = std::env::temp_dir().join(format!("dat-trace-{}", std::process::id()));
    let registry = dat_core::Registry::new();
    registry.add_provider(dat_provider_loopback::provider()).unwrap();
    // The provider refuses parameters that it does not know, and so never sees this one.
    let name = format!("loopback?max_eps=7,trace={} max_evds=9", file.display());
    let ia = registry.open(&name).unwrap();
    assert_eq!((ia.attributes().max_eps, ia.attributes().max_evds), (7, 9));
    ia.pz_create().unwrap();
    ia.close(Close::Abrupt).unwrap();
    // A second open appends.
    registry.open(&name).unwrap().pz_create().unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    assert_eq!(seen(&lines, " domain 1 create: ok"), 2, "{text}");
    let error = registry.open("loopback?trace=/nonexistent/file").unwrap_err();
    assert!(error.is(dat_core::ReturnType::InvalidParameter), "{error}");
    assert!(error.to_string().contains("/nonexistent/file"), "{error}");
}
