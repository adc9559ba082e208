//! The life cycle of an object: live, in use by other objects, freed.
//!
//! Every object has a [`Base`]: its id, its adapter and its [`Lifecycle`], one atomic word that
//! counts the live objects that use it and records whether it was freed. An object that uses
//! another keeps a [`Hold`] on it, which keeps it alive and in use. So an object in use cannot be
//! freed, and no lock is needed to ensure this.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::compat::Rule;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::ia::{ChildKey, IaInner};
use crate::id_allocator::DisplayId;
use crate::kind::ObjectKind;

const FREED: u32 = 1 << 31;

/// The number of uses of a live object, or the mark of a freed one.
#[derive(Debug, Default)]
pub(crate) struct Lifecycle {
    word: AtomicU32,
}

/// The outcome of an attempt to free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retirement {
    Done,
    InUse,
    FreedBefore,
}

impl Lifecycle {
    pub(crate) fn is_live(&self) -> bool {
        self.word.load(Ordering::Acquire) & FREED == 0
    }

    /// The number of uses.
    pub(crate) fn uses(&self) -> u32 {
        self.word.load(Ordering::Acquire) & !FREED
    }

    /// Adds a use, unless the object was freed.
    fn begin_use(&self) -> bool {
        self.word
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
                (word & FREED == 0).then_some(word + 1)
            })
            .is_ok()
    }

    fn end_use(&self) {
        self.word.fetch_sub(1, Ordering::AcqRel);
    }

    /// Frees the object if nothing uses it.
    pub(crate) fn retire(&self) -> Retirement {
        match self.word.compare_exchange(0, FREED, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Retirement::Done,
            Err(word) if word & FREED != 0 => Retirement::FreedBefore,
            Err(_) => Retirement::InUse,
        }
    }

    /// Frees the object even while it is in use, for the abrupt close of its adapter; returns
    /// whether this call freed it.
    pub(crate) fn force(&self) -> bool {
        self.word.fetch_or(FREED, Ordering::AcqRel) & FREED == 0
    }
}

/// The state that all objects except the adapter share.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) id: u64,
    pub(crate) kind: ObjectKind,
    pub(crate) ia: Arc<IaInner>,
    pub(crate) lifecycle: Lifecycle,
    context: AtomicU64,
    counted: AtomicBool,
    key: ChildKey,
    /// True if it is counted as a user of its adapter.
    uses_adapter: AtomicBool,
}

impl Base {
    /// Called by the adapter when it registers the object.
    pub(crate) fn new(id: u64, kind: ObjectKind, ia: Arc<IaInner>) -> Self {
        ia.begin_use();
        Self {
            id,
            kind,
            ia,
            uses_adapter: AtomicBool::new(true),
            lifecycle: Lifecycle::default(),
            context: AtomicU64::new(0),
            counted: AtomicBool::new(true),
            key: ChildKey::default(),
        }
    }

    /// A description of the object for errors.
    pub(crate) fn label(&self) -> String {
        format!("{} {}", self.kind, DisplayId(self.id))
    }

    /// Adds the context that all errors of this object share.
    #[cold]
    #[inline(never)]
    pub(crate) fn describe(&self, error: Error, operation: &'static str) -> Error {
        error.during(operation).on(self.label()).device(format_args!("IA {:?}", self.ia.name))
    }

    /// The error of a call on the freed object.
    #[cold]
    pub(crate) fn freed(&self, operation: &'static str) -> Error {
        let error = Error::new(ReturnType::InvalidHandle, self.kind.invalid_handle())
            .because("the object was freed")
            .advise("do not use an object after it was freed or its adapter was closed");
        self.describe(error, operation)
    }

    /// Fails in a child of the process that opened the adapter. Calls check this before they take a
    /// lock: another thread of the parent may have held it during the fork.
    #[inline]
    pub(crate) fn check_process(&self, operation: &'static str) -> Result<()> {
        if self.ia.process.is_current() { Ok(()) } else { Err(self.of_other_process(operation)) }
    }

    #[cold]
    fn of_other_process(&self, operation: &'static str) -> Error {
        self.describe(Error::other_process(self.ia.process), operation)
    }

    /// Fails once the object is freed, and in a child of its process.
    pub(crate) fn check_live(&self, operation: &'static str) -> Result<()> {
        self.check_process(operation)?;
        if self.lifecycle.is_live() { Ok(()) } else { Err(self.freed(operation)) }
    }

    /// Frees the object, or returns why it cannot be freed.
    pub(crate) fn retire(&self, operation: &'static str, in_use: Subtype) -> Result<()> {
        self.check_process(operation)?;
        match self.lifecycle.retire() {
            Retirement::Done => Ok(()),
            Retirement::FreedBefore => Err(self.freed(operation)),
            Retirement::InUse => {
                Err(self.describe(Error::new(ReturnType::InvalidState, in_use), operation))
            }
        }
    }

    /// The adapter owns the object: it is not counted as a user of the adapter.
    pub(crate) fn belong_to_adapter(&self) {
        if self.uses_adapter.swap(false, Ordering::AcqRel) {
            self.ia.end_use();
        }
    }

    /// Removes the object from its adapter; a second call has no effect.
    pub(crate) fn leave(&self) {
        if self.counted.swap(false, Ordering::AcqRel) {
            self.ia.remove(self.kind, self.id, &self.key);
        }
    }

    /// Returns true if the adapter counts the object.
    pub(crate) fn is_counted(&self) -> bool {
        self.counted.load(Ordering::Acquire)
    }

    /// The key of the object in the table of its adapter.
    pub(crate) fn child_key(&self) -> &ChildKey {
        &self.key
    }

    pub(crate) fn context(&self) -> u64 {
        self.context.load(Ordering::Relaxed)
    }

    pub(crate) fn set_context(&self, context: u64) {
        self.context.store(context, Ordering::Relaxed);
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        self.leave();
        if *self.uses_adapter.get_mut() {
            self.ia.end_use();
        }
    }
}

/// An object with a base.
pub(crate) trait Based {
    fn base(&self) -> &Base;
}

/// A use of an object by another one: keeps it alive and prevents it from being freed.
#[derive(Debug)]
pub(crate) struct Hold<T: Based>(Arc<T>);

impl<T: Based> Hold<T> {
    /// Begins a use by an object of the same adapter.
    pub(crate) fn new(
        object: &Arc<T>,
        ia: &Arc<IaInner>,
        operation: &'static str,
        subtype: Subtype,
    ) -> Result<Self> {
        let base = object.base();
        if !Arc::ptr_eq(&base.ia, ia) {
            let error = Error::new(ReturnType::InvalidHandle, subtype)
                .because(format!(
                    "{} belongs to IA {:?}, which was opened separately",
                    base.label(),
                    base.ia
                ))
                .advise(format!("create the {} on this open adapter", base.kind));
            return Err(error.during(operation).on(format_args!("IA {:?}", ia.name)));
        }
        Self::of_any_adapter(object, operation, subtype)
    }

    /// As [`Hold::new`], but if the compatibility mode allows it, the object may belong to another
    /// open instance of the same adapter. `completions` says whether it takes completions, which
    /// the provider must support across instances.
    pub(crate) fn of_same_adapter(
        object: &Arc<T>,
        ia: &Arc<IaInner>,
        completions: bool,
        operation: &'static str,
        subtype: Subtype,
    ) -> Result<Self> {
        let owner = &object.base().ia;
        if Arc::ptr_eq(owner, ia) || !ia.is_same_adapter(owner, completions) {
            return Self::new(object, ia, operation, subtype);
        }
        if ia.compat.relaxes(Rule::OtherInstances) {
            return Self::of_any_adapter(object, operation, subtype);
        }
        Self::new(object, ia, operation, subtype).map_err(|error| {
            let advice = error.advice().to_owned();
            Rule::OtherInstances.broken(error, &advice)
        })
    }

    /// Begins a use of an object of any open instance of any adapter.
    pub(crate) fn of_any_adapter(
        object: &Arc<T>,
        operation: &'static str,
        subtype: Subtype,
    ) -> Result<Self> {
        let base = object.base();
        if !base.lifecycle.begin_use() {
            return Err(base.freed(operation).with_subtype(subtype));
        }
        Ok(Self(Arc::clone(object)))
    }

    pub(crate) fn arc(&self) -> &Arc<T> {
        &self.0
    }
}

impl<T: Based> Deref for Hold<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Based> Drop for Hold<T> {
    fn drop(&mut self) {
        self.0.base().lifecycle.end_use();
    }
}

/// Gives a public handle type the methods that all have: id, liveness, adapter and consumer
/// context. Other objects refer to an object that is `shared`, and create its handle again.
macro_rules! object_handle {
    ($handle:ident, shared $inner:ty) => {
        object_handle!($handle, $inner);

        impl $handle {
            pub(crate) fn inner(&self) -> &std::sync::Arc<$inner> {
                &self.inner
            }

            pub(crate) fn from_inner(inner: &std::sync::Arc<$inner>) -> Self {
                Self { inner: std::sync::Arc::clone(inner) }
            }
        }
    };
    ($handle:ident, $inner:ty) => {
        impl $handle {
            /// The number of the object, unique among live objects of the process.
            #[must_use]
            pub fn id(&self) -> u64 {
                self.inner.base.id
            }

            /// Returns true if the object has not been freed.
            #[must_use]
            pub fn is_live(&self) -> bool {
                self.inner.base.lifecycle.is_live()
            }

            /// The process that opened the adapter of the object.
            #[doc(hidden)]
            #[must_use]
            pub fn process(&self) -> dat_sync::Process {
                self.inner.base.ia.process
            }

            /// The adapter that the object belongs to.
            #[must_use]
            pub fn adapter(&self) -> $crate::Ia {
                $crate::Ia::from_inner(&self.inner.base.ia)
            }

            /// The value that the consumer attached to the object; 0 if none
            /// (dat_get_consumer_context(3DAT)).
            #[must_use]
            pub fn consumer_context(&self) -> u64 {
                self.inner.base.context()
            }

            /// Attaches a value of the consumer (dat_set_consumer_context(3DAT)).
            pub fn set_consumer_context(&self, context: u64) {
                self.inner.base.set_context(context);
            }
        }

        impl Drop for $handle {
            fn drop(&mut self) {
                if !self.inner.base.ia.process.is_current() {
                    // The device resources belong to the parent, so the child must not release
                    // them.
                    let _ = std::mem::ManuallyDrop::new(self.inner.clone());
                }
            }
        }

        impl $crate::lifecycle::Based for $inner {
            fn base(&self) -> &$crate::lifecycle::Base {
                &self.base
            }
        }

        impl std::fmt::Debug for $inner {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.base.label())
            }
        }

        impl PartialEq for $handle {
            fn eq(&self, other: &Self) -> bool {
                std::ptr::eq(&*self.inner, &*other.inner)
            }
        }

        impl Eq for $handle {}

        impl std::fmt::Debug for $handle {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.inner.base.label())
            }
        }
    };
}
pub(crate) use object_handle;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_in_use_is_not_freed_and_a_freed_one_not_used() {
        let life = Lifecycle::default();
        assert!(life.begin_use());
        assert!(life.begin_use());
        assert_eq!(life.retire(), Retirement::InUse);
        life.end_use();
        assert_eq!(life.retire(), Retirement::InUse);
        life.end_use();
        assert!(life.is_live());
        assert_eq!(life.retire(), Retirement::Done);
        assert!(!life.is_live());
        assert!(!life.begin_use());
        assert_eq!(life.retire(), Retirement::FreedBefore);
    }

    #[test]
    fn a_forced_end_ignores_uses_and_happens_once() {
        let life = Lifecycle::default();
        assert!(life.begin_use());
        assert!(life.force());
        assert!(!life.force());
        assert_eq!(life.retire(), Retirement::FreedBefore);
        life.end_use();
        assert!(!life.is_live());
    }
}
