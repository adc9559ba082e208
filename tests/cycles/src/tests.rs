//! Crates in memory with and without cycles.

use std::io;
use std::path::Path;

use crate::graph::cycles;
use crate::krate::Krate;

/// The cycles of a crate given as file names and texts, by the names of their files.
fn cycles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let read = |path: &Path| {
        let found = files.iter().find(|(name, _)| Path::new(name) == path);
        found.map(|(_, text)| (*text).to_owned()).ok_or(io::Error::from(io::ErrorKind::NotFound))
    };
    let krate = Krate::read(Path::new("lib.rs"), &read).expect("readable");
    let found = cycles(krate.files.len(), &krate.uses());
    found.iter().map(|cycle| cycle.iter().map(|file| krate.name(*file)).collect()).collect()
}

#[test]
fn two_files_that_import_each_other_are_a_cycle() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b::B; pub struct A(B);"),
        ("b.rs", "use crate::a::A; pub struct B(Box<A>);"),
        ("c.rs", "use crate::a::A; pub struct C(A);"),
    ];
    assert_eq!(cycles_of(&files), [["a.rs", "b.rs"]]);
}

#[test]
fn imports_in_one_direction_are_not_a_cycle() {
    let files = [
        ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
        ("a.rs", "use crate::B; pub struct A(B);"),
        ("b.rs", "pub struct B;"),
    ];
    assert!(cycles_of(&files).is_empty());
}

#[test]
fn a_re_export_counts_as_a_use_of_the_defining_file() {
    let files = [
        ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
        ("a.rs", "use crate::{B}; pub struct A(B);"),
        ("b.rs", "pub struct B(Box<crate::A>);"),
    ];
    assert_eq!(cycles_of(&files), [["a.rs", "b.rs"]]);
}

#[test]
fn paths_in_bodies_and_in_macro_calls_count() {
    let files = [
        ("lib.rs", "mod a; mod b; mod folder;"),
        ("a.rs", "pub fn a() { println!(\"{}\", crate::b::b()) }"),
        ("b.rs", "pub fn b() { super::folder::inner::c() }"),
        ("folder/mod.rs", "pub mod inner;"),
        ("folder/inner.rs", "pub fn c() { super::super::a::a() }"),
    ];
    assert_eq!(cycles_of(&files), [["a.rs", "b.rs", "folder/inner.rs"]]);
}

#[test]
fn code_for_tests_is_ignored() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::B; pub struct A(B); #[cfg(test)] mod tests { use super::*; }"),
        ("b.rs", "pub struct B; #[cfg(all(test, not(loom)))] mod tests { use crate::a::A; }"),
    ];
    assert!(cycles_of(&files).is_empty());
}
