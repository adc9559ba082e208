//! The operations of the InfiniBand extension.

use dat_core::error::{Error, ReturnType, Subtype};

use crate::abi::*;
use crate::answer::Answer;

pub(crate) unsafe fn opv(_handle: DAT_HANDLE, ext_op: DAT_EXTENDED_OP, _args: va_list) -> Answer {
    Err(Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
        .because(format!("operation {ext_op:#x}")))
}
