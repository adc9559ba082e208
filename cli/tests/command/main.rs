//! The command as its users see it.

mod common;
mod conformance;
mod doctor;
mod explain;
mod help_examples;
mod list_and_doctor;
mod list_and_info;
mod manners;
mod own_provider;
mod pages;
mod perf;
mod perf_two;
mod ping;
mod top;
mod two_processes;
mod verbs;
