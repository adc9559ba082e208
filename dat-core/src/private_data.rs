//! Data that consumers exchange during connection setup.

use crate::error::{Error, Result, ReturnType, Subtype};

/// Fails for private data longer than the provider's maximum of `most` bytes.
pub(crate) fn check_private_data(private_data: &[u8], most: u32) -> Result<()> {
    if private_data.len() <= most as usize {
        return Ok(());
    }
    Err(Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg3)
        .because(format!(
            "private data of {} bytes exceeds the maximum of {most}",
            private_data.len()
        ))
        .advise(format!("pass at most {most} bytes, and send the rest as a message")))
}
