//! The suite over an adapter with the minimum limits of a provider
//! (docs/provider-guide.md, "What a provider must have at least").

use std::process::ExitCode;

mod suite;

/// The limits in the table of the guide.
const LEAST: &str = "loopback?max_dto_per_ep=80,max_evd_qlen=8192,max_eps=64,max_evds=64,max_lmrs=64,\
                     max_pzs=64,max_srqs=64,max_rmrs=64,max_iov=4,max_message_size=8192,\
                     max_private_data_size=12,max_rdma_read_in=16,max_rdma_read_out=16,\
                     max_recv_per_srq=32";

fn main() -> ExitCode {
    let verdicts = suite::run(LEAST, "");
    // With 4 segments at most, no other number is left to change to.
    suite::judge(&verdicts, &["the adapter has one value of this only"])
}
