//! A view into running programs, for `dat top`: which connections a process has, what they do, and what they wait for.
//!
//! Each process with open adapters has one page of shared memory. The call that opens an adapter writes its row. From the
//! first endpoint on, the thread `dat-monitor` samples the state of all connections and writes it to the page: when a
//! reader requests it, and otherwise every few seconds, so that it knows for how long an operation has made no progress.
//! Posts and polls do nothing for it, and a sample takes each connection's lock for less than a microsecond.
//!
//! The page costs the first open in a process, and the last close, about 20 µs together.
//!
//! The page is a memory file (memfd_create(2)), which readers find among the descriptors of the process. Only the same
//! user can do that, and the page is gone with the process. The parameter `monitor=no` of an adapter excludes it.

mod choice;
mod exposition;
mod layout;
mod mapping;
mod metrics;
mod observed;
mod page;
mod reader;
mod sampler;
mod session;
mod view;

pub(crate) use choice::MonitorChoice;
#[doc(hidden)]
pub use choice::without_choice;
#[doc(hidden)]
pub use observed::{Device, Observation};
pub use reader::{PageError, Watch};
pub use session::{Stall, stalls};
pub(crate) use session::{join, leave, sample, stall};
#[doc(hidden)]
pub use session::{sample_devices, show};
pub use view::{AdapterView, ConnectionView, DispatcherView, ProcessView, SizesView, TrafficView};
#[doc(hidden)]
pub use view::{SLOT_LENGTH, view_of};
