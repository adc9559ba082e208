//! The mappings of the process, one at a time: `PROCMAP_QUERY` on `/proc/self/maps` (proc_pid_maps(5)), Linux 6.11 and
//! later.
#![allow(unsafe_code, reason = "ioctl(2)")]

use std::ops::Range;
use std::os::fd::AsRawFd;

use rustix::fs::{Mode, OFlags};
use rustix::ioctl::{Opcode, opcode};

/// `struct procmap_query` of `linux/fs.h`.
#[derive(Default)]
#[repr(C)]
struct Query {
    size: u64,
    flags: u64,
    address: u64,
    start: u64,
    end: u64,
    access: u64,
    page_size: u64,
    offset: u64,
    inode: u64,
    device: [u32; 2],
    name_size: u32,
    build_id_size: u32,
    name: u64,
    build_id: u64,
}

const PROCMAP_QUERY: Opcode = opcode::read_write::<Query>(b'f', 17);
/// Only a mapping with this access is found.
const READABLE_AND_WRITABLE: u64 = 0x1 | 0x2;

/// Maximum number of mappings of a range; memory that is mapped in more pieces takes as long as its pages.
const MAX_MAPPINGS: usize = 16;

/// Returns true if mappings of anonymous memory that can be read and written cover the range. If it returns
/// false, the range may be mapped nevertheless: as other memory, in more pieces, or on a kernel that is too old.
///
/// Files are not included, because they may be shorter than their mappings, and neither are devices.
pub(super) fn is_private_memory(range: Range<usize>) -> bool {
    // The descriptor is not kept: the program might close it, and in a child of fork(2) it shows the mappings of the parent.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let Ok(maps) = rustix::fs::open("/proc/self/maps", flags, Mode::empty()) else { return false };
    let mut at = range.start as u64;
    for _ in 0..MAX_MAPPINGS {
        let size = size_of::<Query>() as u64;
        let mut query =
            Query { size, flags: READABLE_AND_WRITABLE, address: at, ..Query::default() };
        // SAFETY: the structure has the layout that this request reads and writes, and it names no other memory.
        let result = unsafe { libc::ioctl(maps.as_raw_fd(), PROCMAP_QUERY as _, &raw mut query) };
        if result != 0 || query.inode != 0 || query.end <= at {
            return false;
        }
        at = query.end;
        if at >= range.end as u64 {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: usize = 64 << 10;

    /// Maps memory at an address that the kernel chooses.
    fn map(rights: i32, flags: i32, file: i32) -> Range<usize> {
        // SAFETY: such a mapping overlaps nothing.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), LENGTH, rights, flags, file, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        start.addr()..start.addr() + LENGTH
    }

    fn unmap(range: Range<usize>) {
        let start = std::ptr::with_exposed_provenance_mut(range.start);
        // SAFETY: a mapping of the test, which is not used any more.
        assert_eq!(unsafe { libc::munmap(start, range.len()) }, 0);
    }

    /// Returns true if this kernel has the request.
    fn kernel_has_it() -> bool {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a file");
        let mut numbers = release.split(|it: char| !it.is_ascii_digit()).map(str::parse::<u32>);
        let mut next = || numbers.next().and_then(Result::ok).unwrap_or(0);
        (next(), next()) >= (6, 11)
    }

    #[test]
    fn only_anonymous_memory_with_both_accesses_is_private() {
        let both = libc::PROT_READ | libc::PROT_WRITE;
        let anonymous = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let memory = map(both, anonymous, -1);
        assert_eq!(is_private_memory(memory.clone()), kernel_has_it());
        let middle = std::ptr::with_exposed_provenance_mut(memory.start + LENGTH / 2);
        // SAFETY: a page of that mapping, which only this test uses.
        assert_eq!(unsafe { libc::mprotect(middle, 1, libc::PROT_READ) }, 0);
        assert!(!is_private_memory(memory.clone()), "a page is read-only");
        let before = memory.start..memory.start + LENGTH / 2;
        assert_eq!(is_private_memory(before), kernel_has_it());
        unmap(memory.clone());
        assert!(!is_private_memory(memory), "it is not mapped");
        let read_only = map(libc::PROT_READ, anonymous, -1);
        assert!(!is_private_memory(read_only.clone()));
        unmap(read_only);
        let shared = map(both, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1);
        assert!(!is_private_memory(shared.clone()));
        unmap(shared);
    }

    #[test]
    fn a_private_mapping_of_a_file_is_not_private_memory() {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let file = rustix::fs::memfd_create("empty", flags).expect("a file");
        let raw = file.as_raw_fd();
        let memory = map(libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE, raw);
        assert!(!is_private_memory(memory.clone()), "the file has no byte");
        unmap(memory);
    }
}
