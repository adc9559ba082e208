//! `dat explain`: explains DAT codes and calls.

mod compat;

use clap::builder::NonEmptyStringValueParser;
use dat_core::error::{ReturnType, Subtype};
use dat_core::registry::nearest;
use dat_core::{Compat, DtoStatus, EventText};
use serde::Serialize;

use crate::output::{Output, Paint, clean, complain};
use crate::{EXIT_CODES, Verdict};

/// Explains a code (a DAT_RETURN, a completion status or an event number), a call, or the
/// compatibility modes.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
Examples:
  dat explain 0x8005000b                a DAT_RETURN, split into its parts
  dat explain -2147155957               the same as a signed number
  dat explain DAT_INVALID_STATE         a return type or subtype
  dat explain err_flushed               the status of a completion
  dat explain 0x4008                    the number of an event
  dat explain dat_ep_connect            a call: its arguments, events and return codes
  dat explain compat                    rules that are relaxed for programs that can't be changed
  dat explain --all

Case and the prefix DAT_ do not matter. A number that has several meanings is explained as
each of them.

{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The number or name of a code, the name of a call, or compat
    #[arg(
        required_unless_present = "all",
        allow_negative_numbers = true,
        value_parser = NonEmptyStringValueParser::new()
    )]
    code: Option<String>,
    /// Explains all codes
    #[arg(long, conflicts_with = "code")]
    all: bool,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

/// One code with its description.
#[derive(Clone, Copy, Debug, Serialize)]
struct Code {
    kind: &'static str,
    name: &'static str,
    number: u32,
    meaning: &'static str,
    advice: &'static str,
}

const RETURN_TYPE: &str = "return type";
const SUBTYPE: &str = "subtype";
const STATUS: &str = "completion status";
const EVENT: &str = "event";

/// The bits of a `DAT_RETURN`.
const CLASS: u32 = 0xc000_0000;
const TYPE: u32 = 0x3fff_0000;

/// The explanation of a code.
#[derive(Debug, Serialize)]
struct Answer {
    code: String,
    /// The class of a `DAT_RETURN`: error, warning or success.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<&'static str>,
    matches: Vec<Code>,
}

/// Runs the command.
pub(crate) fn run(args: &Args, output: &mut Output) -> Verdict {
    let Some(text) = &args.code else {
        all(args.json, output);
        return Verdict::Passed;
    };
    if let Some(call) = dat_pages::find(&text.trim().to_ascii_lowercase()) {
        print_call(call, args.json, output);
        return Verdict::Passed;
    }
    if text.trim().eq_ignore_ascii_case(Compat::PARAMETER) {
        compat::print(args.json, output);
        return Verdict::Passed;
    }
    match answer(text.trim()) {
        Ok(answer) if args.json => output.json(&answer),
        Ok(answer) => print(&answer, output),
        Err(reason) => {
            if args.json {
                output.json(&serde_json::json!({ "code": text, "error": reason, "matches": [] }));
            } else {
                complain(&reason);
            }
            return Verdict::Failed;
        }
    }
    Verdict::Passed
}

/// Prints the description of a call.
fn print_call(call: &dat_pages::Call, json: bool, output: &mut Output) {
    let prototypes = dat_pages::Prototypes::committed();
    if !json {
        dat_pages::text::render(call, &prototypes).lines().for_each(|line| output.line(line));
        return;
    }
    let arguments = call.args.iter().map(|it| {
        let direction = it.direction.words();
        serde_json::json!({ "name": it.name, "direction": direction, "meaning": it.text })
    });
    let codes = call.codes(&prototypes).into_iter().map(|it| {
        serde_json::json!({ "type": it.return_type, "subtype": it.subtype, "cause": it.cause })
    });
    output.json(&serde_json::json!({
        "call": call.name,
        "meaning": call.summary,
        "arguments": arguments.collect::<Vec<_>>(),
        "codes": codes.collect::<Vec<_>>(),
    }));
}

fn answer(text: &str) -> Result<Answer, String> {
    match number(text) {
        Some(number) => of_number(text, number),
        None => of_name(text),
    }
}

/// A hexadecimal or decimal number, which may have a sign because C programs print it so.
fn number(text: &str) -> Option<u32> {
    let folded = text.to_ascii_lowercase();
    match folded.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => folded.parse().ok().or_else(|| {
            let signed: i32 = folded.parse().ok()?;
            Some(signed as u32)
        }),
    }
}

fn of_number(text: &str, number: u32) -> Result<Answer, String> {
    let mut matches = Vec::new();
    if number & CLASS == 0 {
        let plain = |code: &Code| code.number == number;
        matches
            .extend(codes().filter(|code| code.kind != SUBTYPE || number <= 0xffff).filter(plain));
    }
    let composite = number & CLASS != 0 || (matches.is_empty() && number & TYPE != 0);
    let class = composite.then_some(match number & CLASS {
        0x8000_0000 => "error",
        0x4000_0000 => "warning",
        0 => "no class bits",
        _ => "unknown class",
    });
    if composite {
        let (kind, subtype) = (number & TYPE, number & 0xffff);
        matches.extend(codes().find(|code| code.kind == RETURN_TYPE && code.number == kind));
        if matches.is_empty() {
            return Err(format!("no DAT return type has the value {kind:#010x} of {text}"));
        }
        let known = codes().find(|code| code.kind == SUBTYPE && code.number == subtype);
        match known {
            Some(_) if subtype == 0 => {}
            Some(known) => matches.push(known),
            None => return Err(format!("no DAT subtype has the value {subtype:#06x} of {text}")),
        }
    }
    if matches.is_empty() {
        return Err(format!("{text} is not a DAT code; `dat explain --all` lists them all"));
    }
    Ok(Answer { code: text.to_owned(), class, matches })
}

fn of_name(text: &str) -> Result<Answer, String> {
    let wanted: String = text.chars().map(|c| if c == '-' || c == ' ' { '_' } else { c }).collect();
    for prefix in [""].into_iter().chain(PREFIXES) {
        let whole = format!("{prefix}{wanted}");
        let matches: Vec<Code> =
            codes().filter(|code| code.name.eq_ignore_ascii_case(&whole)).collect();
        if !matches.is_empty() {
            return Ok(Answer { code: text.to_owned(), class: None, matches });
        }
    }
    if wanted.to_ascii_lowercase().starts_with("dat_") {
        let names = dat_pages::calls().iter().flat_map(dat_pages::Call::names);
        if let Some(name) = nearest(&wanted.to_ascii_lowercase(), names) {
            return Err(format!("{text:?} is not a DAT code or call; did you mean {name}?"));
        }
    }
    let near = nearest(&wanted, codes().map(|code| code.name)).or_else(|| {
        let tail = nearest(short(&wanted.to_ascii_uppercase()), codes().map(|it| short(it.name)))?;
        codes().map(|code| code.name).find(|name| short(name) == tail)
    });
    Err(match near {
        Some(name) => format!("{text:?} is not a DAT code; did you mean {name}?"),
        None => format!("{text:?} is not a DAT code; `dat explain --all` lists them all"),
    })
}

/// Prefixes that may be omitted, longer ones first.
const PREFIXES: [&str; 5] =
    ["DAT_CONNECTION_EVENT_", "DAT_ASYNC_ERROR_", "DAT_DTO_ERR_", "DAT_DTO_", "DAT_"];

fn short(name: &str) -> &str {
    PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}

/// Every code, in the order of kinds and values.
fn codes() -> impl Iterator<Item = Code> {
    let types = ReturnType::ALL.iter().map(|code| Code {
        kind: RETURN_TYPE,
        name: code.name(),
        number: code.value(),
        meaning: code.meaning(),
        advice: code.advice(),
    });
    let subtypes = Subtype::ALL.iter().map(|code| Code {
        kind: SUBTYPE,
        name: code.name(),
        number: code.value(),
        meaning: code.meaning(),
        advice: code.advice(),
    });
    let statuses = DtoStatus::all().map(|code| Code {
        kind: STATUS,
        name: code.name().unwrap_or_default(),
        number: code.value(),
        meaning: code.meaning(),
        advice: code.advice(),
    });
    let events = EventText::ALL.iter().map(|code| Code {
        kind: EVENT,
        name: code.name,
        number: code.number,
        meaning: code.meaning,
        advice: code.advice,
    });
    types.chain(subtypes).chain(statuses).chain(events)
}

impl Code {
    /// The number in the notation of the headers.
    fn shown(&self) -> String {
        match self.kind {
            RETURN_TYPE => format!("{:#010x}", self.number),
            SUBTYPE => format!("{:#06x}", self.number),
            STATUS => self.number.to_string(),
            _ => format!("{:#07x}", self.number),
        }
    }

    fn print(&self, output: &mut Output) {
        let title = output.paint(Paint::Strong, self.name);
        output.line(format!("{title}  ({} {})", self.kind, self.shown()));
        output.line(format!("  {}", self.meaning));
        output.line(format!("  -> {}", self.advice));
    }
}

fn print(answer: &Answer, output: &mut Output) {
    if let Some(class) = answer.class {
        let parts: Vec<&str> =
            [class].into_iter().chain(answer.matches.iter().map(|code| code.name)).collect();
        output.line(format!("{} = {}", clean(&answer.code), parts.join(" | ")));
        output.line("");
    }
    for (index, code) in answer.matches.iter().enumerate() {
        if index > 0 {
            output.line("");
        }
        code.print(output);
    }
}

fn all(json: bool, output: &mut Output) {
    if json {
        output.json(&codes().collect::<Vec<_>>());
        return;
    }
    let mut kind = "";
    for code in codes() {
        if code.kind != kind {
            if !kind.is_empty() {
                output.line("");
            }
            kind = code.kind;
            output.line(output.paint(Paint::Strong, format!("== {kind} ==")));
        }
        output.line("");
        code.print(output);
    }
}
