//! Counters of the InfiniBand extensions.

use real::counters::{CounterId, Counters};
use real::error::Result;
use real::{EpCounter, EvdCounter, IaCounter};

use super::handle_type::Handle as _;
use super::{Ep, Evd, Ia};
use crate::version;

macro_rules! counted {
    ($handle:ident, $counter:ident) => {
        impl $handle {
            /// dat_ib_start_counter.
            pub fn start_counters(&self) -> Result<()> {
                version::start_counters(self.handle())
            }

            /// dat_ib_stop_counter.
            pub fn stop_counters(&self) -> Result<()> {
                version::stop_counters(self.handle())
            }

            /// dat_ib_query_counters.
            pub fn counters(&self, reset: bool) -> Result<Counters<$counter>> {
                let most = <$counter as CounterId>::ALL.len();
                let values = version::read_counters(self.handle(), most, reset)?;
                Ok(Counters::from_values(values))
            }
        }
    };
}

counted!(Ia, IaCounter);
counted!(Ep, EpCounter);
counted!(Evd, EvdCounter);
