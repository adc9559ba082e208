//! The variables of the environment that change what happens.

use std::ffi::OsString;

use super::report::{Check, Finding};

struct Variable {
    name: &'static str,
    default: &'static str,
    meaning: &'static str,
    is_number: bool,
}

const fn text(name: &'static str, default: &'static str, meaning: &'static str) -> Variable {
    Variable { name, default, meaning, is_number: false }
}

const fn number(name: &'static str, default: &'static str, meaning: &'static str) -> Variable {
    Variable { name, default, meaning, is_number: true }
}

const VARIABLES: [Variable; 7] = [
    text(
        "DAT_OVERRIDE",
        "/etc/dat.conf and /etc/dat.conf.d/*.conf",
        "the one configuration file to read",
    ),
    number(
        "DAT_DBG_TYPE",
        "0",
        "the sum of what the C libraries print: 0x1 errors, 0x4 configuration, 0x8 providers, \
         0x10 provider calls, 0x20 program calls",
    ),
    number("DAT_DBG_DEST", "0x1", "the sum of where they print it: 0x1 stdout, 0x2 syslog"),
    text("LD_LIBRARY_PATH", "unset", "the folders where the loader looks first"),
    text("RDMAV_FORK_SAFE", "unset", "set: rdma-core keeps registered memory out of fork()"),
    text("IBV_FORK_SAFE", "unset", "the same"),
    text("NO_COLOR", "unset", "set: no colour on a terminal"),
];

/// What is read only by the library of another project.
const OTHERS: [&str; 3] = ["DAPL_DBG_TYPE", "DAPL_DBG_DEST", "DAPL_DBG_LEVEL"];

/// Shows what each is set to.
pub(super) fn check() -> Check {
    let value = |name: &str| std::env::var_os(name);
    let mut findings: Vec<Finding> =
        VARIABLES.iter().map(|variable| judge(variable, value(variable.name))).collect();
    for name in OTHERS {
        let Some(value) = value(name) else { continue };
        let value = value.to_string_lossy().into_owned();
        findings.push(
            Finding::note(name, format!("{value:?}: only libdapl, of another project, reads it"))
                .advise("DAT_DBG_TYPE makes the C libraries print")
                .fact("value", value)
                .fact("default", "unset")
                .fact("meaning", "read by libdapl only"),
        );
    }
    Check { key: "environment", title: "Environment", findings }
}

fn judge(variable: &Variable, value: Option<OsString>) -> Finding {
    let Variable { name, default, meaning, .. } = *variable;
    let value = value.map(|value| value.to_string_lossy().into_owned());
    let finding = match &value {
        None if default == "unset" => Finding::ok(name, format!("unset; {meaning}")),
        None => Finding::ok(name, format!("unset, so {default}; {meaning}")),
        Some(value) if variable.is_number && !is_number(value) => {
            Finding::note(name, format!("{value:?} is no number; {meaning}"))
                .advise(format!("give it a number, such as {name}=0x1, or unset it"))
        }
        Some(value) => Finding::ok(name, format!("{value:?}; {meaning}")),
    };
    finding.fact("value", value).fact("default", default).fact("meaning", meaning)
}

/// Whether C reads all of it as a number: decimal, octal or hexadecimal.
fn is_number(text: &str) -> bool {
    let digits = text.trim();
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => i64::from_str_radix(digits, 16).is_ok(),
        None if digits.starts_with('0') => i64::from_str_radix(digits, 8).is_ok(),
        None => digits.parse::<i64>().is_ok(),
    }
}
