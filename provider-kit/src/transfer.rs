//! Copies of registered memory.
//!
//! Each function validates all keys before it copies the first byte. The caller holds the lock of the receive side, or
//! of the queue pair. Deregistering removes a key and then passes through that lock, so memory whose key was valid
//! stays alive until the copy ends. If the program has made registered memory inaccessible, the copy fails with an
//! error.
#![allow(unsafe_code, reason = "registered memory is reached by address, and only here")]

use std::ptr::{NonNull, with_exposed_provenance, with_exposed_provenance_mut};

use dat_provider::flags::Privileges;
use dat_provider::mem::Span;
use dat_provider::triplet::RmrTriplet;
use dat_provider::{Epochs, Segment};
use dat_sync::region_table::Region;

use crate::fault;
use crate::regions::{self, regions};
use crate::window::Backing;

/// The local memory of a posted operation.
#[derive(Clone, Copy)]
pub struct LocalMemory<'a> {
    /// The segments, in order.
    pub segments: &'a [Segment],
    /// The protection domain that all segments must belong to.
    pub domain: u32,
}

/// The side of a copy that must not be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessError {
    /// The source.
    Source,
    /// The target.
    Target,
}

/// Copies a message of `length` bytes into the segments of a receive. The caller has validated the source under the
/// lock that it holds.
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
    copy::<false>(source.segments, target.segments, length)
}

/// A segment that the core has validated in a given epoch.
#[derive(Clone, Copy)]
pub struct CheckedSegment<'a> {
    /// The segment.
    pub segment: Segment,
    /// The protection domain that it must belong to.
    pub domain: u32,
    /// The epoch in which it was validated.
    pub checked: u64,
    /// The epochs of its queue pair.
    pub epochs: &'a Epochs,
}

impl CheckedSegment<'_> {
    /// Returns true if it is registered memory with this privilege. It is validated again only if the epoch has
    /// changed.
    #[inline(always)]
    fn permits(self, privilege: Privileges) -> bool {
        let Segment { address, length, key } = self.segment;
        self.epochs.is_current(self.checked)
            || is_registered(key, self.domain, privilege, address, length)
    }
}

// The arguments are values, which stay in registers.
#[cold]
#[inline(never)]
fn is_registered(key: u32, domain: u32, privilege: Privileges, address: u64, length: u64) -> bool {
    regions().find(key, domain, privilege.bits(), address, length).is_some()
}

/// The fast path of a message: copies from one segment to one segment. Returns false, without effect, if the message
/// does not fit or a segment is invalid. It also returns false after a fault, which recurs on the slow path.
#[inline(always)]
pub fn copy_message_fast(from: CheckedSegment<'_>, to: CheckedSegment<'_>, length: u64) -> bool {
    let fits = length <= to.segment.length && length <= from.segment.length;
    if !fits || !from.permits(Privileges::LOCAL_READ) || !to.permits(Privileges::LOCAL_WRITE) {
        return false;
    }
    copy_bytes::<false>(from.segment.address, to.segment.address, length).is_ok()
}

/// The fast path of an RDMA operation: copies to or from remote memory outside of windows, as the privilege `there`
/// says, and stores the last bytes last. Returns false, without effect, if that is not permitted, and after a fault as
/// [`copy_message_fast`].
#[inline(always)]
pub fn copy_rdma_fast(
    here: CheckedSegment<'_>,
    remote: RemoteMemory<'_>,
    length: u64,
    there: Privileges,
) -> bool {
    let RmrTriplet { address, context, .. } = *remote.triplet;
    let local = here.segment.address;
    let (needed, from, to) = if there == Privileges::REMOTE_WRITE {
        (Privileges::LOCAL_READ, local, address)
    } else {
        (Privileges::LOCAL_WRITE, address, local)
    };
    if length > here.segment.length
        || !here.permits(needed)
        || regions().find(context, remote.domain, there.bits(), address, length) != Some(0)
    {
        return false;
    }
    copy_bytes::<true>(from, to, length).is_ok()
}

/// Returns true if local memory is readable.
pub fn is_readable(source: LocalMemory<'_>) -> bool {
    source.permits(Privileges::LOCAL_READ)
}

/// Copies a datagram of `length` bytes into the segments of a receive, after a prefix of zeros.
///
/// # Errors
/// The side that must not be accessed.
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
    copy_from::<false>(&mut from, target.segments, prefix + length)
}

/// The prefix, and then the segments of the message.
fn sources(first: Segment, rest: &[Segment]) -> impl Iterator<Item = Segment> {
    std::iter::once(first).chain(rest.iter().copied())
}

/// Memory named by a remote key, as a queue pair may access it.
#[derive(Clone, Copy)]
pub struct RemoteMemory<'a> {
    /// Key, address and length.
    pub triplet: &'a RmrTriplet,
    /// The protection domain that it must belong to.
    pub domain: u32,
    /// The id of the queue pair.
    pub queue_pair: u32,
}

/// Executes an RDMA write of `length` bytes, and stores the last bytes last.
///
/// # Errors
/// The side that must not be accessed.
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
    copy::<true>(source.segments, &[target], length)
}

/// Executes an RDMA read of all bytes of `remote`.
///
/// # Errors
/// The side that must not be accessed.
pub fn rdma_read(remote: RemoteMemory<'_>, target: LocalMemory<'_>) -> Result<(), AccessError> {
    let length = remote.triplet.length;
    if length == 0 {
        return Ok(());
    }
    if !target.permits(Privileges::LOCAL_WRITE) {
        return Err(AccessError::Target);
    }
    let source = remote.segment(length, Privileges::REMOTE_READ).ok_or(AccessError::Source)?;
    copy::<false>(&[source], target.segments, length)
}

/// As [`rdma_read`], with a target that is named by a remote key too.
///
/// # Errors
/// The side that must not be accessed.
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
    copy::<false>(&[source], &[target], length)
}

/// Executes an atomic operation on eight aligned bytes; the segments receive the previous value.
///
/// # Errors
/// The side that must not be accessed.
pub fn atomic(
    remote: RemoteMemory<'_>,
    target: LocalMemory<'_>,
    operation: AtomicOperation,
) -> Result<(), AccessError> {
    if !target.permits(Privileges::LOCAL_WRITE) {
        return Err(AccessError::Target);
    }
    let before = execute_atomic(remote, operation).ok_or(AccessError::Source)?.to_ne_bytes();
    let source =
        Segment { address: (&raw const before).expose_provenance() as u64, length: 8, key: 0 };
    copy::<false>(&[source], target.segments, 8)
}

/// Appends the spans of `left` bytes of local memory after the first `skip`. Returns false, without effect, unless all
/// of it is registered memory of the domain with this privilege.
pub fn local_spans(
    local: LocalMemory<'_>,
    privilege: Privileges,
    (skip, left): (u64, u64),
    into: &mut Vec<Span>,
) -> bool {
    (left == 0 || local.permits(privilege)) && append_spans(local.segments, (skip, left), into)
}

/// As [`local_spans`], for segments that the core has validated for this privilege in the epoch `checked`.
/// They are validated again if that epoch has ended.
pub fn checked_local_spans(
    local: LocalMemory<'_>,
    (checked, epochs): (u64, &Epochs),
    privilege: Privileges,
    (skip, left): (u64, u64),
    into: &mut Vec<Span>,
) -> bool {
    (epochs.is_current(checked) || left == 0 || local.permits(privilege))
        && append_spans(local.segments, (skip, left), into)
}

/// Returns the first `length` bytes of memory that is one segment, checked as in [`checked_local_spans`]; `None` if it
/// is not one segment, is shorter or invalid, or `length` is zero.
#[inline(always)]
pub fn checked_local_span(
    local: LocalMemory<'_>,
    (checked, epochs): (u64, &Epochs),
    privilege: Privileges,
    length: u64,
) -> Option<Span> {
    let &[segment] = local.segments else { return None };
    let segment = CheckedSegment { segment, domain: local.domain, checked, epochs };
    if length > segment.segment.length || !segment.permits(privilege) {
        return None;
    }
    span(segment.segment.address, length)
}

/// Appends the spans of `left` bytes of validated segments after the first `skip`. Returns false, without effect, if
/// the segments are shorter.
#[inline]
fn append_spans(
    segments: &[Segment],
    (mut skip, mut left): (u64, u64),
    into: &mut Vec<Span>,
) -> bool {
    let length = segments.iter().fold(0_u64, |sum, one| sum.saturating_add(one.length));
    if left > 0 && skip.saturating_add(left) > length {
        return false;
    }
    for segment in segments {
        let skipped = skip.min(segment.length);
        skip -= skipped;
        let length = left.min(segment.length - skipped);
        left -= length;
        into.extend(span(segment.address + skipped, length));
    }
    true
}

/// As [`local_spans`], for memory named by a remote key.
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
    if skip.saturating_add(left) > length {
        return false;
    }
    let Some(memory) = remote.segment(length, privilege) else { return false };
    into.extend(span(memory.address + skip, left));
    true
}

/// Returns true if memory named by a remote key has this privilege.
pub fn is_permitted(remote: RemoteMemory<'_>, privilege: Privileges) -> bool {
    remote.triplet.length == 0 || remote.segment(remote.triplet.length, privilege).is_some()
}

/// A span of validated memory.
#[inline]
fn span(address: u64, length: u64) -> Option<Span> {
    let base = NonNull::new(with_exposed_provenance_mut::<u8>(address as usize))?;
    // SAFETY: the memory is in a region whose key was valid under the lock that the caller holds, so it
    // stays alive until the caller releases the lock; the span is not used after that.
    (length > 0).then(|| unsafe { Span::new(base, length as usize) })
}

/// Copies the bytes of a span to another one, up to the shorter length. Returns false after a fault.
#[inline(always)]
pub fn copy_span(from: Span, to: Span) -> bool {
    let length = from.len().min(to.len());
    let whole = |span: &Span| span.pointer(span.address(), length as u64);
    let (Some(from), Some(to)) = (whole(&from), whole(&to)) else { return true };
    // SAFETY: both spans have at least `length` bytes, and their makers keep them valid.
    unsafe { fault::copy(from, to, length) }.is_ok()
}

/// An atomic operation on a word.
#[derive(Clone, Copy, Debug)]
pub enum AtomicOperation {
    /// Adds this value.
    Add(u64),
    /// Replaces the first value by the second one, if the word holds the first.
    CompareSwap(u64, u64),
}

/// Changes eight aligned bytes of remote memory atomically. Returns their previous value; `None` if access is not
/// permitted.
pub fn execute_atomic(remote: RemoteMemory<'_>, operation: AtomicOperation) -> Option<u64> {
    let word = remote.segment(8, Privileges::REMOTE_ATOMIC)?;
    let pointer = with_exposed_provenance_mut::<u64>(word.address as usize);
    if !pointer.is_aligned() {
        return None;
    }
    // The pointer is in a region whose key was valid under the lock that the caller holds, so it stays alive
    // during this call. Other threads access the word by such operations, or get torn bytes, as a peer does
    // that reads during a write.
    let before = match operation {
        // SAFETY: the pointer is aligned, and as above.
        AtomicOperation::Add(add) => unsafe { fault::fetch_add(pointer, add) },
        // SAFETY: the pointer is aligned, and as above.
        AtomicOperation::CompareSwap(from, to) => unsafe { fault::compare_swap(pointer, from, to) },
    };
    before.ok()
}

impl LocalMemory<'_> {
    /// Returns true if every segment is registered memory of the domain with this privilege.
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
    /// Returns true if the memory has this privilege according to the owner's regions.
    pub fn is_permitted_by(
        self,
        mut lookup: impl FnMut(u32) -> Option<Region>,
        privilege: Privileges,
    ) -> bool {
        let RmrTriplet { address, length, context } = *self.triplet;
        let mut contains = |key, needed: u32| {
            lookup(key).filter(|region| {
                region.owner == self.domain
                    && region.access & needed == needed
                    && region.contains(address, length)
            })
        };
        let Some(region) = contains(context, privilege.bits()) else { return false };
        let backing = Backing::unpack(region.value);
        backing.key == 0
            || (backing.queue_pair == 0 || backing.queue_pair == self.queue_pair)
                && contains(backing.key, 0).is_some()
    }

    /// Returns the memory, if it has this privilege.
    fn segment(self, length: u64, privilege: Privileges) -> Option<Segment> {
        let RmrTriplet { address, context: key, .. } = *self.triplet;
        match regions().find(key, self.domain, privilege.bits(), address, length)? {
            0 => Some(Segment { address, length, key }),
            _ => self.segment_behind(length, privilege),
        }
    }

    /// Returns the memory of a window, or of other addresses than its own. The underlying region must still exist.
    fn segment_behind(self, length: u64, privilege: Privileges) -> Option<Segment> {
        let RmrTriplet { address, context: key, .. } = *self.triplet;
        let found = regions::locate(key, self.domain, privilege.bits(), (address, length));
        let (value, address) = found?;
        let backing = Backing::unpack(value);
        if backing.queue_pair != 0 && backing.queue_pair != self.queue_pair {
            return None;
        }
        let region = regions().get(backing.key)?;
        let is_inside = region.owner == self.domain && region.contains(address, length);
        is_inside.then_some(Segment { address, length, key })
    }
}

/// Copies up to `left` bytes between validated segments. If `IN_ORDER`, the last bytes of each copy are
/// stored last.
#[inline]
fn copy<const IN_ORDER: bool>(
    from: &[Segment],
    to: &[Segment],
    left: u64,
) -> Result<(), AccessError> {
    if let ([from], [to]) = (from, to) {
        let length = left.min(from.length).min(to.length);
        return copy_bytes::<IN_ORDER>(from.address, to.address, length);
    }
    copy_from::<IN_ORDER>(&mut from.iter().copied(), to, left)
}

/// As [`copy`], from an iterator of segments.
fn copy_from<const IN_ORDER: bool>(
    sources: &mut impl Iterator<Item = Segment>,
    to: &[Segment],
    mut left: u64,
) -> Result<(), AccessError> {
    let mut targets = to.iter();
    let (mut source, mut target) = (Segment::default(), Segment::default());
    while left > 0 {
        if source.length == 0 {
            let Some(next) = sources.next() else { return Ok(()) };
            source = next;
            continue;
        }
        if target.length == 0 {
            let Some(next) = targets.next() else { return Ok(()) };
            target = *next;
            continue;
        }
        let step = left.min(source.length).min(target.length);
        copy_bytes::<IN_ORDER>(source.address, target.address, step)?;
        for segment in [&mut source, &mut target] {
            segment.address += step;
            segment.length -= step;
        }
        left -= step;
    }
    Ok(())
}

/// Copies between two ranges of validated memory, which may overlap. If `IN_ORDER`, the last bytes are stored
/// last.
#[inline]
fn copy_bytes<const IN_ORDER: bool>(from: u64, to: u64, length: u64) -> Result<(), AccessError> {
    let source = with_exposed_provenance::<u8>(from as usize);
    let target = with_exposed_provenance_mut::<u8>(to as usize);
    let copy = if IN_ORDER { fault::copy_in_order } else { fault::copy };
    // SAFETY: both ranges are in regions whose keys were valid under the lock that the caller holds, so
    // their owners keep them alive (`Span::new`), and `Span::address` exposed the provenance when they
    // were registered.
    let copied = unsafe { copy(source, target, length as usize) };
    copied.map_err(|fault| match fault.is_in(to, length) {
        true => AccessError::Target,
        false => AccessError::Source,
    })
}
