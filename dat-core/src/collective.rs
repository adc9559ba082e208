//! The collective operations of the InfiniBand extension, which nothing here offers.

use crate::error::{Error, Result, ReturnType, Subtype};
use crate::ia::InterfaceAdapter;

/// Makes the enum from a table of `Variant = number, "C name", "what it does";`.
macro_rules! collectives {
    ($($variant:ident = $number:literal, $c_name:literal, $meaning:literal;)+) => {
        /// A collective operation of the InfiniBand extension (`DAT_IB_COLLECTIVE_..._OP`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum Collective {
            $(#[doc = concat!("`", $c_name, "`: ", $meaning, ".")] $variant = $number,)+
        }

        impl Collective {
            /// All of them, by number.
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
    CreateMember = 6, "dat_ib_collective_create_member", "makes this process a member";
    FreeMember = 7, "dat_ib_collective_free_member", "ends the membership";
    CreateGroup = 8, "dat_ib_collective_create_group", "makes a group of members";
    FreeGroup = 9, "dat_ib_collective_free_group", "ends a group";
    SetClock = 10, "dat_ib_collective_set_clock", "sets the clock of a group";
    ReadClock = 11, "dat_ib_collective_read_clock", "reads the clock of a group";
    Scatter = 12, "dat_ib_collective_scatter", "gives each member its part of the root's data";
    Scatterv = 13, "dat_ib_collective_scatterv", "gives each member its part of the root's data, of any length";
    Gather = 14, "dat_ib_collective_gather", "gives the root the data of all";
    Gatherv = 15, "dat_ib_collective_gatherv", "gives the root the data of all, of any length";
    Allgather = 16, "dat_ib_collective_allgather", "gives all the data of all";
    Allgatherv = 17, "dat_ib_collective_allgatherv", "gives all the data of all, of any length";
    Alltoall = 18, "dat_ib_collective_alltoall", "gives each member a part from each";
    Alltoallv = 19, "dat_ib_collective_alltoallv", "gives each member a part from each, of any length";
    Reduce = 20, "dat_ib_collective_reduce", "gives the root what an operation makes of the data of all";
    Allreduce = 21, "dat_ib_collective_allreduce", "gives all what an operation makes of the data of all";
    ReduceScatter = 22, "dat_ib_collective_reduce_scatter", "gives each a part of what an operation makes of the data of all";
    Scan = 23, "dat_ib_collective_scan", "gives each what an operation makes of the data up to its own";
    Broadcast = 24, "dat_ib_collective_broadcast", "gives all the root's data";
    Barrier = 25, "dat_ib_collective_barrier", "waits for all";
}

impl Collective {
    /// The number in the C API (`DAT_IB_OP`).
    #[must_use]
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The operation of a number in the C API.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|operation| operation.number() == number)
    }
}

impl InterfaceAdapter {
    /// Asks for a collective operation: the door for those calls of the extension header.
    ///
    /// # Errors
    /// `DAT_MODEL_NOT_SUPPORTED`, always: they were made for an offload engine that no provider
    /// here drives; `DAT_INVALID_HANDLE` when the adapter was closed.
    pub fn collective(&self, operation: Collective) -> Result<()> {
        let call = operation.name();
        self.inner().check_open(call)?;
        let error = Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
            .because("collective operations need an offload engine, and no provider has one")
            .advise("use a message passing library, which makes them from sends and RDMA");
        Err(self.inner().describe(error, call))
    }
}
