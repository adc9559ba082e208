//! A view into running programs, for `dat top`: which connections a process has, what they do, and what they wait for.
//!
//! Each process with open adapters has one page of shared memory. A thread of its own, `dat-monitor`, samples the
//! state of all connections and writes it to the page: when a reader requests it, and otherwise every few seconds, so
//! that it knows for how long an operation has made no progress. Posts and polls do nothing for it, and a sample takes
//! each connection's lock for less than a microsecond.
//!
//! The page is a memory file (memfd_create(2)), which readers find among the descriptors of the process. Only the same
//! user can do that, and the page is gone with the process. The parameter `monitor=no` of an adapter excludes it.

mod choice;
mod layout;
mod mapping;
mod metrics;
mod page;
mod reader;
mod sampler;
mod session;

pub(crate) use choice::MonitorChoice;
pub use reader::{AdapterView, ConnectionView, PageError, ProcessView, TrafficView, Watch};
pub use session::{Stall, stalls};
pub(crate) use session::{join, leave, stall};
