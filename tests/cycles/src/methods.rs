//! Method calls, which import nothing.
//!
//! Types are unknown here, so a call counts only if one file alone defines a method of that name, and no
//! type of the standard library does. A method of a trait belongs to the file of the trait.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{ImplItem, Item, Signature, TraitItem};

use crate::krate::is_test;

/// Methods of the standard library that crates define, too.
const STANDARD: &[&str] = &[
    "add",
    "advance",
    "as_mut",
    "as_ptr",
    "as_ref",
    "as_slice",
    "borrow",
    "build",
    "chunks",
    "clear",
    "clone",
    "cmp",
    "collect",
    "contains",
    "count",
    "drain",
    "end",
    "entry",
    "eq",
    "extend",
    "fill",
    "filter",
    "find",
    "finish",
    "first",
    "flush",
    "fmt",
    "get",
    "get_mut",
    "hash",
    "index",
    "insert",
    "into_inner",
    "is_empty",
    "is_some",
    "iter",
    "iter_mut",
    "join",
    "keys",
    "last",
    "left",
    "len",
    "load",
    "lock",
    "map",
    "max",
    "merge",
    "min",
    "name",
    "next",
    "offset",
    "open",
    "poll",
    "pop",
    "position",
    "push",
    "read",
    "remove",
    "replace",
    "reserve",
    "resize",
    "retain",
    "send",
    "set",
    "size",
    "sleep",
    "sort",
    "spawn",
    "split",
    "start",
    "step",
    "store",
    "sub",
    "sum",
    "swap",
    "take",
    "truncate",
    "try_lock",
    "unlock",
    "update",
    "wait",
    "wake",
    "with",
    "write",
    "zip",
];

/// Which files define the methods of each name.
#[derive(Default)]
pub(crate) struct Methods(BTreeMap<String, BTreeSet<usize>>);

impl Methods {
    /// Adds the methods that an item of a file defines.
    pub(crate) fn define(&mut self, item: &Item, file: usize) {
        match item {
            Item::Impl(item) if item.trait_.is_none() => {
                for item in &item.items {
                    match item {
                        ImplItem::Fn(method) if !is_test(&method.attrs) => {
                            self.add(&method.sig, file);
                        }
                        _ => {}
                    }
                }
            }
            Item::Trait(item) => {
                for item in &item.items {
                    if let TraitItem::Fn(method) = item {
                        self.add(&method.sig, file);
                    }
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, signature: &Signature, file: usize) {
        if signature.receiver().is_some() {
            self.0.entry(signature.ident.to_string()).or_default().insert(file);
        }
    }

    /// The only file that defines methods of this name.
    pub(crate) fn definer(&self, name: &str) -> Option<usize> {
        let files =
            self.0.get(name).filter(|files| files.len() == 1 && !STANDARD.contains(&name))?;
        files.first().copied()
    }
}

/// Adds the names of the methods that tokens call, including those in macro calls.
pub(crate) fn calls(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let mut follows_dot = false;
    // The name after a dot, and whether `::<T>` has begun after it.
    let mut name: Option<(String, bool)> = None;
    for token in tokens {
        let is_dot = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '.');
        name = match (token, name) {
            (TokenTree::Ident(ident), _) if follows_dot => Some((ident.to_string(), false)),
            (TokenTree::Punct(punct), Some((name, _))) if punct.as_char() == ':' => {
                Some((name, true))
            }
            (TokenTree::Punct(punct), Some((name, true))) if "<>,".contains(punct.as_char()) => {
                Some((name, true))
            }
            (TokenTree::Ident(_), Some((name, true))) => Some((name, true)),
            (TokenTree::Group(group), name) => {
                let called = name.filter(|_| group.delimiter() == Delimiter::Parenthesis);
                found.extend(called.map(|(name, _)| name));
                calls(group.stream(), found);
                None
            }
            _ => None,
        };
        follows_dot = is_dot;
    }
}
