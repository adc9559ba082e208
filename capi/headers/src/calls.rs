//! The entries of the table of calls in capi/abi/src/calls, as the functions and the slot types
//! that they become.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs, process};

use quote::ToTokens;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{FnArg, Ident, Item, Path as RustPath, Token, braced, parenthesized, parse_quote};

use crate::plan::Version;

/// The prototypes and slot types of `table! { ($) NAME { ENTRIES } v1 { ENTRIES } v2 { ENTRIES } }` for a version.
pub(crate) fn table(input: ParseStream<'_>, version: Version) -> syn::Result<Vec<Item>> {
    let dollar;
    parenthesized!(dollar in input);
    dollar.parse::<Token![$]>()?;
    input.parse::<Ident>()?;
    let mut items = calls(input)?;
    while !input.is_empty() {
        let only: Ident = input.parse()?;
        let own = calls(input)?;
        if only == version.sources() {
            items.extend(own);
        }
    }
    Ok(items)
}

fn calls(input: ParseStream<'_>) -> syn::Result<Vec<Item>> {
    let entries;
    braced!(entries in input);
    let mut items = Vec::new();
    while !entries.is_empty() {
        items.extend(call(&entries)?);
    }
    Ok(items)
}

/// `GUARD fn NAME(ARGUMENTS) = IMPLEMENTATION, SLOT: TYPE of KIND undo CALL(ARGUMENT);`, of which C needs the
/// prototype and the type.
fn call(input: ParseStream<'_>) -> syn::Result<[Item; 2]> {
    input.parse::<Ident>()?;
    input.parse::<Token![fn]>()?;
    let name: Ident = input.parse()?;
    let arguments;
    parenthesized!(arguments in input);
    let arguments: Punctuated<FnArg, Token![,]> = Punctuated::parse_terminated(&arguments)?;
    input.parse::<Token![=]>()?;
    input.parse::<RustPath>()?;
    input.parse::<Token![,]>()?;
    input.parse::<Ident>()?;
    input.parse::<Token![:]>()?;
    let slot: Ident = input.parse()?;
    if !input.peek(Token![;]) {
        input.parse::<Ident>()?;
        input.parse::<Ident>()?;
    }
    if !input.peek(Token![;]) {
        input.parse::<Ident>()?;
        input.parse::<Ident>()?;
        let created;
        parenthesized!(created in input);
        created.parse::<Ident>()?;
    }
    input.parse::<Token![;]>()?;
    let function = parse_quote! {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn #name(#arguments) -> DAT_RETURN {}
    };
    let pointer = parse_quote! {
        pub type #slot = Option<unsafe extern "C" fn(#arguments) -> DAT_RETURN>;
    };
    Ok([function, pointer])
}

/// A file with the calls expanded, for cbindgen, which expands no macro. Removed when dropped.
pub(crate) struct Expanded(pub(crate) PathBuf);

impl Expanded {
    /// Writes the items of some sources to the file.
    pub(crate) fn new(sources: &[Vec<Item>]) -> Result<Self, Box<dyn Error>> {
        let path = env::temp_dir().join(format!("dat-headers-{}.rs", process::id()));
        let items = sources.iter().flatten();
        let text: String = items.map(|item| format!("{}\n", item.to_token_stream())).collect();
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Expanded {
    fn drop(&mut self) {
        // What is left of it is in the folder for temporary files.
        let _ = fs::remove_file(&self.0);
    }
}
