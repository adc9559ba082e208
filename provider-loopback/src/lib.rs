//! The in-process DAT provider.
