//! The numbers of objects: how events, errors and queries name them.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Result;
use crate::kind::ObjectKind;

/// Gives objects their numbers. A consumer of another language plugs in its own
/// ([`Registry::numbered_by`](crate::Registry::numbered_by)), so that each number is the handle
/// that the consumer knows the object by, those included that the core makes by itself: requests
/// that arrive, and endpoints made for them.
///
/// Both calls may come from any thread and with locks of the core held: they must not call
/// back into an object.
pub trait Numbering: Send + Sync {
    /// A number for a new object: not 0, and not that of another live object.
    ///
    /// # Errors
    /// What keeps the object from being made, `DAT_INSUFFICIENT_RESOURCES` as a rule.
    fn issue(&self, kind: ObjectKind) -> Result<u64>;

    /// The object of that number ended: it was freed, or never came to life. Once for each
    /// number issued. Events that were raised before may still carry the number.
    fn retire(&self, kind: ObjectKind, number: u64);
}

/// Counts up: numbers are unique in the process and never come again.
pub(crate) struct Sequence;

impl Numbering for Sequence {
    fn issue(&self, _kind: ObjectKind) -> Result<u64> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Ok(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    fn retire(&self, _kind: ObjectKind, _number: u64) {}
}

impl fmt::Debug for dyn Numbering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Numbering")
    }
}
