//! Copies between the memory of two processes by the kernel (cross-memory attach:
//! process_vm_readv(2), process_vm_writev(2)).
#![allow(unsafe_code, reason = "system calls that access memory by address")]

use arrayvec::ArrayVec;
use dat_provider::mem::Span;
use dat_provider_kit::direct::Direction;
use rustix::io::{Errno, Result};

/// Maximum number of local spans of one transfer, which exceeds the default for an operation.
pub(crate) const MOST_PARTS: usize = 64;
/// Maximum number of ranges of the other process's memory in one call, of which a write may need two.
const MOST_RANGES: usize = 32;
/// Number of bytes at the end of a write that the kernel copies after all others.
const LAST: usize = 8;
/// Size of a cache line, in bytes. A write within one line is not split.
const LINE: usize = 64;
/// True if the stores of one copy become visible before the stores of the next copy, as on x86, even with string
/// instructions. The parts of a write are then parts of local memory alone, so the kernel looks up each page of the
/// other process once.
const STORES_IN_ORDER: bool = cfg!(any(target_arch = "x86", target_arch = "x86_64"));

/// Reads words from a process.
///
/// # Errors
/// `EPERM`: the kernel does not permit it; `ESRCH`: the process is gone; `EFAULT`: it has no such memory;
/// `EOVERFLOW`: this process cannot name the address.
pub(crate) fn read<const N: usize>(process: i32, address: u64) -> Result<[u64; N]> {
    let mut words = [0_u64; N];
    let length = size_of_val(&words);
    let local = libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: length };
    let done = copy(process, Direction::Read, &[local], &[remote(within_reach(address)?, length)])?;
    if done == length { Ok(words) } else { Err(Errno::FAULT) }
}

/// Copies memory of this process as [`transfer`] copies memory of another one; both have the same length.
///
/// # Errors
/// The kernel does not permit the call.
pub(crate) fn copy_own(from: &[u8], to: &mut [u8]) -> Result<()> {
    let length = from.len().min(to.len());
    let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: length };
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let done = copy(own, Direction::Read, &[local], &[remote(from.as_ptr().addr(), length)])?;
    if done == length { Ok(()) } else { Err(Errno::FAULT) }
}

/// Copies between local spans and `length` bytes at an address of a process, starting at `skip`, until the end or the
/// first inaccessible byte. The last bytes of a write are copied last.
///
/// # Errors
/// As [`read`].
#[inline(always)]
pub(crate) fn transfer(
    process: i32,
    direction: Direction,
    local: (&[Span], u64),
    address: u64,
    length: u64,
) -> Result<()> {
    let mut batch = Batch::new(direction);
    batch.push(local, address, length)?;
    let done = batch.copy(process)?;
    if done == length { Ok(()) } else { Err(Errno::FAULT) }
}

/// Transfers in one direction, which one system call makes in order.
pub(crate) struct Batch {
    direction: Direction,
    local: ArrayVec<libc::iovec, { MOST_PARTS + 1 }>,
    remote: ArrayVec<libc::iovec, MOST_RANGES>,
}

impl Batch {
    pub(crate) const fn new(direction: Direction) -> Self {
        Self { direction, local: ArrayVec::new_const(), remote: ArrayVec::new_const() }
    }

    /// Appends a transfer, as [`transfer`] makes it.
    ///
    /// # Errors
    /// `ENOBUFS`: the call would have too many parts; `EFAULT`: the spans are too short; `EOVERFLOW`: as for [`read`]. The
    /// batch is then as before.
    #[inline(always)]
    pub(crate) fn push(&mut self, local: (&[Span], u64), address: u64, length: u64) -> Result<()> {
        let before = (self.local.len(), self.remote.len());
        self.push_parts(local, address, length).inspect_err(|_| {
            self.local.truncate(before.0);
            self.remote.truncate(before.1);
        })
    }

    #[inline(always)]
    fn push_parts(
        &mut self,
        (local, skip): (&[Span], u64),
        address: u64,
        length: u64,
    ) -> Result<()> {
        let address = within_reach(address)?;
        let length = usize::try_from(length).map_err(|_| Errno::OVERFLOW)?;
        let before = length.saturating_sub(LAST);
        let is_in_line = address % LINE + length <= LINE;
        let is_split = self.direction == Direction::Write && before > 0 && !is_in_line;
        // The kernel copies the parts in order, but the bytes within a part in any order.
        let first = if is_split { before } else { length };
        self.push_local(local, skip, first as u64)?;
        self.push_local(local, skip + first as u64, (length - first) as u64)?;
        let first = if STORES_IN_ORDER { length } else { first };
        self.push_remote(address, first)?;
        self.push_remote(address.wrapping_add(first), length - first)
    }

    /// Appends `length` bytes of local memory, starting at `skip`.
    #[inline(always)]
    fn push_local(&mut self, spans: &[Span], mut skip: u64, length: u64) -> Result<()> {
        let mut left = length;
        for span in spans {
            let skipped = skip.min(span.len() as u64);
            skip -= skipped;
            let part = left.min(span.len() as u64 - skipped);
            let base = span.pointer(span.address() + skipped, part);
            let Some(base) = base.filter(|_| part > 0) else { continue };
            let part_of_call = libc::iovec { iov_base: base.cast(), iov_len: part as usize };
            self.local.try_push(part_of_call).map_err(|_| Errno::NOBUFS)?;
            left -= part;
        }
        if left == 0 { Ok(()) } else { Err(Errno::FAULT) }
    }

    #[inline(always)]
    fn push_remote(&mut self, address: usize, length: usize) -> Result<()> {
        if length == 0 {
            return Ok(());
        }
        self.remote.try_push(remote(address, length)).map_err(|_| Errno::NOBUFS)
    }

    /// Makes the transfers, until the end or the first inaccessible byte. Returns the number of bytes copied.
    ///
    /// # Errors
    /// As [`read`].
    pub(crate) fn copy(&self, process: i32) -> Result<u64> {
        copy(process, self.direction, &self.local, &self.remote).map(|done| done as u64)
    }
}

/// Converts an address of another process; a 32-bit process cannot represent every address of a 64-bit one.
fn within_reach(address: u64) -> Result<usize> {
    usize::try_from(address).map_err(|_| Errno::OVERFLOW)
}

/// A part of the other process's memory.
fn remote(address: usize, length: usize) -> libc::iovec {
    libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: length }
}

/// Makes one system call. Returns the number of bytes copied.
fn copy(
    process: i32,
    direction: Direction,
    local: &[libc::iovec],
    remote: &[libc::iovec],
) -> Result<usize> {
    let [local_parts, remote_parts] = [local, remote].map(|it| it.len() as libc::c_ulong);
    let call = match direction {
        Direction::Read => libc::process_vm_readv,
        Direction::Write => libc::process_vm_writev,
    };
    // SAFETY: the local parts are an exclusive array, or inside spans, for whose memory their maker
    // answers; the kernel checks the remote parts, which are memory of the other process.
    let copied =
        unsafe { call(process, local.as_ptr(), local_parts, remote.as_ptr(), remote_parts, 0) };
    usize::try_from(copied).map_err(|_| {
        let error = std::io::Error::last_os_error();
        Errno::from_io_error(&error).unwrap_or(Errno::IO)
    })
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use dat_provider::mem::Memory;

    fn own() -> i32 {
        rustix::process::getpid().as_raw_nonzero().get()
    }

    #[test]
    #[cfg(target_pointer_width = "32")]
    fn an_address_beyond_32_bits_is_not_another_one() {
        let word = [7_u64];
        let address = word.as_ptr().expose_provenance() as u64;
        assert_eq!(read(own(), address), Ok(word));
        assert_eq!(read::<1>(own(), address | 1 << 32), Err(Errno::OVERFLOW));
    }

    #[test]
    fn parts_of_spans_are_copied_both_ways() {
        let (near, far) = (Memory::zeroed(300).expect("room"), Memory::zeroed(300).expect("room"));
        near.write(0, &[7; 300]).expect("inside");
        let parts = [near.part(0..100).expect("inside"), near.part(200..300).expect("inside")];
        transfer(own(), Direction::Write, (&parts, 50), far.address() + 10, 120).expect("own");
        let copied = far.to_vec(0, 300).expect("inside");
        assert_eq!(copied, [vec![0; 10], vec![7; 120], vec![0; 170]].concat());
        near.write(0, &[0; 300]).expect("inside");
        transfer(own(), Direction::Read, (&parts, 50), far.address() + 10, 120).expect("own");
        let copied = near.to_vec(0, 300).expect("inside");
        assert_eq!(
            copied,
            [vec![0; 50], vec![7; 50], vec![0; 100], vec![7; 70], vec![0; 30]].concat()
        );
    }

    #[test]
    fn a_write_arrives_whole_at_each_address_and_length() {
        let (near, far) = (Memory::zeroed(256).expect("room"), Memory::zeroed(256).expect("room"));
        for (at, length) in (0..64).flat_map(|at| [1, 7, 8, 9, 60, 64, 100].map(|it| (at, it))) {
            near.write(0, &[7; 256]).expect("inside");
            far.write(0, &[0; 256]).expect("inside");
            let address = far.address() + at as u64;
            let local = (&[near.span()][..], 0);
            transfer(own(), Direction::Write, local, address, length as u64).expect("own");
            let written = far.to_vec(0, 256).expect("inside");
            assert_eq!(
                written,
                [vec![0; at], vec![7; length], vec![0; 256 - at - length]].concat()
            );
        }
    }

    #[test]
    fn a_batch_is_copied_in_order_up_to_the_first_inaccessible_byte() {
        let (near, far) = (Memory::zeroed(800).expect("room"), Memory::zeroed(800).expect("room"));
        near.write(0, &[7; 800]).expect("inside");
        let mut batch = Batch::new(Direction::Write);
        for piece in 0..8 {
            let address = if piece == 2 { 8 } else { far.address() + piece as u64 * 100 };
            let local = [near.part(piece * 100..piece * 100 + 100).expect("inside")];
            batch.push((&local, 0), address, 100).expect("a few parts");
        }
        assert_eq!(batch.copy(own()), Ok(200), "the third one fails");
        assert_eq!(far.to_vec(0, 800), Ok([vec![7; 200], vec![0; 600]].concat()));
    }

    #[test]
    fn a_full_batch_takes_no_more_parts() {
        let (near, far) = (Memory::zeroed(100).expect("room"), Memory::zeroed(100).expect("room"));
        let mut batch = Batch::new(Direction::Write);
        let mut push = || batch.push((&[near.span()], 0), far.address(), 100);
        let count = std::iter::from_fn(|| push().ok()).take(1000).count();
        assert!((8..1000).contains(&count));
        assert_eq!(push(), Err(Errno::NOBUFS));
        assert_eq!(batch.copy(own()), Ok(100 * count as u64));
    }

    #[test]
    fn words_are_read_from_a_process_that_is_there() {
        let words = [3_u64, 5];
        let address = words.as_ptr().expose_provenance() as u64;
        assert_eq!(read::<2>(own(), address), Ok(words));
        assert_eq!(read::<2>(own(), 0), Err(Errno::FAULT));
        assert_eq!(read::<2>(i32::MAX, address), Err(Errno::SRCH));
    }
}
