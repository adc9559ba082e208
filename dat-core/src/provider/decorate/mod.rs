//! Decorators: providers around a provider, which change or watch what goes through them.
//!
//! - [`trace`] records each call and each upcall;
//! - [`count`] counts them.
//!
//! They can be stacked in any order, over any provider.
//!
//! # How they are made
//! One layer of objects, generic over its `Hooks`, forwards every call and
//! upcall; a decorator is its hooks and nothing else. An object of the layer owns the object
//! of the provider below, and hands *that* down wherever a call names an object: in
//! specifications, binds and accepts. So each provider finds its own types behind `as_any`,
//! and two layers of one kind do not get in each other's way.

mod adapter;
mod call;
mod completion;
mod connection;
pub mod count;
mod domain;
mod hooks;
mod queue_pair;
mod shared_receive;
pub mod trace;

pub use call::{Kind, Object};
