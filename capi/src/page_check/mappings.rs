//! The access rights of the process's mappings, from proc_pid_maps(5).

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::Range;

/// Checks that mappings with read access, and with write access if `write` is set, cover a range.
/// Fails with `EFAULT` if they do not. Without `/proc` every range passes.
///
/// It takes a system call for every few mappings, so it is used only if no cheaper call can tell:
/// device memory cannot be populated, and neither can memory without access.
pub(super) fn permit(range: Range<usize>, write: bool) -> Result<(), i32> {
    let Ok(maps) = File::open("/proc/self/maps") else { return Ok(()) };
    let mut covered = range.start;
    for line in BufReader::new(maps).split(b'\n') {
        let Some((mapping, access)) = line.ok().as_deref().and_then(parse) else { continue };
        if mapping.end <= covered {
            continue;
        }
        if mapping.start > covered || access[0] != b'r' || (write && access[1] != b'w') {
            return Err(libc::EFAULT);
        }
        covered = mapping.end;
        if covered >= range.end {
            return Ok(());
        }
    }
    Err(libc::EFAULT)
}

/// Parses the range and the access of one line: `7f0000001000-7f0000003000 rw-p 00000000 00:00 0`.
fn parse(line: &[u8]) -> Option<(Range<usize>, [u8; 2])> {
    let text = std::str::from_utf8(line.get(..line.len().min(40))?).ok();
    let mut words = text?.split(' ');
    let (start, end) = words.next()?.split_once('-')?;
    let access = words.next()?.as_bytes();
    let number = |text| usize::from_str_radix(text, 16).ok();
    Some((number(start)?..number(end)?, [*access.first()?, *access.get(1)?]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_range_and_an_access() {
        let line = b"7f00001000-7f00003000 rw-p 00000000 00:00 0   /memfd:x";
        assert_eq!(parse(line), Some((0x7f_0000_1000..0x7f_0000_3000, *b"rw")));
        for broken in [&b""[..], b"7f", b"7f-80", b"7f-80 r", b"x-80 rw-p 0", b"\xff-80 rw-p"] {
            assert_eq!(parse(broken), None, "{}", broken.escape_ascii());
        }
    }

    #[test]
    fn memory_is_covered_as_far_as_it_is_mapped() {
        static READ_ONLY: [u64; 1024] = [7; 1024];
        let here = (&raw const READ_ONLY).addr();
        let range = here..here + size_of_val(&READ_ONLY);
        assert_eq!(permit(range.clone(), false), Ok(()));
        assert_eq!(permit(range, true), Err(libc::EFAULT));
        assert_eq!(permit(0..4096, false), Err(libc::EFAULT));
        let local = [0_u8; 64];
        let here = local.as_ptr().addr();
        assert_eq!(permit(here..here + local.len(), true), Ok(()));
    }
}
