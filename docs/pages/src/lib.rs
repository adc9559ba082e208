//! The manual of the DAT calls.
//!
//! `calls/*.toml` has one entry for each call, in one file per object: what it does, its arguments,
//! the events that follow, every return code with its cause, and an example. The prototypes come
//! from the headers (`prototypes.txt`, which `.ci/headers --bless` writes), and the endpoint states
//! from the table of dat-core. From these the project generates its manual pages of section 3
//! ([`roff`]), the comments of the C headers, and the output of `dat explain CALL` ([`text`]).

mod call;
mod codes;
mod prototype;
pub mod roff;
mod states;
pub mod text;

pub use call::{Argument, Call, Direction, Threads};
pub use codes::Code;
pub use prototype::{Prototype, Prototypes, in_header};
pub use states::{Allowed, allowed};

use std::sync::LazyLock;

/// Where an object's calls are described.
const SOURCES: &[(&str, &str)] = &[
    ("ia", include_str!("../calls/ia.toml")),
    ("registry", include_str!("../calls/registry.toml")),
    ("pz", include_str!("../calls/pz.toml")),
    ("lmr", include_str!("../calls/lmr.toml")),
    ("rmr", include_str!("../calls/rmr.toml")),
    ("evd", include_str!("../calls/evd.toml")),
    ("cno", include_str!("../calls/cno.toml")),
    ("ep", include_str!("../calls/ep.toml")),
    ("connect", include_str!("../calls/connect.toml")),
    ("post", include_str!("../calls/post.toml")),
    ("srq", include_str!("../calls/srq.toml")),
    ("service_point", include_str!("../calls/service_point.toml")),
    ("cr", include_str!("../calls/cr.toml")),
    ("generic", include_str!("../calls/generic.toml")),
    ("ib", include_str!("../calls/ib.toml")),
];

static CALLS: LazyLock<Vec<Call>> = LazyLock::new(|| {
    let calls = SOURCES.iter().flat_map(|(name, text)| match call::parse(text) {
        Ok(calls) => calls,
        Err(error) => panic!("calls/{name}.toml: {error}"),
    });
    calls.collect()
});

/// Every call that has a description, in the order of the files.
///
/// # Panics
/// If a file of this crate cannot be parsed; a test parses all of them.
#[must_use]
pub fn calls() -> &'static [Call] {
    &CALLS
}

/// The description of a call, by its name or by another name that its page has.
#[must_use]
pub fn find(name: &str) -> Option<&'static Call> {
    calls().iter().find(|call| call.names().any(|it| it == name))
}
