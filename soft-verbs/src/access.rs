//! Permitted accesses to memory.

use bitflags::bitflags;
use dat_provider::flags::Privileges;

bitflags! {
    /// Permitted accesses to a region, a window, or by the peer of a queue pair (`ibv_access_flags`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Access: u32 {
        /// Receives, reads and atomics may write the region.
        const LOCAL_WRITE = 1;
        /// The peer may write.
        const REMOTE_WRITE = 1 << 1;
        /// The peer may read.
        const REMOTE_READ = 1 << 2;
        /// The peer may do atomic operations.
        const REMOTE_ATOMIC = 1 << 3;
        /// Windows may be bound to the region.
        const MW_BIND = 1 << 4;
        /// Addresses count from the beginning of the region.
        const ZERO_BASED = 1 << 5;
        /// The memory is paged on demand, which memory of this device always is.
        const ON_DEMAND = 1 << 6;
        /// The memory is on huge pages.
        const HUGETLB = 1 << 7;
        /// Writes need not arrive in order. A hint, as all optional flags (bits 20 to 29), which are ignored.
        const RELAXED_ORDERING = 1 << 20;
        /// The bits of all hints.
        const OPTIONAL = 0x3ff0_0000;
    }
}

impl Access {
    /// The accesses that a peer can make.
    pub const REMOTE: Self = Self::REMOTE_WRITE.union(Self::REMOTE_READ).union(Self::REMOTE_ATOMIC);

    /// The privileges of the engine. Local reads are always permitted.
    pub(crate) fn privileges(self) -> Privileges {
        const TABLE: [(Access, Privileges); 4] = [
            (Access::LOCAL_WRITE, Privileges::LOCAL_WRITE),
            (Access::REMOTE_WRITE, Privileges::REMOTE_WRITE),
            (Access::REMOTE_READ, Privileges::REMOTE_READ),
            (Access::REMOTE_ATOMIC, Privileges::REMOTE_ATOMIC),
        ];
        let granted = TABLE.iter().filter(|(flag, _)| self.contains(*flag));
        granted.fold(Privileges::LOCAL_READ, |all, (_, privilege)| all | *privilege)
    }
}
