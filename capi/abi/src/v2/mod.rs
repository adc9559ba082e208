//! The types that only DAT 2.0 and its InfiniBand extensions have.

use super::*;

mod extension;
mod ib_collective;
mod ib_counter;
mod ib_event;
mod ib_op;

pub use extension::*;
pub use ib_collective::*;
pub use ib_counter::*;
pub use ib_event::*;
pub use ib_op::*;
