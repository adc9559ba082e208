//! The loopback provider: through the contract with providers (`common`), and through the DAT API (`dat`).

mod common;
mod completions;
mod connections;
mod dat;
mod decorators;
mod faults;
mod messages;
mod opening;
mod rdma;
mod shared_receives;
mod stress;
