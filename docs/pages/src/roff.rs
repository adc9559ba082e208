//! A call's description as a manual page of section 3.

use std::fmt::Write;

use crate::text::paragraphs;
use crate::{Call, Prototype, Prototypes, allowed, find};

/// The date of the last large change of the pages. It is not the date of the build, which would change
/// the committed pages.
const DATE: &str = "2026-11-23";

/// The pages of a call: the file name and the text of each. Other names refer to the first.
#[must_use]
pub fn render(call: &Call, prototypes: &Prototypes) -> Vec<(String, String)> {
    let mut pages = vec![(format!("{}.3", call.name), page(call, prototypes))];
    for alias in &call.aliases {
        pages.push((format!("{alias}.3"), format!(".so man3/{}.3\n", call.name)));
    }
    pages
}

fn page(call: &Call, prototypes: &Prototypes) -> String {
    let mut out = format!(
        ".\\\" Generated from docs/pages/calls by capi/headers; do not edit.\n\
         .\\\" SPDX-License-Identifier: MIT OR Apache-2.0\n\
         .TH {} 3 {DATE} \"DAT\" \"DAT Programmer's Manual\"\n.SH NAME\n",
        call.name
    );
    let names: Vec<&str> = call.names().collect();
    let summary = call.summary.trim_end_matches('.');
    let mut letters = summary.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase()).unwrap_or_default();
    line(&mut out, &format!("{} \\- {first}{}", names.join(", "), escape(letters.as_str())));
    synopsis(&mut out, call, prototypes);
    section(&mut out, "DESCRIPTION");
    body(&mut out, &call.text);
    if !call.args.is_empty() {
        section(&mut out, "ARGUMENTS");
        for argument in &call.args {
            let title = format!("\\fI{}\\fR (", argument.name);
            item(&mut out, &format!("{title}{})", argument.direction.words()), &argument.text);
        }
    }
    states(&mut out, call);
    if call.events().next().is_some() {
        section(&mut out, "EVENTS");
        for (event, text) in call.events() {
            item(&mut out, &format!("\\fB{event}\\fR"), text);
        }
    }
    result(&mut out, call, prototypes);
    section(&mut out, "THREADS AND BLOCKING");
    body(&mut out, call.threads.words());
    if !call.blocking.is_empty() {
        line(&mut out, ".PP");
        body(&mut out, &call.blocking);
    }
    versions(&mut out, call, prototypes);
    if !call.example.is_empty() {
        section(&mut out, "EXAMPLE");
        line(&mut out, ".EX");
        for code in call.example.trim_matches('\n').lines() {
            line(&mut out, &protect(&code.replace('\\', "\\e").replace('-', "\\-")));
        }
        line(&mut out, ".EE");
    }
    see_also(&mut out, call);
    out
}

fn synopsis(out: &mut String, call: &Call, prototypes: &Prototypes) {
    section(out, "SYNOPSIS");
    let of = |version| -> Vec<Prototype> {
        call.names().filter_map(|name| prototypes.of(call, name, version)).collect()
    };
    let titles = [("DAT 2.0", "dat2", of(2)), ("DAT 1.2", "dat", of(1))];
    for (title, folder, prototypes) in titles {
        if prototypes.is_empty() {
            continue;
        }
        line(out, &format!(".SS \"{title}\""));
        line(out, ".nf");
        if call.is_declared() {
            line(out, &format!("\\fB#include <{folder}/{}>\\fR", call.header));
            line(out, ".PP");
        }
        for prototype in prototypes {
            declaration(out, &prototype);
        }
        line(out, ".fi");
    }
    if call.is_declared() {
        line(out, ".PP");
        let library = "Link with `-ldat2` for DAT 2.0 and `-ldat` for DAT 1.2 (`pkg-config dat2`, \
             `pkg-config dat`).";
        body(out, library);
    }
}

/// A prototype with its arguments in italics, on lines of at most 78 columns.
fn declaration(out: &mut String, prototype: &Prototype) {
    let head = prototype.head();
    let close = if prototype.text.ends_with(';') { ");" } else { ")" };
    let mut text = format!("\\fB{}(\\fR", head.replace('-', "\\-"));
    let mut column = head.len() + 1;
    let arguments = prototype.arguments();
    let indent = (head.len() + 1).min(8);
    for (index, argument) in arguments.iter().enumerate() {
        let end = if index + 1 == arguments.len() { close } else { "," };
        if index > 0 {
            if column + 1 + argument.len() + end.len() > 78 {
                let _ = write!(text, "\n{}", " ".repeat(indent));
                column = indent;
            } else {
                text.push(' ');
                column += 1;
            }
        }
        let name = argument.rsplit([' ', '*']).next().unwrap_or(argument);
        let of = &argument[..argument.len() - name.len()];
        let _ = match *argument {
            "..." => write!(text, "\\&...{end}"),
            _ => write!(text, "\\fB{of}\\fI{name}\\fR\\fB{end}\\fR"),
        };
        column += argument.len() + end.len();
    }
    if arguments.is_empty() {
        text.push_str("\\fBvoid);\\fR");
    }
    line(out, &text);
}

fn states(out: &mut String, call: &Call) {
    let Some(allowed) = call.state_event.as_deref().and_then(allowed) else { return };
    section(out, "STATES");
    body(out, "The endpoint can be in one of these states:");
    line(out, ".RS");
    let names: Vec<&str> = allowed.states.iter().map(|state| state.name()).collect();
    body(out, &format!("{}.", names.join(", ")));
    line(out, ".RE");
    if !call.states.is_empty() {
        line(out, ".PP");
        body(out, &call.states);
    }
}

fn result(out: &mut String, call: &Call, prototypes: &Prototypes) {
    section(out, "RETURN VALUE");
    if !call.returns.is_empty() {
        body(out, &call.returns);
        return;
    }
    body(
        out,
        "`DAT_SUCCESS`, or one of these codes, with the subtype in parentheses. After an error \
         outputs are not written unless this page says so, and `dat_error_detail`(3) has the \
         reason.",
    );
    for code in call.codes(prototypes) {
        let mut title = format!("\\fB{}\\fR", code.return_type);
        if code.subtype != "DAT_NO_SUBTYPE" {
            let _ = write!(title, " (\\fB{}\\fR", code.subtype);
            if let Some(subtype1) = &code.subtype1 {
                let _ = write!(title, "; in DAT 1.2 \\fB{subtype1}\\fR");
            }
            if let Some(argument) = &code.argument {
                let _ = write!(title, ": \\fI{argument}\\fR");
            }
            title.push(')');
        }
        item(out, &title, &code.cause);
    }
    line(out, ".PP");
    body(out, "An adapter of a provider written in C returns what that provider returns.");
}

fn versions(out: &mut String, call: &Call, prototypes: &Prototypes) {
    let [one, two] = [1, 2].map(|version| prototypes.of(call, &call.name, version));
    let text = match (one, two) {
        (None, Some(_)) => "DAT 1.2 does not have the call.",
        (Some(one), Some(two)) if one != two => "The arguments of the two versions differ.",
        _ => return,
    };
    section(out, "VERSIONS");
    body(out, text);
}

fn see_also(out: &mut String, call: &Call) {
    section(out, "SEE ALSO");
    let mut pages: Vec<String> = call.see.iter().map(|page| reference(page)).collect();
    for page in ["dat_error_detail", "dat(7)"] {
        let page = reference(page);
        if !pages.contains(&page) && !page.starts_with(&format!("\\fB{}\\fR", call.name)) {
            pages.push(page);
        }
    }
    let last = pages.len() - 1;
    for (index, page) in pages.iter().enumerate() {
        let comma = if index == last { "" } else { "," };
        line(out, &format!("{page}{comma}"));
    }
}

/// The name of a page in bold, with its section.
fn reference(page: &str) -> String {
    let (name, section) = page.split_once('(').unwrap_or((page, "3)"));
    let name = find(name).map_or(name, |call| &call.name);
    format!("\\fB{}\\fR({section}", name.replace('-', "\\-"))
}

fn section(out: &mut String, title: &str) {
    line(out, &format!(".SH \"{title}\""));
}

fn item(out: &mut String, title: &str, text: &str) {
    line(out, ".TP");
    line(out, title);
    body(out, text);
}

/// Paragraphs with words in backquotes in bold, one sentence on each line.
fn body(out: &mut String, text: &str) {
    for (index, text) in paragraphs(text).enumerate() {
        if index > 0 {
            line(out, ".PP");
        }
        for sentence in text.replace(". ", ".\n").lines() {
            let mut bold = false;
            let mut marked = String::new();
            for part in escape(sentence).split('`') {
                if bold {
                    let _ = write!(marked, "\\fB{part}\\fR");
                } else {
                    marked.push_str(part);
                }
                bold = !bold;
            }
            line(out, &protect(&marked));
        }
    }
}

/// A text without characters that roff understands.
fn escape(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

/// A line that roff does not take for a request.
fn protect(text: &str) -> String {
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text.to_owned() }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}
