//! DAT 1.2 returns no address of memory that DAT 2.0 does not return as well.

/// Memory whose address C received, in addition to that of both versions.
pub(crate) type VersionStorage = ();
