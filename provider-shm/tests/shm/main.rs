//! What the shared-memory provider does about peers that are gone or stopped, and children.

mod common;
mod fork;
mod lost;
mod many;
