//! Turns the output of cbindgen into what a C programmer would write.

use std::fmt::Write;

use crate::source::Constant;

const UNNAMED_PEER: &str = "__extension__ union {
        DAT_IB_ADDR_HANDLE remote_ah;
        DAT_IB_COLLECTIVE_EVENT_DATA coll;
    };";

/// How long lines of comments get, without the end of the comment.
const COMMENT: usize = 97;

/// A typedef with its comment, or a run of other lines.
struct Block {
    comment: Vec<String>,
    lines: Vec<String>,
}

/// Rewrites `text`: moves constants next to their type, turns integer constants into enumerations,
/// gives structs the tags that C programs know, and shortens one-line comments. `constants` lists
/// all constants in order.
pub(crate) fn polish(text: &str, constants: &[Constant]) -> String {
    let blocks = blocks(text);
    let mut out = String::new();
    let typed = |constant: &Constant| blocks.iter().any(|b| b.declares(&constant.of));
    let loose: Vec<&Constant> = constants.iter().filter(|c| !typed(c)).collect();
    // C expands a define only where it is used, so its position does not matter.
    write_defines(&mut out, &loose);
    for block in &blocks {
        let own: Vec<&Constant> = constants.iter().filter(|c| block.declares(&c.of)).collect();
        block.write(&mut out, &own);
    }
    format!("{}\n", out.trim_matches('\n'))
}

/// Splits at empty lines. The constants are left out: they are in the sources.
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut block = Block { comment: Vec::new(), lines: Vec::new() };
    let mut in_comment = false;
    for line in text.lines().chain([""]) {
        match line.trim() {
            "" => {
                let whole =
                    std::mem::replace(&mut block, Block { comment: Vec::new(), lines: Vec::new() });
                if !whole.lines.is_empty() {
                    blocks.push(whole);
                }
            }
            "/*" => in_comment = true,
            "*/" => in_comment = false,
            text if in_comment => {
                block.comment.push(text.trim_start_matches('*').trim().to_owned());
            }
            text if text.starts_with("#define ") => block.comment.clear(),
            _ => block.lines.push(line.to_owned()),
        }
    }
    blocks
}

impl Block {
    /// Returns true if this is the typedef of `name`.
    fn declares(&self, name: &str) -> bool {
        self.lines.first().is_some_and(|line| line.starts_with("typedef "))
            && self.lines.last().is_some_and(|line| {
                line.strip_suffix(';')
                    .and_then(|line| line.strip_suffix(name))
                    .is_some_and(|rest| rest.ends_with([' ', '*']))
            })
    }

    /// A line of it, with what cbindgen has no words for.
    fn in_c(&self, line: &str) -> String {
        for start in ["typedef struct", "typedef union"] {
            let name = self.lines.last().and_then(|last| last.strip_prefix("} "));
            let name = name.and_then(|name| name.strip_suffix(';'));
            if let (Some("{"), Some(name)) = (line.strip_prefix(start).map(str::trim), name) {
                return format!("{start} {} {{", tag(name));
            }
        }
        if line.starts_with("typedef unsigned long long ") {
            // C89 has no such type.
            return format!("__extension__ {line}");
        }
        if line.trim() == "DAT_IB_EXTENSION_PEER peer;" {
            // C programs name its members as if they were the outer struct's.
            return line.replace("DAT_IB_EXTENSION_PEER peer;", UNNAMED_PEER);
        }
        line.to_owned()
    }

    fn write(&self, out: &mut String, constants: &[&Constant]) {
        write_comment(out, &self.comment);
        let enumerators: Vec<&&Constant> = constants.iter().filter(|c| c.enumerator()).collect();
        let name = self.lines.first().and_then(|line| line.strip_prefix("typedef uint32_t "));
        let name = name.and_then(|line| line.strip_suffix(';'));
        let mut rest: Vec<&Constant> = constants.to_vec();
        match name {
            Some(name) if !enumerators.is_empty() => {
                line(out, &format!("typedef enum {} {{", tag(name)));
                let last = enumerators.len() - 1;
                for (i, constant) in enumerators.iter().enumerate() {
                    let comma = if i == last { "" } else { "," };
                    line(out, &format!("    {} = {}{comma}", constant.name, constant.value));
                }
                line(out, &format!("}} {name};"));
                rest.retain(|constant| !constant.enumerator());
            }
            _ => self.lines.iter().for_each(|text| line(out, &self.in_c(text))),
        }
        if rest.is_empty() {
            out.push('\n');
        }
        write_defines(out, &rest);
    }
}

fn write_defines(out: &mut String, constants: &[&Constant]) {
    for constant in constants {
        if let Some(comment) = &constant.comment {
            if !out.is_empty() && !out.ends_with("\n\n") {
                out.push('\n');
            }
            write_comment(out, std::slice::from_ref(comment));
        }
        line(out, &format!("#define {} {}", constant.name, constant.value));
    }
    if !constants.is_empty() {
        out.push('\n');
    }
}

/// A comment, on as few lines as it takes.
pub(crate) fn write_comment(out: &mut String, comment: &[String]) {
    let mut text = String::from("/*");
    let mut column = text.len();
    for word in comment.iter().flat_map(|line| line.split_whitespace()) {
        if column + 1 + word.len() > COMMENT {
            text.push_str("\n *");
            column = 2;
        }
        text.push(' ');
        text.push_str(word);
        column += 1 + word.len();
    }
    if !comment.is_empty() {
        line(out, &format!("{text} */"));
    }
}

fn line(out: &mut String, text: &str) {
    // Writing to a string can't fail.
    let _ = writeln!(out, "{text}");
}

/// The tag that other DAT libraries give a type: programs may use it.
fn tag(name: &str) -> String {
    let name =
        if name.ends_with("_ASYNC_ERROR_REASON") { name.trim_start_matches("DAT_") } else { name };
    name.to_lowercase()
}

/// The identifiers of a text.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}
