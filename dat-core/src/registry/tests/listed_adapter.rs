//! The names listed for C programs, and their order.

use std::sync::Arc;

use super::super::{ApiVersion, Configuration, Registry};
use super::{Fake, registry};
use crate::provider::Reach;

fn reaching(name: &'static str, reach: Reach, adapters: &[&str]) -> Arc<Fake> {
    Arc::new(Fake { reach, ..Fake::plain(name, adapters) })
}

/// Providers in an order that differs from that of their reach.
fn providers() -> [Arc<Fake>; 4] {
    [
        reaching("inside", Reach::Process, &["inside"]),
        reaching("net", Reach::Network, &["net0", "net1"]),
        reaching("near", Reach::Host, &["near"]),
        reaching("rdma", Reach::Rdma, &["rdma0", "rdma1"]),
    ]
}

/// The listed names; those that are not thread-safe have a mark.
fn told(registry: &Registry, version: ApiVersion) -> Vec<String> {
    let mark = |safe: bool| if safe { "" } else { " (one thread)" };
    let listed = registry.listed_adapters(version).into_iter();
    listed.map(|it| format!("{}{}", it.name, mark(it.thread_safe))).collect()
}

#[test]
fn the_widest_reach_comes_first_and_a_process_alone_is_not_listed() {
    let all = registry("", &providers());
    let expected = ["rdma0", "rdma1", "net0", "net1", "near"];
    assert_eq!(told(&all, ApiVersion::V2_0), expected);
    assert_eq!(told(&all, ApiVersion::V1_2), expected);
}

#[test]
fn an_adapter_of_the_process_is_listed_if_there_is_no_other() {
    let [inside, _, _, rdma] = providers();
    rdma.break_adapter("rdma0");
    rdma.break_adapter("rdma1");
    assert_eq!(told(&registry("", &[inside, rdma]), ApiVersion::V2_0), ["inside"]);
}

#[test]
fn lines_come_first_in_file_order_whatever_their_reach() {
    let text = "inside u2.0 nonthreadsafe default inside p.1.2 \"\" \"\"\n\
                near   u2.0 nonthreadsafe default near   p.1.2 \"\" \"\"\n\
                ib0    u2.0 threadsafe    default rdma   p.1.2 \"\" \"\"\n\
                net1   u2.0 threadsafe    default net    p.1.2 \"\" \"\"\n";
    let registry = registry(text, &providers());
    let expected = ["inside", "near", "ib0", "net1", "rdma0", "rdma1", "net0"];
    assert_eq!(told(&registry, ApiVersion::V2_0), expected);
    // The lines are for another version.
    let expected = ["rdma0", "rdma1", "net0", "net1", "near"];
    assert_eq!(told(&registry, ApiVersion::V1_2), expected);
}

#[test]
fn each_name_is_listed_once_with_the_keyword_that_opens_it() {
    let text = "both   u2.0 nonthreadsafe default liba.so p.1.2 \"\" \"\"\n\
                single u2.0 nonthreadsafe default liba.so p.1.2 \"\" \"\"\n\
                ours   u2.0 nonthreadsafe default net     p.1.2 \"\" \"\"\n\
                both   u2.0 threadsafe    default libb.so p.1.2 \"\" \"\"\n\
                broken u2.0 sometimes     default libb.so p.1.2 \"\" \"\"\n\
                net0   u2.0 nonthreadsafe default net     p.1.2 \"\" \"\"\n";
    let configuration = Configuration::from_text("conf", text);
    let registry = Registry::with_configuration(configuration).allow_c_providers();
    for provider in providers() {
        registry.add_provider(provider).expect("a new name");
    }
    let expected =
        ["both", "single (one thread)", "ours", "net0", "rdma0", "rdma1", "net1", "near"];
    assert_eq!(told(&registry, ApiVersion::V2_0), expected);
}
