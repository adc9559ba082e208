//! An object with nothing of what only verbs need.

/// Has only what DAT needs.
pub(crate) struct OnlyDat;
