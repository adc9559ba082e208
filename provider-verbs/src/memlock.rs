//! The limit of locked memory (RLIMIT_MEMLOCK), against which registrations count.

use std::fmt;

use rustix::process::{Resource, getrlimit};

/// A limit that a registration would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shortage {
    limit: u64,
    locked: u64,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RLIMIT_MEMLOCK is {} bytes, of which {} are in use", self.limit, self.locked)
    }
}

/// The soft limit, if this many additional bytes would exceed it.
pub(crate) fn shortage(bytes: u64) -> Option<Shortage> {
    let limit = getrlimit(Resource::Memlock).current?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let shortage = Shortage { limit, locked: locked(&status) };
    (shortage.locked.saturating_add(bytes) > shortage.limit).then_some(shortage)
}

/// Number of bytes currently locked or pinned.
fn locked(status: &str) -> u64 {
    ["VmLck:", "VmPin:"]
        .iter()
        .filter_map(|name| status.lines().find_map(|line| line.strip_prefix(name)))
        .filter_map(|value| value.split_whitespace().next()?.parse::<u64>().ok())
        .map(|kib| kib.saturating_mul(1024))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locked_and_pinned_memory_is_counted() {
        assert_eq!(locked("VmLck:\t     8 kB\nVmPin:\t    56 kB\n"), 65536);
    }

    #[test]
    fn the_text_has_both_numbers() {
        let text = Shortage { limit: 65536, locked: 4096 }.to_string();
        assert!(text.contains("65536") && text.contains("4096"), "{text}");
    }
}
