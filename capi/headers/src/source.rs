//! What the tool reads from the Rust sources itself, because cbindgen does not provide it.

use std::error::Error;
use std::path::{Path, PathBuf};

use syn::parse::{ParseStream, Parser};
use syn::{Expr, GenericArgument, Item, Lit, PathArguments, Type};

use crate::calls;
use crate::plan::Version;
use crate::versions;

/// The folders of types.
pub(crate) const TYPES: &[&str] = &["abi/src"];
/// The folders of calls: the table, and functions that are not in it.
pub(crate) const CALLS: &[&str] = &["abi/src/calls", "src/exports"];

/// The files of a noun: what both versions have in common, then what one has of its own.
pub(crate) fn files(capi: &Path, folders: &[&str], version: Version, noun: &str) -> Vec<PathBuf> {
    let file = format!("{noun}.rs");
    let own = folders.iter().map(|folder| capi.join(folder).join(version.sources()));
    let all = folders.iter().map(|folder| capi.join(folder)).chain(own);
    all.map(|folder| folder.join(&file)).filter(|path| path.is_file()).collect()
}

/// The items of a file for a version, with the table of calls expanded.
pub(crate) fn items(path: &Path, version: Version) -> Result<Vec<Item>, Box<dyn Error>> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let file = syn::parse_file(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut items = Vec::new();
    for item in file.items {
        match item {
            Item::Macro(table) if table.mac.path.is_ident("table") => {
                let parse = |input: ParseStream<'_>| calls::table(input, version);
                let calls = parse.parse2(table.mac.tokens).map_err(|e| {
                    format!(
                        "{}: a call is not as in capi/abi/src/calls/mod.rs: {e}",
                        path.display()
                    )
                })?;
                items.extend(calls);
            }
            Item::Macro(table) => {
                let own = versions::expand(&table.mac, version)
                    .map_err(|e| format!("{}: {e}", path.display()))?;
                items.extend(own.unwrap_or_else(|| vec![Item::Macro(table)]));
            }
            item => items.push(item),
        }
    }
    for item in &mut items {
        if let Item::Fn(function) = item {
            document(function);
        }
    }
    Ok(items)
}

/// Gives a call the comment of its manual page (docs/pages/calls).
fn document(function: &mut syn::ItemFn) {
    if let Some(call) = dat_pages::find(&function.sig.ident.to_string()) {
        let names: Vec<String> = function.sig.inputs.iter().filter_map(argument).collect();
        let comment = call.comment(|name| names.iter().any(|it| it == name));
        function.attrs.retain(|attribute| !attribute.path().is_ident("doc"));
        function.attrs.push(syn::parse_quote!(#[doc = #comment]));
    }
}

/// The name of an argument.
fn argument(argument: &syn::FnArg) -> Option<String> {
    let syn::FnArg::Typed(typed) = argument else { return None };
    let syn::Pat::Ident(name) = &*typed.pat else { return None };
    Some(name.ident.to_string())
}

/// The name of an item that C can see.
pub(crate) fn name(item: &Item) -> Option<String> {
    match item {
        Item::Const(item) => Some(item.ident.to_string()),
        Item::Type(item) => Some(item.ident.to_string()),
        Item::Struct(item) => Some(item.ident.to_string()),
        Item::Union(item) => Some(item.ident.to_string()),
        Item::Fn(item) => Some(item.sig.ident.to_string()),
        _ => None,
    }
}

/// A constant as C is to see it.
pub(crate) struct Constant {
    pub(crate) name: String,
    /// The type that it is a value of; a name that C has a typedef for, or one of Rust's own.
    pub(crate) of: String,
    pub(crate) value: String,
    pub(crate) comment: Option<String>,
    /// Written as a number that an `int` can hold.
    small: bool,
}

impl Constant {
    /// Returns true if it can be a member of an enumeration. Second names of other constants can't: C
    /// programs may ask with `#ifdef` whether they have them.
    pub(crate) fn enumerator(&self) -> bool {
        self.small && self.comment.is_none() && self.of != "DAT_UINT32"
    }
}

/// Reads a constant, if it is of a kind that we know.
pub(crate) fn constant(item: &syn::ItemConst) -> Option<Constant> {
    let of = match &*item.ty {
        Type::Path(path) => path.path.segments.last()?.ident.to_string(),
        _ => String::new(),
    };
    let small = match &*item.expr {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse::<i32>().is_ok() && number.suffix().is_empty(),
            _ => false,
        },
        _ => false,
    };
    let value = value(item, &of)?;
    Some(Constant { name: item.ident.to_string(), of, value, comment: comment(item), small })
}

/// The first paragraph of the documentation, on one line.
fn comment(item: &syn::ItemConst) -> Option<String> {
    let lines = item.attrs.iter().filter_map(|attribute| {
        let syn::Meta::NameValue(doc) = &attribute.meta else { return None };
        let Expr::Lit(literal) = &doc.value else { return None };
        let Lit::Str(text) = &literal.lit else { return None };
        doc.path.is_ident("doc").then(|| text.value().trim().to_owned())
    });
    let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    (!lines.is_empty()).then(|| lines.join(" "))
}

/// The value in C.
fn value(item: &syn::ItemConst, of: &str) -> Option<String> {
    match &*item.expr {
        Expr::Lit(literal) => match &literal.lit {
            Lit::CStr(text) => Some(format!("{:?}", text.value().to_str().ok()?)),
            Lit::Int(number) => integer(number),
            _ => None,
        },
        // Pointer constants.
        Expr::Call(call) => match call.args.first() {
            None => Some(format!("(({of})NULL)")),
            Some(Expr::Lit(literal)) => {
                let Lit::Int(number) = &literal.lit else { return None };
                Some(format!("(({of}){})", number.base10_digits()))
            }
            Some(_) => None,
        },
        Expr::Path(other) => Some(other.path.segments.last()?.ident.to_string()),
        Expr::Unary(negation) => negative(negation),
        Expr::Binary(union) => flags(union),
        _ => None,
    }
}

/// `A | B`, in parentheses.
fn flags(union: &syn::ExprBinary) -> Option<String> {
    let (Expr::Path(left), syn::BinOp::BitOr(_), Expr::Path(right)) =
        (&*union.left, &union.op, &*union.right)
    else {
        return None;
    };
    Some(format!("({} | {})", left.path.get_ident()?, right.path.get_ident()?))
}

/// `-N`, in parentheses.
fn negative(negation: &syn::ExprUnary) -> Option<String> {
    let (syn::UnOp::Neg(_), Expr::Lit(literal)) = (&negation.op, &*negation.expr) else {
        return None;
    };
    let Lit::Int(number) = &literal.lit else { return None };
    Some(format!("(-{})", number.base10_digits()))
}

/// An integer as written in the source, so that hexadecimal is kept. 64-bit numbers are written with
/// `UINT64_C`, since C89 knows no `long long`.
fn integer(number: &syn::LitInt) -> Option<String> {
    let text = number.to_string().replace('_', "");
    let digits = text.strip_suffix(number.suffix()).unwrap_or(&text);
    match number.suffix() {
        "u64" => Some(format!("UINT64_C({digits})")),
        "u32" => Some(format!("{digits}u")),
        "" => Some(digits.to_owned()),
        _ => None,
    }
}

/// The names of the arguments of a function pointer type `Option<unsafe extern "C" fn(..)>`.
pub(crate) fn arguments(pointer: &syn::ItemType) -> Option<Vec<String>> {
    let Type::Path(option) = &*pointer.ty else { return None };
    let PathArguments::AngleBracketed(inner) = &option.path.segments.last()?.arguments else {
        return None;
    };
    let GenericArgument::Type(Type::BareFn(function)) = inner.args.first()? else { return None };
    function.inputs.iter().map(|input| Some(input.name.as_ref()?.0.to_string())).collect()
}
