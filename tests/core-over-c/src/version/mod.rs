//! What differs between DAT 1.2 and DAT 2.0: both modules have the same items.

#[cfg(not(dat2))]
mod v1;
#[cfg(dat2)]
mod v2;

#[cfg(not(dat2))]
pub(crate) use v1::*;
#[cfg(dat2)]
pub(crate) use v2::*;
