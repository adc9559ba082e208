//! Connections in a network that has few local ports.

use std::net::{Ipv4Addr, TcpListener, TcpStream};

use dat_conformance::{Node, drain, expect_connection, expect_request};
use dat_core::error::ReturnType;
use dat_core::{Close, Connect, ConnectionEventKind, EpProvision};

/// The ports that the system chooses from.
const PORTS: u64 = 4;
/// Makes them the only ones.
pub const FEW: &str = "echo 40000 40003 >/proc/sys/net/ipv4/ip_local_port_range";
/// A qualifier outside of them.
const QUALIFIER: u64 = 2000;

/// Connections to different qualifiers share ports, closed ones keep none from other programs, and an attempt
/// without a port is refused by the call.
///
/// # Panics
/// If an attempt fails for another reason.
pub fn they_are_shared(open: fn(&str) -> Node) {
    let node = open("");
    let connected = |qualifier: u64| {
        let (near, far) = (node.ep(), node.ep());
        near.connect(&Connect::to(node.address(), qualifier)).expect("a port");
        expect_request(&node.requests).request.accept(Some(&far), b"").expect("unconnected");
        for ep in [&near, &far] {
            expect_connection(&node.connect, ep, ConnectionEventKind::Established);
        }
        (near, far)
    };
    let mut psps = Vec::new();
    for qualifier in QUALIFIER..QUALIFIER + 2 * PORTS {
        let psp = node.ia.psp_create(qualifier, &node.requests, EpProvision::Consumer);
        psps.push(psp.expect("free"));
        let pairs: Vec<_> = (0..PORTS).map(|_| connected(qualifier)).collect();
        let ep = node.ep();
        let error = ep.connect(&Connect::to(node.address(), qualifier)).expect_err("no port");
        assert!(error.is(ReturnType::InsufficientResources), "{error:?}");
        assert!(error.to_string().contains("port"), "{error}");
        ep.free().expect("unconnected");
        // Every second one stays.
        if qualifier % 2 == 0 {
            for (near, far) in pairs {
                near.disconnect(Close::Abrupt).expect("connected");
                for ep in [&near, &far] {
                    expect_connection(&node.connect, ep, ConnectionEventKind::Disconnected);
                }
            }
        }
    }
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 3000)).expect("free");
    let sockets = (0..PORTS).map(|_| TcpStream::connect(other.local_addr().expect("bound")));
    let sockets: Vec<_> = sockets.map(|socket| socket.expect("a port")).collect();
    drop(sockets);
    assert_eq!(drain(&node.requests).len(), 0);
}
