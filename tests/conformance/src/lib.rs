//! Conformance cases for DAT providers, and their runner.
//!
//! A writer of a provider runs the cases over it, `dat conformance IA`, and knows; a consumer
//! trusts what passed them. A [`Case`] tries one rule of the documents on the adapter under
//! test and panics when it does not hold; the [`runner`] gives each a thread and a time limit,
//! and [`report`] tells the verdicts to people, TAP or JUnit.
//!
//! Cases use nothing but the API of `dat-core`, through the helpers of [`node`], [`stage`],
//! [`wait`] and [`check`], so they say nothing about how a provider works.

pub mod altered;
mod case;
mod cases;
pub mod check;
pub mod exclude;
pub mod mapping;
pub mod node;
mod random;
pub mod report;
pub mod runner;
pub mod stage;
pub mod target;
pub mod wait;

pub use case::{Case, skip};
pub use cases::all;
pub use check::{refused, same_error};
pub use exclude::Exclusions;
pub use node::{Buffer, Node, asker, exchange, link, open};
pub use runner::{Outcome, Plan, Verdict};
pub use target::{Target, open_at, set_target, takes_parameters, target, try_open};
pub use wait::{
    Background, LIMIT, drain, expect_bind, expect_connection, expect_connection_of,
    expect_connections, expect_dto, expect_event, expect_no_event, expect_request, is_readable,
    state, until, until_waited_on,
};
