//! The tables as C11 assertions.

use std::fmt::Write;

use crate::Version;
use dat_abi_table::{Constant, Field, Tables, Type};

/// An assertion.
#[derive(Debug)]
pub struct Check {
    /// What it checks, which the compiler's message quotes.
    pub name: String,
    /// Its source.
    pub code: String,
}

impl Check {
    fn assert(name: String, condition: &str) -> Self {
        let code = format!("_Static_assert({condition}, \"<{name}>\");");
        Self { name, code }
    }

    /// `expression` has exactly the type `c_type`.
    fn typed(name: String, expression: &str, c_type: &str) -> Self {
        Self::assert(name, &format!("_Generic({expression}, {c_type}: 1, default: 0)"))
    }

    fn preprocessor(name: String, directive: &str) -> Self {
        let code = format!("{directive}\n#error \"<{name}>\"\n#endif");
        Self { name, code }
    }

    /// Returns true if the compiler reported that it failed.
    #[must_use]
    pub fn failed_in(&self, messages: &str) -> bool {
        messages.contains(&format!("<{}>", self.name))
    }
}

/// A program with all checks.
#[must_use]
pub fn program(version: Version, checks: &[Check]) -> String {
    // The tables name types such as u_int32_t, which musl declares only for programs that request more than ISO C. The
    // headers of another library use the types of netinet/in.h, but do not include it.
    let mut text = String::from(
        "#define _DEFAULT_SOURCE 1\n#include <stddef.h>\n#include <stdarg.h>\n#include <sys/types.h>\n\
         #include <netinet/in.h>\n",
    );
    for header in version.headers() {
        // Writing to a string can't fail.
        let _ = writeln!(text, "#include <{header}>");
    }
    for check in checks {
        let _ = writeln!(text, "{}", check.code);
    }
    text
}

/// Everything in the tables that a compiler can check.
#[must_use]
pub fn all(tables: &Tables) -> Vec<Check> {
    let mut checks: Vec<Check> = tables.constants.iter().flat_map(constant).collect();
    checks.extend(tables.types.iter().flat_map(c_type));
    checks.extend(tables.fields.iter().flat_map(field));
    checks.extend(tables.slots.iter().flat_map(|slot| {
        field(&Field {
            of: "DAT_PROVIDER".to_owned(),
            field: slot.field.clone(),
            offset: slot.offset,
            size: size_of::<usize>(),
            c_type: slot.c_type.clone(),
            within: String::new(),
        })
    }));
    checks.extend(functions(tables));
    checks
}

fn constant(row: &Constant) -> Vec<Check> {
    let name = &row.name;
    let mut checks = Vec::new();
    // Programs may test for it with #ifdef.
    if row.kind == "define" {
        checks.push(Check::preprocessor(format!("kind of {name}"), &format!("#ifndef {name}")));
    } else if row.value_dec.is_some_and(|value| i32::try_from(value).is_ok()) {
        // ISO C does not allow larger enumerators.
        checks.push(Check::preprocessor(format!("kind of {name}"), &format!("#ifdef {name}")));
    }
    if let (Some(value), false) = (row.value_dec, row.c_type.ends_with('*')) {
        let suffix = if value < 0 { "LL" } else { "ULL" };
        let negative = i32::from(value < 0);
        let condition = format!("({name}) == {value}{suffix} && (({name}) < 0) == {negative}");
        checks.push(Check::assert(format!("value of {name}"), &condition));
    }
    checks
}

fn c_type(row: &Type) -> Vec<Check> {
    let name = &row.name;
    let mut checks = vec![
        Check::assert(format!("size of {name}"), &format!("sizeof({name}) == {}", row.size)),
        Check::assert(
            format!("alignment of {name}"),
            &format!("_Alignof({name}) == {}", row.align),
        ),
    ];
    if !row.signedness.is_empty() {
        let signed = i32::from(row.signedness == "signed");
        let condition = format!("((({name})-1) < ({name})0) == {signed}");
        checks.push(Check::assert(format!("sign of {name}"), &condition));
    }
    let target = if row.prototype.is_empty() { &row.underlying } else { &row.prototype };
    if !target.is_empty() {
        checks.push(Check::typed(format!("target of {name}"), &format!("*({name} *)0"), target));
    }
    checks
}

fn field(row: &Field) -> Vec<Check> {
    let Field { of, field, .. } = row;
    if field.starts_with('(') {
        return Vec::new();
    }
    let place = format!("{of}.{field}");
    let member = format!("(({of} *)0)->{field}");
    let mut checks = vec![
        Check::assert(
            format!("offset of {place}"),
            &format!("offsetof({of}, {field}) == {}", row.offset),
        ),
        Check::assert(format!("size of {place}"), &format!("sizeof({member}) == {}", row.size)),
    ];
    if !row.c_type.contains('{') {
        let pointer = pointer_to(&row.c_type);
        checks.push(Check::typed(format!("type of {place}"), &format!("&{member}"), &pointer));
    }
    checks
}

/// The type of a pointer to `c_type`. An array's `const` is left out, since it would keep programs
/// from copying the struct.
fn pointer_to(c_type: &str) -> String {
    match c_type.split_once('[') {
        Some((element, rest)) => {
            let element = element.strip_prefix("const ").unwrap_or(element);
            format!("{element} (*)[{rest}")
        }
        None => format!("{c_type} *"),
    }
}

fn functions(tables: &Tables) -> Vec<Check> {
    let rows = tables.arguments.iter().filter(|row| row.role != "undeclared");
    let rows: Vec<_> = rows.collect();
    rows.chunk_by(|a, b| a.name == b.name)
        .map(|rows| {
            let types: Vec<&str> = rows.iter().map(|row| row.arg_type.as_str()).collect();
            let (name, returned) = (&rows[0].name, &rows[0].return_type);
            let pointer = format!("{returned} (*)({})", types.join(", "));
            let function = match rows[0].role.as_str() {
                // Providers define these functions; the headers declare only their pointer types.
                "provider_entry" => {
                    let word = name.trim_start_matches("dat_provider_").to_uppercase();
                    format!("(DAT_PROVIDER_{word}_FUNC)0")
                }
                _ => format!("&{name}"),
            };
            Check::typed(format!("prototype of {name}"), &function, &pointer)
        })
        .collect()
}
