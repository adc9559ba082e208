//! A guide for newcomers, from the first open to the last close.
//!
//! Each page has a short text and a complete program. The programs run in one process over the provider
//! `loopback`, which needs no hardware: add `dat-core` and `dat-provider-loopback` to the dependencies and
//! copy one into `main.rs`. [`waiting`] also needs `rustix` with its feature `event`, and `tasks` needs
//! `tokio` with `rt` and `net`. The tests of this crate run them all. With another provider and name of an
//! adapter, the same calls connect processes and machines.
//!
//! | page | task |
//! | --- | --- |
//! | [`adapter`] | open an adapter, and find out what it can do |
//! | [`endpoints`] | create the objects that each side of a connection needs |
//! | [`connections`] | listen, connect, accept and reject |
//! | [`messages`] | send and receive |
//! | [`rdma`] | read and write the memory of the peer |
//! | [`waiting`] | poll, block, or wait for several dispatchers and descriptors at once |
//! | `tasks` | await events in tasks of tokio (with the feature `tokio`) |
//! | [`errors`] | what can fail, and what to do about it |
//! | [`shutdown`] | disconnect, free and close |
//!
//! The pages build on each other: each explains only what is new in its program. Names such as
//! dat_ep_connect(3DAT) are those of manual pages, which have every detail; each method of this crate
//! names its page.

pub mod adapter;
pub mod connections;
pub mod endpoints;
pub mod errors;
pub mod messages;
pub mod rdma;
pub mod shutdown;
#[cfg(feature = "tokio")]
pub mod tasks;
pub mod waiting;
