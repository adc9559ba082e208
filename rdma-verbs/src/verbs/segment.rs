//! The memory that posts use: ranges of regions, and memory of the peer.

use std::ops::Range;
use std::sync::Arc;

use super::memory::reserved;
use super::region::RegionUse;
use super::{Error, MemoryRegion, Result, Sge};

/// A range of a memory region.
#[derive(Clone, Debug)]
pub struct Segment {
    region: Arc<MemoryRegion>,
    sge: Sge,
}

impl Segment {
    pub(super) fn new(region: &Arc<MemoryRegion>, range: Range<usize>) -> Result<Self> {
        let outside = Error::new("segment", libc::EFAULT).on(region.error_object());
        let length = range.end.checked_sub(range.start).filter(|_| range.end <= region.len());
        let length = length.and_then(|length| u32::try_from(length).ok()).ok_or(outside)?;
        let addr = region.address().wrapping_add(range.start as u64);
        Ok(Self { region: Arc::clone(region), sge: Sge { addr, length, lkey: region.local_key() } })
    }

    /// The region.
    #[must_use]
    pub fn region(&self) -> &Arc<MemoryRegion> {
        &self.region
    }

    /// The address of its first byte, as used in posts and by peers.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.sge.addr
    }

    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sge.length as usize
    }

    /// Returns true if its length is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sge.length == 0
    }
}

/// Converts segments to C, and counts a use of the region of each.
pub(super) fn gather(
    segments: &[Segment],
    call: &'static str,
) -> Result<(Vec<Sge>, Vec<RegionUse>)> {
    let (mut sges, mut regions) = (reserved(segments.len())?, reserved(segments.len())?);
    for segment in segments {
        regions.push(RegionUse::new(&segment.region, call)?);
        sges.push(segment.sge);
    }
    Ok((sges, regions))
}

/// Memory of the peer, starting at an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RemoteAddress {
    /// The address, as the peer registered it.
    pub address: u64,
    /// The peer's remote key.
    pub key: u32,
}
