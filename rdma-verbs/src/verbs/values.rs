//! Enums of values of C.

/// Defines an enum from a table of `Variant = CONSTANT;`, with its conversion from C. The variant `Unknown` holds other
/// values.
macro_rules! values {
    (
        $(#[$attribute:meta])* pub enum $enum:ident;
        $($(#[$doc:meta])* $variant:ident = $value:ident;)+
    ) => {
        $(#[$attribute])*
        #[non_exhaustive]
        pub enum $enum {
            $($(#[$doc])* $variant,)+
            /// A value that this version does not know.
            Unknown(u32),
        }

        impl $enum {
            pub(crate) const fn new(value: u32) -> Self {
                match value {
                    $(sys::$value => Self::$variant,)+
                    other => Self::Unknown(other),
                }
            }
        }
    };
}
pub(crate) use values;
