//! Connections that break.

use super::*;

/// Checks that a connection breaks after three requests of the first endpoint.
fn check_broken(a: &End, b: &End) {
    for cookie in 1..=4 {
        b.receive(cookie).unwrap();
    }
    b.send(50).unwrap();
    a.receive(51).unwrap();
    for cookie in 11..=13 {
        assert_eq!(a.state(), EpState::Connected);
        a.send(cookie).unwrap();
    }
    for end in [a, b] {
        assert_eq!(end.event(), Kind::Broken);
        assert_eq!(end.state(), EpState::Disconnected);
        assert!(!end.has_event(), "one end");
    }
    let done = [(Receive, 51), (Send, 11), (Send, 12), (Send, 13)];
    assert_eq!(a.done(), done.map(|(operation, cookie)| (operation, cookie, Success)));
    let mut done = vec![(Send, 50, Success)];
    done.extend([1, 2, 3].map(|cookie| (Receive, cookie, Success)));
    done.push((Receive, 4, Flushed));
    assert_eq!(b.done(), done);
}

#[test]
fn a_connection_breaks_after_the_nth_request_on_both_sides() {
    bounded(|| {
        let site = Site::with("fault.break_after=3");
        let (a, b) = site.pair();
        check_broken(&a, &b);
        // The requests of each connection and side are counted separately.
        for end in [&a, &b] {
            end.ep.reset().unwrap();
        }
        site.join(&a, &b);
        check_broken(&b, &a);
    });
}

#[test]
fn a_break_reaches_the_peer_on_another_faulty_adapter() {
    bounded(|| {
        let here = Site::with("fault.break_after=3");
        let there = Site::with("fault.break_after=100");
        let (a, b) = (here.end(), there.end());
        there.join(&a, &b);
        check_broken(&a, &b);
        let (c, d) = (here.end(), there.end());
        here.join(&d, &c);
        check_broken(&c, &d);
    });
}

#[test]
fn a_peer_without_faults_sees_a_disconnect() {
    bounded(|| {
        let here = Site::with("fault.break_after=1");
        let there = Site::with("");
        let (a, b) = (here.end(), there.end());
        there.join(&a, &b);
        b.receive(1).unwrap();
        a.send(2).unwrap();
        assert_eq!((a.event(), b.event()), (Kind::Broken, Kind::Disconnected));
        assert_eq!(a.done(), [(Send, 2, Success)]);
        assert_eq!(b.done(), [(Receive, 1, Success)]);
    });
}

#[test]
fn a_break_flushes_waiting_requests_and_a_disconnect_is_still_a_disconnect() {
    bounded(|| {
        let site = Site::with("fault.break_after=2");
        let (a, b) = site.pair();
        a.send(1).unwrap();
        a.send(2).unwrap();
        assert_eq!((a.event(), b.event()), (Kind::Broken, Kind::Broken));
        assert_eq!(a.done(), [(Send, 1, Flushed), (Send, 2, Flushed)]);
        let (c, d) = site.pair();
        d.receive(3).unwrap();
        c.send(4).unwrap();
        c.disconnect();
        assert_eq!((c.event(), d.event()), (Kind::Disconnected, Kind::Disconnected));
    });
}
