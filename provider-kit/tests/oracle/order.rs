//! The events of different connections are reported in the order in which the peer caused them.

use std::sync::Arc;

use dat_conformance::{Node, drain, expect_event, until};
use dat_core::{
    Close, Connect, ConnectionEventKind, Cr, Ep, EpSpec, Evd, EvdFlags, Event, Registry,
};

use crate::transport::{ClosedGate, Memories};

/// The private data of the request that the client makes last.
const THIRD: &[u8] = b"third";

/// The side that requests connections.
struct Client(Node);

impl Client {
    fn connect(&self, qualifier: u64, private_data: &[u8]) -> Ep {
        let ep = self.0.ep();
        let connect = Connect::to(self.0.address(), qualifier).private_data(private_data);
        ep.connect(&connect).expect("an attempt");
        ep
    }

    fn expect(&self, kind: ConnectionEventKind) {
        let Event::Connection(event) = expect_event(&self.0.connect, &[]) else {
            panic!("no event of a connection")
        };
        assert_eq!(event.kind, kind);
    }
}

fn request(events: &Evd) -> Cr {
    let Event::ConnectionRequest(arrival) = expect_event(events, &[]) else {
        panic!("no connection request")
    };
    arrival.request
}

/// The name of an event; none for the request that stopped the thread.
fn name(event: &Event) -> Option<&'static str> {
    match event {
        Event::Connection(event) => match event.kind {
            ConnectionEventKind::Established => Some("established"),
            ConnectionEventKind::Disconnected => Some("disconnected"),
            other => panic!("{other:?}"),
        },
        Event::ConnectionRequest(arrival) => {
            let private_data = arrival.request.query().expect("it waits").private_data;
            (*private_data == *THIRD).then_some("third request")
        }
        other => panic!("{other:?}"),
    }
}

/// The client establishes a connection, ends an older one, and requests another, while the thread of
/// the server reads nothing.
#[test]
fn events_of_different_links_come_in_the_order_of_the_peer() {
    let registry = Registry::new();
    registry.add_provider(Arc::new(Memories)).expect("one of that name");
    // Without a seed, a link delays nothing.
    let [client, server] = [(); 2].map(|()| Node::on(registry.open("memory?0").expect("it opens")));
    let client = Client(client);
    let events = server.evd(EvdFlags::CONNECTION | EvdFlags::CONNECTION_REQUEST);
    // Connecting polls the dispatchers of an endpoint, so the links of their other endpoints would be lent.
    let eps = [&server.recv, &server.request].map(|done| {
        let spec = EpSpec::new(&server.pz).connect_evd(&events);
        server.ia.ep_create(&spec.recv_evd(done).request_evd(done)).expect("an endpoint")
    });
    let psp = server.ia.psp_create_any(&events, dat_core::EpProvision::Consumer).expect("a port");
    let qualifier = psp.qualifier();

    let first = client.connect(qualifier, b"");
    request(&events).accept(Some(&eps[0]), b"").expect("unconnected");
    client.expect(ConnectionEventKind::Established);
    assert!(matches!(expect_event(&events, &[]), Event::Connection(_)));
    let second = client.connect(qualifier, b"");
    let request = request(&events);

    let gate = ClosedGate::at(qualifier);
    let stopper = client.connect(qualifier, b"");
    until("the thread of the server has stopped", || gate.has_stopped());
    request.accept(Some(&eps[1]), b"").expect("unconnected");
    client.expect(ConnectionEventKind::Established);
    first.disconnect(Close::Graceful).expect("connected");
    client.expect(ConnectionEventKind::Disconnected);
    let third = client.connect(qualifier, THIRD);
    until("the third request is written", || gate.links() == 2);
    drop(gate);

    let mut found = Vec::new();
    until("all four events", || {
        found.extend(drain(&events));
        found.len() == 4
    });
    let names: Vec<&str> = found.iter().filter_map(name).collect();
    assert_eq!(names, ["established", "disconnected", "third request"]);
    drop((second, third, stopper));
}
