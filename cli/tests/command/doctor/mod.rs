//! `dat doctor` over systems that are made up: each verdict, with what it says and advises.

mod configuration;
mod document;
mod elf;
mod hardware;
mod manners;
mod rights;
mod software;
mod tree;
