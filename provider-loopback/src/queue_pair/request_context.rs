//! The parts of a queue pair that the execution of a request needs.

use std::sync::Arc;

use dat_provider::flags::CompletionFlags;
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::{Completion, CompletionFeatures, Epochs};
use dat_provider_kit::completion_target::CompletionTarget;
use dat_provider_kit::upcalls::Upcalls;

use super::request::WorkRequest;

/// The queue pair that posted a request. Fields are in the order of their use.
#[derive(Clone)]
#[repr(C)]
pub(super) struct RequestContext {
    pub(super) target: CompletionTarget,
    pub(super) epochs: Arc<Epochs>,
    /// Id of the protection domain; 0, which owns no memory, if the queue pair has none.
    pub(super) domain: u32,
    /// The number of the queue pair.
    pub(super) qp_number: u32,
}

impl RequestContext {
    /// Completes a request that succeeded.
    #[inline(always)]
    pub(super) fn succeed(
        &self,
        cookie: u64,
        flags: CompletionFlags,
        length: u64,
        operation: Operation,
        upcalls: &mut Upcalls,
    ) {
        let unsignalled = flags.contains(CompletionFlags::UNSIGNALLED);
        let features = CompletionFeatures { unsignalled, solicited: false, failed: false };
        self.target.succeed((cookie, length, operation), features, upcalls);
    }

    /// Completes a request.
    pub(super) fn complete(
        &self,
        request: &WorkRequest<'_>,
        length: u64,
        status: DtoStatus,
        upcalls: &mut Upcalls,
    ) {
        let failed = status != DtoStatus::Success;
        let (operation, extra) = request.task.operation_and_extra();
        let completion =
            Completion { tag: 0, cookie: request.cookie, length, extra, operation, status };
        let unsignalled = request.flags.contains(CompletionFlags::UNSIGNALLED);
        let features = CompletionFeatures { unsignalled, solicited: false, failed };
        self.target.complete(completion, features, upcalls);
    }
}
