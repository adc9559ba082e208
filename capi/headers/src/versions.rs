//! The macros of capi/abi/src/versions.rs, expanded for one version.

use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{
    Attribute, Field, Ident, Item, Lit, Macro, Token, Type, Visibility, braced, parse_quote,
};

use crate::plan::Version;

/// The items that a macro becomes; `None` if it is another macro.
pub(crate) fn expand(mac: &Macro, version: Version) -> syn::Result<Option<Vec<Item>>> {
    let name = mac.path.get_ident().map(ToString::to_string).unwrap_or_default();
    Ok(Some(match name.as_str() {
        "v1" | "v2" if name == version.sources() => mac.parse_body::<syn::File>()?.items,
        "v1" | "v2" => Vec::new(),
        "values" => {
            let values: Values = mac.parse_body()?;
            values.0.into_iter().map(|value| value.item(version)).collect()
        }
        "structs" => {
            let parse = |input: ParseStream<'_>| {
                let mut items = Vec::new();
                while !input.is_empty() {
                    items.push(members(input, version)?);
                }
                Ok(items)
            };
            parse.parse2(mac.tokens.clone())?
        }
        _ => return Ok(None),
    }))
}

struct Values(Vec<Value>);

/// `pub const NAME: TYPE = FIRST, SECOND;`
struct Value {
    name: Ident,
    of: Type,
    first: Lit,
    second: Lit,
}

impl Parse for Values {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut values = Vec::new();
        while !input.is_empty() {
            input.parse::<Token![pub]>()?;
            input.parse::<Token![const]>()?;
            let name = input.parse()?;
            input.parse::<Token![:]>()?;
            let of = input.parse()?;
            input.parse::<Token![=]>()?;
            let first = input.parse()?;
            input.parse::<Token![,]>()?;
            let second = input.parse()?;
            input.parse::<Token![;]>()?;
            values.push(Value { name, of, first, second });
        }
        Ok(Self(values))
    }
}

impl Value {
    fn item(&self, version: Version) -> Item {
        let Self { name, of, first, second } = self;
        let value = if version == Version::V1 { first } else { second };
        parse_quote! { pub const #name: #of = #value; }
    }
}

/// A struct or union, with the members of the version.
fn members(input: ParseStream<'_>, version: Version) -> syn::Result<Item> {
    let attributes = input.call(Attribute::parse_outer)?;
    let visibility: Visibility = input.parse()?;
    let kind = input.call(Ident::parse_any)?;
    let name: Ident = input.parse()?;
    let body;
    braced!(body in input);
    let mut members: Vec<Field> = Vec::new();
    while !body.is_empty() {
        if body.peek(Ident) {
            let only: Ident = body.parse()?;
            let own;
            braced!(own in body);
            let own = own.parse_terminated(Field::parse_named, Token![,])?;
            if only == version.sources() {
                members.extend(own);
            }
        } else {
            members.push(body.call(Field::parse_named)?);
            body.parse::<Token![,]>()?;
        }
    }
    let members = members.iter().map(ToTokens::to_token_stream);
    Ok(parse_quote! { #(#attributes)* #[repr(C)] #visibility #kind #name { #(#members,)* } })
}
