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

#[test]
fn a_call_of_a_method_that_one_file_defines_counts() {
    let a = "pub struct A; impl A { pub fn grow(&self, b: &super::b::B) { b.shrink::<u8>(); } }";
    let b =
        "pub struct B; impl B { pub fn shrink<T>(&self) { println!(\"{}\", all().grow(self)) } }";
    assert_eq!(
        cycles_of(&[("lib.rs", "mod a; mod b;"), ("a.rs", a), ("b.rs", b)]),
        [["a.rs", "b.rs"]]
    );
    // With a second one, nothing says which of them is called; a function without `self` is not called so.
    let c = "pub struct C; impl C { pub fn grow(&self) {} pub fn shrink() {} }";
    let files = [("lib.rs", "mod a; mod b; mod c;"), ("a.rs", a), ("b.rs", b), ("c.rs", c)];
    assert!(cycles_of(&files).is_empty());
}

#[test]
fn a_method_of_a_trait_belongs_to_the_file_of_the_trait() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub trait Plant { fn grow(&self); } pub fn a() { crate::b::b() }"),
        (
            "b.rs",
            "pub struct B; impl crate::Plant for B { fn grow(&self) {} } pub fn b() { B.grow() }",
        ),
    ];
    assert_eq!(cycles_of(&files), [["a.rs", "b.rs"]]);
}
