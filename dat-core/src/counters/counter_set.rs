//! Counting, for objects whose counters were started.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::ids::EpCounter;
use super::sizes::Sizes;

/// The counters of one kind of object.
pub trait CounterId: Copy + 'static {
    /// Every counter, in the order of its number in the C API.
    const ALL: &'static [Self];
    /// Number of further counts of an object, which the C API does not have.
    #[doc(hidden)]
    const MORE: usize = 0;

    /// Its number in the C API.
    fn index(self) -> usize;

    /// Its name in the C headers.
    fn name(self) -> &'static str;
}

/// The counters of one object. Until they are started, an event costs one load and no memory is
/// allocated.
pub(crate) struct CounterSet<C> {
    on: AtomicBool,
    cells: OnceLock<Box<[AtomicU64]>>,
    kind: PhantomData<fn(C)>,
}

impl<C> Default for CounterSet<C> {
    fn default() -> Self {
        Self { on: AtomicBool::new(false), cells: OnceLock::new(), kind: PhantomData }
    }
}

impl<C: CounterId> CounterSet<C> {
    /// Starts or stops counting.
    pub(crate) fn switch(&self, on: bool) {
        if on {
            let cells = || (0..C::ALL.len() + C::MORE).map(|_| AtomicU64::new(0)).collect();
            self.cells.get_or_init(cells);
        }
        self.on.store(on, Ordering::Release);
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn count(&self, counter: C) {
        self.add(counter, 1);
    }

    #[inline]
    pub(crate) fn add(&self, counter: C, amount: u64) {
        if self.is_on() {
            self.add_now(counter, amount);
        }
    }

    #[cold]
    fn add_now(&self, counter: C, amount: u64) {
        self.add_at(counter.index(), amount);
    }

    fn add_at(&self, index: usize, amount: u64) {
        if let Some(cell) = self.cells.get().and_then(|cells| cells.get(index)) {
            cell.fetch_add(amount, Ordering::Relaxed);
        }
    }

    /// All counters, in the order of their numbers; they are reset to 0 if `reset` is set.
    pub(crate) fn read(&self, reset: bool) -> Counters<C> {
        Counters::from_values(self.values(0..C::ALL.len(), reset))
    }

    fn values(&self, which: Range<usize>, reset: bool) -> Vec<u64> {
        let value = |cell: &AtomicU64| {
            if reset { cell.swap(0, Ordering::Relaxed) } else { cell.load(Ordering::Relaxed) }
        };
        match self.cells.get() {
            Some(cells) => cells[which].iter().map(value).collect(),
            None => vec![0; which.len()],
        }
    }
}

impl CounterSet<EpCounter> {
    /// Counts the bytes of an operation, and the operation by its size.
    pub(crate) fn count_bytes(&self, counter: EpCounter, bytes: u64) {
        self.add(counter, bytes);
        if let Some(operation) = counter.sized_operation().filter(|_| self.is_on()) {
            self.add_at(EpCounter::ALL.len() + Sizes::place(operation, bytes), 1);
        }
    }

    /// The histograms; they are reset if `reset` is set.
    pub(crate) fn read_sizes(&self, reset: bool) -> Sizes {
        let first = EpCounter::ALL.len();
        Sizes::from_counts(self.values(first..first + Sizes::ALL, reset))
    }
}

impl<C> fmt::Debug for CounterSet<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CounterSet({})", if self.on.load(Ordering::Relaxed) { "on" } else { "off" })
    }
}

/// The values of an object's counters at one time. `Display` prints a line for each that is not 0.
///
/// ```
/// use dat_core::{EpCounter, EpSpec, Memory, Privileges};
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// # let pz = ia.pz_create()?;
/// let ep = ia.ep_create(&EpSpec::new(&pz))?;
/// let lmr = ia.lmr_create(&Memory::zeroed(64)?, &pz, Privileges::ALL)?;
/// ep.start_counters()?;
/// ep.receive(&[lmr.triplet(0, 64)?], 1)?;
/// let counters = ep.counters(false)?;
/// assert_eq!(counters.get(EpCounter::PostRecv), 1);
/// assert_eq!(counters.get(EpCounter::PostRecvData), 64);
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters<C> {
    values: Vec<u64>,
    kind: PhantomData<fn(C)>,
}

impl<C: CounterId> Counters<C> {
    /// Counters with these values, in the order of the counters' numbers; for tests/core-over-c.
    #[doc(hidden)]
    #[must_use]
    pub fn from_values(values: Vec<u64>) -> Self {
        Self { values, kind: PhantomData }
    }

    /// Adds to the value of one counter.
    pub(super) fn add(&mut self, counter: C, amount: u64) {
        if let Some(value) = self.values.get_mut(counter.index()) {
            *value = value.saturating_add(amount);
        }
    }

    /// The value of one counter.
    #[must_use]
    pub fn get(&self, counter: C) -> u64 {
        self.values.get(counter.index()).copied().unwrap_or(0)
    }

    /// All values, in the order of the counters' numbers in the C API.
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
