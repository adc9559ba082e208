//! Every limit of the adapter: values up to it are accepted and usable; larger ones are refused
//! with a text that names the value and the limit.

use std::time::Duration;

use dat_core::attr::IaAttributes;
use dat_core::{
    AsyncErrorKind, Close, Comm, CompletionFlags, Connect, ConnectionEventKind, DtoStatus,
    Endpoint, EpAttributes, EpChange, EpSpec, EpState, Error, EvdFlags, EvdOptions, Event, Memory,
    MemorySource, Privileges, PspMaker, Result, ReturnType, SrqAttributes, Subtype, Timeout,
    Waited,
};

use crate::case::{cases, skip};
use crate::check::refused;
use crate::fixture::{Node, link};
use crate::target::{HAS_2_0, LONGEST, MOST, takes_parameters};
use crate::wait::{
    arrived, drain, expect_connection, expect_dto, expect_event, expect_no_event, expect_request,
    state, until,
};

cases! {
    "dat_ep_create(3DAT), ep_attributes": endpoint_attributes_reach_their_bounds,
        endpoint_attributes_above_their_bounds_are_refused;
    "dat_ep_create_with_srq(3DAT), ep_attributes": attributes_with_a_shared_queue;
    "dat_ep_modify(3DAT)": modified_attributes_have_the_same_bounds,
        a_refused_change_of_completion_flags_changes_nothing;
    "dat_ep_post_send(3DAT)": messages_reach_the_bound, messages_stay_below_the_endpoints_bound;
    "dat_ep_post_rdma_write(3DAT)": writes_reach_the_bound;
    "dat_ep_post_rdma_read(3DAT)": reads_reach_the_bound, reads_are_counted;
    "dat_ep_post_recv(3DAT), max_recv_dtos": receives_reach_the_bound;
    "dat_ep_post_send(3DAT), max_request_dtos": requests_reach_the_bound;
    "dat_ep_post_send(3DAT), num_segments": segments_reach_the_bound;
    "dat_evd_create, evd_min_qlen": dispatchers_reach_the_bound;
    "dat_evd_resize(3DAT)": a_resize_has_the_same_bounds;
    "dat_evd_wait(3DAT), threshold": thresholds_reach_the_queue_length;
    "dat_srq_create(3DAT), srq_attr": shared_queues_reach_the_bounds;
    "dat_srq_resize(3DAT)": a_resize_of_a_shared_queue_has_the_same_bounds;
    "dat_srq_set_lw(3DAT)": low_watermarks_reach_the_queue_length;
    "dat_ep_set_watermark(3DAT)": high_watermarks_reach_the_bound;
    "dat_ep_connect(3DAT), private_data": private_data_of_a_request_reach_the_bound;
    "dat_cr_accept(3DAT), private_data": private_data_of_an_answer_reach_the_bound;
    "dat_ep_connect(3DAT), timeout": a_timeout_is_positive;
    "dat_lmr_create(3DAT), length": regions_have_a_length;
    "dat_ia_query(3DAT): how many objects there can be": objects_are_counted;
}

const NONE: CompletionFlags = CompletionFlags::empty();
/// Maximum memory of a case, in bytes.
const MEMORY: u64 = 64 << 20;

/// An adapter with low limits, if it takes parameters, so that reaching them is cheap.
fn small() -> Node {
    if !takes_parameters() {
        return Node::new();
    }
    Node::with(
        "max_message_size=5000,max_rdma_size=6000,max_dto_per_ep=16,max_iov=5,\
         max_rdma_read_in=3,max_rdma_read_out=4,max_evd_qlen=300,max_private_data_size=33,\
         max_recv_per_srq=12",
    )
}

/// Skips the case if it would need too much memory.
fn affordable(bytes: u64, what: &str) -> usize {
    if bytes > MEMORY {
        skip(format!("{what} would take {bytes} bytes, and the adapter takes no parameters"));
    }
    usize::try_from(bytes).expect("within the memory")
}

/// Checks that an error is about a parameter and names it and its bound.
#[track_caller]
fn names(error: &Error, words: &[&dyn std::fmt::Display]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(&word.to_string()), "{word} is not named: {text}");
    }
}

/// Checks the error of a call with a parameter above its limit.
#[track_caller]
fn out_of_bounds<T: std::fmt::Debug>(result: Result<T>, words: &[&dyn std::fmt::Display]) {
    match result {
        Ok(value) => panic!("it worked: {value:?}"),
        Err(error) => {
            assert_eq!(error.return_type(), ReturnType::InvalidParameter, "{error}");
            names(&error, words);
        }
    }
}

/// An endpoint attribute with a limit.
struct Bounded {
    name: &'static str,
    bound: fn(&IaAttributes) -> u64,
    get: fn(&EpAttributes) -> u64,
    set: fn(&mut EpAttributes, u64),
    /// Whether the endpoint has exactly what was asked for.
    exact: Exact,
}

/// Whether an endpoint has exactly what was asked for, or may have more.
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

/// Attributes with small values, so that only one reaches its limit.
fn modest(node: &Node) -> EpAttributes {
    EpAttributes {
        max_message_size: 64,
        max_rdma_size: 64,
        max_recv_dtos: 2,
        max_request_dtos: 2,
        max_recv_iov: 1,
        max_request_iov: 1,
        max_rdma_read_in: 0,
        max_rdma_read_out: node.ia.attributes().max_rdma_read_per_ep_out.min(1),
        max_rdma_read_iov: 1,
        max_rdma_write_iov: 1,
        ..node.ia.default_ep_attributes().clone()
    }
}

impl Bounded {
    fn with(&self, attributes: &EpAttributes, value: u64) -> EpAttributes {
        let mut attributes = attributes.clone();
        (self.set)(&mut attributes, value);
        attributes
    }

    /// Whether an endpoint has what was asked for.
    fn check(&self, ep: &Endpoint, value: u64) {
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

fn endpoint_attributes_reach_their_bounds() {
    let node = small();
    let modest = modest(&node);
    for attribute in BOUNDED {
        for value in attribute.good(&node) {
            let spec = node.spec().attributes(&attribute.with(&modest, value));
            let ep = node.ia.ep_create(&spec);
            let ep = ep.unwrap_or_else(|error| panic!("{} {value}: {error}", attribute.name));
            attribute.check(&ep, value);
            ep.free().expect("unconnected");
        }
    }
    let none = node.spec().attributes(&EpAttributes { max_rdma_read_out: 0, ..modest });
    node.ia.ep_create(&none).expect("reads are not asked for").free().expect("unconnected");
    node.finish();
}

fn endpoint_attributes_above_their_bounds_are_refused() {
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

fn attributes_with_a_shared_queue() {
    let node = small();
    need_srq(&node);
    let attributes = SrqAttributes { max_recv_dtos: 2, max_recv_iov: 1, low_watermark: 0 };
    let srq = node.ia.srq_create(&node.pz, attributes).expect("a queue");
    let modest = modest(&node);
    for attribute in BOUNDED {
        let bound = (attribute.bound)(node.ia.attributes());
        for value in attribute.good(&node) {
            let spec = node.spec().srq(&srq).attributes(&attribute.with(&modest, value));
            let ep = node.ia.ep_create(&spec).expect("within the bound");
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
                made.expect("of no effect").free().expect("unconnected");
            } else {
                let error = refused(made, ReturnType::InvalidParameter, Subtype::InvalidArg7);
                names(&error, &[&attribute.name, &value, &bound]);
            }
        }
    }
    srq.free().expect("unused");
    node.finish();
}

fn modified_attributes_have_the_same_bounds() {
    let node = small();
    let modest = modest(&node);
    let ep = node.ia.ep_create(&node.spec().attributes(&modest)).expect("an endpoint");
    for attribute in BOUNDED {
        let bound = (attribute.bound)(node.ia.attributes());
        for value in attribute.bad(&node) {
            let before = ep.query();
            let changed = attribute.with(&modest, value);
            let change = EpChange::new().pz(&node.pz).recv_evd(None).attributes(&changed);
            let result = ep.modify(&change);
            let error = refused(result, ReturnType::InvalidParameter, Subtype::InvalidArg3);
            names(&error, &[&attribute.name, &value, &bound]);
            assert_eq!(ep.query(), before, "all of a change or nothing");
        }
        for value in attribute.good(&node) {
            let change = EpChange::new().attributes(&attribute.with(&modest, value));
            ep.modify(&change).expect("within the bound");
            attribute.check(&ep, value);
        }
    }
    ep.free().expect("unconnected");
    node.finish();
}

/// The flags of receives would do, those of requests contradict another endpoint's: neither
/// changes, nor does what their dispatchers are fed with.
fn a_refused_change_of_completion_flags_changes_nothing() {
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
    let ep = node.ia.ep_create(&spec).expect("an endpoint");
    let neighbour = node.ia.ep_create(&spec.clone().recv_evd(&other)).expect("an endpoint");
    let looks = || (ep.query(), node.recv.query(), node.request.query(), other.query());
    let before = looks();
    assert!(node.recv.query().expect("live").config_notify);
    let changed = ep.modify(&EpChange::new().attributes(&plain));
    let error = refused(changed, ReturnType::InvalidParameter, Subtype::InvalidArg3);
    names(&error, &[&"request_completion_flags"]);
    assert_eq!(looks(), before);
    neighbour.free().expect("unconnected");
    ep.modify(&EpChange::new().attributes(&plain)).expect("nothing contradicts any more");
    assert!(!node.recv.query().expect("live").config_notify);
    ep.free().expect("unconnected");
    node.finish_with([other]);
}

/// A pair whose active side has attributes; the passive side has those of the adapter.
fn pair_with(node: &Node, attributes: &EpAttributes) -> (Endpoint, Endpoint) {
    let client = node.ia.ep_create(&node.spec().attributes(attributes)).expect("an endpoint");
    let server = node.ep();
    link(node, &client, node, &server);
    (client, server)
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index % 251) as u8).collect()
}

fn messages_reach_the_bound() {
    let node = small();
    let bound = node.ia.attributes().max_message_size;
    let len = affordable(bound.saturating_mul(2), "two messages") / 2;
    let attributes = EpAttributes { max_message_size: bound, ..modest(&node) };
    let (client, server) = pair_with(&node, &attributes);
    let (from, to) = (node.buffer(len + 1), node.buffer(len + 1));
    let bytes = pattern(len);
    from.fill(0, &bytes);
    server.post_recv(&[to.piece(0, len)], 1, NONE).expect("any state");
    let long = client.post_send(&[from.piece(0, len + 1)], 2, NONE);
    out_of_bounds(long, &[&(len + 1), &bound]);
    client.post_send(&[from.piece(0, len)], 3, NONE).expect("as long as a message can be");
    let done = expect_dto(&node.request, &[&client]);
    assert_eq!((done.cookie, done.status), (3, DtoStatus::Success));
    let done = expect_dto(&node.recv, &[&server]);
    assert_eq!((done.status, done.length), (DtoStatus::Success, bound));
    assert!(to.bytes(0, len) == bytes, "the message arrives whole");
    assert_eq!(state(&client), EpState::Connected, "the refused one did no harm");
}

fn messages_stay_below_the_endpoints_bound() {
    let node = small();
    need_srq(&node);
    let shape = SrqAttributes { max_recv_dtos: 1, max_recv_iov: 1, low_watermark: 0 };
    let srq = node.ia.srq_create(&node.pz, shape).expect("a queue");
    let attributes = EpAttributes { max_message_size: 10, max_rdma_size: 20, ..modest(&node) };
    // Only endpoints with a shared queue have bounds below the adapter's.
    let client = node.ia.ep_create(&node.spec().srq(&srq).attributes(&attributes)).expect("made");
    let server = node.ep();
    link(&node, &client, &node, &server);
    let (from, to) = (node.buffer(32), node.buffer(32));
    for cookie in 1..=2 {
        server.post_recv(&[to.piece(0, 32)], cookie, NONE).expect("any state");
    }
    out_of_bounds(client.post_send(&[from.piece(0, 11)], 1, NONE), &[&11, &10]);
    let halves = |second| [from.piece(0, 5), from.piece(5, second)];
    let most = client.query().expect("live").attributes.max_request_iov;
    if most > 1 {
        out_of_bounds(client.post_send(&halves(6), 1, NONE), &[&11, &10]);
    }
    for len in [10, 0] {
        client.post_send(&[from.piece(0, len)], 2, NONE).expect("within the bound");
        assert_eq!(expect_dto(&node.request, &[&client]).status, DtoStatus::Success);
        let done = expect_dto(&node.recv, &[&server]);
        assert_eq!((done.status, done.length), (DtoStatus::Success, len as u64));
    }
    let remote = to.remote(0, 32);
    out_of_bounds(client.post_rdma_write(&[from.piece(0, 21)], 1, remote, NONE), &[&21, &20]);
    client.post_rdma_write(&[from.piece(0, 20)], 2, remote, NONE).expect("within the bound");
    assert_eq!(expect_dto(&node.request, &[&client]).status, DtoStatus::Success);
}

fn writes_reach_the_bound() {
    let node = small();
    let bound = node.ia.attributes().max_rdma_size;
    let len = affordable(bound.saturating_mul(2), "two transfers") / 2;
    let attributes = EpAttributes { max_rdma_size: bound, ..modest(&node) };
    let (client, _server) = pair_with(&node, &attributes);
    let (from, to) = (node.buffer(len + 1), node.buffer(len + 1));
    let bytes = pattern(len);
    from.fill(0, &bytes);
    let long = client.post_rdma_write(&[from.piece(0, len + 1)], 1, to.remote(0, len + 1), NONE);
    out_of_bounds(long, &[&(len + 1), &bound]);
    client.post_rdma_write(&[from.piece(0, len)], 2, to.remote(0, len), NONE).expect("allowed");
    let done = expect_dto(&node.request, &[&client]);
    assert_eq!((done.cookie, done.status), (2, DtoStatus::Success));
    assert!(to.bytes(0, len) == bytes, "the transfer is whole");
    assert_eq!(to.bytes(len, 1), [0], "and no longer");
}

fn reads_reach_the_bound() {
    let node = small();
    need_reads(&node);
    let bound = node.ia.attributes().max_rdma_size;
    let len = affordable(bound.saturating_mul(2), "two transfers") / 2;
    let attributes = EpAttributes { max_rdma_size: bound, max_rdma_read_out: 1, ..modest(&node) };
    let (client, _server) = pair_with(&node, &attributes);
    let (from, to) = (node.buffer(len + 1), node.buffer(len + 1));
    let bytes = pattern(len);
    from.fill(0, &bytes);
    let long = client.post_rdma_read(&[to.piece(0, len + 1)], 1, from.remote(0, len + 1), NONE);
    assert_eq!(long.as_ref().expect_err("too long").subtype(), Subtype::InvalidArg5);
    out_of_bounds(long, &[&(len + 1), &bound]);
    let short = client.post_rdma_read(&[to.piece(0, len - 1)], 1, from.remote(0, len), NONE);
    refused(short, ReturnType::LengthError, Subtype::NoSubtype);
    client.post_rdma_read(&[to.piece(0, len)], 2, from.remote(0, len), NONE).expect("allowed");
    let done = expect_dto(&node.request, &[&client]);
    assert_eq!((done.cookie, done.status), (2, DtoStatus::Success));
    assert!(to.bytes(0, len) == bytes, "the transfer is whole");
}

fn need_reads(node: &Node) {
    let ia = node.ia.attributes();
    if ia.max_rdma_read_per_ep_in == 0 || ia.max_rdma_read_per_ep_out == 0 {
        skip("the adapter has no RDMA reads");
    }
}

fn need_srq(node: &Node) {
    if !node.ia.provider_attributes().srq_supported {
        skip("the provider does not support shared receive queues");
    }
}

/// Posting more RDMA reads than can be in flight is not an error: they queue up.
fn reads_are_counted() {
    let node = small();
    need_reads(&node);
    let ia = node.ia.attributes();
    let reads = ia.max_rdma_read_per_ep_in.min(ia.max_rdma_read_per_ep_out);
    let posts = (reads + 2).min(ia.max_dto_per_ep);
    let attributes =
        EpAttributes { max_rdma_read_out: reads, max_request_dtos: posts, ..modest(&node) };
    let client = node.ia.ep_create(&node.spec().attributes(&attributes)).expect("an endpoint");
    let attributes =
        EpAttributes { max_rdma_read_in: reads, max_rdma_read_out: 0, ..modest(&node) };
    let server = node.ia.ep_create(&node.spec().attributes(&attributes)).expect("an endpoint");
    link(&node, &client, &node, &server);
    let (from, to) = (node.buffer(8), node.buffer(8));
    for cookie in 0..posts {
        let posted =
            client.post_rdma_read(&[to.piece(0, 8)], cookie.into(), from.remote(0, 8), NONE);
        posted.expect("within the queue");
    }
    for cookie in 0..posts {
        let done = expect_dto(&node.request, &[&client]);
        assert_eq!((done.cookie, done.status), (cookie.into(), DtoStatus::Success));
    }
    let none = server.post_rdma_read(&[to.piece(0, 8)], 1, from.remote(0, 8), NONE);
    out_of_bounds(none, &[&"max_rdma_read_out", &0]);
}

fn receives_reach_the_bound() {
    let node = small();
    for wanted in [1, node.ia.attributes().max_dto_per_ep] {
        let attributes = EpAttributes { max_recv_dtos: wanted, ..modest(&node) };
        let ep = node.ia.ep_create(&node.spec().attributes(&attributes)).expect("an endpoint");
        let limit = ep.query().expect("live").attributes.max_recv_dtos;
        assert!(limit >= wanted);
        for cookie in 0..limit {
            ep.post_recv(&[], cookie.into(), NONE).expect("within the queue");
        }
        let error = ep.post_recv(&[], 0, NONE).expect_err("the queue is full");
        assert_eq!(error.return_type(), ReturnType::InsufficientResources, "{error}");
        assert_eq!(ep.recv_query().map(|buffers| buffers.allocated), Ok(limit));
        ep.free().expect("unconnected");
    }
}

fn requests_reach_the_bound() {
    for at_the_bound in [false, true] {
        let node = small();
        let wanted = if at_the_bound { node.ia.attributes().max_dto_per_ep } else { 1 };
        let attributes = EpAttributes { max_request_dtos: wanted, ..modest(&node) };
        let evd = node.ia.evd_create(&EvdOptions::new(wanted + 1, EvdFlags::COMPLETIONS));
        let evd = evd.expect("a dispatcher");
        let spec = node.spec().request_evd(&evd).attributes(&attributes);
        let client = node.ia.ep_create(&spec).expect("an endpoint");
        let server = node.ep();
        link(&node, &client, &node, &server);
        let limit = client.query().expect("live").attributes.max_request_dtos;
        assert!(limit >= wanted);
        // No receive is posted for them.
        for cookie in 0..limit {
            client.post_send(&[], cookie.into(), NONE).expect("within the queue");
        }
        let error = client.post_send(&[], 0, NONE).expect_err("the queue is full");
        assert_eq!(error.return_type(), ReturnType::InsufficientResources, "{error}");
        client.disconnect(Close::Abrupt).expect("connected");
        for cookie in 0..limit {
            let done = expect_dto(&evd, &[&client]);
            assert_eq!((done.cookie, done.status), (cookie.into(), DtoStatus::Flushed));
        }
        expect_no_event(&evd);
    }
}

fn segments_reach_the_bound() {
    let node = small();
    let ia = node.ia.attributes();
    let dto = ia.max_iov_segments_per_dto as usize;
    let writes = ia.max_iov_segments_per_rdma_write as usize;
    let reads = ia.max_iov_segments_per_rdma_read as usize;
    let has_reads = ia.max_rdma_read_per_ep_out > 0 && ia.max_rdma_read_per_ep_in > 0;
    let attributes = EpAttributes {
        max_recv_iov: dto as u32,
        max_request_iov: dto as u32,
        max_rdma_write_iov: writes as u32,
        max_rdma_read_iov: reads as u32,
        max_rdma_read_in: u32::from(has_reads),
        max_rdma_read_out: u32::from(has_reads),
        ..modest(&node)
    };
    let (client, server) = (0..2)
        .map(|_| node.ia.ep_create(&node.spec().attributes(&attributes)).expect("an endpoint"))
        .fold((None, None), |(_, first), ep| (first, Some(ep)));
    let (client, server) = (client.expect("two"), server.expect("two"));
    link(&node, &client, &node, &server);
    let limit = client.query().expect("live").attributes;
    let longest = dto.max(writes).max(reads);
    let (from, to) = (node.buffer(longest + 1), node.buffer(longest + 1));
    let bytes = pattern(longest);
    from.fill(0, &bytes);
    // Single bytes, so that one in the wrong place shows.
    let iov = |count: usize| (0..count).map(|at| from.piece(at, 1)).collect::<Vec<_>>();
    let into = |count: usize| (0..count).map(|at| to.piece(at, 1)).collect::<Vec<_>>();
    let many = limit.max_recv_iov as usize + 1;
    if many <= dto {
        out_of_bounds(server.post_recv(&into(many), 1, NONE), &[&many, &(many - 1)]);
    } else {
        out_of_bounds(server.post_recv(&into(dto + 1), 1, NONE), &[&(dto + 1), &dto]);
    }
    server.post_recv(&into(dto), 2, NONE).expect("as many as allowed");
    out_of_bounds(client.post_send(&iov(dto + 1), 3, NONE), &[&(dto + 1), &dto]);
    client.post_send(&iov(dto), 4, NONE).expect("as many as allowed");
    let done = expect_dto(&node.recv, &[&server]);
    assert_eq!((done.cookie, done.status, done.length), (2, DtoStatus::Success, dto as u64));
    assert_eq!(to.bytes(0, dto), bytes[..dto]);
    assert_eq!(expect_dto(&node.request, &[&client]).cookie, 4);
    let remote = to.remote(0, longest + 1);
    let posted = client.post_rdma_write(&iov(writes + 1), 5, remote, NONE);
    out_of_bounds(posted, &[&(writes + 1), &writes]);
    to.fill(0, &vec![0; longest]);
    client.post_rdma_write(&iov(writes), 6, remote, NONE).expect("as many as allowed");
    assert_eq!(expect_dto(&node.request, &[&client]).cookie, 6);
    assert_eq!(to.bytes(0, writes), bytes[..writes]);
    if has_reads {
        let posted = client.post_rdma_read(&into(reads + 1), 7, from.remote(0, reads), NONE);
        out_of_bounds(posted, &[&(reads + 1), &reads]);
        to.fill(0, &vec![0; longest]);
        let posted = client.post_rdma_read(&into(reads), 8, from.remote(0, reads), NONE);
        posted.expect("as many as allowed");
        assert_eq!(expect_dto(&node.request, &[&client]).cookie, 8);
        assert_eq!(to.bytes(0, reads), bytes[..reads]);
    }
    assert_eq!(state(&client), EpState::Connected);
}

/// The longest queue, if it is affordable.
fn longest_queue(node: &Node) -> u32 {
    let most = node.ia.attributes().max_evd_qlen;
    affordable(u64::from(most) * size_of::<Event>() as u64, "the longest queue");
    most
}

fn dispatchers_reach_the_bound() {
    let node = small();
    let most = longest_queue(&node);
    for flags in [EvdFlags::SOFTWARE, EvdFlags::COMPLETIONS, EvdFlags::CONNECTION] {
        for qlen in [0, most + 1, MOST] {
            let made = node.ia.evd_create(&EvdOptions::new(qlen, flags));
            let error = refused(made, ReturnType::InvalidParameter, Subtype::InvalidArg2);
            names(&error, &[&"evd_min_qlen", &qlen, &most]);
        }
        for qlen in [1, most - 1, most] {
            let evd = node.ia.evd_create(&EvdOptions::new(qlen, flags)).expect("a dispatcher");
            assert!(evd.query().expect("live").qlen >= qlen);
            if flags == EvdFlags::SOFTWARE {
                for value in 0..qlen {
                    evd.post_se(value.into()).expect("it holds at least what was asked for");
                }
                for value in 0..qlen {
                    assert_eq!(expect_event(&evd, &[]), Event::Software(value.into()));
                }
            }
            evd.free().expect("unused");
        }
    }
    node.finish();
}

fn a_resize_has_the_same_bounds() {
    let node = small();
    let most = longest_queue(&node);
    let evd = node.ia.evd_create(&EvdOptions::new(2, EvdFlags::SOFTWARE)).expect("a dispatcher");
    evd.post_se(7).expect("within the limit");
    for qlen in [0, most + 1, MOST] {
        let before = evd.query();
        let error = refused(evd.resize(qlen), ReturnType::InvalidParameter, Subtype::InvalidArg2);
        names(&error, &[&"evd_min_qlen", &qlen, &most]);
        assert_eq!(evd.query(), before);
    }
    for qlen in [1, most] {
        evd.resize(qlen).expect("within the bound");
        assert!(evd.query().expect("live").qlen >= qlen);
    }
    for value in 1..most {
        evd.post_se(value.into()).expect("it holds at least what was asked for");
    }
    assert_eq!(drain(&evd).len(), most as usize);
    evd.free().expect("unused");
    node.finish();
}

fn thresholds_reach_the_queue_length() {
    let node = small();
    let evd = node.ia.evd_create(&EvdOptions::new(5, EvdFlags::SOFTWARE)).expect("a dispatcher");
    let qlen = evd.query().expect("live").qlen;
    let mut event = Event::default();
    for threshold in [0, qlen + 1, MOST] {
        for timeout in [Timeout::ZERO, Timeout::Infinite] {
            let waited = evd.wait(timeout, threshold, &mut event);
            let error = refused(waited, ReturnType::InvalidParameter, Subtype::InvalidArg3);
            names(&error, &[&"threshold", &threshold, &qlen]);
        }
    }
    for value in 0..qlen {
        let waited = evd.wait(Timeout::ZERO, qlen, &mut event);
        assert_eq!(waited, Ok(Waited::TimedOut { queued: value }));
        evd.post_se(value.into()).expect("within the limit");
    }
    let waited = evd.wait(Timeout::Infinite, qlen, &mut event);
    assert_eq!(waited, Ok(Waited::Event { more: qlen - 1 }));
    assert_eq!(event, Event::Software(0));
    evd.free().expect("unused");
    node.finish();
}

fn shared_queues_reach_the_bounds() {
    let node = small();
    need_srq(&node);
    let ia = node.ia.attributes();
    let (most, segments) = (ia.max_recv_per_srq, ia.max_iov_segments_per_dto);
    let good = SrqAttributes { max_recv_dtos: 2, max_recv_iov: 1, low_watermark: 0 };
    let bad = |attributes, words: &[&dyn std::fmt::Display]| {
        let made = node.ia.srq_create(&node.pz, attributes);
        let error = refused(made, ReturnType::InvalidParameter, Subtype::InvalidArg3);
        names(&error, words);
    };
    for max_recv_dtos in [0, most + 1, MOST] {
        let words: [&dyn std::fmt::Display; 3] = [&"max_recv_dtos", &max_recv_dtos, &most];
        bad(SrqAttributes { max_recv_dtos, ..good }, &words);
    }
    for max_recv_iov in [segments + 1, MOST] {
        let words: [&dyn std::fmt::Display; 3] = [&"max_recv_iov", &max_recv_iov, &segments];
        bad(SrqAttributes { max_recv_iov, ..good }, &words);
    }
    if node.ia.provider_attributes().srq_watermarks_supported {
        bad(SrqAttributes { low_watermark: 3, ..good }, &[&"low_watermark", &3, &2]);
    }
    for (max_recv_dtos, max_recv_iov) in [(1, 1), (most, 1), (1, segments)] {
        let attributes = SrqAttributes { max_recv_dtos, max_recv_iov, low_watermark: 0 };
        let srq = node.ia.srq_create(&node.pz, attributes).expect("within the bounds");
        let has = srq.query().expect("live").attributes;
        assert!(has.max_recv_dtos >= max_recv_dtos && has.max_recv_iov >= max_recv_iov);
        let buffer = node.buffer(has.max_recv_iov as usize + 1);
        let iov: Vec<_> = (0..=has.max_recv_iov as usize).map(|at| buffer.piece(at, 1)).collect();
        out_of_bounds(srq.post_recv(&iov, 0), &[&iov.len(), &has.max_recv_iov]);
        for cookie in 0..has.max_recv_dtos {
            srq.post_recv(&iov[1..], cookie.into()).expect("within the queue");
        }
        let error = srq.post_recv(&iov[1..], 0).expect_err("the queue is full");
        assert_eq!(error.return_type(), ReturnType::InsufficientResources, "{error}");
        assert_eq!(srq.query().expect("live").outstanding_dto_count, has.max_recv_dtos);
        srq.free().expect("unused");
        buffer.lmr.free().expect("unused");
    }
    node.finish();
}

fn a_resize_of_a_shared_queue_has_the_same_bounds() {
    let node = small();
    need_srq(&node);
    let most = node.ia.attributes().max_recv_per_srq;
    let attributes = SrqAttributes { max_recv_dtos: 2, max_recv_iov: 1, low_watermark: 0 };
    let srq = node.ia.srq_create(&node.pz, attributes).expect("a queue");
    for cookie in 0..2 {
        srq.post_recv(&[], cookie).expect("within the queue");
    }
    for wanted in [0, most + 1, MOST] {
        let before = srq.query();
        let error = refused(srq.resize(wanted), ReturnType::InvalidParameter, Subtype::InvalidArg2);
        names(&error, &[&"srq_max_recv_dto", &wanted, &most]);
        assert_eq!(srq.query(), before);
    }
    srq.resize(most).expect("within the bound");
    for cookie in 2..most {
        srq.post_recv(&[], cookie.into()).expect("within the queue");
    }
    assert_eq!(srq.query().expect("live").outstanding_dto_count, most);
    srq.free().expect("unused");
    node.finish();
}

fn low_watermarks_reach_the_queue_length() {
    let node = small();
    need_srq(&node);
    if !node.ia.provider_attributes().srq_watermarks_supported {
        skip("the provider has no watermarks");
    }
    let attributes = SrqAttributes { max_recv_dtos: 4, max_recv_iov: 1, low_watermark: 0 };
    let srq = node.ia.srq_create(&node.pz, attributes).expect("a queue");
    let limit = srq.query().expect("live").attributes.max_recv_dtos;
    for cookie in 0..limit {
        srq.post_recv(&[], cookie.into()).expect("within the queue");
    }
    for watermark in [limit + 1, MOST] {
        let before = srq.query();
        let set = srq.set_lw(watermark);
        let error = refused(set, ReturnType::InvalidParameter, Subtype::InvalidArg2);
        names(&error, &[&"low_watermark", &watermark, &limit]);
        assert_eq!(srq.query(), before);
    }
    for watermark in [0, 1, limit] {
        srq.set_lw(watermark).expect("within the queue");
        assert_eq!(srq.query().expect("live").attributes.low_watermark, watermark);
    }
    // A full queue is not below its own length; one buffer less is.
    let evd = node.ia.async_evd().expect("the adapter made one");
    expect_no_event(&evd);
    let client = node.ep();
    let server = node.ia.ep_create(&node.spec().srq(&srq)).expect("an endpoint");
    link(&node, &client, &node, &server);
    client.post_send(&[], 1, NONE).expect("connected");
    expect_dto(&node.recv, &[&server]);
    match expect_event(&evd, &[]) {
        Event::Async(error) => {
            assert_eq!((error.kind, error.object), (AsyncErrorKind::SrqLowWatermark, srq.id()));
        }
        other => panic!("{other:?}"),
    }
}

fn high_watermarks_reach_the_bound() {
    let node = small();
    if !node.ia.provider_attributes().srq_watermarks_supported {
        skip("the provider has no watermarks");
    }
    let most = node.ia.attributes().max_dto_per_ep;
    let attributes = EpAttributes { max_recv_dtos: most, ..modest(&node) };
    let ep = node.ia.ep_create(&node.spec().attributes(&attributes)).expect("an endpoint");
    let above = most + 1;
    let soft = ep.set_watermark(Some(above), None);
    let error = refused(soft, ReturnType::InvalidParameter, Subtype::InvalidArg2);
    names(&error, &[&"soft_high_watermark", &above, &most]);
    let hard = ep.set_watermark(Some(1), Some(above));
    let error = refused(hard, ReturnType::InvalidParameter, Subtype::InvalidArg3);
    names(&error, &[&"hard_high_watermark", &above, &most]);
    let evd = node.ia.async_evd().expect("the adapter made one");
    // These two receives would exceed the soft watermark if the refused call had set it.
    for cookie in 0..2 {
        ep.post_recv(&[], cookie, NONE).expect("any state");
    }
    expect_no_event(&evd);
    ep.set_watermark(Some(most), Some(most)).expect("at the bound");
    ep.set_watermark(Some(most - 1), None).expect("below the bound");
    for cookie in 2..most {
        expect_no_event(&evd);
        ep.post_recv(&[], cookie.into(), NONE).expect("within the queue");
    }
    match expect_event(&evd, &[&ep]) {
        Event::Async(error) => {
            assert_eq!((error.kind, error.object), (AsyncErrorKind::EpSoftHighWatermark, ep.id()));
        }
        other => panic!("{other:?}"),
    }
}

/// Checks that private data arrived as sent, followed by zeros only.
fn private_data_of_a_request_reach_the_bound() {
    let node = small();
    let most = node.ia.provider_attributes().max_private_data_size as usize;
    let data: Vec<u8> = (1..=200).cycle().take(most + 1).collect();
    let psp = node.ia.psp_create_any(&node.requests, PspMaker::Consumer).expect("a point");
    let address = node.address();
    let socket = node.socket(5_151);
    let can_ask_commonly = HAS_2_0 && address.ip().is_some();
    let csp = can_ask_commonly.then(|| {
        let csp = node.ia.csp_create(Comm::for_address(socket.ip()), socket, &node.requests);
        csp.expect("a port")
    });
    let to = Connect::to(address, psp.qualifier());
    let base = node.ep();
    base.connect(&to).expect("an attempt");
    let server = node.ep();
    expect_request(&node.requests).request.accept(Some(&server), b"").expect("unconnected");
    until("the connection is established", || state(&base) == EpState::Connected);
    type Call<'a> = &'a dyn Fn(&Endpoint, &[u8]) -> Result<()>;
    let calls: [(Call<'_>, Subtype); 3] = [
        (&|ep, data| ep.connect(&to.clone().private_data(data)), Subtype::InvalidArg5),
        (
            &|ep, data| ep.dup_connect(&base, Timeout::Infinite, data, Default::default()),
            Subtype::InvalidArg4,
        ),
        (&|ep, data| ep.common_connect(socket, Timeout::Infinite, data), Subtype::InvalidArg4),
    ];
    for (call, argument) in calls.into_iter().take(if can_ask_commonly { 3 } else { 2 }) {
        let ep = node.ep();
        let error = refused(call(&ep, &data), ReturnType::InvalidParameter, argument);
        names(&error, &[&"private data", &(most + 1), &most]);
        assert_eq!(state(&ep), EpState::Unconnected);
        expect_no_event(&node.requests);
        call(&ep, &data[..most]).expect("within the bound");
        let request = expect_request(&node.requests).request;
        arrived(&request.query().expect("waiting").private_data, &data[..most]);
    }
    drop((psp, csp));
}

fn private_data_of_an_answer_reach_the_bound() {
    let node = small();
    let most = node.ia.provider_attributes().max_private_data_size as usize;
    let data: Vec<u8> = (1..=200).cycle().take(most + 1).collect();
    let psp = node.ia.psp_create_any(&node.requests, PspMaker::Consumer).expect("a point");
    let ask = || {
        let ep = node.ep();
        ep.connect(&Connect::to(node.address(), psp.qualifier())).expect("an attempt");
        (ep, expect_request(&node.requests).request)
    };
    let (client, request) = ask();
    let server = node.ia.ep_create(&EpSpec::new(&node.pz)).expect("an endpoint");
    let accepted = request.accept(Some(&server), &data);
    let error = refused(accepted, ReturnType::InvalidParameter, Subtype::InvalidArg3);
    names(&error, &[&"private data", &(most + 1), &most]);
    assert_eq!(state(&server), EpState::Unconnected);
    assert_eq!(state(&client), EpState::ActiveConnectionPending);
    request.accept(Some(&server), &data[..most]).expect("within the bound");
    let event = expect_connection(&node.connect, &client, ConnectionEventKind::Established);
    arrived(&event.private_data, &data[..most]);
    if !HAS_2_0 {
        return;
    }
    let (client, request) = ask();
    let error = refused(request.reject(&data), ReturnType::InvalidParameter, Subtype::InvalidArg2);
    names(&error, &[&"private data", &(most + 1), &most]);
    assert_eq!(state(&client), EpState::ActiveConnectionPending);
    request.reject(&data[..most]).expect("within the bound");
    let event = expect_connection(&node.connect, &client, ConnectionEventKind::PeerRejected);
    arrived(&event.private_data, &data[..most]);
}

fn a_timeout_is_positive() {
    let node = small();
    let psp = node.ia.psp_create_any(&node.requests, PspMaker::Consumer).expect("a point");
    let (base, _server) = node.pair();
    let to = Connect::to(node.address(), psp.qualifier());
    let socket = node.socket(5_252);
    let ep = node.ep();
    let zero = Timeout::ZERO;
    for (result, argument) in [
        Some((ep.connect(&to.clone().timeout(zero)), Subtype::InvalidArg4)),
        Some((ep.dup_connect(&base, zero, b"", Default::default()), Subtype::InvalidArg3)),
        HAS_2_0.then(|| (ep.common_connect(socket, zero, b""), Subtype::InvalidArg3)),
    ]
    .into_iter()
    .flatten()
    {
        let error = refused(result, ReturnType::InvalidParameter, argument);
        names(&error, &[&"timeout", &0]);
        assert_eq!(state(&ep), EpState::Unconnected);
    }
    expect_no_event(&node.requests);
    ep.connect(&to.timeout(Duration::from_micros(1))).expect("the shortest there is");
    expect_connection(&node.connect, &ep, ConnectionEventKind::TimedOut);
    assert_eq!(state(&ep), EpState::Disconnected);
}

fn regions_have_a_length() {
    let node = small();
    let most = node.ia.attributes().max_lmr_block_size;
    // Skip the length of a block if it exceeds the memory limit of a case.
    let len = usize::try_from(most.min(1 << 20)).expect("a megabyte");
    let memory = Memory::zeroed(len + 1).expect("memory");
    let register =
        |range| node.ia.lmr_create(MemorySource::Part(&memory, range), &node.pz, Privileges::ALL);
    refused(register(3..3), ReturnType::LengthError, Subtype::NoSubtype);
    refused(register(1..len + 2), ReturnType::InvalidParameter, Subtype::InvalidArg3);
    if most == len as u64 {
        let error =
            refused(register(0..len + 1), ReturnType::InvalidParameter, Subtype::InvalidArg4);
        names(&error, &[&"length", &(len + 1), &most]);
    }
    for range in [0..1, len..len + 1, 1..len + 1] {
        let (start, length) = (range.start as u64, range.len() as u64);
        let lmr = register(range).expect("within the bound");
        let param = lmr.query().expect("live");
        let address = memory.address() + start;
        assert!(param.registered_address <= address);
        assert!(param.registered_address + param.registered_size >= address + length);
        assert!(lmr.triplet(0, length).is_ok());
        assert!(lmr.triplet(0, length + 1).is_err());
        lmr.free().expect("unused");
    }
    node.finish();
}

/// Checks that as many objects of a kind as the limit can be created, and one more after a free.
fn objects_are_counted() {
    if !takes_parameters() {
        skip("the adapter takes no parameters, and its bounds are too high to meet");
    }
    // A node has a zone and four dispatchers; the adapter has one dispatcher.
    let node = Node::with("max_eps=3,max_evds=7,max_lmrs=2,max_rmrs=2,max_pzs=3,max_srqs=2");
    let ia = &node.ia;
    let memory = Memory::zeroed(8).expect("memory");
    let source = || MemorySource::Memory(&memory);
    let srq = SrqAttributes { max_recv_dtos: 1, max_recv_iov: 1, low_watermark: 0 };
    type Free = Box<dyn Fn() -> Result<()>>;
    fn frees<T: 'static>(made: Result<T>, free: fn(&T) -> Result<()>) -> Result<Free> {
        made.map(|object| Box::new(move || free(&object)) as Free)
    }
    type Make<'a> = &'a dyn Fn() -> Result<Free>;
    let kinds: [(&str, u32, Make<'_>); 6] = [
        ("EP", 3, &|| frees(ia.ep_create(&node.spec()), Endpoint::free)),
        ("EVD", 2, &|| {
            let options = EvdOptions::new(1, EvdFlags::SOFTWARE);
            frees(ia.evd_create(&options), |evd| evd.free())
        }),
        ("LMR", 2, &|| frees(ia.lmr_create(source(), &node.pz, Privileges::ALL), |lmr| lmr.free())),
        ("RMR", 2, &|| frees(ia.rmr_create(&node.pz), |rmr| rmr.free())),
        ("PZ", 2, &|| frees(ia.pz_create(), |pz| pz.free())),
        ("SRQ", 2, &|| frees(ia.srq_create(&node.pz, srq), |srq| srq.free())),
    ];
    for (kind, limit, make) in kinds {
        let mut made = Vec::new();
        for _ in 0..limit {
            made.push(make().unwrap_or_else(|error| panic!("{kind}: {error}")));
        }
        for _ in 0..2 {
            let Err(error) = make() else { panic!("{kind}: more than the adapter has") };
            assert_eq!(error.return_type(), ReturnType::InsufficientResources, "{error}");
            names(&error, &[&kind, &"maximum"]);
            made.pop().expect("made before")().expect("unused");
            made.push(make().unwrap_or_else(|error| panic!("{kind}, freed: {error}")));
        }
        for free in made {
            free().expect("unused");
        }
    }
    node.finish();
}
