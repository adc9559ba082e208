//! Moderation of the events of a completion queue (ibv_modify_cq(3)).

use super::{CompletionQueue, Error, Result};
use crate::sys::completion_ex::{IBV_CQ_ATTR_MODERATE, ibv_moderate_cq, ibv_modify_cq_attr};
use crate::sys::operations;

/// When an armed queue reports its completions: after that number of them, or after that time, and
/// not for each one.
///
/// ```
/// use rdma_verbs::verbs::{CompletionQueue, Moderation};
///
/// fn fewer_events(queue: &CompletionQueue) -> rdma_verbs::Result<()> {
///     queue.moderate(Moderation { completions: 16, microseconds: 50 })
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Moderation {
    /// The number of completions.
    pub completions: u16,
    /// The time, in microseconds.
    pub microseconds: u16,
}

impl CompletionQueue {
    /// Moderates the events of the queue (ibv_modify_cq(3)). The device may round the values. Polls
    /// find every completion at once, as without moderation.
    ///
    /// # Errors
    /// `EOPNOTSUPP`: the device, its driver or the library has no moderation; `EINVAL`: a value
    /// exceeds the limit of the device
    /// ([`ExtendedDeviceAttributes::moderation`](super::ExtendedDeviceAttributes::moderation)).
    pub fn moderate(&self, moderation: Moderation) -> Result<()> {
        let mut attributes = ibv_modify_cq_attr {
            attr_mask: IBV_CQ_ATTR_MODERATE,
            moderate: ibv_moderate_cq {
                cq_count: moderation.completions,
                cq_period: moderation.microseconds,
            },
        };
        // SAFETY: the queue is alive.
        let code = unsafe { operations::modify_cq(self.raw(), &mut attributes) };
        Error::check("ibv_modify_cq", code)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_int;
    use std::mem::offset_of;

    use super::super::fake;
    use super::*;
    use crate::sys::extended::verbs_context;
    use crate::sys::verbs::ibv_cq;

    unsafe extern "C" fn modify(_queue: *mut ibv_cq, attributes: *mut ibv_modify_cq_attr) -> c_int {
        // SAFETY: the caller passes valid attributes.
        let attributes = unsafe { *attributes };
        assert_eq!(attributes.attr_mask, IBV_CQ_ATTR_MODERATE);
        let moderate = attributes.moderate;
        if (moderate.cq_count, moderate.cq_period) == (16, 50) { 0 } else { libc::EINVAL }
    }

    fn moderate(context: &super::super::Context, moderation: Moderation) -> Result<()> {
        let queue = fake::queue(context);
        queue.moderate(moderation)
    }

    #[test]
    fn the_values_reach_the_driver() {
        let context = fake::context(|operations| operations.modify_cq = Some(modify));
        let moderation = Moderation { completions: 16, microseconds: 50 };
        assert_eq!(moderate(&context, moderation), Ok(()));
        let refused = moderate(&context, Moderation::default()).expect_err("other values");
        assert_eq!((refused.call, refused.errno), ("ibv_modify_cq", libc::EINVAL));
    }

    #[test]
    fn a_driver_or_library_without_moderation_is_an_error_with_advice() {
        let set = |operations: &mut verbs_context| operations.modify_cq = Some(modify);
        let after = offset_of!(verbs_context, modify_cq) + size_of::<usize>();
        for context in [fake::context(|_| {}), fake::old_context(after, set)] {
            let error = moderate(&context, Moderation::default()).expect_err("not supported");
            assert_eq!(error.errno, libc::EOPNOTSUPP);
            assert!(error.to_string().contains("libibverbs"), "{error}");
        }
    }
}
