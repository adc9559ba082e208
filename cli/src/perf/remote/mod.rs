//! `dat perf` between two processes: the client measures, and the listener does what the client
//! orders.
//!
//! The orders cross a connection of their own (`control`). Each measurement has another connection,
//! which ends with it, so that no receive of a measurement is left for the next one.

mod cell;
mod client;
mod control;
mod listener;
pub(crate) mod order;
mod responder;

pub(super) use client::measure;
pub(super) use listener::{Call, Place, Served, listen};
