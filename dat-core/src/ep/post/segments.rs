//! Local segments: checked against the region table and gathered for the provider.

use arrayvec::ArrayVec;

use crate::error::{Error, Result, ReturnType, Subtype};
use crate::flags::Privileges;
use crate::provider::{Epoch, Epochs, MAX_SEGMENTS, Segment};
use crate::triplet::LmrTriplet;
use dat_sync::region_table::RegionTable;

/// Local segments in the provider's form, and their total length in bytes. The struct is large, so
/// it is filled in place and never moved.
pub(crate) struct Gathered {
    pub(crate) segments: ArrayVec<Segment, MAX_SEGMENTS>,
    pub(crate) length: u64,
    /// The registration epoch in which they were checked.
    pub(crate) checked: Epoch,
}

impl Gathered {
    /// No segments yet; their epoch is the current one.
    pub(crate) fn new(epochs: &Epochs) -> Self {
        Self { segments: ArrayVec::new(), length: 0, checked: epochs.now() }
    }
}

/// Checks local segments against the regions of an adapter and a zone, and appends them.
pub(crate) fn gather(
    gathered: &mut Gathered,
    regions: &RegionTable,
    zone: u32,
    iov: &[LmrTriplet],
    needed: Privileges,
) -> Result<()> {
    iov.iter().try_for_each(|triplet| add(gathered, regions, zone, triplet, needed))
}

fn add(
    gathered: &mut Gathered,
    regions: &RegionTable,
    zone: u32,
    triplet: &LmrTriplet,
    needed: Privileges,
) -> Result<()> {
    let &LmrTriplet { context, address, length } = triplet;
    // A segment of length 0 names no byte, so its context and address are ignored: programs leave
    // them unset.
    if length == 0 {
        return Ok(());
    }
    let Some(value) = regions.find(context, zone, needed.bits(), address, length) else {
        return Err(bad_segment(regions, zone, triplet, needed));
    };
    gathered.length = gathered.length.saturating_add(length);
    let segment = Segment { address, length, key: value as u32 };
    gathered.segments.try_push(segment).map_err(|_| too_many())
}

#[cold]
fn too_many() -> Error {
    Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg2)
        .because(format!("more than {MAX_SEGMENTS} segments"))
}

/// Why a segment cannot be used (RETURN VALUES of dat_ep_post_send(3DAT), dat_lmr_free(3DAT)).
#[cold]
fn bad_segment(
    regions: &RegionTable,
    zone: u32,
    triplet: &LmrTriplet,
    needed: Privileges,
) -> Error {
    let region = regions.get(triplet.context);
    let write = needed.contains(Privileges::LOCAL_WRITE);
    let context = triplet.context;
    match region {
        None if regions.was_issued(context) => {
            let subtype = if write { Subtype::ProtectionWrite } else { Subtype::ProtectionRead };
            Error::new(ReturnType::ProtectionViolation, subtype)
                .because(format!("the region with lmr_context {context:#x} was freed"))
                .advise("free a region only after its operations have completed")
        }
        None => {
            let subtype = if write { Subtype::PrivilegesWrite } else { Subtype::PrivilegesRead };
            Error::new(ReturnType::PrivilegesViolation, subtype)
                .because(format!("lmr_context {context:#x} is not a region of this adapter"))
                .advise("use the lmr_context that dat_lmr_create returned for this adapter")
        }
        Some(region) if region.owner != zone => {
            let subtype = if write { Subtype::ProtectionWrite } else { Subtype::ProtectionRead };
            Error::new(ReturnType::ProtectionViolation, subtype).because(format!(
                "the region with lmr_context {context:#x} is in PZ {}, not in PZ {}",
                regions.name_of(region.owner),
                regions.name_of(zone)
            ))
        }
        Some(region) if needed.bits() & !region.access != 0 => {
            let subtype = if write { Subtype::PrivilegesWrite } else { Subtype::PrivilegesRead };
            Error::new(ReturnType::PrivilegesViolation, subtype)
        }
        Some(region) => Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg3)
            .because(format!(
                "segment {:#x}+{} is not inside its region {:#x}+{}",
                triplet.address, triplet.length, region.address, region.length
            ))
            .advise("keep the segment inside the registered memory"),
    }
}
