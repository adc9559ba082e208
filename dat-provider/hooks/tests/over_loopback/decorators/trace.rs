//! The trace of calls and upcalls.

use std::io::{self, Write};
use std::sync::Mutex;

use super::*;
use crate::dat::poll;
use dat_core::provider::AsyncUpcall;
use dat_provider_hooks::Kind;
use dat_provider_hooks::trace::{Record, TraceWriter};

/// A site whose calls and upcalls reach a sink.
fn traced<S: TraceSink + 'static>(sink: S) -> (Arc<S>, Site) {
    let sink = Arc::new(sink);
    let provider = dat_provider_loopback::provider();
    let traced = TracingProvider::new(provider, Arc::clone(&sink) as Arc<dyn TraceSink>);
    (sink, Site::over(Arc::new(traced)))
}

/// The lines about objects of a kind, without the name of the adapter.
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
        let (ring, site) = traced(TraceRing::new(1000));
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
        // The accept made both upcalls before it returned.
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
        // The provider below raised it outside of any call.
        assert!(lines[1].contains("async_event ProviderInternal"), "{lines:?}");
        assert!(site.async_error().is_some());
    });
}

#[test]
fn the_ring_is_bounded_and_can_be_switched_off() {
    bounded(|| {
        let (ring, site) = traced(TraceRing::new(3));
        let end = site.end();
        // The first post creates the queue pair.
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

/// A writer with a limited capacity, whose content can be read.
#[derive(Clone, Default)]
struct LimitedWriter(Arc<Mutex<Vec<u8>>>);

impl Write for LimitedWriter {
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
fn a_writer_gets_whole_lines_and_its_failures_affect_no_call() {
    bounded(|| {
        let paper = LimitedWriter::default();
        let (writer, site) = traced(TraceWriter::new(paper.clone()));
        let end = site.end();
        end.receive(1).unwrap();
        assert!(writer.failures() > 0, "the writer was full");
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
                let entry = (record.object.number, record.operation(), record.fields(), failed);
                self.0.lock().unwrap().push(entry);
            }
        }
    }
    bounded(|| {
        let (sends, site) = traced(Sends::default());
        let (a, _b) = site.pair();
        a.send(4).unwrap();
        let figures = "cookie=4 segments=0 bytes=0".to_owned();
        assert_eq!(*sends.0.lock().unwrap(), [(a.ep.id(), "post_send", figures, false)]);
    });
}

#[test]
fn the_parameter_trace_writes_to_a_file() {
    let file = std::env::temp_dir().join(format!("dat-trace-{}", std::process::id()));
    let registry = dat_core::Registry::new();
    registry.add_provider(dat_provider_loopback::provider()).unwrap();
    // The registry removes this parameter: the provider refuses those that it does not know.
    let name = format!("loopback?max_eps=7,trace={} max_evds=9", file.display());
    let ia = registry.open(&name).unwrap();
    assert_eq!((ia.attributes().max_eps, ia.attributes().max_evds), (7, 9));
    ia.pz_create().unwrap();
    ia.close(Close::Abrupt).unwrap();
    // The next open appends.
    registry.open(&name).unwrap().pz_create().unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    assert_eq!(seen(&lines, " domain 1 create: ok"), 2, "{text}");
    let error = registry.open("loopback?trace=/nonexistent/file").unwrap_err();
    assert!(error.is(dat_core::ReturnType::InvalidParameter), "{error}");
    assert!(error.to_string().contains("/nonexistent/file"), "{error}");
}
