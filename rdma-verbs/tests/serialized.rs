//! The addresses that peers exchange, with the feature `serde`.

use std::net::Ipv6Addr;

use rdma_verbs::verbs::{AddressVector, Gid, GidEntry, GidType, GlobalRoute, RemoteAddress};
use serde_json::json;

#[test]
fn a_gid_is_text_in_the_form_of_an_address() {
    let gid = Gid::from("fe80::2:3".parse::<Ipv6Addr>().expect("an address"));
    let text = serde_json::to_string(&gid).expect("text");
    assert_eq!(text, "\"fe80::2:3\"");
    assert_eq!(serde_json::from_str::<Gid>(&text).expect("a GID"), gid);
    assert!(serde_json::from_str::<Gid>("\"10.0.0.1\"").is_err());
}

#[test]
fn the_address_of_a_port_survives() {
    let destination = Gid([7; 16]);
    let route =
        GlobalRoute { destination, source_index: 3, hop_limit: 64, ..GlobalRoute::default() };
    for route in [Some(route), None] {
        let address = AddressVector { port: 1, lid: 0x1234, route, ..AddressVector::default() };
        let value = serde_json::to_value(address).expect("a value");
        assert_eq!(value["lid"], json!(0x1234));
        assert_eq!(serde_json::from_value::<AddressVector>(value).expect("an address"), address);
    }
}

#[test]
fn memory_of_a_peer_survives() {
    let memory = RemoteAddress { address: u64::MAX, key: 5 };
    let value = serde_json::to_value(memory).expect("a value");
    assert_eq!(value, json!({ "address": u64::MAX, "key": 5 }));
    assert_eq!(serde_json::from_value::<RemoteAddress>(value).expect("memory"), memory);
}

#[test]
fn an_entry_of_a_gid_table_survives() {
    let value = json!({
        "gid": "::ffff:10.0.0.1", "index": 1, "port": 1, "gid_type": "RoceV2", "interface": 4
    });
    let entry: GidEntry = serde_json::from_value(value.clone()).expect("an entry");
    assert_eq!(entry.gid_type, GidType::RoceV2);
    assert_eq!(serde_json::to_value(entry).expect("a value"), value);
}
