//! One table per enum, with one line per code: value, name, meaning and advice.

/// Defines an enum of codes and its look-ups from a table of `Variant = value, "C name", "meaning", "advice";`. The two
/// texts may be macros that expand to literals.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident
     $($variant:ident = $value:literal, $c_name:literal, $meaning:expr, $advice:expr;)+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        #[non_exhaustive]
        pub enum $name {
            $(#[doc = concat!("`", $c_name, "`: ", $meaning)] $variant = $value,)+
        }

        impl $name {
            /// Every code, in the order of its value.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The value in the C ABI.
            #[must_use]
            pub const fn value(self) -> u32 {
                self as u32
            }

            /// The code with that value in the C ABI.
            #[must_use]
            pub const fn from_value(value: u32) -> Option<Self> {
                match value {
                    $($value => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The name in the C headers.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $c_name,)+
                }
            }

            /// The code with that name in the C headers.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|code| code.name() == name)
            }

            /// The meaning of the code, as a sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)+
                }
            }

            /// The advice, as a sentence.
            #[must_use]
            pub const fn advice(self) -> &'static str {
                match self {
                    $(Self::$variant => $advice,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(super) use codes;
