//! Moves the bytes: the only module that touches registered memory.
//!
//! Every function checks all that it names before it copies the first byte, and is called
//! under the `rq` lock of the direction. Deregistering removes a key and then passes through
//! that lock, so memory whose key was found valid stays until the copy is over.
#![allow(unsafe_code, reason = "registered memory is reached by address, and only here")]

use std::ptr::{NonNull, with_exposed_provenance, with_exposed_provenance_mut};
use std::sync::atomic::AtomicU64;

use dat_provider::flags::Privileges;
use dat_provider::mem::Span;
use dat_provider::triplet::RmrTriplet;
use dat_provider::{Epochs, Segment};

use crate::regions::regions;
use crate::window::Backing;

/// LocalMemory memory as a post named it.
#[derive(Clone, Copy)]
pub struct LocalMemory<'a> {
    /// The pieces, in order.
    pub segments: &'a [Segment],
    /// The domain that all of it must be of.
    pub domain: u32,
}

/// Which side of a copy may not be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessError {
    /// The side that is read.
    Source,
    /// The side that is written.
    Target,
}

/// Moves a message of `length` bytes, whose source was found readable under the lock that is
/// held, into the segments of a receive.
#[inline]
pub fn copy_message(
    source: LocalMemory<'_>,
    target: LocalMemory<'_>,
    length: u64,
) -> Result<(), AccessError> {
    if length == 0 {
        return Ok(());
    }
    if !target.permits(Privileges::LOCAL_WRITE) {
        return Err(AccessError::Target);
    }
    copy(source.segments, target.segments, length);
    Ok(())
}

/// A segment that the core has checked, and until when that holds.
#[derive(Clone, Copy)]
pub struct CheckedSegment<'a> {
    /// The segment.
    pub segment: Segment,
    /// The domain that it must be of.
    pub domain: u32,
    /// The number of the epoch in which it was checked.
    pub checked: u64,
    /// The epochs of the queue pair that it was posted to.
    pub epochs: &'a Epochs,
}

impl CheckedSegment<'_> {
    /// Whether it is live memory that may be used so. The core has checked all of that; what it
    /// has not is done again, and also what may not hold any more.
    #[inline(always)]
    fn permits(self, privilege: Privileges) -> bool {
        let Segment { address, length, key } = self.segment;
        self.epochs.is(self.checked) || is_there(key, self.domain, privilege, address, length)
    }
}

// By values, which stay in registers.
#[cold]
#[inline(never)]
fn is_there(key: u32, domain: u32, privilege: Privileges, address: u64, length: u64) -> bool {
    regions().find(key, domain, privilege.bits(), address, length).is_some()
}

/// Moves a message from one segment into one segment, if it may and it fits.
#[inline(always)]
pub fn copy_message_fast(from: CheckedSegment<'_>, to: CheckedSegment<'_>, length: u64) -> bool {
    let fits = length <= to.segment.length && length <= from.segment.length;
    if !fits || !from.permits(Privileges::LOCAL_READ) || !to.permits(Privileges::LOCAL_WRITE) {
        return false;
    }
    copy_bytes(from.segment.address, to.segment.address, length);
    true
}

/// Moves bytes to or from remote memory outside of windows, in the direction of the privilege, if
/// it is granted and the bytes fit.
#[inline(always)]
pub fn copy_rdma_fast(
    here: CheckedSegment<'_>,
    remote: RemoteMemory<'_>,
    length: u64,
    there: Privileges,
) -> bool {
    let RmrTriplet { address, context, .. } = *remote.triplet;
    let own = here.segment.address;
    let (needed, from, to) = if there == Privileges::REMOTE_WRITE {
        (Privileges::LOCAL_READ, own, address)
    } else {
        (Privileges::LOCAL_WRITE, address, own)
    };
    if length > here.segment.length
        || !here.permits(needed)
        || regions().find(context, remote.domain, there.bits(), address, length) != Some(0)
    {
        return false;
    }
    copy_bytes(from, to, length);
    true
}

/// Whether local memory may be read.
pub fn is_readable(source: LocalMemory<'_>) -> bool {
    source.permits(Privileges::LOCAL_READ)
}

/// Moves a message of `length` bytes into the segments of a receive, behind a prefix of zeros.
pub fn copy_datagram(
    source: LocalMemory<'_>,
    target: LocalMemory<'_>,
    prefix: u64,
    length: u64,
) -> Result<(), AccessError> {
    static ZEROS: [u8; 64] = [0; 64];
    if !source.permits(Privileges::LOCAL_READ) {
        return Err(AccessError::Source);
    }
    if !target.permits(Privileges::LOCAL_WRITE) {
        return Err(AccessError::Target);
    }
    let prefix = prefix.min(ZEROS.len() as u64);
    let zeros =
        Segment { address: (&raw const ZEROS).expose_provenance() as u64, length: prefix, key: 0 };
    let mut from = sources(zeros, source.segments);
    copy_from(&mut from, target.segments, prefix + length);
    Ok(())
}

/// The zeros of a prefix, and then the segments of a message.
fn sources(first: Segment, rest: &[Segment]) -> impl Iterator<Item = Segment> {
    std::iter::once(first).chain(rest.iter().copied())
}

/// Memory that is named by a remote key, as a queue pair may use it.
#[derive(Clone, Copy)]
pub struct RemoteMemory<'a> {
    /// The place.
    pub triplet: &'a RmrTriplet,
    /// The domain that it must be of.
    pub domain: u32,
    /// The number of the queue pair.
    pub queue_pair: u32,
}

/// Moves `length` bytes to remote memory.
pub fn rdma_write(
    source: LocalMemory<'_>,
    remote: RemoteMemory<'_>,
    length: u64,
) -> Result<(), AccessError> {
    if length == 0 {
        return Ok(());
    }
    if !source.permits(Privileges::LOCAL_READ) {
        return Err(AccessError::Source);
    }
    let target = remote.segment(length, Privileges::REMOTE_WRITE).ok_or(AccessError::Target)?;
    copy(source.segments, &[target], length);
    Ok(())
}

/// Moves all bytes of a piece of remote memory to the segments.
pub fn rdma_read(remote: RemoteMemory<'_>, target: LocalMemory<'_>) -> Result<(), AccessError> {
    let length = remote.triplet.length;
    if length == 0 {
        return Ok(());
    }
    if !target.permits(Privileges::LOCAL_WRITE) {
        return Err(AccessError::Target);
    }
    let source = remote.segment(length, Privileges::REMOTE_READ).ok_or(AccessError::Source)?;
    copy(&[source], target.segments, length);
    Ok(())
}

/// Moves all bytes of a piece of remote memory to memory that is named by a remote key itself.
pub fn rdma_read_to_remote(
    remote: RemoteMemory<'_>,
    target: RemoteMemory<'_>,
) -> Result<(), AccessError> {
    let length = remote.triplet.length;
    if length == 0 {
        return Ok(());
    }
    let target = target.segment(length, Privileges::REMOTE_WRITE).ok_or(AccessError::Target)?;
    let source = remote.segment(length, Privileges::REMOTE_READ).ok_or(AccessError::Source)?;
    copy(&[source], &[target], length);
    Ok(())
}

/// Changes eight aligned bytes of remote memory at once; the segments get their value before.
pub fn atomic(
    remote: RemoteMemory<'_>,
    target: LocalMemory<'_>,
    change: impl FnOnce(&AtomicU64) -> u64,
) -> Result<(), AccessError> {
    if !target.permits(Privileges::LOCAL_WRITE) {
        return Err(AccessError::Target);
    }
    let word = remote.segment(8, Privileges::REMOTE_ATOMIC).ok_or(AccessError::Source)?;
    let place = with_exposed_provenance_mut::<u64>(word.address as usize);
    if !place.is_aligned() {
        return Err(AccessError::Source);
    }
    // SAFETY: the place is aligned and inside a region whose key was valid under the `rq` lock
    // that is held, so it stays alive for this call; any other thread uses it by
    // such operations, or gets what a peer gets that reads during a write.
    let word = unsafe { AtomicU64::from_ptr(place) };
    let before = change(word).to_ne_bytes();
    let source =
        Segment { address: (&raw const before).expose_provenance() as u64, length: 8, key: 0 };
    copy(&[source], target.segments, 8);
    Ok(())
}

/// Appends the spans of a part of local memory: `left` bytes, without the first `skip`. Returns
/// whether all of it is live memory of the domain that may be used so; if not, nothing is appended.
pub fn local_spans(
    local: LocalMemory<'_>,
    privilege: Privileges,
    (mut skip, mut left): (u64, u64),
    into: &mut Vec<Span>,
) -> bool {
    let length = local.segments.iter().fold(0_u64, |sum, one| sum.saturating_add(one.length));
    if left > 0 && (skip.saturating_add(left) > length || !local.permits(privilege)) {
        return false;
    }
    for segment in local.segments {
        let passed = skip.min(segment.length);
        skip -= passed;
        let length = left.min(segment.length - passed);
        left -= length;
        into.extend(span(segment.address + passed, length));
    }
    true
}

/// As [`local_spans`], for memory that is named by a remote key.
pub fn remote_spans(
    remote: RemoteMemory<'_>,
    privilege: Privileges,
    (skip, left): (u64, u64),
    into: &mut Vec<Span>,
) -> bool {
    let length = remote.triplet.length;
    if left == 0 {
        return true;
    }
    if skip.saturating_add(left) > length || remote.segment(length, privilege).is_none() {
        return false;
    }
    into.extend(span(remote.triplet.address + skip, left));
    true
}

/// Whether memory that is named by a remote key may be used so.
pub fn is_permitted(remote: RemoteMemory<'_>, privilege: Privileges) -> bool {
    remote.triplet.length == 0 || remote.segment(remote.triplet.length, privilege).is_some()
}

/// A span of checked memory.
fn span(address: u64, length: u64) -> Option<Span> {
    let base = NonNull::new(with_exposed_provenance_mut::<u8>(address as usize))?;
    // SAFETY: the memory lies inside a region whose key was valid under the lock that is held, so
    // it stays alive until the caller releases the lock, before which the span is used up.
    (length > 0).then(|| unsafe { Span::new(base, length as usize) })
}

/// Changes eight aligned bytes of remote memory at once; returns their value before.
pub fn change_word(
    remote: RemoteMemory<'_>,
    change: impl FnOnce(&AtomicU64) -> u64,
) -> Option<u64> {
    let word = remote.segment(8, Privileges::REMOTE_ATOMIC)?;
    let place = with_exposed_provenance_mut::<u64>(word.address as usize);
    if !place.is_aligned() {
        return None;
    }
    // SAFETY: the place is aligned and inside a region whose key was valid under the lock that is
    // held, so it stays alive for this call; any other thread uses it by such operations, or
    // gets what a peer gets that reads during a write.
    let word = unsafe { AtomicU64::from_ptr(place) };
    Some(change(word))
}

impl LocalMemory<'_> {
    /// Whether every segment is live memory of the domain that may be used so.
    #[inline]
    pub fn permits(self, privilege: Privileges) -> bool {
        self.segments.iter().all(|segment| {
            segment.length == 0
                || regions()
                    .find(
                        segment.key,
                        self.domain,
                        privilege.bits(),
                        segment.address,
                        segment.length,
                    )
                    .is_some()
        })
    }
}

impl RemoteMemory<'_> {
    /// The memory, when it may be used so. A window lies on a region, which must still be there.
    fn segment(self, length: u64, privilege: Privileges) -> Option<Segment> {
        let RmrTriplet { address, context: key, .. } = *self.triplet;
        let value = regions().find(key, self.domain, privilege.bits(), address, length)?;
        if value != 0 {
            let below = Backing::unpack(value);
            if below.queue_pair != 0 && below.queue_pair != self.queue_pair {
                return None;
            }
            let under = regions().get(below.key)?;
            if under.owner != self.domain || !under.contains(address, length) {
                return None;
            }
        }
        Some(Segment { address, length, key })
    }
}

/// Copies up to `left` bytes from checked segments to checked segments, in order.
#[inline]
fn copy(from: &[Segment], to: &[Segment], left: u64) {
    if let ([from], [to]) = (from, to) {
        return copy_bytes(from.address, to.address, left.min(from.length).min(to.length));
    }
    copy_from(&mut from.iter().copied(), to, left);
}

/// As [`copy`], from segments that come one by one.
fn copy_from(sources: &mut impl Iterator<Item = Segment>, to: &[Segment], mut left: u64) {
    let mut targets = to.iter();
    let (mut source, mut target) = (Segment::default(), Segment::default());
    while left > 0 {
        if source.length == 0 {
            let Some(next) = sources.next() else { return };
            source = next;
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
    unsafe { dat_provider::mem::copy(from, to, length as usize) };
}
