//! Opening an adapter, and closing it gracefully and abruptly.

use crate::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

cases! {
    "dat_ia_open(3DAT)":
        an_open_adapter_is_live_and_has_its_name,
        every_open_creates_a_separate_instance,
        invalid_parameters_and_queue_lengths_are_refused,
        the_asynchronous_dispatcher_belongs_to_the_adapter,
        an_open_without_an_asynchronous_dispatcher_creates_none;
    "dat_ia_close(3DAT)":
        a_closed_adapter_is_refused,
        a_graceful_close_is_refused_while_an_object_exists,
        an_abrupt_close_frees_everything_in_every_state,
        the_memory_outlives_an_abrupt_close,
        an_abrupt_close_ends_the_connections_of_other_adapters,
        an_abrupt_close_aborts_waiters_on_dispatchers,
        an_abrupt_close_wakes_waiters_on_notification_objects,
        an_abrupt_close_that_races_with_creates_leaves_nothing_live;
    "reading: dropping the last handle frees an object":
        dropping_all_handles_frees_the_object,
        dropping_everything_closes_the_adapter;
}

fn an_open_adapter_is_live_and_has_its_name() {
    let ia = open("max_eps=3");
    assert!(ia.is_live());
    assert!(target().name.starts_with(ia.name()));
    assert!(target().name.starts_with(&ia.attributes().adapter_name));
    assert_eq!(ia.attributes().max_eps, 3);
    ia.set_consumer_context(9);
    assert_eq!(ia.clone().consumer_context(), 9);
}

fn every_open_creates_a_separate_instance() {
    let (one, two) = (open(""), open(""));
    assert_ne!(one, two);
    assert_eq!(one, one.clone());
    assert_ne!(one.id(), two.id());
    one.close(Close::Graceful).expect("nothing is on it");
    assert!(!one.is_live() && two.is_live());
    two.pz_create().expect("the other instance lives");
}

fn invalid_parameters_and_queue_lengths_are_refused() {
    let registry = target().registry;
    let error = fails_with(try_open("max_eps=0"), ReturnType::InvalidParameter);
    assert!(error.reason().contains("max_eps"), "{error}");
    refused(registry.open("no such adapter"), Subtype::NameNotRegistered);
    let async_evd = AsyncEvd::Create { min_qlen: Some(0) };
    let options = IaOptions { async_evd, ..IaOptions::default() };
    refused(registry.open_with(&target().name, &options), Subtype::InvalidArg2);
}

fn the_asynchronous_dispatcher_belongs_to_the_adapter() {
    let ia = open("");
    let evd = ia.async_evd().expect("made by the open");
    assert_eq!(evd.query().expect("live").flags, EvdFlags::ASYNC);
    refused(evd.free(), Subtype::InvalidStateEvdInUse);
    ia.close(Close::Graceful).expect("the consumer has made nothing");
    assert!(!evd.is_live(), "it is destroyed with the adapter that made it");
    refused(evd.query(), Subtype::InvalidHandleEvdRequest);
}

fn an_open_without_an_asynchronous_dispatcher_creates_none() {
    let options = IaOptions { async_evd: AsyncEvd::Foreign, ..IaOptions::default() };
    let ia = target().registry.open_with(&target().name, &options).expect("opened");
    assert_eq!(ia.async_evd(), None);
    ia.close(Close::Graceful).expect("nothing is on it");
}

fn a_closed_adapter_is_refused() {
    for first in [Close::Graceful, Close::Abrupt] {
        for second in [Close::Graceful, Close::Abrupt] {
            let ia = open("");
            ia.close(first).expect("nothing is on it");
            refused(ia.clone().close(second), Subtype::InvalidHandleIa);
            makes_nothing(&ia);
        }
    }
}

#[track_caller]
fn makes_nothing(ia: &Ia) {
    refused(ia.pz_create(), Subtype::InvalidHandleIa);
    refused(ia.cno_create(None), Subtype::InvalidHandleIa);
    refused(ia.evd_create(&EvdOptions::new(4, EvdFlags::SOFTWARE)), Subtype::InvalidHandleIa);
}

/// The kind of an object, and a function that creates one.
type Maker = (&'static str, fn(&Node) -> Box<dyn Free + Send>);

const MAKERS: [Maker; 8] = [
    ("PZ", |node| boxed(node.ia.pz_create().expect("made"))),
    ("EVD", |node| boxed(node.evd(EvdFlags::SOFTWARE))),
    ("CNO", |node| boxed(node.ia.cno_create(None).expect("made"))),
    ("LMR", |node| boxed(node.buffer(8))),
    ("RMR", |node| boxed(node.rmr())),
    ("EP", |node| boxed(node.ep())),
    ("PSP", |node| boxed(node.psp())),
    ("SRQ", |node| boxed(node.srq(4))),
];

fn a_graceful_close_is_refused_while_an_object_exists() {
    for (kind, make) in MAKERS {
        let node = Node::new();
        if kind == "RMR" && !node.has_rmrs() {
            continue;
        }
        let object = make(&node);
        for _ in 0..2 {
            refused_naming(node.ia.close(Close::Graceful), Subtype::InvalidStateIaInUse, kind);
        }
        assert!(node.ia.is_live());
        node.ia.pz_create().expect("still open").free().expect("unused");
        node.finish_with(&[&*object]);
    }
}

fn dropping_all_handles_frees_the_object() {
    for (kind, make) in MAKERS {
        let node = Node::new();
        if kind == "RMR" && !node.has_rmrs() {
            continue;
        }
        drop(make(&node));
        let Node { ia, pz, recv, request, connect, requests } = node;
        drop((pz, recv, request, connect, requests));
        ia.close(Close::Graceful).unwrap_or_else(|error| panic!("{kind} is left: {error}"));
    }
}

fn an_abrupt_close_frees_everything_in_every_state() {
    in_every_state(|node, staged, _| {
        let buffer = node.buffer(64);
        let rmr = node.has_rmrs().then(|| node.rmr());
        let cno = node.ia.cno_create(None).expect("made");
        let srq = node.srq(4);
        srq.post_recv(&[buffer.piece(0, 8)], 1).expect("posted");
        node.ia.close(Close::Abrupt).expect("always possible");
        refused(staged.ep.query(), Subtype::InvalidHandleEp);
        refused(staged.ep.status(), Subtype::InvalidHandleEp);
        refused(staged.ep.free(), Subtype::InvalidHandleEp);
        refused(staged.ep.post_recv(&[], 0, Default::default()), Subtype::InvalidHandleEp);
        refused(staged.ep.post_send(&[], 0, Default::default()), Subtype::InvalidHandleEp);
        if let Some(peer) = &staged.peer {
            refused(peer.query(), Subtype::InvalidHandleEp);
        }
        if let Some(request) = &staged.request {
            refused(request.query(), Subtype::InvalidHandleCr);
            refused(request.reject(b""), Subtype::InvalidHandleCr);
            refused(request.accept(None, b""), Subtype::InvalidHandleCr);
        }
        if let Some(psp) = &staged.psp {
            refused(psp.free(), Subtype::InvalidHandlePsp);
        }
        if let Some(rsp) = &staged.rsp {
            refused(rsp.free(), Subtype::InvalidHandleRsp);
        }
        refused(buffer.lmr.free(), Subtype::InvalidHandleLmr);
        if let Some(rmr) = rmr {
            refused(rmr.free(), Subtype::InvalidHandleRmr);
        }
        refused(cno.free(), Subtype::InvalidHandleCno);
        refused(srq.free(), Subtype::InvalidHandleSrq);
        refused(srq.query(), Subtype::InvalidHandleSrq);
        refused(node.pz.free(), Subtype::InvalidHandlePz);
        let mut event = Event::default();
        for evd in [&node.recv, &node.request, &node.connect, &node.requests] {
            fails_with(evd.free(), ReturnType::InvalidHandle);
            fails_with(evd.dequeue(&mut event), ReturnType::InvalidHandle);
            fails_with(evd.wait(Timeout::ZERO, 1, &mut event), ReturnType::InvalidHandle);
        }
        makes_nothing(&node.ia);
    });
}

fn the_memory_outlives_an_abrupt_close() {
    let node = Node::new();
    let buffer = node.buffer_of(b"still there");
    let ep = node.ep();
    ep.post_recv(&[buffer.piece(0, 8)], 1, NONE).expect("posted");
    node.ia.close(Close::Abrupt).expect("always possible");
    let Buffer { memory, lmr } = buffer;
    drop((lmr, ep));
    assert_eq!(memory.to_vec(0, 11).expect("inside"), b"still there");
}

fn an_abrupt_close_ends_the_connections_of_other_adapters() {
    let [(near, client), (far, _server)] = linked_nodes();
    far.ia.close(Close::Abrupt).expect("always possible");
    expect_connection(&near.connect, &client, ConnectionEventKind::Disconnected);
    near.finish_with(&[&client]);
}

fn an_abrupt_close_aborts_waiters_on_dispatchers() {
    let node = Node::new();
    let evds = [node.recv.clone(), node.connect.clone(), node.ia.async_evd().expect("made")];
    let waiters = evds.each_ref().map(|evd| waiter(evd, 1));
    for evd in &evds {
        until_owned(evd);
    }
    node.ia.close(Close::Abrupt).expect("always possible");
    for waiter in waiters {
        refused(waiter.join(), ReturnType::Abort);
    }
}

fn an_abrupt_close_wakes_waiters_on_notification_objects() {
    let node = Node::new();
    let calls = Arc::new(AtomicU32::new(0));
    let agent = {
        let calls = Arc::clone(&calls);
        Arc::new(move |evd: Option<Evd>| {
            assert_eq!(evd, None);
            calls.fetch_add(1, Ordering::Relaxed);
        })
    };
    let cno = node.ia.cno_create(Some(agent)).expect("made");
    let waiters =
        [cno.clone(), cno.clone()].map(|cno| Background::run(move || cno.wait(Timeout::Infinite)));
    node.connect.modify_cno(Some(&cno)).expect("live");
    until_waited_on(&cno);
    node.ia.close(Close::Abrupt).expect("always possible");
    let mut woken = 0;
    for waiter in waiters {
        match waiter.join() {
            Ok(None) => woken += 1,
            // The other thread may have started to wait after the close.
            other => _ = refused(other, Subtype::InvalidHandleCno),
        }
    }
    assert!(woken >= 1);
    assert_eq!(calls.load(Ordering::Relaxed), 1, "the proxy agent is unblocked too, once");
}

fn an_abrupt_close_that_races_with_creates_leaves_nothing_live() {
    for _ in 0..rounds(50) {
        let ia = open("");
        let count = Arc::new(AtomicU32::new(0));
        let makers = [0, 1].map(|_| {
            let (ia, count) = (ia.clone(), Arc::clone(&count));
            Background::run(move || {
                let mut made = Vec::new();
                while let Ok(pz) = ia.pz_create() {
                    made.push(pz);
                    count.fetch_add(1, Ordering::Relaxed);
                }
                made
            })
        });
        until("objects are made", || count.load(Ordering::Relaxed) > 0);
        ia.close(Close::Abrupt).expect("always possible");
        for made in makers {
            for pz in made.join() {
                assert!(!pz.is_live());
                refused(pz.free(), Subtype::InvalidHandlePz);
            }
        }
    }
}

fn dropping_everything_closes_the_adapter() {
    // A separate registry, in which only this case opens adapters.
    let target = target();
    let found = target.registry.resolve(&target.name, ApiVersion::ANY).expect("it opens");
    let below = &found[0];
    let registry = Registry::new();
    registry.add_provider(Arc::clone(&below.provider)).expect("an empty registry");
    let provider = below.provider.describe().name;
    let name = format!("{}?{}", below.adapter_name, below.parameters);
    let ia = registry.open(&name).expect("the adapter under test");
    refused(registry.remove_provider(provider), ReturnType::ProviderInUse);
    let (node, client, server) = Node::on(ia).paired();
    let buffer = node.buffer(8);
    drop(node);
    client.post_recv(&[buffer.piece(0, 8)], 1, Default::default()).expect("its parents live");
    drop((client, server));
    assert!(registry.remove_provider(provider).is_err(), "the region is left");
    drop(buffer);
    // An upcall in progress on a thread of the provider may hold the last reference to an endpoint.
    until("nothing is open", || registry.remove_provider(provider).is_ok());
}
