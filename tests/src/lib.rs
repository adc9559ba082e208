//! Shared parts of the integration tests: adapters and endpoints to try things on, waits that
//! always end, and the checks that nearly every test makes.
//!
//! Every adapter that [`open`] or [`Node`] opens has an address of its own, so tests that run
//! at the same time never meet.

pub mod altered;
pub mod check;
pub mod node;
pub mod stage;
pub mod wait;

pub use check::{refused, same_error};
pub use node::{Buffer, Node, link, open, open_at, registry};
pub use wait::{
    Background, LIMIT, drain, expect_bind, expect_connection, expect_connections, expect_dto,
    expect_event, expect_no_event, expect_request, state, until, until_waited_on,
};
