//! The handle types of the API: what all of them have in common.

use std::sync::Arc;

use real::ObjectKind;

use super::adapter::Adapter;
use super::object::Object;
use crate::abi::DAT_HANDLE;

/// A handle type of the API.
pub(crate) trait Handle: Sized {
    /// The kind of its objects.
    const KIND: ObjectKind;

    /// The handle of an object of that kind.
    fn of(object: Arc<Object>) -> Self;

    /// Its object.
    fn object(&self) -> &Arc<Object>;

    /// The handle of an object that a call just created.
    fn made_of(handle: DAT_HANDLE, ia: &Arc<Adapter>) -> Self {
        Self::of(Object::new(handle, Self::KIND, ia))
    }

    /// The handle of an object that the library names; `None` for NULL.
    fn named(handle: DAT_HANDLE, ia: &Arc<Adapter>) -> Option<Self> {
        Object::named(handle, Self::KIND, ia, true).map(Self::of)
    }

    /// The handle as C has it.
    fn handle(&self) -> DAT_HANDLE {
        self.object().handle()
    }
}

/// Defines a handle type with the functions that all handle types have.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident = $kind:ident) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name {
            pub(crate) object: std::sync::Arc<$crate::object::Object>,
        }

        impl $crate::handle_type::Handle for $name {
            const KIND: real::ObjectKind = real::ObjectKind::$kind;

            fn of(object: std::sync::Arc<$crate::object::Object>) -> Self {
                Self { object }
            }

            fn object(&self) -> &std::sync::Arc<$crate::object::Object> {
                &self.object
            }
        }

        impl $name {
            /// The value of the handle.
            #[must_use]
            pub fn id(&self) -> u64 {
                self.object.id()
            }

            /// Returns true if the object is live.
            #[must_use]
            pub fn is_live(&self) -> bool {
                self.object.is_live()
            }

            /// The adapter of the object.
            #[must_use]
            pub fn adapter(&self) -> $crate::Ia {
                $crate::Ia::of(self.object.ia())
            }

            /// dat_get_consumer_context(3DAT).
            #[must_use]
            pub fn consumer_context(&self) -> u64 {
                self.object.consumer_context()
            }

            /// dat_set_consumer_context(3DAT).
            pub fn set_consumer_context(&self, context: u64) {
                self.object.set_consumer_context(context);
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                std::sync::Arc::ptr_eq(&self.object, &other.object)
            }
        }

        impl Eq for $name {}

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.object.fmt(f)
            }
        }
    };
}
pub(crate) use handle;
