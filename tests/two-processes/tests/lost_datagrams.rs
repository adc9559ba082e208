//! Datagrams from and to memory that the program has unmapped.

use dat_conformance::{Node, expect_dto, expect_event, expect_request};
use dat_core::{
    Connect, DatagramAddress, DtoStatus, Ep, EpAttributes, Event, Lmr, MemorySource, Privileges,
    Registry,
};
use dat_two_processes::NONE;
use dat_two_processes::pages::{Loss, Pages};
use dat_two_processes::process::run;

const LENGTH: usize = 100;
/// With the prefix of a datagram.
const ROOM: usize = LENGTH + DatagramAddress::PREFIX as usize;

fn node() -> Node {
    let registry = Registry::new();
    registry.add_provider(dat_provider_loopback::provider()).expect("a new registry");
    Node::on(registry.open("loopback").expect("an adapter"))
}

/// Two endpoints, and the address of the second one.
fn endpoints(node: &Node) -> (Ep, Ep, DatagramAddress) {
    let ep = || node.ep_with(|it| it.service_type = EpAttributes::SERVICE_DATAGRAM);
    let (from, to) = (ep(), ep());
    let psp = node.psp();
    from.connect(&Connect::to(node.address(), psp.qualifier())).expect("an attempt");
    expect_request(&node.requests).request.accept(Some(&to), b"").expect("it carries datagrams");
    let address = [(); 2].into_iter().find_map(|()| {
        let Event::Datagram(event) = expect_event(&node.connect, &[&from, &to]) else {
            panic!("a datagram event expected");
        };
        event.remote.filter(|_| event.ep == from.id())
    });
    (from, to, address.expect("the active side gets it"))
}

fn lost(node: &Node) -> (Pages, Lmr) {
    let pages = Pages::map(ROOM);
    let source = MemorySource::Span(pages.span());
    let lmr = node.ia.lmr_create(source, &node.pz, Privileges::ALL).expect("a registration");
    pages.lose(Loss::Mapping);
    (pages, lmr)
}

#[test]
#[ignore = "a process of its own, which loses memory"]
fn process_that_loses_datagrams() {
    let node = node();
    let good = node.buffer(ROOM);
    let (_pages, lmr) = lost(&node);
    let piece = |length: usize| lmr.triplet(0, length as u64).expect("inside");
    let (from, to, address) = endpoints(&node);
    for (source, target, sent, received) in [
        (piece(LENGTH), good.piece(0, ROOM), DtoStatus::LocalProtection, DtoStatus::Flushed),
        (good.piece(0, LENGTH), piece(ROOM), DtoStatus::Success, DtoStatus::LocalProtection),
        (good.piece(0, LENGTH), good.piece(0, ROOM), DtoStatus::Success, DtoStatus::Success),
    ] {
        to.post_recv(&[target], 1, NONE).expect("posted");
        from.post_send_datagram(&[source], &address, 2, NONE).expect("posted");
        assert_eq!(expect_dto(&node.request, &[&from]).status, sent);
        assert_eq!(expect_dto(&node.recv, &[&to]).status, received);
    }
}

#[test]
fn a_datagram_that_loses_its_memory_fails_and_the_next_one_arrives() {
    run("process_that_loses_datagrams");
}
