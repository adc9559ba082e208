//! Enums whose variants have names.

/// Defines an enum from a table of `Variant = number, "name";`, where the number may be missing, with the list of all
/// variants and their names.
macro_rules! named {
    (
        $(#[$attribute:meta])* pub enum $enum:ident, $(#[$name_doc:meta])* name;
        $($(#[$doc:meta])* $variant:ident $(= $number:literal)?, $name:literal;)+
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $enum {
            $($(#[$doc])* $variant $(= $number)?,)+
        }

        impl $enum {
            /// Every variant.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            $(#[$name_doc])*
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}
pub(crate) use named;
