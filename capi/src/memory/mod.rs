//! The allocator of the C libraries: memory of the system, and a reserve for when the system refuses it.
//!
//! Rust ends the process if an allocation fails. With the reserve it does not fail: the call in which the
//! system refused undoes what it created and returns `DAT_INSUFFICIENT_RESOURCES` ([`shortage`]). Allocations
//! whose size follows from a number of the consumer or of a peer can be larger than the reserve; their code
//! reports the failure by itself.

#[cfg_attr(all(test, loom), allow(dead_code, reason = "the models do not use it"))]
mod bank;
// Unit tests are not linked by capi/link/library.
#[cfg(not(test))]
mod malloc;
#[cfg_attr(all(test, loom), allow(dead_code, reason = "the models do not use it"))]
mod reserve;
pub(crate) mod shortage;
#[cfg(not(test))]
mod thread_exit;
