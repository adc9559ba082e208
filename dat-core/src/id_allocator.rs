//! Object ids: the numbers by which events, errors and queries name objects.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Result;
use crate::kind::ObjectKind;

/// Gives objects their ids. A consumer in another language supplies its own
/// ([`Registry::with_id_allocator`](crate::Registry::with_id_allocator)), so that each id is the handle by
/// which that consumer knows the object. This includes objects that the core creates by itself:
/// requests that arrive, and endpoints created for them.
///
/// Both methods may be called from any thread and with locks of the core held: they must not call
/// back into an object.
pub trait IdAllocator: Send + Sync {
    /// An id for a new object: not 0, and not that of another live object.
    ///
    /// # Errors
    /// The reason why the object cannot be created, usually `DAT_INSUFFICIENT_RESOURCES`.
    fn allocate(&self, kind: ObjectKind) -> Result<u64>;

    /// The object with that id was freed, or its creation failed. Called once for each id that was
    /// allocated. Events raised before may still carry the id.
    fn release(&self, kind: ObjectKind, number: u64);
}

/// An id as text. Consumers in C know objects by addresses, which they print in hexadecimal (`%p`).
/// Those are multiples of 32, and above the first 64 KiB, in which no memory is mapped; in a program that
/// is linked statically they have less than 32 bits.
#[derive(Clone, Copy, Debug)]
pub struct DisplayId(pub u64);

impl fmt::Display for DisplayId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(id) = self;
        if *id >= 1 << 16 && id % 32 == 0 { write!(f, "{id:#x}") } else { write!(f, "{id}") }
    }
}

/// Counts up: ids are unique in the process and never used again.
pub(crate) struct Sequence;

impl IdAllocator for Sequence {
    fn allocate(&self, _kind: ObjectKind) -> Result<u64> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Ok(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    fn release(&self, _kind: ObjectKind, _number: u64) {}
}

impl fmt::Debug for dyn IdAllocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdAllocator")
    }
}
