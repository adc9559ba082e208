//! Completions that are delayed.

use super::*;
use crate::dat::next;
use dat_core::Event;

#[test]
fn completions_are_delayed_by_a_number_of_polls() {
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new());
        let (a, b) = site.pair();
        faults.set(FaultPlan::new().delay(4));
        b.receive(1).unwrap();
        a.send(2).unwrap();
        for _ in 0..4 {
            assert_eq!(poll(&a.dto), None);
        }
        assert_eq!(poll(&a.dto).map(|one| one.cookie), Some(2));
        assert_eq!(poll(&a.dto), None);
        // The delay of each begins at the first poll that could return it. A plan without a delay ends it.
        assert_eq!(poll(&b.dto), None);
        b.receive(3).unwrap();
        a.send(4).unwrap();
        for _ in 0..3 {
            assert_eq!(poll(&b.dto), None);
        }
        assert_eq!(poll(&b.dto).map(|one| one.cookie), Some(1));
        faults.set(FaultPlan::new());
        assert_eq!(poll(&b.dto).map(|one| one.cookie), Some(3));
    });
}

#[test]
fn no_waiter_sleeps_while_a_completion_is_delayed() {
    use std::os::fd::AsFd;
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new());
        let (a, b) = site.pair();
        faults.set(FaultPlan::new().delay(1_000_000));
        // One completion arrives before the wait, and one during it.
        b.receive(1).unwrap();
        b.receive(2).unwrap();
        a.send(3).unwrap();
        assert_eq!(poll(&b.dto), None);
        assert!(matches!(next(&b.dto), Event::Dto(one) if one.cookie == 1));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                a.send(4).unwrap();
            });
            assert!(matches!(next(&b.dto), Event::Dto(one) if one.cookie == 2));
        });
        // While a descriptor is armed.
        assert_eq!(poll(&a.dto), None);
        assert!(a.dto.arm().unwrap(), "two are waiting");
        assert_eq!(poll(&a.dto).map(|one| one.cookie), Some(3));
        assert_eq!(poll(&a.dto).map(|one| one.cookie), Some(4));
        assert!(!a.dto.arm().unwrap());
        let _ = a.dto.as_fd();
        b.receive(5).unwrap();
        a.send(6).unwrap();
        assert_eq!(poll(&a.dto).map(|one| one.cookie), Some(6), "armed still");
        // With a notification object.
        let cno = site.ia.cno_create(None).unwrap();
        a.dto.disarm();
        a.dto.modify_cno(Some(&cno)).unwrap();
        b.receive(7).unwrap();
        a.send(8).unwrap();
        assert_eq!(cno.wait(LONG).unwrap(), Some(a.dto.clone()));
        assert_eq!(poll(&a.dto).map(|one| one.cookie), Some(8));
    });
}

#[test]
fn a_connection_event_follows_the_delayed_completions() {
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new());
        let both = site.evd(EvdFlags::COMPLETIONS | EvdFlags::CONNECTION);
        let spec = EpSpec::new(&site.pz).recv_evd(&both).request_evd(&both).connect_evd(&both);
        let a = End { ep: site.ia.ep_create(&spec).unwrap(), dto: both.clone(), events: both };
        let b = site.end();
        site.join(&a, &b);
        faults.set(FaultPlan::new().delay(1_000_000).reorder(3));
        a.receive(1).unwrap();
        a.receive(2).unwrap();
        b.send(3).unwrap();
        assert!(!a.has_event(), "held back");
        b.disconnect();
        let events: Vec<_> = std::iter::from_fn(|| {
            let mut event = Event::default();
            a.dto.dequeue(&mut event).unwrap().then_some(event)
        })
        .collect();
        let [Event::Dto(first), Event::Dto(second), Event::Connection(end)] = &events[..] else {
            panic!("{events:?}")
        };
        assert_eq!((first.cookie, first.status), (1, Success));
        assert_eq!((second.cookie, second.status), (2, Flushed));
        assert_eq!(end.kind, Kind::Disconnected);
        // The other side gets its event on another dispatcher.
        assert_eq!(b.event(), Kind::Disconnected);
        assert_eq!(b.done(), [(Send, 3, Success)]);
        // Freeing the endpoint ends the delay as well.
        let (c, d) = site.pair();
        c.send(4).unwrap();
        assert_eq!(poll(&c.dto), None);
        c.ep.free().unwrap();
        assert_eq!(c.done(), [(Send, 4, Flushed)]);
        drop(d);
    });
}

#[test]
fn an_endpoint_whose_dispatchers_were_changed_flushes_to_the_new_ones() {
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new());
        let (a, b, dto) = (site.end(), site.end(), site.evd(EvdFlags::COMPLETIONS));
        let change = dat_core::EpUpdate::new().recv_evd(Some(&dto)).request_evd(Some(&dto));
        a.ep.modify(&change).unwrap();
        let a = End { dto, ..a };
        site.join(&a, &b);
        faults.set(FaultPlan::new().delay(1_000_000));
        b.receive(1).unwrap();
        a.send(2).unwrap();
        assert_eq!(poll(&a.dto), None);
        b.disconnect();
        assert_eq!(a.event(), Kind::Disconnected);
        assert_eq!(a.done(), [(Send, 2, Success)]);
    });
}

#[test]
fn a_queue_cannot_shrink_below_its_delayed_completions() {
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new());
        let (a, b) = site.pair();
        faults.set(FaultPlan::new().delay(100));
        for cookie in 0..3 {
            b.receive(cookie).unwrap();
            a.send(cookie).unwrap();
        }
        assert_eq!(poll(&a.dto), None);
        assert!(a.dto.resize(2).unwrap_err().is(ReturnType::InvalidState));
        a.dto.resize(3).unwrap();
        faults.set(FaultPlan::new());
        assert_eq!(a.done(), [0, 1, 2].map(|cookie| (Send, cookie, Success)));
    });
}
