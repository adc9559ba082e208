//! The mappings of the process (proc_pid_maps(5)), to explain why memory cannot be registered.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::Range;

/// The problem of a range of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No memory is mapped at that address.
    Unmapped(u64),
    /// The memory at that address is not readable, or not writable although that was requested.
    Forbidden(u64),
}

/// The first defect of a range; `None` if there is none, or if `/proc` cannot be read. It takes a system call for every
/// few mappings.
#[must_use]
pub fn fault(range: Range<u64>, writes: bool) -> Option<Fault> {
    first(BufReader::new(File::open("/proc/self/maps").ok()?), range, writes)
}

/// The lines are sorted by address.
fn first(maps: impl BufRead, range: Range<u64>, writes: bool) -> Option<Fault> {
    let mut at = range.start;
    for text in maps.split(b'\n') {
        let Some((mapped, permissions)) = parse(&text.ok()?) else { continue };
        if mapped.end <= at {
            continue;
        }
        if at >= range.end || mapped.start > at {
            break;
        }
        if permissions[0] != b'r' || (writes && permissions[1] != b'w') {
            return Some(Fault::Forbidden(at));
        }
        at = mapped.end;
    }
    (at < range.end).then_some(Fault::Unmapped(at))
}

/// Parses the addresses and the permissions of a line: `7f0000001000-7f0000003000 rw-p 00000000 00:00 0`. What follows
/// them need not be UTF-8.
fn parse(line: &[u8]) -> Option<(Range<u64>, [u8; 2])> {
    let text = std::str::from_utf8(line.get(..line.len().min(40))?).ok();
    let mut words = text?.split(' ');
    let (start, end) = words.next()?.split_once('-')?;
    let permissions = words.next()?.as_bytes();
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((number(start)?..number(end)?, [*permissions.first()?, *permissions.get(1)?]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
        1000-3000 rw-p 00000000 00:00 0 [heap]\n\
        3000-4000 r--p 00000000 08:01 5 /a file\n\
        4000-5000 ---p 00000000 00:00 0\n\
        not a line\n\
        7000-8000 rw-s 00000000 00:00 0\n";

    #[test]
    fn a_range_may_cross_mappings() {
        assert_eq!(first(MAPS.as_bytes(), 0x1000..0x3000, true), None);
        assert_eq!(first(MAPS.as_bytes(), 0x1800..0x3800, false), None);
        assert_eq!(first(MAPS.as_bytes(), 0x7000..0x8000, true), None);
        assert_eq!(first(MAPS.as_bytes(), 0x2000..0x2000, true), None, "an empty range");
    }

    #[test]
    fn the_first_fault_is_found() {
        assert_eq!(first(MAPS.as_bytes(), 0x1800..0x3800, true), Some(Fault::Forbidden(0x3000)));
        assert_eq!(first(MAPS.as_bytes(), 0x3000..0x4001, false), Some(Fault::Forbidden(0x4000)));
        assert_eq!(first(MAPS.as_bytes(), 0x7fff..0x8001, true), Some(Fault::Unmapped(0x8000)));
        assert_eq!(first(MAPS.as_bytes(), 0x6000..0x7001, true), Some(Fault::Unmapped(0x6000)));
        assert_eq!(first(MAPS.as_bytes(), 0x10..0x20, true), Some(Fault::Unmapped(0x10)));
        assert_eq!(first(&b""[..], 0x10..0x20, true), Some(Fault::Unmapped(0x10)));
    }

    #[test]
    fn a_line_has_a_range_and_permissions() {
        let line = b"7f00001000-7f00003000 rw-p 00000000 00:00 0   /memfd:x";
        assert_eq!(parse(line), Some((0x7f_0000_1000..0x7f_0000_3000, *b"rw")));
        for broken in [&b""[..], b"7f", b"7f-80", b"7f-80 r", b"x-80 rw-p 0", b"\xff-80 rw-p"] {
            assert_eq!(parse(broken), None, "{}", broken.escape_ascii());
        }
    }

    #[test]
    fn memory_of_this_process_is_mapped() {
        let here = vec![0_u8; 10_000];
        let start = here.as_ptr() as u64;
        assert_eq!(fault(start..start + 10_000, true), None);
        assert_eq!(fault(8..16, false), Some(Fault::Unmapped(8)));
        static READ_ONLY: [u64; 1024] = [7; 1024];
        let start = (&raw const READ_ONLY).addr() as u64;
        assert_eq!(fault(start..start + 8192, false), None);
        assert_eq!(fault(start..start + 8192, true), Some(Fault::Forbidden(start)));
    }
}
