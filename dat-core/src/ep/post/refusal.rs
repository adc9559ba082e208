//! Reasons to refuse a post.

use super::super::EpInner;
use crate::attr::ProviderAttributes;
use crate::compat::Rule;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::flags::CompletionFlags;

impl EpInner {
    /// The provider's attributes.
    pub(super) fn offers(&self) -> &ProviderAttributes {
        &self.base.ia.attributes.provider
    }

    /// Refuses an operation that the provider does not support.
    pub(super) fn check_offered(
        &self,
        offered: bool,
        what: &'static str,
        operation: &'static str,
    ) -> Result<()> {
        if offered {
            return Ok(());
        }
        let error = Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
            .because(format!("the provider does not support {what}"))
            .advise("the provider attributes list what it supports");
        Err(self.base.describe(error, operation))
    }

    #[cold]
    pub(super) fn bad_flags(
        &self,
        flags: CompletionFlags,
        allowed: u32,
        argument: Subtype,
        operation: &'static str,
    ) -> Error {
        let excess = CompletionFlags::from_bits_retain(flags.bits() & !allowed);
        let advice = if excess.contains(CompletionFlags::UNSIGNALLED) {
            "create the endpoint with DAT_COMPLETION_UNSIGNALLED_FLAG to use it in posts"
        } else {
            "post without the flag, which the operation does not support"
        };
        let error = Error::new(ReturnType::InvalidParameter, argument)
            .because(format!("completion_flags: {excess} cannot be used here"));
        self.base.describe(Rule::ExcessFlags.broken(error, advice), operation)
    }

    #[cold]
    pub(super) fn too_many(&self, segments: usize, most: u32, operation: &'static str) -> Error {
        let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg2)
            .because(format!("{segments} segments exceed the endpoint's maximum of {most}"))
            .advise("use fewer segments, or create the endpoint with a longer IOV");
        self.base.describe(error, operation)
    }

    #[cold]
    pub(in crate::ep) fn too_long(&self, length: u64, most: u64, operation: &'static str) -> Error {
        let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg3)
            .because(format!("{length} bytes exceed the endpoint's maximum of {most}"))
            .advise("transfer less at once, or create the endpoint with a higher maximum");
        self.base.describe(error, operation)
    }

    #[cold]
    pub(super) fn too_short(&self, length: u64, capacity: u64, operation: &'static str) -> Error {
        let error = Error::new(ReturnType::LengthError, Subtype::NoSubtype)
            .because(format!("{length} bytes don't fit into a buffer of {capacity}"));
        let advice = "make the destination buffer at least as long as the source";
        self.base.describe(Rule::RemoteLength.broken(error, advice), operation)
    }

    #[cold]
    pub(super) fn no_reads(&self, operation: &'static str) -> Error {
        let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1)
            .because("the endpoint was created with max_rdma_read_out 0")
            .advise("create it with at least 1 to post RDMA reads");
        self.base.describe(error, operation)
    }

    #[cold]
    pub(super) fn shares_receives(&self) -> Error {
        let subtype = Subtype::InvalidStateSrqInUse;
        let error = Error::new(ReturnType::InvalidState, subtype)
            .because("the endpoint uses a shared receive queue")
            .advise("post the receive on the shared receive queue");
        self.base.describe(error, super::RECV)
    }
}
