//! Counters, of the extensions of DAT 2.0.

use std::fmt;
use std::marker::PhantomData;

use real::counters::CounterId;
use real::error::Result;
use real::{EpCounter, EvdCounter, IaCounter};

use super::{Endpoint, EventDispatcher, InterfaceAdapter};
use crate::dialect;

/// The counters of an object at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters<C> {
    values: Vec<u64>,
    kind: PhantomData<fn(C)>,
}

impl<C: CounterId> Counters<C> {
    /// One of them.
    #[must_use]
    pub fn get(&self, counter: C) -> u64 {
        self.values.get(counter.index()).copied().unwrap_or(0)
    }

    /// All of them, in the order of their numbers.
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
            ///
            /// # Errors
            /// As the call.
            pub fn start_counters(&self) -> Result<()> {
                dialect::start_counters(self.handle())
            }

            /// dat_ib_stop_counter.
            ///
            /// # Errors
            /// As the call.
            pub fn stop_counters(&self) -> Result<()> {
                dialect::stop_counters(self.handle())
            }

            /// dat_ib_query_counters.
            ///
            /// # Errors
            /// As the call.
            pub fn counters(&self, reset: bool) -> Result<Counters<$counter>> {
                let most = <$counter as CounterId>::ALL.len();
                let values = dialect::read_counters(self.handle(), most, reset)?;
                Ok(Counters { values, kind: PhantomData })
            }
        }
    };
}

counted!(InterfaceAdapter, IaCounter);
counted!(Endpoint, EpCounter);
counted!(EventDispatcher, EvdCounter);
