//! Moves the bytes: the only module that touches registered memory.
//!
//! Every function checks all that it names before it copies the first byte, and is called
//! under the `rq` lock of the direction. Deregistering removes a key and then passes through
//! that lock, so memory whose key was found valid stays until the copy is over.
#![allow(unsafe_code, reason = "registered memory is reached by address, and only here")]

use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

use dat_core::RmrTriplet;
use dat_core::flags::Privileges;
use dat_core::provider::Segment;

use crate::fabric::regions;

/// Local memory as a post named it.
#[derive(Clone, Copy)]
pub(crate) struct Local<'a> {
    pub(crate) segments: &'a [Segment],
    /// The domain that all of it must be of.
    pub(crate) domain: u64,
}

/// Which side of a copy may not be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Source,
    Target,
}

/// Moves a message of `length` bytes into the segments of a receive.
#[inline]
pub(crate) fn message(source: Local<'_>, target: Local<'_>, length: u64) -> Result<(), Fault> {
    if length == 0 {
        return Ok(());
    }
    if !source.permits(Privileges::LOCAL_READ) {
        return Err(Fault::Source);
    }
    if !target.permits(Privileges::LOCAL_WRITE) {
        return Err(Fault::Target);
    }
    copy(source.segments, target.segments, length);
    Ok(())
}

/// Moves `length` bytes to remote memory of a domain.
pub(crate) fn write(
    source: Local<'_>,
    remote: &RmrTriplet,
    domain: u64,
    length: u64,
) -> Result<(), Fault> {
    if length == 0 {
        return Ok(());
    }
    if !source.permits(Privileges::LOCAL_READ) {
        return Err(Fault::Source);
    }
    let Some(target) = remote_segment(remote, domain, length, Privileges::REMOTE_WRITE) else {
        return Err(Fault::Target);
    };
    copy(source.segments, &[target], length);
    Ok(())
}

/// Moves all bytes of a piece of remote memory of a domain to the segments.
pub(crate) fn read(remote: &RmrTriplet, domain: u64, target: Local<'_>) -> Result<(), Fault> {
    if remote.length == 0 {
        return Ok(());
    }
    if !target.permits(Privileges::LOCAL_WRITE) {
        return Err(Fault::Target);
    }
    let privilege = Privileges::REMOTE_READ;
    let Some(source) = remote_segment(remote, domain, remote.length, privilege) else {
        return Err(Fault::Source);
    };
    copy(&[source], target.segments, remote.length);
    Ok(())
}

impl Local<'_> {
    /// Whether every segment is live memory of the domain that may be used so.
    #[inline]
    pub(crate) fn permits(self, privilege: Privileges) -> bool {
        self.segments.iter().all(|segment| {
            segment.length == 0
                || regions().get(segment.key).is_some_and(|region| {
                    region.owner == self.domain
                        && region.access & privilege.bits() != 0
                        && region.contains(segment.address, segment.length)
                })
        })
    }
}

/// The memory that a peer names, when it may use it so. A window's value is the key of the
/// region below it, which must still be there.
fn remote_segment(
    remote: &RmrTriplet,
    domain: u64,
    length: u64,
    privilege: Privileges,
) -> Option<Segment> {
    let region = regions().get(remote.context)?;
    let inside = region.owner == domain
        && region.access & privilege.bits() != 0
        && region.contains(remote.address, length);
    if !inside {
        return None;
    }
    if region.value != 0 {
        let below = regions().get(u32::try_from(region.value).ok()?)?;
        if below.owner != domain || !below.contains(remote.address, length) {
            return None;
        }
    }
    Some(Segment { address: remote.address, length, key: remote.context })
}

/// Copies up to `left` bytes from checked segments to checked segments, in order.
fn copy(from: &[Segment], to: &[Segment], mut left: u64) {
    let (mut sources, mut targets) = (from.iter(), to.iter());
    let (mut source, mut target) = (Segment::default(), Segment::default());
    while left > 0 {
        if source.length == 0 {
            let Some(next) = sources.next() else { return };
            source = *next;
            continue;
        }
        if target.length == 0 {
            let Some(next) = targets.next() else { return };
            target = *next;
            continue;
        }
        let step = left.min(source.length).min(target.length);
        copy_bytes(source.address, target.address, step);
        for segment in [&mut source, &mut target] {
            segment.address += step;
            segment.length -= step;
        }
        left -= step;
    }
}

/// Copies between two ranges of checked memory, which may overlap.
#[inline]
fn copy_bytes(from: u64, to: u64, length: u64) {
    let from = with_exposed_provenance::<u8>(from as usize);
    let to = with_exposed_provenance_mut::<u8>(to as usize);
    // SAFETY: both ranges lie inside regions whose keys were valid under the `rq` lock that is
    // held, so their owners keep them alive (`Span::new`), and `Span::address` exposed the
    // provenance when they were registered.
    unsafe { dat_core::mem::copy(from, to, length as usize) };
}
