//! Listeners.

use super::*;
use crate::common::try_open;

#[test]
fn adapters_at_one_address_share_its_qualifiers() {
    in_world(|world| {
        let parameters = format!("address={}", world.address);
        let same = try_open("another name", &parameters).unwrap();
        let qualifier = world.listener.qualifier;
        assert!(qualifier >= 0x1_0000);
        let taken = same.listen(Some(qualifier), Arc::new(Refuse)).err().unwrap();
        assert!(taken.is(ReturnType::ConnQualInUse));
        assert!(taken.reason().contains(&format!("qualifier {qualifier} ")), "{taken}");
        let second = same.listen(None, Arc::new(Refuse)).unwrap();
        assert_ne!(second.qualifier, qualifier);
        let free = second.qualifier;
        drop(second);
        assert_eq!(same.listen(Some(free), Arc::new(Refuse)).unwrap().qualifier, free);
        let elsewhere = World::at(fresh_address());
        let there = elsewhere.adapter.listen(Some(qualifier), Arc::new(Refuse));
        assert!(there.is_ok() || elsewhere.listener.qualifier == qualifier);
    });
}

#[test]
fn a_dropped_listener_gets_no_requests_and_earlier_ones_stay_valid() {
    bounded(|| {
        let world = World::new();
        let (address, qualifier) = (world.address, world.listener.qualifier);
        let (a, b, c) = (world.side(), world.side(), world.side());
        world.connect(&a, &[]);
        let World { listener, requests, .. } = world;
        drop(listener);
        c.connect(address, qualifier, &[]);
        assert_eq!(c.last_event().1, Event::NonPeerRejected);
        requests.take().responder.accept(&*b.qp, 1, &[]).unwrap();
        assert!(matches!(a.last_event().1, Event::Established { .. }));
        drop((a, b));
        c.qp.reset().unwrap();
        c.connect(address, qualifier, &[]);
        assert_eq!(c.last_event().1, Event::NonPeerRejected, "the queue pair holds the host");
    });
}
