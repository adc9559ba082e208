//! What differs in DAT 1.2 from DAT 2.0.

mod calls;
mod conversion;

pub(crate) use calls::*;
pub(crate) use conversion::*;
