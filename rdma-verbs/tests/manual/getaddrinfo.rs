//! rdma_getaddrinfo(3).

use std::net::SocketAddr;

use rdma_verbs::Error;
use rdma_verbs::cm::{AddressInfo, Family, Flags, Hints, PathData, PortSpace};
use rdma_verbs::verbs::QueuePairType;

use crate::common::*;

fn text(address: SocketAddr) -> String {
    address.ip().to_string()
}

fn with_flags(flags: Flags) -> Hints {
    Hints { flags, ..hints(PortSpace::Tcp, flags.passive) }
}

#[test]
fn node_and_service_resolve_to_what_a_connection_needs() {
    with_device(|address| {
        let info = AddressInfo::resolve(Some(&text(address)), Some("7471"), None).expect("found");
        let first = info.first();
        assert_eq!(first.destination(), Some(SocketAddr::new(address.ip(), 7_471)));
        assert_eq!(first.family(), if address.is_ipv4() { Family::V4 } else { Family::V6 });
        assert!(first.queue_pair_type().is_some() && first.port_space().is_some());
    });
}

#[test]
fn names_resolve_as_for_sockets() {
    with_device(|_| {
        let info = AddressInfo::resolve(Some("localhost"), Some("7471"), None).expect("found");
        let destination = info.first().destination().expect("an address");
        assert!(destination.ip().is_loopback(), "{destination}");
        assert_eq!(destination.port(), 7_471);
    });
}

#[test]
fn a_node_is_a_name_or_an_address_of_either_family() {
    with_device(|address| {
        for node in ["localhost", "::1", &text(address)] {
            let info = AddressInfo::resolve(Some(node), Some("1"), None);
            assert!(info.expect(node).first().destination().is_some());
        }
        let passive = hints(PortSpace::Tcp, true);
        AddressInfo::resolve(None, Some("7471"), Some(&passive)).expect("without a node");
    });
}

#[test]
fn a_service_is_a_name_or_a_port_number() {
    with_device(|address| {
        for (service, port) in [("7471", 7_471), ("http", 80)] {
            let info = AddressInfo::resolve(Some(&text(address)), Some(service), None);
            let destination = info.expect(service).first().destination().expect("an address");
            assert_eq!(destination.port(), port);
        }
    });
}

#[test]
fn hints_select_the_port_space() {
    with_device(|address| {
        for space in [PortSpace::Tcp, PortSpace::Udp] {
            let info = AddressInfo::from_address(address, &hints(space, false)).expect("found");
            assert_eq!(info.first().port_space(), Some(space));
        }
    });
}

#[test]
fn the_list_of_results_ends() {
    with_device(|address| {
        let info = resolve(address, false);
        let count = info.iter().count();
        assert!((1..64).contains(&count), "{count}");
        assert!(info.iter().all(|entry| entry.destination().is_some()));
    });
}

#[test]
fn each_error_code_has_its_text() {
    // Most come from a name server that fails, which a test cannot provoke.
    let codes = [
        libc::EAI_AGAIN,
        libc::EAI_BADFLAGS,
        libc::EAI_FAIL,
        libc::EAI_FAMILY,
        libc::EAI_MEMORY,
        libc::EAI_NODATA,
        libc::EAI_NONAME,
        libc::EAI_SERVICE,
        libc::EAI_SOCKTYPE,
        libc::EAI_SYSTEM,
        -9, // EAI_ADDRFAMILY
    ];
    let mut texts: Vec<String> =
        codes.iter().map(|&code| Error::new("rdma_getaddrinfo", code).to_string()).collect();
    assert!(texts.iter().all(|text| text.starts_with("rdma_getaddrinfo: ")));
    assert!(texts.iter().all(|text| !text.contains("Unknown")), "{texts:?}");
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), codes.len(), "each has a text of its own");
}

#[test]
fn an_unknown_node_is_an_error_of_the_name_service() {
    with_device(|_| {
        let hints = with_flags(Flags { numeric_host: true, ..Flags::default() });
        let refused = AddressInfo::resolve(Some("no.such.host.invalid"), Some("1"), Some(&hints));
        let error = refused.expect_err("not a number");
        assert_eq!(error.errno, libc::EAI_NONAME, "{error}");
    });
}

#[test]
fn an_unknown_service_is_an_error_of_the_name_service() {
    with_device(|address| {
        let refused = AddressInfo::resolve(Some(&text(address)), Some("no-such-service"), None);
        let error = refused.expect_err("no such service");
        assert!(error.errno < 0, "{error}");
    });
}

#[test]
fn a_kind_that_does_not_fit_the_port_space_is_refused_or_returned_unchanged() {
    with_device(|address| {
        let queue_pair_type = Some(QueuePairType::Ud);
        let wrong = Hints { queue_pair_type, ..hints(PortSpace::Tcp, false) };
        // rdma-core resolves it, and refuses the queue pair or the connection of the endpoint
        // later.
        match AddressInfo::from_address(address, &wrong) {
            Err(error) => assert_ne!(error.errno, 0),
            Ok(info) => assert_eq!(
                (info.first().queue_pair_type(), info.first().port_space()),
                (queue_pair_type, Some(PortSpace::Tcp))
            ),
        }
    });
}

#[test]
fn a_system_error_is_an_errno() {
    with_device(|_| {
        let refused = AddressInfo::resolve(None, None, None).expect_err("nothing to resolve");
        assert_eq!(refused.errno, libc::EINVAL);
        let zero = AddressInfo::resolve(Some("a\0b"), None, None).expect_err("a zero byte");
        assert_eq!(zero.errno, libc::EINVAL);
    });
}

#[test]
fn node_service_or_hints_must_be_given() {
    with_device(|address| {
        let nothing = AddressInfo::resolve(None, None, None).expect_err("nothing to resolve");
        assert_eq!(nothing.errno, libc::EINVAL);
        AddressInfo::resolve(Some(&text(address)), None, None).expect("a node");
        let destination = Some(SocketAddr::new(address.ip(), 5));
        let hints = Hints { destination, ..hints(PortSpace::Tcp, false) };
        AddressInfo::resolve(None, None, Some(&hints)).expect("hints");
    });
}

#[test]
fn the_flags_of_the_hints_come_back() {
    with_device(|address| {
        for passive in [false, true] {
            let flags = Flags { passive, numeric_host: true, ..Flags::default() };
            let info = AddressInfo::from_address(address, &with_flags(flags)).expect("found");
            assert_eq!(info.first().flags().passive, passive);
        }
    });
}

#[test]
fn passive_results_are_for_listening() {
    with_device(|address| {
        let info = resolve(SocketAddr::new(address.ip(), 7_471), true);
        let first = info.first();
        assert!(first.flags().passive);
        assert_eq!(first.source(), Some(SocketAddr::new(address.ip(), 7_471)));
        assert_eq!(first.destination(), None);
    });
}

#[test]
fn a_node_resolves_to_addresses_route_and_connection_data() {
    with_device(|address| {
        let info = resolve(SocketAddr::new(address.ip(), 7_471), false);
        let first = info.first();
        assert!(first.destination().is_some());
        // RoCE and iWARP need neither.
        assert!(first.route().is_empty() && first.connect_data().is_empty());
    });
}

#[test]
fn hints_control_the_result() {
    with_device(|address| {
        let source = Some(SocketAddr::new(address.ip(), 0));
        let wanted = Hints { source, ..hints(PortSpace::Udp, false) };
        let info = AddressInfo::from_address(address, &wanted).expect("found");
        let first = info.first();
        assert_eq!(first.source(), source);
        assert_eq!(first.queue_pair_type(), Some(QueuePairType::Ud));
    });
}

#[test]
fn without_a_node_the_addresses_of_the_hints_are_resolved() {
    with_device(|address| {
        let destination = Some(SocketAddr::new(address.ip(), 5));
        let wanted = Hints { destination, ..hints(PortSpace::Tcp, false) };
        let info = AddressInfo::resolve(None, None, Some(&wanted)).expect("found");
        assert_eq!(info.first().destination(), destination);
        let source = Some(SocketAddr::new(address.ip(), 6));
        let wanted = Hints { source, ..hints(PortSpace::Tcp, true) };
        let info = AddressInfo::resolve(None, None, Some(&wanted)).expect("found");
        assert_eq!(info.first().source(), source);
    });
}

#[test]
fn numeric_host_looks_up_no_name() {
    with_device(|address| {
        let numeric = with_flags(Flags { numeric_host: true, ..Flags::default() });
        AddressInfo::resolve(Some(&text(address)), Some("1"), Some(&numeric)).expect("a number");
        let refused = AddressInfo::resolve(Some("localhost"), Some("1"), Some(&numeric));
        assert_eq!(refused.expect_err("a name").errno, libc::EAI_NONAME);
    });
}

#[test]
fn no_route_resolves_no_route() {
    with_device(|address| {
        let wanted = with_flags(Flags { no_route: true, ..Flags::default() });
        let info = AddressInfo::from_address(address, &wanted).expect("found");
        assert!(info.first().route().is_empty());
        assert!(info.first().destination().is_some());
    });
}

#[test]
fn the_family_flag_applies_the_family_of_the_hints_to_the_node() {
    with_device(|address| {
        let family = Some(if address.is_ipv4() { Family::V6 } else { Family::V4 });
        let flags = Flags { family: true, numeric_host: true, ..Flags::default() };
        let wanted = Hints { family, ..with_flags(flags) };
        let refused = AddressInfo::resolve(Some(&text(address)), Some("1"), Some(&wanted));
        assert!(refused.expect_err("an address of the other family").errno < 0);
        let family = Some(if address.is_ipv4() { Family::V4 } else { Family::V6 });
        let wanted = Hints { family, ..with_flags(flags) };
        AddressInfo::resolve(Some(&text(address)), Some("1"), Some(&wanted)).expect("its own");
    });
}

#[test]
fn results_have_the_family_of_their_addresses() {
    with_device(|_| {
        let info = AddressInfo::resolve(Some("127.0.0.1"), Some("1"), None).expect("found");
        assert_eq!(info.first().family(), Family::V4);
        let info = AddressInfo::resolve(Some("::1"), Some("1"), None).expect("found");
        assert_eq!(info.first().family(), Family::V6);
    });
}

#[test]
fn results_are_for_connections_or_for_datagrams() {
    with_device(|address| {
        for (space, queue_pair_type) in
            [(PortSpace::Tcp, QueuePairType::Rc), (PortSpace::Udp, QueuePairType::Ud)]
        {
            let info = AddressInfo::from_address(address, &hints(space, false)).expect("found");
            assert_eq!(info.first().queue_pair_type(), Some(queue_pair_type));
        }
    });
}

#[test]
fn results_have_the_requested_port_space() {
    with_device(|address| {
        for space in [PortSpace::Tcp, PortSpace::Udp, PortSpace::Ib] {
            let info = AddressInfo::from_address(address, &hints(space, false)).expect("found");
            assert_eq!(info.first().port_space(), Some(space));
        }
    });
}

#[test]
fn the_source_has_a_length_or_is_unknown() {
    with_device(|address| {
        let info = resolve(SocketAddr::new(address.ip(), 7_471), false);
        assert_eq!(info.first().source_length() != 0, info.first().source().is_some());
        // No device leads there.
        let away = AddressInfo::resolve(Some("192.0.2.1"), Some("1"), None);
        if let Ok(info) = away {
            assert_eq!(info.first().source_length() != 0, info.first().source().is_some());
        }
    });
}

#[test]
fn a_passive_result_has_no_destination() {
    with_device(|address| {
        assert_eq!(resolve(address, true).first().destination_length(), 0);
        assert!(resolve(address, false).first().destination_length() > 0);
    });
}

#[test]
fn the_source_is_an_address_of_the_device() {
    with_device(|address| {
        let info = resolve(SocketAddr::new(address.ip(), 7_471), true);
        let source = info.first().source().expect("known on the passive side");
        assert_eq!(source.ip(), address.ip());
    });
}

#[test]
fn the_destination_is_the_requested_address() {
    with_device(|address| {
        let at = SocketAddr::new(address.ip(), 7_471);
        assert_eq!(resolve(at, false).first().destination(), Some(at));
    });
}

#[test]
fn known_canonical_names_are_not_empty() {
    with_device(|_| {
        let info = AddressInfo::resolve(Some("localhost"), Some("1"), None).expect("found");
        for entry in info.iter() {
            for name in [entry.source_name(), entry.destination_name()].into_iter().flatten() {
                assert!(name.to_str().is_ok_and(|name| !name.is_empty()), "{name:?}");
            }
        }
    });
}

#[test]
fn routes_are_paths_or_nothing() {
    with_device(|address| {
        let route = vec![PathData { flags: 0, reserved: 0, record: [0; 64] }];
        for route in [Vec::new(), route] {
            let wanted = Hints { route, ..hints(PortSpace::Tcp, false) };
            let info = AddressInfo::from_address(address, &wanted).expect("found");
            let length = info.first().route().len();
            assert_eq!(length % size_of::<PathData>(), 0, "{length}");
        }
    });
}
