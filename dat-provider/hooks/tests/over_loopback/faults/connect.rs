//! Connection attempts that fail.

use super::*;
use dat_core::{DatagramEventKind, RefusalCause, Timeout};
use dat_provider_hooks::faults::ConnectFault;

#[test]
fn every_attempt_fails_after_the_flush_and_a_reset_allows_the_next() {
    bounded(|| {
        for (value, kind) in [("refuse", Kind::NonPeerRejected), ("unreachable", Kind::Unreachable)]
        {
            let site = Site::with(&format!("fault.connect={value}"));
            let end = site.end();
            for round in 0..3 {
                end.receive(round).unwrap();
                site.connect(&end, LONG);
                assert_eq!(end.event(), kind);
                assert_eq!(end.state(), EpState::Disconnected);
                assert_eq!(end.done(), [(Receive, round, Flushed)]);
                // As after any failure the endpoint is disconnected, so that posts are flushed at once.
                end.send(7).unwrap();
                assert_eq!(end.done(), [(Send, 7, Flushed)]);
                end.ep.reset().unwrap();
                assert_eq!(end.state(), EpState::Unconnected);
            }
            assert!(!end.has_event());
            assert!(!site.has_request(), "no request arrived");
        }
    });
}

#[test]
fn only_the_nth_attempt_fails() {
    bounded(|| {
        let site = Site::with("fault.connect=refuse,fault.connect_nth=2");
        let (_a, _b) = site.pair();
        let (c, d) = (site.end(), site.end());
        site.connect(&c, LONG);
        assert_eq!(c.event(), Kind::NonPeerRejected);
        c.ep.reset().unwrap();
        site.join(&c, &d);
    });
}

#[test]
fn a_silent_attempt_times_out() {
    bounded(|| {
        let site = Site::with("fault.connect=silent");
        let end = site.end();
        end.receive(1).unwrap();
        let start = Instant::now();
        site.connect(&end, Timeout::After(Duration::from_millis(30)));
        assert_eq!(end.state(), EpState::ActiveConnectionPending);
        assert_eq!(end.event(), Kind::TimedOut);
        assert!(start.elapsed() >= Duration::from_millis(30));
        assert_eq!(end.state(), EpState::Disconnected);
        assert_eq!(end.done(), [(Receive, 1, Flushed)]);
        assert!(!end.has_event() && !site.has_request());
        end.ep.reset().unwrap();
        end.ep.free().unwrap();
    });
}

#[test]
fn a_silent_attempt_can_be_abandoned_and_tried_again() {
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new().connect(ConnectFault::Silent));
        let (a, b) = (site.end(), site.end());
        site.connect(&a, Timeout::Infinite);
        assert!(!a.has_event());
        a.disconnect();
        assert_eq!(a.event(), Kind::Disconnected);
        assert!(!a.has_event(), "one outcome");
        a.ep.reset().unwrap();
        faults.set(FaultPlan::new());
        site.join(&a, &b);
        assert_eq!(a.ep.query().unwrap().ignored_events, 0);
        // An attempt that is pending when the adapter is closed.
        faults.set(FaultPlan::new().connect(ConnectFault::Silent));
        let c = site.end();
        site.connect(&c, Timeout::Infinite);
        site.ia.close(Close::Abrupt).unwrap();
    });
}

#[test]
fn datagram_attempts_fail_independently() {
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new().connect(ConnectFault::Silent));
        let (a, b) = (site.datagram_end(), site.datagram_end());
        let soon = Timeout::After(Duration::from_millis(20));
        site.connect(&a, Timeout::Infinite);
        site.connect(&a, soon);
        let fails = |cause| {
            let event = a.datagram_event();
            assert_eq!((event.kind, event.cause), (DatagramEventKind::Error, cause));
        };
        fails(RefusalCause::TimedOut);
        for (fault, cause) in [
            (ConnectFault::Refuse, RefusalCause::Unknown),
            (ConnectFault::Unreachable, RefusalCause::Unreachable),
        ] {
            faults.set(FaultPlan::new().connect(fault));
            site.connect(&a, LONG);
            fails(cause);
        }
        assert!(!a.has_event() && !site.has_request());
        // The unanswered attempt delays no other one, and datagrams break nothing.
        faults.set(FaultPlan::new().break_after(1));
        site.connect(&a, LONG);
        site.request().accept(Some(&b.ep), b"").unwrap();
        let to = a.datagram_event().remote.unwrap();
        assert_eq!(b.datagram_event().kind, DatagramEventKind::Established);
        for cookie in 0..3 {
            a.ep.post_send_datagram(&[], &to, cookie, CompletionFlags::empty()).unwrap();
        }
        assert_eq!(a.done(), [0, 1, 2].map(|cookie| (SendDatagram, cookie, Success)));
        assert!(!a.has_event() && !b.has_event());
        faults.set(FaultPlan::new().post_nth(1));
        let refused = a.ep.post_send_datagram(&[], &to, 3, CompletionFlags::empty());
        assert!(refused.unwrap_err().is(ReturnType::InsufficientResources));
    });
}

/// An address exists as long as any object of the adapter, so that a leaked object would keep it reachable.
#[test]
fn a_silent_attempt_leaves_nothing_behind() {
    bounded(|| {
        let target = {
            let (site, faults) = planned(FaultPlan::new().connect(ConnectFault::Silent));
            let (freed, dropped, abandoned) = (site.end(), site.end(), site.end());
            let datagrams = site.datagram_end();
            for end in [&freed, &dropped, &abandoned, &datagrams, &datagrams] {
                site.connect(end, Timeout::Infinite);
            }
            freed.ep.free().unwrap();
            abandoned.disconnect();
            drop((faults, dropped));
            site.ia.close(Close::Abrupt).unwrap();
            (site.ia.attributes().address, site.psp.qualifier())
        };
        let other = Site::with("");
        let end = other.end();
        end.ep.connect(&dat_core::Connect::to(target.0, target.1).timeout(LONG)).unwrap();
        assert_eq!(end.event(), Kind::Unreachable);
    });
}
