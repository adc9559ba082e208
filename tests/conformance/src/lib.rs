//! Conformance cases for DAT providers, and their runner.
//!
//! The author of a provider runs the cases over it with `dat conformance IA`, and consumers can
//! rely on what passed. A [`Case`] proves one rule of the documents on the adapter under test and
//! panics if the rule does not hold. The [`runner`] gives each case a thread and a time limit, and
//! [`report`] prints the verdicts for people, as TAP or as JUnit.
//!
//! Cases use only the API of `dat-core`, through the helpers of [`fixture`], [`ep_states`],
//! [`wait`] and [`check`], so they assume nothing about how a provider works.

mod buffer;
mod case;
mod cases;
pub mod check;
pub mod ep_states;
pub mod exclude;
pub mod fault_provider;
pub mod fixture;
pub mod mapping;
mod posts;
mod prelude;
mod random;
pub mod report;
pub mod runner;
pub mod target;
pub mod wait;

pub use case::{Case, skip};
pub use cases::all;
pub use check::refused;
pub use exclude::Exclusions;
pub use fixture::{Buffer, Node, exchange, link, open, requester};
pub use runner::{Outcome, Plan, Verdict};
pub use target::{Target, rounds, set_target, takes_parameters, target, try_open};
pub use wait::{
    Background, LIMIT, becomes_readable, drain, expect_bind, expect_connection,
    expect_connection_of, expect_connections, expect_dto, expect_event, expect_no_event,
    expect_request, expect_unsignalled_dto, is_readable, state, until, until_waited_on,
};
