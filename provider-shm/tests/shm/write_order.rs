//! Programs that poll the last byte of an RDMA write.

use dat_two_processes::write_order::the_last_byte_of_a_write_appears_last;

use crate::common::node;

#[test]
fn the_kernel_copies_the_last_byte_last() {
    the_last_byte_of_a_write_appears_last(node, "");
}

#[test]
fn the_target_copies_the_last_byte_last() {
    the_last_byte_of_a_write_appears_last(node, "direct=no");
}
