//! The entries of `calls!`, the table of calls in capi/exports, as the functions and the slot types
//! that they become.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs, process};

use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{FnArg, Ident, Item, Path as RustPath, Token, parenthesized, parse_quote};

/// The prototypes and slot types of one `calls!`.
pub(crate) struct Calls(pub(crate) Vec<Item>);

impl Parse for Calls {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut items = Vec::new();
        while !input.is_empty() {
            items.extend(call(input)?);
        }
        Ok(Self(items))
    }
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
