//! The C ABI of DAT 1.2 and 2.0 over dat-core; its contents come with a later version.
