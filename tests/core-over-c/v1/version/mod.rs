//! What differs in DAT 1.2 from DAT 2.0.

mod calls;
mod conversion;
mod extension_event;

pub(crate) use calls::*;
pub(crate) use conversion::*;
pub(crate) use extension_event::*;
