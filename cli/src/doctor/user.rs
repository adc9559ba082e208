//! The user of this process, as the kernel sees it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use super::system::System;

const CAP_DAC_OVERRIDE: u32 = 1;
const CAP_IPC_LOCK: u32 = 14;

/// The effective user of this process.
#[derive(Debug)]
pub(super) struct User {
    uid: u32,
    groups: Vec<u32>,
    capabilities: u64,
}

impl User {
    /// Reads `/proc/self/status`.
    pub(super) fn read(system: &System) -> Option<Self> {
        Self::parse(&system.text("/proc/self/status")?)
    }

    fn parse(status: &str) -> Option<Self> {
        let field = |name: &str| {
            let value =
                |line: &'_ str| line.strip_prefix(name)?.strip_prefix(':').map(str::to_owned);
            status.lines().find_map(value)
        };
        // Real, effective, saved and file system id.
        let fourth = |name| field(name)?.split_whitespace().nth(3)?.parse().ok();
        let mut groups: Vec<u32> = vec![fourth("Gid")?];
        let others = field("Groups").unwrap_or_default();
        groups.extend(others.split_whitespace().filter_map(|group| group.parse::<u32>().ok()));
        let capabilities = field("CapEff").unwrap_or_default();
        Some(Self {
            uid: fourth("Uid")?,
            groups,
            capabilities: u64::from_str_radix(capabilities.trim(), 16).unwrap_or(0),
        })
    }

    /// Returns true if the mode of a file lets the user read and write it.
    pub(super) fn may_use(&self, file: &Metadata) -> bool {
        let bits = if file.uid() == self.uid {
            file.mode() >> 6
        } else if self.groups.contains(&file.gid()) {
            file.mode() >> 3
        } else {
            file.mode()
        };
        bits & 0o6 == 0o6 || self.can(CAP_DAC_OVERRIDE)
    }

    /// Returns true if the user is exempt from the locked-memory limit.
    pub(super) fn locks_freely(&self) -> bool {
        self.can(CAP_IPC_LOCK)
    }

    fn can(&self, capability: u32) -> bool {
        (self.capabilities >> capability) & 1 == 1
    }
}

/// The name of a group, or its number.
pub(super) fn group_name(system: &System, gid: u32) -> String {
    let groups = system.text("/etc/group").unwrap_or_default();
    let named = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(gid)).then(|| name.to_owned())
    };
    groups.lines().find_map(named).unwrap_or_else(|| gid.to_string())
}
