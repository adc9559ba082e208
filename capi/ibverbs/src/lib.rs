//! libibverbs.so.1 and librdmacm.so.1 without an RDMA device: the C edge of `dat-soft-verbs`.
//!
//! The structures and the functions are those of rdma-core's headers; the layouts come from `rdma_verbs::sys`, where
//! tests compare them with the installed headers. An object of C begins with the structure of the header, followed by
//! the object of `dat-soft-verbs`: C casts one pointer to the other. As in rdma-core, a stale pointer of the program is
//! undefined behaviour, and any thread may use any object at any time.
//!
//! What has no meaning here fails with the errno of its manual page; [`verbs`] has the list.
//!
//! This crate becomes a static archive, which `link/libraries` links: libibverbs.so.1 has everything, librdmacm.so.1
//! jumps into it. The symbols and their versions are those of the tables in `symbols`.

pub mod cm;
pub mod guard;
mod log;
pub mod object;
pub mod refused;
pub mod verbs;
