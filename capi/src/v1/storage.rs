//! DAT 1.2 returns no address of memory that DAT 2.0 does not return as well.

/// C-visible storage that only this version has.
pub(crate) type VersionStorage = ();
