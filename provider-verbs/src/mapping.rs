//! The mappings of the process (proc_pid_maps(5)), to explain why memory was not registered.

use std::ops::Range;

/// The problem of a range of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No memory is mapped at that address.
    Unmapped(u64),
    /// The memory at that address is not readable, or not writable although that was requested.
    Forbidden(u64),
}

/// The first defect of a range; `None` if there is none, or if it cannot be determined.
pub(crate) fn fault(range: Range<u64>, writes: bool) -> Option<Fault> {
    first(&std::fs::read_to_string("/proc/self/maps").ok()?, range, writes)
}

/// The lines are sorted by address.
fn first(maps: &str, range: Range<u64>, writes: bool) -> Option<Fault> {
    let mut at = range.start;
    for (mapped, permissions) in maps.lines().filter_map(line) {
        if mapped.end <= at {
            continue;
        }
        if at >= range.end || mapped.start > at {
            break;
        }
        let allowed = permissions.starts_with('r') && (!writes || &permissions[1..2] == "w");
        if !allowed {
            return Some(Fault::Forbidden(at));
        }
        at = mapped.end;
    }
    (at < range.end).then_some(Fault::Unmapped(at))
}

/// Parses the addresses and the permissions of a line.
fn line(text: &str) -> Option<(Range<u64>, &str)> {
    let mut words = text.split(' ');
    let (start, end) = words.next()?.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let permissions = words.next().filter(|word| word.len() == 4 && word.is_ascii())?;
    Some((number(start)?..number(end)?, permissions))
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
        assert_eq!(first(MAPS, 0x1000..0x3000, true), None);
        assert_eq!(first(MAPS, 0x1800..0x3800, false), None);
        assert_eq!(first(MAPS, 0x7000..0x8000, true), None);
        assert_eq!(first(MAPS, 0x2000..0x2000, true), None, "an empty range");
    }

    #[test]
    fn the_first_fault_is_found() {
        assert_eq!(first(MAPS, 0x1800..0x3800, true), Some(Fault::Forbidden(0x3000)));
        assert_eq!(first(MAPS, 0x3000..0x4001, false), Some(Fault::Forbidden(0x4000)));
        assert_eq!(first(MAPS, 0x7fff..0x8001, true), Some(Fault::Unmapped(0x8000)));
        assert_eq!(first(MAPS, 0x6000..0x7001, true), Some(Fault::Unmapped(0x6000)));
        assert_eq!(first(MAPS, 0x10..0x20, true), Some(Fault::Unmapped(0x10)));
        assert_eq!(first("", 0x10..0x20, true), Some(Fault::Unmapped(0x10)));
    }

    #[test]
    fn memory_of_this_process_is_mapped() {
        let here = vec![0_u8; 10_000];
        let start = here.as_ptr() as u64;
        assert_eq!(fault(start..start + 10_000, true), None);
        assert_eq!(fault(8..16, false), Some(Fault::Unmapped(8)));
    }
}
