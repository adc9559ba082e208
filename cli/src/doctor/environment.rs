//! The environment variables that have an effect.

use std::ffi::OsString;

use dat_core::Compat;

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

const VARIABLES: [Variable; 8] = [
    text(
        "DAT_OVERRIDE",
        "/etc/dat.conf and /etc/dat.conf.d/*.conf",
        "the only configuration file to read",
    ),
    text(
        Compat::VARIABLE,
        "strict, except for known programs",
        "ofa: the C libraries relax rules that OpenFabrics libraries do not enforce (`dat explain \
         compat`)",
    ),
    number(
        "DAT_DBG_TYPE",
        "0",
        "what the C libraries print, as a sum: 0x1 errors, 0x4 configuration, 0x8 providers, 0x10 \
         provider calls, 0x20 program calls",
    ),
    number("DAT_DBG_DEST", "0x1", "where the C libraries print, as a sum: 0x1 stdout, 0x2 syslog"),
    text("LD_LIBRARY_PATH", "unset", "the directories that the loader searches first"),
    text("RDMAV_FORK_SAFE", "unset", "if set: rdma-core protects registered memory across fork()"),
    text("IBV_FORK_SAFE", "unset", "the same as RDMAV_FORK_SAFE"),
    text("NO_COLOR", "unset", "if set: no colours on a terminal"),
];

/// Variables that only libdapl reads.
const OTHERS: [&str; 3] = ["DAPL_DBG_TYPE", "DAPL_DBG_DEST", "DAPL_DBG_LEVEL"];

/// Reports the value of each variable.
pub(super) fn check() -> Check {
    let value = |name: &str| std::env::var_os(name);
    let mut findings: Vec<Finding> =
        VARIABLES.iter().map(|variable| judge(variable, value(variable.name))).collect();
    for name in OTHERS {
        let Some(value) = value(name) else { continue };
        let value = value.to_string_lossy().into_owned();
        findings.push(
            Finding::note(name, format!("{value:?}: read only by libdapl, another project"))
                .advise("use DAT_DBG_TYPE to make the C libraries print")
                .fact("value", value)
                .fact("default", "unset")
                .fact("meaning", "read only by libdapl"),
        );
    }
    Check { key: "environment", title: "Environment", findings }
}

fn judge(variable: &Variable, value: Option<OsString>) -> Finding {
    let Variable { name, default, meaning, .. } = *variable;
    let value = value.map(|value| value.to_string_lossy().into_owned());
    let finding = match &value {
        None if default == "unset" => Finding::ok(name, format!("unset; {meaning}")),
        None => Finding::ok(name, format!("unset; {meaning} (default: {default})")),
        Some(value) if variable.is_number && !is_number(value) => {
            Finding::note(name, format!("{value:?} is not a number; {meaning}"))
                .advise(format!("set it to a number, such as {name}=0x1, or unset it"))
        }
        Some(value) if name == Compat::VARIABLE && !is_mode(value) => {
            let words: Vec<&str> = Compat::WORDS.iter().map(|(word, _)| *word).collect();
            Finding::problem(
                name,
                format!(
                    "{value:?} is not a valid mode; the C libraries will refuse to open adapters"
                ),
            )
            .advise(format!("set it to one of {}, or unset it", words.join(", ")))
        }
        Some(value) => Finding::ok(name, format!("{value:?}; {meaning}")),
    };
    finding.fact("value", value).fact("default", default).fact("meaning", meaning)
}

/// Returns true if the C libraries know the mode; an empty value counts as unset.
fn is_mode(word: &str) -> bool {
    word.is_empty() || Compat::from_name(word).is_some()
}

/// Returns true if strtoul(3) accepts the whole text: decimal, octal or hexadecimal.
fn is_number(text: &str) -> bool {
    let digits = text.trim();
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => i64::from_str_radix(digits, 16).is_ok(),
        None if digits.starts_with('0') => i64::from_str_radix(digits, 8).is_ok(),
        None => digits.parse::<i64>().is_ok(),
    }
}
