//! The modules of a crate: the file of each, its definitions and its imports.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, Item, Meta, Visibility};

use crate::graph::Uses;
use crate::methods::{Methods, calls};
use crate::paths::{Import, imports, paths};

/// Reads a file. Tests read from memory.
pub(crate) type Reader<'a> = &'a dyn Fn(&Path) -> io::Result<String>;

/// A crate, read from its root file.
pub(crate) struct Krate {
    pub(crate) files: Vec<PathBuf>,
    modules: Vec<Module>,
    methods: Methods,
}

#[derive(Default)]
struct Module {
    file: usize,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// Names of items that the module defines.
    items: BTreeSet<String>,
    imports: Vec<Import>,
    /// Paths in the bodies of items.
    paths: BTreeSet<Vec<String>>,
    /// Names of the methods that the bodies call.
    calls: BTreeSet<String>,
}

impl Krate {
    pub(crate) fn read(root: &Path, reader: Reader<'_>) -> io::Result<Self> {
        let mut krate =
            Self { files: Vec::new(), modules: Vec::new(), methods: Methods::default() };
        krate.read_file(root, root.parent().unwrap_or(Path::new("")), None, reader)?;
        Ok(krate)
    }

    /// A file's path relative to the folder of the root.
    pub(crate) fn name(&self, file: usize) -> String {
        let folder = self.files[0].parent().unwrap_or(Path::new(""));
        self.files[file].strip_prefix(folder).unwrap_or(&self.files[file]).display().to_string()
    }

    /// Reads a module that has a file of its own; `folder` holds the files of its children.
    fn read_file(
        &mut self,
        path: &Path,
        folder: &Path,
        parent: Option<usize>,
        reader: Reader<'_>,
    ) -> io::Result<usize> {
        let text = reader(path)?;
        let parsed = syn::parse_file(&text)
            .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
        let file = self.files.len();
        self.files.push(path.to_path_buf());
        self.read_items(parsed.items, file, folder, parent, reader)
    }

    fn read_items(
        &mut self,
        items: Vec<Item>,
        file: usize,
        folder: &Path,
        parent: Option<usize>,
        reader: Reader<'_>,
    ) -> io::Result<usize> {
        let module = self.modules.len();
        self.modules.push(Module { file, parent, ..Module::default() });
        for item in items {
            match item {
                Item::Mod(inner) if !is_test(&inner.attrs) => {
                    let name = inner.ident.to_string();
                    let child = match inner.content {
                        Some((_, items)) => {
                            let folder = folder.join(&name);
                            self.read_items(items, file, &folder, Some(module), reader)?
                        }
                        None => {
                            let (path, below) =
                                self.locate(file, folder, &name, &inner.attrs, reader);
                            self.read_file(&path, &below, Some(module), reader)?
                        }
                    };
                    self.modules[module].children.insert(name, child);
                }
                Item::Mod(_) => {}
                Item::Use(declaration) if !is_test(&declaration.attrs) => {
                    let public = !matches!(declaration.vis, Visibility::Inherited);
                    self.modules[module].imports.extend(imports(&declaration.tree, public));
                }
                item => self.read_item(module, &item),
            }
        }
        Ok(module)
    }

    fn read_item(&mut self, module: usize, item: &Item) {
        if attributes(item).is_some_and(is_test) {
            return;
        }
        if let Some(name) = name(item) {
            self.modules[module].items.insert(name);
        }
        self.methods.define(item, self.modules[module].file);
        let tokens: TokenStream = item.to_token_stream();
        calls(tokens.clone(), &mut self.modules[module].calls);
        self.modules[module].paths.extend(paths(tokens));
    }

    /// The file of a child module, and the folder of the files of its own children.
    fn locate(
        &self,
        file: usize,
        folder: &Path,
        name: &str,
        attributes: &[Attribute],
        reader: Reader<'_>,
    ) -> (PathBuf, PathBuf) {
        if let Some(path) = path_attribute(attributes) {
            let base = self.files[file].parent().unwrap_or(Path::new(""));
            let path = base.join(path);
            let below = path.parent().unwrap_or(Path::new("")).to_path_buf();
            return (path, below);
        }
        let below = folder.join(name);
        let flat = folder.join(format!("{name}.rs"));
        if reader(&flat).is_ok() { (flat, below) } else { (below.join("mod.rs"), below) }
    }

    /// Which file uses which items of which other file, and calls which of its methods.
    pub(crate) fn uses(&self) -> Uses {
        let mut uses = Uses::new();
        for (index, module) in self.modules.iter().enumerate() {
            let imported = module.imports.iter().filter(|import| !import.public);
            let imported = imported.map(|import| &import.path);
            for path in imported.chain(&module.paths) {
                if let Some(target) = self.resolve(index, path, 0) {
                    let to = self.modules[target].file;
                    if to != module.file {
                        uses.insert((module.file, to, path.join("::")));
                    }
                }
            }
            for name in &module.calls {
                let definer = self.methods.definer(name).filter(|definer| *definer != module.file);
                uses.extend(definer.map(|definer| (module.file, definer, format!("{name}()"))));
            }
        }
        uses
    }

    /// The module that defines the item of a path, as seen from a module; none for items of other
    /// crates and of the module itself.
    fn resolve(&self, from: usize, path: &[String], depth: usize) -> Option<usize> {
        // An import may lead to another one. Chains of them are short.
        if depth > 16 {
            return None;
        }
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.descend(0, rest, depth),
            "self" => self.descend(from, rest, depth),
            "super" => self.descend(self.modules[from].parent?, rest, depth),
            _ if self.modules[from].children.contains_key(first) => self.descend(from, path, depth),
            _ => None,
        }
    }

    fn descend(&self, module: usize, path: &[String], depth: usize) -> Option<usize> {
        let Some((name, rest)) = path.split_first() else { return Some(module) };
        let here = &self.modules[module];
        if name == "super" {
            return self.descend(here.parent?, rest, depth);
        }
        if let Some(child) = here.children.get(name) {
            // In `x::y`, y may be both a function and a module: either is correct.
            return self.descend(*child, rest, depth);
        }
        if here.items.contains(name) {
            return Some(module);
        }
        for import in &here.imports {
            if import.name.as_deref() == Some(name) {
                let mut path = import.path.clone();
                path.extend_from_slice(rest);
                return self.resolve(module, &path, depth + 1);
            }
        }
        for import in here.imports.iter().filter(|import| import.name.is_none()) {
            let target = self.resolve(module, &import.path, depth + 1);
            let defines = target.filter(|target| self.modules[*target].items.contains(name));
            if defines.is_some() {
                return defines;
            }
        }
        Some(module)
    }
}

/// Returns true if an item is compiled for tests only.
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let Meta::List(list) = &attribute.meta else { return false };
        let condition = list.tokens.to_string();
        list.path.is_ident("cfg")
            && (condition == "test" || condition.replace(' ', "").starts_with("all(test,"))
    })
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => {
            Some(pair.value.to_token_stream().to_string().trim_matches('"').to_owned())
        }
        _ => None,
    })
}

fn attributes(item: &Item) -> Option<&[Attribute]> {
    Some(match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        _ => return None,
    })
}

fn name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}
