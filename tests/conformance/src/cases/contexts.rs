//! Consumer contexts: a value that the consumer attaches to an object.

use crate::prelude::*;

cases! {
    "dat_set_consumer_context(3DAT), dat_get_consumer_context(3DAT)":
        every_kind_of_object_has_a_context, objects_do_not_share_contexts,
        clones_share_the_context, a_context_does_not_keep_its_object_in_use;
}

/// Checks that the context is 0 at first and then the value that was set last.
macro_rules! keeps {
    ($($object:expr),+ $(,)?) => {
        $({
            let object = &$object;
            assert_eq!(object.consumer_context(), 0, "{object:?}: none at first");
            for context in [1, u64::MAX, 0x0123_4567_89ab_cdef, 0] {
                object.set_consumer_context(context);
                assert_eq!(object.consumer_context(), context, "{object:?}");
            }
        })+
    };
}

fn every_kind_of_object_has_a_context() {
    let node = Node::new();
    let buffer = node.buffer(8);
    let staged = ep_in_state(&node, EpState::ActiveConnectionPending);
    let request = staged.request.as_ref().expect("a request that waits");
    let psp = staged.psp.as_ref().expect("the point that it came to");
    let rsp = node.ia.rsp_create(7101, Some(&node.ep()), &node.requests).expect("a point");
    let cno = node.ia.cno_create(None).expect("a notification object");
    keeps!(node.ia, node.pz, buffer.lmr, node.recv, cno, staged.ep, psp, rsp, request,);
    if HAS_2_0 {
        keeps!(node.csp(20_998));
    }
    let offers = node.ia.provider_attributes();
    if offers.rmr_supported {
        keeps!(node.rmr());
    }
    if offers.srq_supported {
        keeps!(node.srq(1));
    }
    keeps!(node.ia.async_evd().expect("a dispatcher of the adapter's own"));
    expect_no_event(&node.connect);
}

fn objects_do_not_share_contexts() {
    let node = Node::new();
    let eps = [(); 3].map(|()| node.ep());
    for (ep, context) in eps.iter().zip(1..) {
        ep.set_consumer_context(context);
    }
    node.ia.set_consumer_context(9);
    for (ep, context) in eps.iter().zip(1..) {
        assert_eq!(ep.consumer_context(), context);
    }
    // A new object does not inherit the context of a freed one.
    for ep in eps {
        ep.free().expect("live");
    }
    assert_eq!(node.ep().consumer_context(), 0);
    assert_eq!(Node::new().ia.consumer_context(), 0, "another instance, another context");
}

fn clones_share_the_context() {
    let (node, psp) = with_psp();
    let clone = psp.clone();
    psp.set_consumer_context(5);
    assert_eq!(clone.consumer_context(), 5);
    clone.set_consumer_context(6);
    assert_eq!(psp.consumer_context(), 6);
    let evd = psp.query().expect("live").evd;
    evd.set_consumer_context(7);
    assert_eq!(node.requests.consumer_context(), 7, "a query gives the object itself");
}

fn a_context_does_not_keep_its_object_in_use() {
    let node = Node::new();
    let evd = node.evd(EvdFlags::SOFTWARE);
    evd.set_consumer_context(1);
    node.pz.set_consumer_context(2);
    fails_with(node.ia.close(Close::Graceful), ReturnType::InvalidState);
    node.finish_with(&[&evd]);
}
