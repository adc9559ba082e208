//! The loopback provider, which needs no second process: children of fork, many requests at once, the order
//! of the bytes of a write, and memory that is lost.

use dat_conformance::Node;
use dat_core::Registry;
use dat_two_processes::{
    busy_parent, closed, crowd, fork, inherited, lost_memory, process, write_order,
};

fn node(parameters: &str) -> Node {
    let registry = Registry::new();
    registry.add_provider(dat_provider_loopback::provider()).expect("a new registry");
    Node::on(registry.open(&format!("loopback{parameters}")).expect("an adapter"))
}

#[test]
fn a_child_learns_which_process_owns_the_adapter() {
    fork::a_child_learns_which_process_owns_the_adapter(node);
}

#[test]
fn a_child_that_drops_everything_does_not_disturb_its_parent() {
    fork::a_child_that_drops_everything_does_not_disturb_its_parent(node);
}

#[test]
fn the_last_byte_of_a_write_appears_last() {
    write_order::the_last_byte_of_a_write_appears_last(node, "");
}

#[test]
fn a_thousand_connects_at_once_are_all_established() {
    crowd::a_thousand_connects_at_once_are_all_established(node);
}

#[test]
#[ignore = "a process of its own, which loses memory"]
fn process_that_loses_memory() {
    lost_memory::each_operation_fails(node);
}

#[test]
#[ignore = "a process of its own, which loses memory"]
fn process_that_loses_half_of_it() {
    lost_memory::the_second_half_is_enough(node);
}

#[test]
fn memory_that_its_owner_loses_fails_operations_and_nothing_else() {
    process::run("process_that_loses_memory");
}

#[test]
fn memory_of_which_its_owner_loses_half_does_so_too() {
    process::run("process_that_loses_half_of_it");
}

#[test]
#[ignore = "a process of its own, whose only threads are those of the test"]
fn process_that_forks() {
    busy_parent::a_child_uses_an_adapter_whatever_its_parent_was_doing(node);
}

#[test]
fn a_child_uses_an_adapter_whatever_its_parent_was_doing() {
    process::run("process_that_forks");
}

#[test]
#[ignore = "a process of its own, whose descriptors are listed"]
fn process_that_lists() {
    inherited::a_child_keeps_no_descriptor_of_its_parent(node);
}

#[test]
fn a_child_keeps_no_descriptor_of_its_parent() {
    process::run("process_that_lists");
}

#[test]
fn a_child_does_not_find_the_listeners_of_its_parent() {
    inherited::a_child_does_not_find_the_listeners_of_its_parent(node);
}

#[test]
#[ignore = "a process of its own, whose descriptors are closed"]
fn process_that_closes() {
    closed::nothing_happens_without_descriptors(node);
}

#[test]
fn descriptors_that_the_program_closes_do_not_matter() {
    process::run("process_that_closes");
}
