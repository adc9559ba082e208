//! What differs in DAT 2.0 from DAT 1.2.

mod calls;
mod conversion;
mod extension;
mod extension_event;

pub(crate) use calls::*;
pub(crate) use conversion::*;
pub(crate) use extension::*;
pub(crate) use extension_event::*;
