//! Counters that are started, and the sizes of operations.

use dat_core::counters::{SizedOperation, Sizes};
use dat_core::monitor::Watch;
use dat_core::{
    Close, CompletionFlags, Ep, EpAttributes, EvdCounter, Event, Ia, IaCounter, Timeout,
};

use crate::pair::Pair;
use crate::{alone, open, own};

#[test]
fn the_parameter_starts_the_counters_of_all_objects_with_the_sizes_of_operations() {
    let _alone = alone();
    let pair = Pair::connect("loopback?counters=yes");
    for (cookie, length) in [(1, 0), (2, 1), (3, 8), (4, 8)] {
        pair.server.receive(&[pair.lmr.triplet(32, 16).expect("in it")], cookie).expect("ready");
        pair.client.send(&[pair.lmr.triplet(0, length).expect("in it")], cookie).expect("ready");
        pair.take(2);
    }
    let mut watch = Watch::new();
    let view = own(&mut watch);
    let adapter = &view.adapters[0].counters;
    for expected in [(IaCounter::EpCreate, 2), (IaCounter::PspCreateAny, 1)] {
        assert!(adapter.contains(&expected), "{adapter:?}");
    }
    for expected in [IaCounter::CmRepRx, IaCounter::CmRtuTx, IaCounter::CmRtuRx] {
        assert!(adapter.contains(&(expected, 1)), "{adapter:?}");
    }
    let dispatcher = view.dispatchers.iter().find(|it| it.evd == pair.evd.id()).expect("it counts");
    let counter = |wanted| dispatcher.counters.iter().find(|(it, _)| *it == wanted);
    assert!(counter(EvdCounter::Wait).is_some(), "{dispatcher:?}");
    assert_eq!(counter(EvdCounter::ConnCallback), Some(&(EvdCounter::ConnCallback, 3)));

    let sizes = |endpoint: &Ep, watch: &mut Watch| -> Vec<_> {
        let view = pair.view(watch, endpoint);
        view.sizes.into_iter().map(|sizes| (sizes.operation, sizes.counts)).collect()
    };
    let expected = vec![(0, 1), (1, 1), (Sizes::bucket(8), 2)];
    assert_eq!(sizes(&pair.client, &mut watch), [(SizedOperation::Send, expected.clone())]);
    assert_eq!(sizes(&pair.server, &mut watch), [(SizedOperation::Receive, expected)]);
    let all = pair.client.sizes(true).expect("it exists");
    assert_eq!(all.counts(SizedOperation::Send)[Sizes::bucket(8)], 2);
    assert_eq!(sizes(&pair.client, &mut watch), [], "they were reset");
    assert_eq!(pair.view(&mut watch, &pair.client).sent.bytes, Some(17));
    assert_eq!(pair.view(&mut watch, &pair.server).received.bytes, Some(17));

    let counter = |ia: &Ia, counter| ia.counters(false).expect("open").get(counter);
    pair.client.disconnect(Close::Abrupt).expect("connected");
    pair.take(2);
    let (requests, replies) = (IaCounter::CmDreqRx, IaCounter::CmDrepRx);
    assert_eq!((counter(&pair.ia, requests), counter(&pair.ia, replies)), (1, 1));
    assert_eq!(counter(&pair.ia, IaCounter::CmDreqTx), 1);
}

#[test]
fn a_datagram_without_a_receive_is_a_counter_of_the_adapter() {
    let _alone = alone();
    let ia = open("loopback?counters=yes");
    let mut attributes = ia.default_ep_attributes().clone();
    attributes.service_type = EpAttributes::SERVICE_DATAGRAM;
    let (Pair { ia, evd, client, server, lmr }, _psp) = Pair::begin(ia, &attributes);
    let mut address = None;
    while address.is_none() {
        match evd.next_event(Timeout::Infinite).expect("no error").expect("no time-out") {
            Event::ConnectionRequest(arrival) => {
                arrival.request.accept(Some(&server), b"").expect("it is the first");
            }
            Event::Datagram(event) if event.ep == client.id() => address = event.remote,
            _ => {}
        }
    }
    let address = address.expect("found");
    let send = |length| {
        let piece = [lmr.triplet(0, length).expect("in it")];
        client
            .post_send_datagram(&piece, &address, 1, CompletionFlags::empty())
            .expect("the address is known");
    };
    let lost = || ia.counters(false).expect("open").get(IaCounter::DiagErrRqUdsdprd);
    send(8);
    assert_eq!(lost(), 1, "there is no receive");
    server.receive(&[lmr.triplet(64, 41).expect("in it")], 2).expect("ready");
    send(8);
    assert_eq!(lost(), 2, "the receive is too short");
    server.receive(&[lmr.triplet(64, 64).expect("in it")], 3).expect("ready");
    send(8);
    assert_eq!(lost(), 2);
    let counted = |counter| ia.counters(false).expect("open").get(counter);
    let exchanged = [IaCounter::CmAhReqTx, IaCounter::CmAhReqRx].map(counted);
    assert_eq!((exchanged, counted(IaCounter::CmAhResolved)), ([1, 1], 2));
}

#[test]
fn polls_of_a_dispatcher_that_counts_are_distinguished_from_its_events() {
    let _alone = alone();
    let pair = Pair::connect("loopback?counters=yes");
    let counted = |counter| pair.evd.counters(false).expect("it exists").get(counter);
    let polls = || (counted(EvdCounter::DequeuePoll), counted(EvdCounter::DequeuePollFound));
    let (before, _) = polls();
    let mut event = Event::default();
    assert!(!pair.evd.dequeue(&mut event).expect("it exists"));
    assert_eq!(polls(), (before + 1, 0));
    pair.server.receive(&[pair.lmr.triplet(32, 16).expect("in it")], 1).expect("ready");
    pair.client.send(&[pair.lmr.triplet(0, 8).expect("in it")], 1).expect("ready");
    assert!(pair.evd.dequeue(&mut event).expect("it exists"));
    assert!(pair.evd.dequeue(&mut event).expect("it exists"));
    assert_eq!(polls(), (before + 3, 2));
}
