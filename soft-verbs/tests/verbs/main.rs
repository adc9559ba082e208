//! The objects of verbs, with two sides in one process.
#![allow(unsafe_code, reason = "memory is registered by address")]

mod access;
mod datagrams;
mod errors;
mod events;
mod itself;
mod monitor;
mod operations;
mod processes;
mod receive_waits;
mod regions;
mod shared_receives;
mod states;
mod windows;
mod world;
