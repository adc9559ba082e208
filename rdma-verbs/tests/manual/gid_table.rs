//! GID tables.

use rdma_verbs::verbs::{GidType, LinkLayer};

use crate::common::*;
use crate::objects::{gid_index, open};

#[test]
fn the_gid_table_has_the_type_and_the_interface_of_each_entry() {
    with_device(|address| {
        let (context, port, _) = open(address);
        let table = context.gid_table().expect("the table");
        assert!(!table.is_empty());
        let state = context.query_port(port).expect("its port");
        for entry in &table {
            let number = u8::try_from(entry.port).expect("a port");
            assert_eq!(context.gid(number, entry.index), Ok(entry.gid));
            assert_eq!(context.gid_entry(number, entry.index), Ok(*entry));
            if state.link_layer == LinkLayer::Ethernet && !context.is_iwarp() {
                assert!(matches!(entry.gid_type, GidType::RoceV1 | GidType::RoceV2), "{entry:?}");
                assert!(entry.interface_name().is_some(), "{entry:?}");
            }
            if is_soft_roce(&context) {
                assert_eq!(entry.gid_type, GidType::RoceV2);
            }
        }
        if is_soft_roce(&context) {
            let index = u32::from(gid_index(&context, port, address));
            assert!(table.iter().any(|entry| entry.index == index));
        }
        let beyond = context.gid_entry(port, state.gid_table_length).expect_err("no such entry");
        assert!(beyond.to_string().contains("on port"), "{beyond}");
        context.gid_entry(port + 100, 0).expect_err("no such port");
    });
}
