//! libibverbs.so.1 and librdmacm.so.1 without an RDMA device: the C edge of `dat-soft-verbs`.
//!
//! The structures and the functions are those of rdma-core's headers; the layouts come from `rdma_verbs::sys`, where
//! tests compare them with the installed headers. An object of C begins with the structure of the header, followed by
//! the object of `dat-soft-verbs`: C casts one pointer to the other. Any thread may use any object at any time.
//!
//! # Safety
//! As in rdma-core, the program guarantees what the manual page of a function demands, and this crate relies on it:
//! pointers are null, where that is permitted, or valid for what they denote, and objects are alive. Once an object is
//! destroyed, a pointer to it is undefined behaviour.
//!
//! What has no meaning here fails with the errno of its manual page; the modules `verbs` and `cm` list it.
//!
//! This crate becomes a static archive, which `link/libraries` links: libibverbs.so.1 has everything, librdmacm.so.1
//! jumps into it. The symbols and their versions are those of the tables in `symbols`.

#![allow(unreachable_pub, reason = "exported to C by name, not to Rust")]

mod cm;
mod guard;
mod object;
mod refused;
mod verbs;
