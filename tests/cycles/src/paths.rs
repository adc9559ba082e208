//! Paths in declarations and in token streams.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::UseTree;

/// One name that a `use` declaration brings in.
pub(crate) struct Import {
    /// The name in the importing module; none for a glob import of `path`.
    pub(crate) name: Option<String>,
    pub(crate) path: Vec<String>,
    /// True if it is a re-export.
    pub(crate) public: bool,
}

/// The names of a `use` declaration.
pub(crate) fn imports(tree: &UseTree, public: bool) -> Vec<Import> {
    let mut found = Vec::new();
    collect(tree, &mut Vec::new(), public, &mut found);
    found
}

fn collect(tree: &UseTree, prefix: &mut Vec<String>, public: bool, found: &mut Vec<Import>) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            collect(&path.tree, prefix, public, found);
            prefix.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            found.push(Import { name: prefix.last().cloned(), path: prefix.clone(), public });
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            let mut path = prefix.clone();
            path.push(name.clone());
            found.push(Import { name: Some(name), path, public });
        }
        UseTree::Rename(rename) => {
            let mut path = prefix.clone();
            path.push(rename.ident.to_string());
            found.push(Import { name: Some(rename.rename.to_string()), path, public });
        }
        UseTree::Glob(_) => found.push(Import { name: None, path: prefix.clone(), public }),
        UseTree::Group(group) => {
            for tree in &group.items {
                collect(tree, prefix, public, found);
            }
        }
    }
}

/// All paths of at least two segments in a token stream, including those in macro calls.
pub(crate) fn paths(tokens: TokenStream) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    scan(tokens, &mut found);
    found
}

fn scan(tokens: TokenStream, found: &mut BTreeSet<Vec<String>>) {
    let mut path = Vec::new();
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                if colons < 2 {
                    finish(&mut path, found);
                }
                path.push(ident.to_string());
                colons = 0;
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            token => {
                finish(&mut path, found);
                colons = 0;
                if let TokenTree::Group(group) = token {
                    scan(group.stream(), found);
                }
            }
        }
    }
    finish(&mut path, found);
}

fn finish(path: &mut Vec<String>, found: &mut BTreeSet<Vec<String>>) {
    let path = std::mem::take(path);
    if path.len() > 1 {
        found.insert(path);
    }
}
