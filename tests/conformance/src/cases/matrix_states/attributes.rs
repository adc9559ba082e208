//! Changes and queries of an endpoint.

use super::scene::Scene;
use super::table;
use super::trial::try_everywhere;
use crate::prelude::*;

pub(super) fn modify_zone() {
    let call = |scene: &Scene| scene.ep().modify(&EpUpdate::new().pz(&scene.zone));
    try_everywhere(table::ZONE, call, |scene, _, _| {
        assert_eq!(scene.ep().query().expect("live").pz.as_ref(), Some(&scene.zone));
    });
}

pub(super) fn modify_dispatchers() {
    let call = |scene: &Scene| {
        let [recv, request, connect] = &scene.evds;
        let change = EpUpdate::new().recv_evd(Some(recv)).request_evd(Some(request));
        scene.ep().modify(&change.connect_evd(Some(connect)))
    };
    try_everywhere(table::DISPATCHERS, call, |scene, _, _| {
        let param = scene.ep().query().expect("live");
        let after = [param.recv_evd, param.request_evd, param.connect_evd];
        assert_eq!(after.map(|evd| evd.expect("given")), scene.evds);
    });
}

pub(super) fn modify_attributes() {
    fn smaller(scene: &Scene) -> EpAttributes {
        let mut attributes = scene.node.ia.default_ep_attributes().clone();
        attributes.max_message_size /= 2;
        attributes.max_recv_dtos /= 2;
        attributes.max_rdma_read_out /= 2;
        attributes
    }
    let call = |scene: &Scene| scene.ep().modify(&EpUpdate::new().attributes(&smaller(scene)));
    try_everywhere(table::ATTRIBUTES, call, |scene, _, _| {
        let (after, wanted) = (scene.ep().query().expect("live").attributes, smaller(scene));
        assert!(after.max_message_size >= wanted.max_message_size);
        assert_eq!(after.max_rdma_read_out, wanted.max_rdma_read_out);
        assert!(after.max_recv_dtos >= wanted.max_recv_dtos);
    });
}

pub(super) fn query() {
    let call = |scene: &Scene| {
        let param = scene.ep().query()?;
        assert_eq!(param.local_address, scene.node.address());
        let configured = STATES.into_iter().find(|state| *state == param.state);
        let unconfigured = configured.is_some_and(EpState::is_unconfigured);
        assert_eq!(param.pz.is_none(), unconfigured, "{}", param.state);
        Ok(())
    };
    try_everywhere(table::LOOK, call, |scene, from, _| {
        assert_eq!(scene.ep().query().map(|param| param.state), Ok(from));
    });
}

pub(super) fn status() {
    let call = |scene: &Scene| scene.ep().status().map(|_| ());
    try_everywhere(table::LOOK, call, |scene, from, _| {
        assert_eq!(scene.ep().status().map(|status| status.state), Ok(from));
    });
}

pub(super) fn recv_query() {
    let call = |scene: &Scene| scene.ep().recv_query().map(|_| ());
    try_everywhere(table::LOOK, call, |scene, _, _| {
        assert_eq!(scene.ep().recv_query(), Ok(RecvStatus { allocated: 0, span: 0 }));
    });
}

pub(super) fn set_watermark() {
    Node::new().need(|it| it.srq_watermarks_supported, "watermarks");
    let call = |scene: &Scene| scene.ep().set_watermark(Some(3), Some(4));
    try_everywhere(table::WATERMARK, call, |scene, _, _| {
        for evd in scene.dispatchers() {
            expect_no_event(evd);
        }
        scene.ep().set_watermark(None, None).expect("any state");
    });
}
