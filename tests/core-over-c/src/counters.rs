//! Counters of the InfiniBand extensions.

use std::fmt;
use std::marker::PhantomData;

use real::counters::CounterId;
use real::error::Result;
use real::{EpCounter, EvdCounter, IaCounter};

use super::handle_type::Handle as _;
use super::{Endpoint, EventDispatcher, InterfaceAdapter};
use crate::version;

/// A snapshot of the counters of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters<C> {
    values: Vec<u64>,
    kind: PhantomData<fn(C)>,
}

impl<C: CounterId> Counters<C> {
    /// The value of a counter.
    #[must_use]
    pub fn get(&self, counter: C) -> u64 {
        self.values.get(counter.index()).copied().unwrap_or(0)
    }

    /// All values, in the order of the counter numbers.
    #[must_use]
    pub fn values(&self) -> &[u64] {
        &self.values
    }
}

impl<C: CounterId> fmt::Display for Counters<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for counter in C::ALL.iter().filter(|counter| self.get(**counter) != 0) {
            writeln!(f, "{} {}", counter.name(), self.get(*counter))?;
        }
        Ok(())
    }
}

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
                Ok(Counters { values, kind: PhantomData })
            }
        }
    };
}

counted!(InterfaceAdapter, IaCounter);
counted!(Endpoint, EpCounter);
counted!(EventDispatcher, EvdCounter);
