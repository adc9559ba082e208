//! The parameters of an adapter that inject faults.

use super::*;
use crate::dat::open;

#[test]
fn an_invalid_parameter_is_named_with_the_valid_ones() {
    let cases: [(_, &[_]); 11] = [
        ("fault.connect=maybe", &["fault.connect", "\"maybe\"", "refuse, unreachable or silent"]),
        ("fault.delay=soon", &["fault.delay", "\"soon\"", "whole number"]),
        ("fault.delay=-1", &["fault.delay", "\"-1\""]),
        ("fault.post_nth=18446744073709551616", &["fault.post_nth", "18446744073709551615"]),
        ("fault.async=x", &["fault.async", "\"x\"", "catastrophic, internal or ep_broken"]),
        ("fault.colour=blue", &["fault.colour", "\"blue\"", "fault.connect", "fault.async_after"]),
        ("fault.delay", &["\"fault.delay\"", "KEY=VALUE"]),
        ("fault.=1", &["\"fault.\"", "\"1\""]),
        ("fault.connect_nth=2", &["fault.connect_nth=2", "use fault.connect as well"]),
        ("fault.async_after=2", &["fault.async_after=2", "use fault.async as well"]),
        ("max_eps=2 fault.delay=1,max_ep=3", &["\"max_ep\"", "max_eps=3?"]),
    ];
    for (parameters, words) in cases {
        let error = open(dat_provider_loopback::provider(), parameters).expect_err(parameters);
        assert!(error.is(ReturnType::InvalidParameter), "{error}");
        assert_eq!(error.operation(), "dat_ia_open");
        let said = error.to_string();
        for word in words {
            assert!(said.contains(word), "{parameters:?} gives {said:?} without {word:?}");
        }
    }
}

#[test]
fn other_parameters_reach_the_provider() {
    let parameters = "max_eps=3,fault.delay=0 max_lmrs=5, fault.reorder=1";
    let ia = open(dat_provider_loopback::provider(), parameters).unwrap();
    assert_eq!((ia.attributes().max_eps, ia.attributes().max_lmrs), (3, 5));
    let provider = Arc::new(faulty(FaultPlan::new().create_nth(1)));
    let ia = open(provider, "max_eps=3 fault.create_nth=2").unwrap();
    assert_eq!(ia.attributes().max_eps, 3);
    assert!(ia.pz_create().is_err(), "the plan of the provider");
    assert!(ia.pz_create().is_err(), "the plan of the parameters, which counts refused calls too");
    ia.pz_create().unwrap();
}

#[test]
fn a_plan_without_faults_changes_nothing() {
    bounded(|| {
        let site = Site::over(Arc::new(faulty(FaultPlan::new())));
        let (a, b) = site.pair();
        site.memory.write(0, b"hello").unwrap();
        b.ep.post_recv(&site.iov(100, 5), 1, CompletionFlags::empty()).unwrap();
        a.ep.post_send(&site.iov(0, 5), 2, CompletionFlags::empty()).unwrap();
        assert_eq!(a.done(), [(Send, 2, Success)]);
        assert_eq!(b.done(), [(Receive, 1, Success)]);
        assert_eq!(site.memory.to_vec(100, 5).unwrap(), b"hello");
        a.ep.disconnect(Close::Graceful).unwrap();
        assert_eq!((a.event(), b.event()), (Kind::Disconnected, Kind::Disconnected));
        assert_eq!(site.async_error(), None);
    });
}
