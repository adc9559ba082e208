//! A C program that uses every macro and checks what arrives where.

use std::fmt::Write;

use crate::Version;
use dat_abi_table::{Macro, Tables};

/// A program that prints `FAILED` and a name for each macro that doesn't do what the tables say,
/// and ends with 1 if there was one.
#[must_use]
pub fn program(version: Version, tables: &Tables) -> String {
    let mut program = Program::default();
    for row in &tables.macros {
        match row.group.as_str() {
            "redirection" => program.redirection(tables, row),
            "ib_extension" => program.extension(row),
            _ => {}
        }
    }
    program.constants(tables);
    program.text(version)
}

/// How many macros `program` uses.
#[must_use]
pub fn count(tables: &Tables) -> usize {
    let groups = ["redirection", "ib_extension"];
    tables.macros.iter().filter(|row| groups.contains(&&*row.group)).count()
}

const PREAMBLE: &str = r#"
#include <stdio.h>
#include <string.h>

static int failures, arrived;
static const char *current = "";

static void want(int condition, const char *what)
{
    if (!condition) {
        failures++;
        printf("FAILED %s %s\n", current, what);
    }
}

/* What a call to the wrong slot ends in. */
static DAT_RETURN miss(void)
{
    return 0;
}

/* An object whose provider has nothing but misses, but for the slot that a test fills. */
static union {
    DAT_PROVIDER table;
    DAT_RETURN (*slots[sizeof(DAT_PROVIDER) / sizeof(void *)])(void);
} provider;
static struct {
    void *first_word;
} object = {&provider};

static void clear(void)
{
    size_t i;
    for (i = 0; i < sizeof provider.slots / sizeof provider.slots[0]; i++)
        provider.slots[i] = miss;
    arrived = 0;
}

static int opened;

DAT_RETURN dat_ia_openv(DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
    DAT_IA_HANDLE *ia, DAT_UINT32 major, DAT_UINT32 minor, DAT_BOOLEAN safe)
{
    opened = name == (DAT_NAME_PTR)1 && qlen == 2 && evd == (void *)3 && ia == (void *)4
        && major == DAT_VERSION_MAJOR && minor == DAT_VERSION_MINOR && safe == DAT_FALSE;
    return 5;
}

DAT_RETURN dat_strerror(DAT_RETURN value, const char **major, const char **minor)
{
    *major = "from dat_strerror";
    *minor = "";
    return value;
}
"#;

const BY_HAND: &str = r#"
    current = "by hand";
    want(DAT_GET_TYPE(0xC0051234) == 0x50000, "DAT_GET_TYPE");
    want(DAT_GET_SUBTYPE(0xC0051234) == 0x1234, "DAT_GET_SUBTYPE");
    want(DAT_IS_WARNING(0x40000000) == 0x40000000, "DAT_IS_WARNING");
    want(DAT_IS_WARNING(0xBFFFFFFF) == 0, "DAT_IS_WARNING");
    want((void *)DAT_HANDLE_TO_PROVIDER(&object) == (void *)&provider, "DAT_HANDLE_TO_PROVIDER");
    want(dat_ia_open((DAT_NAME_PTR)1, 2, (void *)3, (void *)4) == 5 && opened, "dat_ia_open");
    {
        DAT_OS_WAIT_PROXY_AGENT none = DAT_OS_WAIT_PROXY_AGENT_NULL;
        want(!none.instance_data && !none.proxy_agent_func, "DAT_OS_WAIT_PROXY_AGENT_NULL");
    }
"#;

const EXTENSIONS_BY_HAND: &str = r#"
    current = "by hand";
    {
        const char *words = "";
        want(dat_strerror_extension(DAT_IB_ERR, &words) == DAT_SUCCESS
            && !strcmp(words, "DAT_IB_ERR"), "dat_strerror_extension");
        want(dat_strerror_extension((DAT_IB_RETURN)7, &words) == 7
            && !strcmp(words, "from dat_strerror"), "dat_strerror_extension");
        want(dat_strerror_ext_status(DAT_IB_OP_ERR, &words) == DAT_SUCCESS
            && !strcmp(words, "DAT_IB_OP_ERR"), "dat_strerror_ext_status");
        want(dat_strerror_ext_status((DAT_IB_STATUS)77, &words) == DAT_INVALID_PARAMETER && *words,
            "dat_strerror_ext_status");
        want(DAT_UL_TO_IA_HANDLE(7) == (DAT_IA_HANDLE)7 && DAT_IA_HANDLE_TO_UL((void *)7) == 7,
            "DAT_IA_HANDLE_TO_UL");
    }
"#;

/// The parts of the program.
#[derive(Default)]
struct Program {
    definitions: String,
    /// What `dat_extension_op` does, a case a macro.
    cases: String,
    main: String,
    /// How many macros there are so far.
    macros: usize,
}

impl Program {
    fn redirection(&mut self, tables: &Tables, row: &Macro) {
        let k = self.macros;
        self.macros += 1;
        let field = row.calls.trim_start_matches("DAT_PROVIDER.");
        let types = slot_types(tables, field);
        let order = list(&row.arguments);
        let mut arguments = Vec::new();
        let (mut definitions, mut body) = (String::new(), String::new());
        for (i, (c_type, name)) in types.iter().zip(&order).enumerate() {
            let plain = c_type.trim_start_matches("const ");
            let plain = if plain.ends_with('*') { c_type } else { plain };
            line(&mut definitions, &format!("static {plain} value_{k}_{name};"));
            arguments.push(format!("{plain} x{i}"));
            // A list of arguments may be an array, which can't be compared like this.
            if *c_type != "va_list" {
                let value = format!("value_{k}_{name}");
                line(
                    &mut body,
                    &format!("want(!memcmp(&x{i}, &{value}, sizeof {value}), \"{name}\");"),
                );
                line(&mut self.main, &format!("memset(&{value}, {}, sizeof {value});", 17 + i));
            }
        }
        let arguments = arguments.join(", ");
        line(&mut self.definitions, &definitions);
        line(
            &mut self.definitions,
            &format!("static DAT_RETURN slot_{k}({arguments}) {{ arrived++; {body} return 99; }}"),
        );
        let passed: Vec<String> =
            list(&row.parameters).iter().map(|name| format!("value_{k}_{name}")).collect();
        let text = format!(
            "current = \"{name}\"; clear(); value_{k}_{handle} = &object;\n\
             provider.table.{field} = slot_{k};\n\
             want({name}({passed}) == 99 && arrived == 1, \"the slot\");",
            name = row.name,
            handle = order[0],
            passed = passed.join(", "),
        );
        line(&mut self.main, &text);
    }

    fn extension(&mut self, row: &Macro) {
        let k = self.macros;
        self.macros += 1;
        let mut body = format!("want(op == {}, \"the operation\");\n", row.op);
        let mut given = Vec::new();
        let (c_type, name) = typed(&row.handle);
        if name == "NULL" {
            line(&mut body, "want(handle == NULL, \"the handle\");");
        } else {
            line(&mut body, &format!("want(handle == ({c_type})0x7700{k}, \"the handle\");"));
            given.push((name, format!("(({c_type})0x7700{k})")));
        }
        for (i, argument) in list(&row.arguments).into_iter().enumerate() {
            let (c_type, name) = typed(argument);
            let number = 1000 + 100 * k + i;
            let value = match c_type {
                "DAT_CONTEXT" | "DAT_DTO_COOKIE" => format!("context({number})"),
                _ => format!("(({c_type})(size_t){number})"),
            };
            let found = match c_type {
                "DAT_CONTEXT" | "DAT_DTO_COOKIE" => "as_64",
                _ => "",
            };
            let dot = if found.is_empty() { "" } else { "." };
            line(
                &mut body,
                &format!(
                    "{{ __typeof__({value}) x = va_arg(list, {c_type}); \
                     want(x{dot}{found} == {wanted}, \"{name}\"); }}",
                    wanted = if found.is_empty() { value.clone() } else { number.to_string() },
                ),
            );
            given.push((name, value));
        }
        line(&mut self.cases, &format!("case {k}: {body} break;"));
        let value = |parameter: &&str| {
            let found = given.iter().find(|(name, _)| name == parameter);
            found.map_or("unknown_parameter".to_owned(), |(_, value)| value.clone())
        };
        let passed: Vec<String> = list(&row.parameters).iter().map(value).collect();
        line(
            &mut self.main,
            &format!(
                "current = \"{name}\"; arrived = 0; which = {k};\n\
                 want({name}({passed}) == 99 && arrived == 1, \"the call\");",
                name = row.name,
                passed = passed.join(", "),
            ),
        );
    }

    /// The constants that no static assertion can check.
    fn constants(&mut self, tables: &Tables) {
        line(&mut self.main, "current = \"constant\";");
        for row in &tables.constants {
            let name = &row.name;
            let condition = match (row.c_type.as_str(), row.value_dec) {
                ("string", _) => format!("!strcmp({name}, \"{}\")", row.string),
                (pointer, Some(value)) if pointer.ends_with('*') => {
                    format!("(size_t)({name}) == {value} && sizeof({name}) == sizeof(void *)")
                }
                _ => continue,
            };
            line(&mut self.main, &format!("want({condition}, \"{name}\");"));
        }
    }

    fn text(&self, version: Version) -> String {
        let mut text = String::from("#include <stdarg.h>\n");
        for header in version.headers() {
            line(&mut text, &format!("#include <{header}>"));
        }
        text.push_str(PREAMBLE);
        if !self.cases.is_empty() {
            let function = format!(
                "static int which;\n\
                 static DAT_CONTEXT context(DAT_UINT64 number)\n\
                 {{ DAT_CONTEXT c; c.as_64 = number; return c; }}\n\
                 DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, ...)\n\
                 {{ va_list list; va_start(list, op); arrived++;\n\
                 switch (which) {{ {} }} va_end(list); return 99; }}",
                self.cases
            );
            line(&mut text, &function);
        }
        line(&mut text, &self.definitions);
        line(&mut text, &format!("int main(void)\n{{\n{}{BY_HAND}", self.main));
        if version == Version::V2 {
            line(&mut text, EXTENSIONS_BY_HAND);
        }
        line(&mut text, "return failures != 0;\n}");
        text
    }
}

/// The types of the arguments of a slot's function.
fn slot_types<'a>(tables: &'a Tables, field: &str) -> Vec<&'a str> {
    let slot = tables.slots.iter().find(|slot| slot.field == field);
    let c_type = slot.and_then(|slot| tables.types.iter().find(|row| row.name == slot.c_type));
    let prototype = c_type.map_or("", |row| row.prototype.as_str());
    let arguments = prototype.split_once("(*)(").map_or("", |(_, rest)| rest);
    arguments.trim_end_matches(')').split(", ").collect()
}

/// `a; b; c`.
fn list(text: &str) -> Vec<&str> {
    text.split("; ").filter(|item| !item.is_empty()).collect()
}

/// `(TYPE) name`; a name alone is a cookie.
fn typed(argument: &str) -> (&str, &str) {
    argument
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(") "))
        .unwrap_or(("DAT_DTO_COOKIE", argument))
}

fn line(out: &mut String, text: &str) {
    // Writing to a string can't fail.
    let _ = writeln!(out, "{text}");
}
