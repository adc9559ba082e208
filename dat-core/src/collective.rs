//! The collective operations of the InfiniBand extension, which no provider here offers.

use crate::error::{Error, Result, ReturnType, Subtype};
use crate::ia::Ia;

/// Defines the enum from a table of `Variant = number, "C name", "what it does";`.
macro_rules! collectives {
    ($($variant:ident = $number:literal, $c_name:literal, $meaning:literal;)+) => {
        /// A collective operation of the InfiniBand extension (`DAT_IB_COLLECTIVE_..._OP`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum Collective {
            $(#[doc = concat!("`", $c_name, "`: ", $meaning, ".")] $variant = $number,)+
        }

        impl Collective {
            /// All operations, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The call's name in C.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $c_name,)+
                }
            }
        }
    };
}

collectives! {
    CreateMember = 6, "dat_ib_collective_create_member", "joins this process to a group";
    FreeMember = 7, "dat_ib_collective_free_member", "leaves the group";
    CreateGroup = 8, "dat_ib_collective_create_group", "creates a group";
    FreeGroup = 9, "dat_ib_collective_free_group", "destroys a group";
    SetClock = 10, "dat_ib_collective_set_clock", "sets the group's clock";
    ReadClock = 11, "dat_ib_collective_read_clock", "reads the group's clock";
    Scatter = 12, "dat_ib_collective_scatter", "scatters the root's data";
    Scatterv = 13, "dat_ib_collective_scatterv", "scatters the root's data in parts of any length";
    Gather = 14, "dat_ib_collective_gather", "gathers data at the root";
    Gatherv = 15, "dat_ib_collective_gatherv", "gathers data of any length at the root";
    Allgather = 16, "dat_ib_collective_allgather", "gathers data at every member";
    Allgatherv = 17, "dat_ib_collective_allgatherv", "gathers data of any length at every member";
    Alltoall = 18, "dat_ib_collective_alltoall", "exchanges parts between all members";
    Alltoallv = 19, "dat_ib_collective_alltoallv", "exchanges parts of any length between all \
         members";
    Reduce = 20, "dat_ib_collective_reduce", "reduces the data of all members to the root";
    Allreduce = 21, "dat_ib_collective_allreduce", "reduces the data of all members to every \
         member";
    ReduceScatter = 22, "dat_ib_collective_reduce_scatter", "reduces the data of all members and \
         scatters the result";
    Scan = 23, "dat_ib_collective_scan", "computes a prefix reduction";
    Broadcast = 24, "dat_ib_collective_broadcast", "broadcasts the root's data";
    Barrier = 25, "dat_ib_collective_barrier", "waits for all members";
}

impl Collective {
    /// The number in the C API (`DAT_IB_OP`).
    #[must_use]
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The operation with that number in the C API.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|operation| operation.number() == number)
    }
}

impl Ia {
    /// Requests a collective operation: the entry point for those calls of the extension header.
    ///
    /// # Errors
    /// `DAT_MODEL_NOT_SUPPORTED`, always: the operations are for an offload engine that no provider
    /// here drives; `DAT_INVALID_HANDLE` when the adapter was closed.
    pub fn collective(&self, operation: Collective) -> Result<()> {
        let call = operation.name();
        self.inner().check_open(call)?;
        let error = Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
            .because("collective operations need an offload engine, which no provider has")
            .advise("use a message-passing library, which implements them with sends and RDMA");
        Err(self.inner().describe(error, call))
    }
}
