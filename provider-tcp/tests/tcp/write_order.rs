//! Programs that poll the last byte of an RDMA write.

use crate::common::node;

#[test]
fn the_last_byte_of_a_write_appears_last() {
    dat_two_processes::write_order::the_last_byte_of_a_write_appears_last(node, "");
}
