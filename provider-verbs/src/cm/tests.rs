//! The layer against the manual pages, on a device of this machine.
