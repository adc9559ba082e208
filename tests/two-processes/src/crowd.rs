//! Many connection requests at once, as from the ranks of a job that starts.

use dat_conformance::{Node, expect_request, until};
use dat_core::{Connect, ConnectionEventKind, Ep, EpProvision, EvdFlags, EvdOptions, Event};

use crate::process::raise_descriptors;

/// The number of attempts that are in flight at once.
const CROWD: usize = 1000;

/// Takes the events of a dispatcher until there is one for each attempt, all of which must be establishments.
fn all_established(node: &Node, connected: &dat_core::Evd) {
    let mut established = 0;
    until("every attempt has an event", || {
        for event in dat_conformance::drain(connected) {
            match event {
                Event::Connection(event) if event.kind == ConnectionEventKind::Established => {
                    established += 1;
                }
                other => panic!("{other:?} after {established} connections at {}", node.address()),
            }
        }
        established == CROWD
    });
}

/// A thousand endpoints connect to one service point before its consumer accepts the first request. The
/// dispatcher of the service point holds all of them. Needs a process of its own for the descriptors.
///
/// # Panics
/// If an attempt is refused or lost.
pub fn a_thousand_connects_at_once_are_all_established(open: fn(&str) -> Node) {
    raise_descriptors();
    let (near, far) = (open(""), open(""));
    let queue = |node: &Node, flags| {
        let options = EvdOptions::new(CROWD as u32, flags);
        node.ia.evd_create(&options).expect("a dispatcher")
    };
    let requests = queue(&far, EvdFlags::CONNECTION_REQUEST);
    let (connected, accepted) =
        (queue(&near, EvdFlags::CONNECTION), queue(&far, EvdFlags::CONNECTION));
    let psp = far.ia.psp_create_any(&requests, EpProvision::Consumer).expect("a port");
    let ep = |node: &Node, connect| node.ia.ep_create(&node.spec().connect_evd(connect));
    let eps = |node: &Node, connect| -> Vec<Ep> {
        (0..CROWD).map(|_| ep(node, connect).expect("an endpoint")).collect()
    };
    let (clients, servers) = (eps(&near, &connected), eps(&far, &accepted));
    for client in &clients {
        client.connect(&Connect::to(far.address(), psp.qualifier())).expect("an attempt");
    }
    for server in &servers {
        expect_request(&requests).request.accept(Some(server), b"").expect("unconnected");
    }
    all_established(&near, &connected);
    all_established(&far, &accepted);
}
