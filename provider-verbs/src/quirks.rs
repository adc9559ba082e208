//! Where devices differ from what their capabilities say.
//!
//! The flags of [`Quirks`] apply to one kind of device. Three workarounds apply to every device,
//! because they cost nothing: the number of [`RETRIES`]; the omission of empty segments
//! (`segments`), which some devices read as 2 GiB and which crash the kernel of soft-iWARP; and the
//! watch over requests that soft-RoCE never completes (`stall_watchdog`).

use std::sync::Arc;

use crate::verbs::{CompletionQueue, Context};

/// Number of times that an unacknowledged request is resent before the connection breaks. Not the
/// maximum of 7, which soft-RoCE treats as unlimited (rdma_rxe counts down only from lower values).
pub(crate) const RETRIES: u8 = 6;

/// The quirks of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Quirks {
    /// Failures are reported only if the queue is armed for all completions (soft-RoCE).
    pub(crate) solicited_arming_misses_failures: bool,
    /// Solicited completions are not reported separately, so the queue must be armed for all
    /// completions; this wakes a waiter too often rather than too rarely (soft-iWARP).
    pub(crate) solicited_arming_misses_solicited: bool,
    /// A receive that invalidated a key has the kernel's internal flag in its completion. The API
    /// gives this bit another meaning, which no connection uses (soft-RoCE).
    pub(crate) invalidation_flag_is_internal: bool,
    /// The buffers of a shared receive queue must belong to the protection domain of the queue pair
    /// (soft-RoCE).
    pub(crate) checks_domain_of_shared_receives: bool,
    /// Requests that follow a read complete before the read, unless they have a fence. The device
    /// refuses a fence for reads, which it executes one after the other anyway (soft-iWARP).
    pub(crate) requests_overtake_reads: bool,
    /// The library takes one mmap offset for a failure (soft-iWARP; see [`block_bad_offset`]).
    pub(crate) bad_mmap_offset: bool,
}

impl Quirks {
    /// The quirks of the device with these identifiers.
    pub(crate) const fn of(vendor: u32, part: u32, is_iwarp: bool) -> Self {
        const SOFT_ROCE: u32 = 0xff_ffff;
        const SOFT_IWARP: u32 = 0x62_6d74;
        let soft_roce = vendor == SOFT_ROCE && part == 0;
        let soft_iwarp = vendor == SOFT_IWARP && is_iwarp;
        Self {
            solicited_arming_misses_failures: soft_roce,
            solicited_arming_misses_solicited: soft_iwarp,
            invalidation_flag_is_internal: soft_roce,
            checks_domain_of_shared_receives: soft_roce,
            requests_overtake_reads: soft_iwarp,
            bad_mmap_offset: soft_iwarp,
        }
    }
}

/// Occupies the mmap offset in a new context that libsiw takes for a failure: 0x90 pages from the
/// beginning. An object that is mapped there cannot be created, and the error does not say why. The
/// kernel assigns the first free offset, so a queue that begins before it keeps it occupied.
pub(crate) fn block_bad_offset(context: &Context) -> Option<Arc<CompletionQueue>> {
    const PAGES: usize = 0x90 + 1;
    const ENTRY: usize = 32;
    // If this fails, one object among very many will fail.
    CompletionQueue::new(context, (PAGES * dat_sync::pages::page_size() / ENTRY) as u32, 0, None)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_software_devices_have_quirks() {
        assert_eq!(Quirks::of(0x15b3, 0x1017, false), Quirks::default(), "mlx5");
        assert_eq!(Quirks::of(0xff_ffff, 1, false), Quirks::default());
        assert_eq!(Quirks::of(0x62_6d74, 0, false), Quirks::default());
        assert!(Quirks::of(0xff_ffff, 0, false).solicited_arming_misses_failures);
        assert!(Quirks::of(0x62_6d74, 0, true).requests_overtake_reads);
    }
}
