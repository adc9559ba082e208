//! A call's description as plain text, for `dat explain`.

use std::fmt::Write;

use crate::{Call, Prototypes, allowed};

/// Columns of a line.
const WIDTH: usize = 96;

/// The description of a call: lines of text without formatting.
#[must_use]
pub fn render(call: &Call, prototypes: &Prototypes) -> String {
    let mut out = format!("{}  (call, manual page {}(3))\n", call.name, call.name);
    paragraph(&mut out, 2, &call.summary);
    for name in call.names() {
        let [one, two] = [1, 2].map(|version| prototypes.of(call, name, version));
        if one == two {
            one.iter().for_each(|it| paragraph(&mut out, 2, &it.text));
        } else {
            for (version, prototype) in [("DAT 2.0", two), ("DAT 1.2", one)] {
                prototype
                    .iter()
                    .for_each(|it| paragraph(&mut out, 2, &format!("{version}: {}", it.text)));
            }
        }
    }
    out.push('\n');
    for text in paragraphs(&call.text) {
        paragraph(&mut out, 2, &text);
    }
    for argument in &call.args {
        let words = argument.direction.words();
        item(&mut out, &format!("{} ({words})", argument.name), &argument.text);
    }
    if let Some(allowed) = call.state_event.as_deref().and_then(allowed) {
        let names: Vec<&str> = allowed.states.iter().map(|state| state.name()).collect();
        let text = format!("{}. {}", names.join(", "), call.states);
        item(&mut out, "States that allow it", text.trim_end());
    }
    for (event, text) in call.events() {
        item(&mut out, &format!("Event {event}"), text);
    }
    for code in call.codes(prototypes) {
        let subtype = match code.subtype.as_str() {
            "DAT_NO_SUBTYPE" => "",
            subtype => subtype,
        };
        let argument = code.argument.map(|name| format!(": {name}")).unwrap_or_default();
        let title = format!("{} {subtype}{argument}", code.return_type);
        item(&mut out, title.trim_end(), &code.cause);
    }
    out
}

/// The paragraphs of a text, each on one line.
pub(crate) fn paragraphs(text: &str) -> impl Iterator<Item = String> {
    text.trim().split("\n\n").map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn item(out: &mut String, title: &str, text: &str) {
    // Writing to a string cannot fail.
    let _ = write!(out, "\n  {title}\n");
    paragraph(out, 6, text);
}

/// Adds a paragraph, broken into lines.
fn paragraph(out: &mut String, indent: usize, text: &str) {
    let mut column = 0;
    for word in text.split_whitespace().map(|word| word.replace('`', "")) {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            out.push('\n');
            column = 0;
        }
        if column == 0 {
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(&word);
        column += length;
    }
    out.push('\n');
}
