//! Counters of adapters, endpoints and event dispatchers (the InfiniBand extension of DAT 2.0:
//! dat_ib_query_counters, dat_ib_print_counters, dat_ib_start_counter, dat_ib_stop_counter).
//!
//! An object counts only once it is started; until then counting costs it nothing. What the provider of an adapter counts
//! by itself ([`DeviceCounters`](crate::provider::DeviceCounters)) shows as far as the counters were started.

mod counter_set;
mod device;
mod ids;
mod sizes;

pub(crate) use counter_set::CounterSet;
pub use counter_set::{CounterId, Counters};
pub(crate) use device::DeviceBase;
pub use ids::{EpCounter, EvdCounter, IaCounter};
pub use sizes::{SizedOperation, Sizes};

use crate::error::Result;
use crate::{Ep, Evd, Ia};

/// Gives a handle its counter methods, which first check that the object is live.
macro_rules! counted {
    (
        $handle:ident,
        $counter:ident,
        ($this:ident, $reset:ident) => $read:expr,
        $on:ident => $switch:expr,
        $operation:ident => $check:expr
    ) => {
        impl $handle {
            /// Starts counting; values counted before are continued.
            ///
            /// # Errors
            /// `DAT_INVALID_HANDLE` when the object is gone.
            pub fn start_counters(&self) -> Result<()> {
                let ($this, $on, $operation) = (self, true, "dat_ib_start_counter");
                $check?;
                $switch;
                Ok(())
            }

            /// Stops counting; the values are kept.
            ///
            /// # Errors
            /// `DAT_INVALID_HANDLE` when the object is gone.
            pub fn stop_counters(&self) -> Result<()> {
                let ($this, $on, $operation) = (self, false, "dat_ib_stop_counter");
                $check?;
                $switch;
                Ok(())
            }

            /// The values, which are reset to 0 if `reset` is set; all 0 before the first start.
            ///
            /// # Errors
            /// `DAT_INVALID_HANDLE` when the object is gone.
            pub fn counters(&self, reset: bool) -> Result<Counters<$counter>> {
                let ($this, $reset, $operation) = (self, reset, "dat_ib_query_counters");
                $check?;
                Ok($read)
            }
        }
    };
}

counted!(
    Ia,
    IaCounter,
    (ia, reset) => ia.inner().counters(reset),
    on => ia.inner().set_counted(on),
    operation => ia.inner().check_open(operation)
);
counted!(
    Ep,
    EpCounter,
    (ep, reset) => ep.inner().counter_set().read(reset),
    on => ep.inner().set_counted(on),
    operation => ep.inner().base.check_live(operation)
);
counted!(
    Evd,
    EvdCounter,
    (evd, reset) => evd.inner().counter_set().read(reset),
    on => evd.inner().set_counted(on),
    operation => evd.inner().base.check_live(operation)
);

impl Ep {
    /// The sizes of its operations, counted while its [counters](Self::start_counters) are; they are reset if `reset` is
    /// set. The C API has no call for them.
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when the object is gone.
    pub fn sizes(&self, reset: bool) -> Result<Sizes> {
        self.inner().base.check_live("Ep::sizes")?;
        Ok(self.inner().counter_set().read_sizes(reset))
    }
}
