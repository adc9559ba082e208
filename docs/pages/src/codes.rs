//! The return codes of a call: those of its entry, and those that follow from its arguments.

use crate::prototype::Prototype;
use crate::{Call, Prototypes, allowed};

/// A return code of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The return type, by its name in C.
    pub return_type: String,
    /// The subtype in DAT 2.0; `DAT_NO_SUBTYPE` if there is none.
    pub subtype: String,
    /// The subtype in DAT 1.2, where the argument has another position there.
    pub subtype1: Option<String>,
    /// The argument that the subtype names by its position.
    pub argument: Option<String>,
    /// The causes: sentences.
    pub cause: String,
}

/// The handle types whose arguments have a subtype of their own.
const HANDLES: &[(&str, &str, &str, &str)] = &[
    ("DAT_IA_HANDLE", "ia_handle", "IA", "open adapter"),
    ("DAT_EP_HANDLE", "", "EP", "live endpoint"),
    ("DAT_LMR_HANDLE", "", "LMR", "live local region"),
    ("DAT_RMR_HANDLE", "", "RMR", "live remote region"),
    ("DAT_PZ_HANDLE", "", "PZ", "live protection zone"),
    ("DAT_PSP_HANDLE", "", "PSP", "live public service point"),
    ("DAT_RSP_HANDLE", "", "RSP", "live reserved service point"),
    ("DAT_CSP_HANDLE", "", "CSP", "live common service point"),
    ("DAT_CR_HANDLE", "", "CR", "connection request that waits for an answer"),
    ("DAT_CNO_HANDLE", "", "CNO", "live notification object"),
    ("DAT_SRQ_HANDLE", "", "SRQ", "live shared receive queue"),
    ("DAT_EVD_HANDLE", "recv_evd_handle", "EVD_RECV", "live dispatcher with `DAT_EVD_DTO_FLAG`"),
    (
        "DAT_EVD_HANDLE",
        "request_evd_handle",
        "EVD_REQUEST",
        "live dispatcher with `DAT_EVD_DTO_FLAG`",
    ),
    (
        "DAT_EVD_HANDLE",
        "connect_evd_handle",
        "EVD_CONN",
        "live dispatcher with `DAT_EVD_CONNECTION_FLAG`",
    ),
];

impl Call {
    /// Every return code, with its causes; without `DAT_SUCCESS`.
    ///
    /// Besides those of its entry, a call returns an invalid handle for each handle that it takes,
    /// an invalid parameter for a NULL pointer, a mask with an undefined bit and a negative count,
    /// and an invalid state for the states of the endpoint that do not allow it.
    #[must_use]
    pub fn codes(&self, prototypes: &Prototypes) -> Vec<Code> {
        // A macro has no types, so the function that it calls counts.
        let both = [1, 2].map(|version| {
            let names = self.names().filter_map(|name| prototypes.of(self, name, version));
            names.into_iter().find(|it| !it.text.starts_with('#'))
        });
        let newest = both[1].as_ref().or(both[0].as_ref());
        let mut codes: Vec<Code> = Vec::new();
        for (code, cause) in &self.codes {
            let (return_type, subtype) = code.split_once(' ').unwrap_or((code, "NO_SUBTYPE"));
            let argument = subtype.strip_prefix('@').map(str::to_owned);
            let (subtype, subtype1) = match &argument {
                Some(argument) => positions(&both, argument),
                None => (format!("DAT_{subtype}"), None),
            };
            let return_type = format!("DAT_{return_type}");
            codes.push(Code { return_type, subtype, subtype1, argument, cause: cause.clone() });
        }
        for argument in &self.args {
            let Some(of) = newest.and_then(|it| it.type_of(&argument.name)) else {
                continue;
            };
            let name = &argument.name;
            let is_input = !argument.direction.is_checked();
            let handle = HANDLES.iter().find(|(its, only, ..)| {
                *its == of && is_input && (only.is_empty() || only == name)
            });
            if let Some((_, _, subtype, what)) = handle {
                let null =
                    if argument.direction.may_be_null() { " nor `DAT_HANDLE_NULL`" } else { "" };
                let neither = if null.is_empty() { "not" } else { "neither" };
                let cause =
                    format!("`{name}` is {neither} the handle of a{} {what}{null}.", an(what));
                add(
                    &mut codes,
                    "DAT_INVALID_HANDLE",
                    format!("DAT_INVALID_HANDLE_{subtype}"),
                    cause,
                );
            } else if of == "DAT_EVD_HANDLE" && is_input {
                let (subtype, what) = if self.name.starts_with("dat_evd_") {
                    ("EVD_REQUEST", "live dispatcher")
                } else {
                    ("EVD_CR", "live dispatcher with `DAT_EVD_CR_FLAG`")
                };
                let cause = format!("`{name}` is not the handle of a {what}.");
                add(
                    &mut codes,
                    "DAT_INVALID_HANDLE",
                    format!("DAT_INVALID_HANDLE_{subtype}"),
                    cause,
                );
            }
            let cause = if argument.direction.is_checked() {
                "It is NULL or not a valid address."
            } else if name.ends_with("_mask") {
                "It has an undefined bit."
            } else if of == "DAT_COUNT" {
                "It is negative."
            } else {
                continue;
            };
            let (subtype, subtype1) = positions(&both, name);
            if let Some(code) = add(&mut codes, "DAT_INVALID_PARAMETER", subtype, cause.to_owned())
            {
                code.subtype1 = subtype1;
                code.argument = Some(name.clone());
            }
        }
        if let Some(allowed) = self.state_event.as_deref().and_then(allowed) {
            for state in allowed.refused {
                let cause = format!("The endpoint is in the state {state}.");
                add(
                    &mut codes,
                    "DAT_INVALID_STATE",
                    state.invalid_state().name().to_owned(),
                    cause,
                );
            }
        }
        codes.sort_by_key(|code| {
            let return_type = dat_core::ReturnType::from_name(&code.return_type);
            let value = return_type.map(dat_core::ReturnType::value);
            (rank(&code.return_type), value, number(&code.subtype))
        });
        codes
    }
}

/// Adds a code, and returns it, unless the entry of the call has it.
fn add<'a>(
    codes: &'a mut Vec<Code>,
    of: &str,
    subtype: String,
    cause: String,
) -> Option<&'a mut Code> {
    if codes.iter().any(|it| it.return_type == of && it.subtype == subtype) {
        return None;
    }
    let return_type = of.to_owned();
    codes.push(Code { return_type, subtype, subtype1: None, argument: None, cause });
    codes.last_mut()
}

/// The subtypes of an argument in DAT 2.0 and, if it differs, in DAT 1.2.
fn positions(both: &[Option<Prototype>; 2], argument: &str) -> (String, Option<String>) {
    let at = |of: &Option<Prototype>| of.as_ref().and_then(|it| it.position(argument));
    let subtype = |position| format!("DAT_INVALID_ARG{position}");
    match both.each_ref().map(at) {
        [Some(one), Some(two)] if one != two => (subtype(two), Some(subtype(one))),
        [_, Some(position)] | [Some(position), None] => (subtype(position), None),
        // A test finds this name.
        [None, None] => (format!("DAT_UNKNOWN_ARGUMENT_{argument}"), None),
    }
}

fn an(what: &str) -> &'static str {
    if what.starts_with(['a', 'e', 'i', 'o', 'u']) { "n" } else { "" }
}

/// The order of return types on a page: what is checked first comes first.
fn rank(return_type: &str) -> usize {
    const ORDER: [&str; 3] = ["DAT_INVALID_HANDLE", "DAT_INVALID_PARAMETER", "DAT_INVALID_STATE"];
    ORDER.iter().position(|it| *it == return_type).unwrap_or(ORDER.len())
}

/// The order of subtypes: that of their values.
fn number(subtype: &str) -> u32 {
    dat_core::Subtype::from_name(subtype).map_or(0, dat_core::Subtype::value)
}
