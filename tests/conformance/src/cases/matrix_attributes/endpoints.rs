//! The attributes of endpoints.

use dat_core::attr::IaAttributes;

use super::bounds::{modest, out_of_bounds, refused_with, small};
use crate::prelude::*;

/// An endpoint attribute with a limit.
struct Bounded {
    name: &'static str,
    bound: fn(&IaAttributes) -> u64,
    get: fn(&EpAttributes) -> u64,
    set: fn(&mut EpAttributes, u64),
    /// The comparison with the values of the endpoint.
    exact: Exact,
}

/// The comparison with the requested values: exactly these, or more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exact {
    Always,
    /// With a shared receive queue (dat_ep_create_with_srq(3DAT)); other endpoints have as much
    /// as the adapter.
    Shared,
    Never,
}

macro_rules! bounded {
    ($($name:ident <= $bound:ident, $exact:ident;)+) => {
        &[$(Bounded {
            name: stringify!($name),
            bound: |ia| ia.$bound.into(),
            get: |attributes| attributes.$name.into(),
            set: |attributes, value| {
                attributes.$name = value.try_into().expect("representable");
            },
            exact: Exact::$exact,
        },)+]
    };
}

const BOUNDED: &[Bounded] = bounded! {
    max_message_size <= max_message_size, Shared;
    max_rdma_size <= max_rdma_size, Shared;
    max_recv_dtos <= max_dto_per_ep, Never;
    max_request_dtos <= max_dto_per_ep, Never;
    max_recv_iov <= max_iov_segments_per_dto, Never;
    max_request_iov <= max_iov_segments_per_dto, Never;
    max_rdma_read_in <= max_rdma_read_per_ep_in, Always;
    max_rdma_read_out <= max_rdma_read_per_ep_out, Always;
    max_rdma_read_iov <= max_iov_segments_per_rdma_read, Never;
    max_rdma_write_iov <= max_iov_segments_per_rdma_write, Never;
};

impl Bounded {
    fn with(&self, attributes: &EpAttributes, value: u64) -> EpAttributes {
        let mut attributes = attributes.clone();
        (self.set)(&mut attributes, value);
        attributes
    }

    /// Returns whether an endpoint has the requested values.
    fn check(&self, ep: &Ep, value: u64) {
        let param = ep.query().expect("live");
        let has = (self.get)(&param.attributes);
        match (self.exact, &param.srq) {
            (Exact::Always, _) | (Exact::Shared, Some(_)) => {
                assert_eq!(has, value, "{}", self.name)
            }
            (Exact::Shared, None) => {
                assert_eq!(has, (self.bound)(ep.adapter().attributes()), "{}", self.name);
            }
            (Exact::Never, _) => assert!(has >= value, "{}: {has} of {value}", self.name),
        }
    }

    /// Values up to the limit, including the limit itself.
    fn good(&self, node: &Node) -> Vec<u64> {
        let bound = (self.bound)(node.ia.attributes());
        let mut values = vec![1, bound / 2, bound.saturating_sub(1), bound];
        values.retain(|value| (1..=bound).contains(value));
        values
    }

    /// Values above the limit, as far as the API can express them.
    fn bad(&self, node: &Node) -> Vec<u64> {
        // Without RDMA reads, the number of their segments has no meaning.
        if self.name == "max_rdma_read_iov" && node.ia.attributes().max_rdma_read_per_ep_out == 0 {
            return Vec::new();
        }
        let bound = (self.bound)(node.ia.attributes());
        let is_count = !self.name.ends_with("_size");
        let most = if is_count { MOST.into() } else { LONGEST };
        let mut values = vec![bound.saturating_add(1), most];
        values.retain(|value| (bound + 1..=most).contains(value));
        values
    }
}

pub(super) fn endpoint_attributes_reach_their_limits() {
    let node = small();
    let modest = modest(&node);
    for attribute in BOUNDED {
        for value in attribute.good(&node) {
            let ep = node.ia.ep_create(&node.spec().attributes(&attribute.with(&modest, value)));
            let ep = ep.unwrap_or_else(|error| panic!("{} {value}: {error}", attribute.name));
            attribute.check(&ep, value);
            ep.free().expect("unconnected");
        }
    }
    let none = node.spec().attributes(&EpAttributes { max_rdma_read_out: 0, ..modest });
    node.ia.ep_create(&none).expect("no reads are requested").free().expect("unconnected");
    node.finish();
}

pub(super) fn endpoint_attributes_above_their_limits_are_refused() {
    let node = small();
    let modest = modest(&node);
    for attribute in BOUNDED {
        let bound = (attribute.bound)(node.ia.attributes());
        for value in attribute.bad(&node) {
            let spec = node.spec().attributes(&attribute.with(&modest, value));
            out_of_bounds(node.ia.ep_create(&spec), &[&attribute.name, &value, &bound]);
        }
    }
    node.finish();
}

pub(super) fn endpoint_attributes_with_a_shared_queue() {
    let node = small();
    let srq = node.srq(2);
    let modest = modest(&node);
    for attribute in BOUNDED {
        let bound = (attribute.bound)(node.ia.attributes());
        for value in attribute.good(&node) {
            let ep = node.ep_of(&node.spec().srq(&srq).attributes(&attribute.with(&modest, value)));
            if attribute.name != "max_recv_iov" {
                attribute.check(&ep, value);
            }
            ep.free().expect("unconnected");
        }
        for value in attribute.bad(&node) {
            let spec = node.spec().srq(&srq).attributes(&attribute.with(&modest, value));
            let made = node.ia.ep_create(&spec);
            if attribute.name == "max_recv_iov" {
                // The page says that it is ignored: the segments are on the queue.
                made.expect("ignored").free().expect("unconnected");
            } else {
                refused_with(made, Subtype::InvalidArg7, &[&attribute.name, &value, &bound]);
            }
        }
    }
    node.finish_with(&[&srq]);
}

pub(super) fn modified_attributes_have_the_same_limits() {
    let node = small();
    let modest = modest(&node);
    let ep = node.ep_of(&node.spec().attributes(&modest));
    for attribute in BOUNDED {
        let bound = (attribute.bound)(node.ia.attributes());
        for value in attribute.bad(&node) {
            let before = ep.query();
            let changed = attribute.with(&modest, value);
            let change = EpUpdate::new().pz(&node.pz).recv_evd(None).attributes(&changed);
            let result = ep.modify(&change);
            refused_with(result, Subtype::InvalidArg3, &[&attribute.name, &value, &bound]);
            assert_eq!(ep.query(), before, "all of a change or nothing");
        }
        for value in attribute.good(&node) {
            let change = EpUpdate::new().attributes(&attribute.with(&modest, value));
            ep.modify(&change).expect("within the bound");
            attribute.check(&ep, value);
        }
    }
    node.finish_with(&[&ep]);
}

/// The flags of receives would do, those of requests contradict another endpoint's: neither
/// changes, nor does what their dispatchers are fed with.
pub(super) fn a_refused_change_of_completion_flags_changes_nothing() {
    let node = small();
    let own = CompletionFlags::UNSIGNALLED;
    if !node.ia.provider_attributes().completion_flags_supported.contains(own) {
        skip("the provider has no unsignalled completions");
    }
    let plain = modest(&node);
    let unsignalled =
        EpAttributes { recv_completion_flags: own, request_completion_flags: own, ..plain.clone() };
    let spec = node.spec().attributes(&unsignalled);
    let other = node.evd(EvdFlags::DTO);
    let ep = node.ep_of(&spec);
    let neighbour = node.ep_of(&spec.clone().recv_evd(&other));
    let looks = || (ep.query(), node.recv.query(), node.request.query(), other.query());
    let before = looks();
    assert!(node.recv.query().expect("live").config_notify);
    let result = ep.modify(&EpUpdate::new().attributes(&plain));
    refused_with(result, Subtype::InvalidArg3, &[&"request_completion_flags"]);
    assert_eq!(looks(), before);
    neighbour.free().expect("unconnected");
    ep.modify(&EpUpdate::new().attributes(&plain)).expect("nothing contradicts any more");
    assert!(!node.recv.query().expect("live").config_notify);
    node.finish_with(&[&ep, &other]);
}
