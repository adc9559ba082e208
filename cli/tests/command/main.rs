//! The command as those see it who run it.

mod common;
mod explain;
mod list_and_info;
mod manners;
mod perf;
mod ping;
