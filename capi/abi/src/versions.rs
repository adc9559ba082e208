//! Macros that mark what differs between DAT 1.2 and 2.0.
//!
//! ```text
//! v2! { pub const DAT_EXTENSION_EVENT: DAT_EVENT_NUMBER = 0x2_0000; }    items of DAT 2.0 only
//! values! { pub const DAT_INVALID_ARG1: DAT_RETURN_SUBTYPE = 36, 37; }   the values of 1.2 and 2.0
//! structs! {                                                            C structs, members of one version
//!     pub struct DAT_EVENT {
//!         pub event_number: DAT_EVENT_NUMBER,
//!         v2 { pub event_extension_data: [DAT_UINT64; 8], }
//!     }
//! }
//! ```
//!
//! capi/headers expands them as well.

/// Picks one of two texts: that of DAT 1.2, or that of DAT 2.0.
#[cfg(not(dat2))]
#[macro_export]
macro_rules! by_version {
    ({ $($first:tt)* } { $($second:tt)* }) => { $($first)* };
}
#[cfg(dat2)]
#[macro_export]
macro_rules! by_version {
    ({ $($first:tt)* } { $($second:tt)* }) => { $($second)* };
}

/// Items of DAT 1.2.
macro_rules! v1 {
    ($($item:item)*) => { by_version! { { $($item)* } {} } };
}

/// Items of DAT 2.0.
#[macro_export]
macro_rules! v2 {
    ($($item:item)*) => { $crate::by_version! { {} { $($item)* } } };
}

/// Constants with their values in DAT 1.2 and in DAT 2.0.
macro_rules! values {
    ($(pub const $name:ident: $type:ty = $first:literal, $second:literal;)+) => {
        by_version! {
            { $(pub const $name: $type = $first;)+ }
            { $(pub const $name: $type = $second;)+ }
        }
    };
}

/// Structs and unions for C. Some members belong to one version, or have another type in each.
macro_rules! structs {
    ($($(#[$attribute:meta])* pub $kind:ident $name:ident { $($members:tt)* })+) => {$(
        structs! {
            @ [$(#[$attribute])* #[repr(C)] #[derive(Clone, Copy)] pub $kind $name] [] $($members)*
        }
    )+};
    (@ [$($head:tt)*] [$($done:tt)*]) => { $($head)* { $($done)* } };
    (@ $head:tt [$($done:tt)*] v1 { $($own:tt)* } $($rest:tt)*) => {
        by_version! {
            { structs! { @ $head [$($done)* $($own)*] $($rest)* } }
            { structs! { @ $head [$($done)*] $($rest)* } }
        }
    };
    (@ $head:tt [$($done:tt)*] v2 { $($own:tt)* } $($rest:tt)*) => {
        by_version! {
            { structs! { @ $head [$($done)*] $($rest)* } }
            { structs! { @ $head [$($done)* $($own)*] $($rest)* } }
        }
    };
    (@ $head:tt [$($done:tt)*] pub $member:ident: $type:ty, $($rest:tt)*) => {
        structs! { @ $head [$($done)* pub $member: $type,] $($rest)* }
    };
}
