//! `dat explain compat`: the compatibility modes, the rules that they relax, and the known programs.

use dat_core::compat::known::PROGRAMS;
use dat_core::compat::{Compat, Rule};

use crate::output::{Output, Paint};

/// Prints the modes, the rules and the table of known programs.
pub(super) fn print(json: bool, output: &mut Output) {
    if json {
        return output.json(&as_json());
    }
    output.line(format!(
        "Which rules of the manual pages an adapter relaxes is set by ?{parameter}=MODE behind its \
         name,",
        parameter = Compat::PARAMETER
    ));
    output.line(format!("then by {}=MODE in its line of dat.conf,", Compat::PARAMETER));
    output.line(format!(
        "then by {}=MODE in the environment, then by the table of known programs.",
        Compat::VARIABLE
    ));
    title("modes", output);
    for (word, mode) in Compat::WORDS {
        let rules: Vec<&str> = mode.rules().map(Rule::name).collect();
        let rules = if rules.is_empty() { "nothing".to_owned() } else { rules.join(", ") };
        output.line(format!("{}  relaxes {rules}", output.paint(Paint::Strong, word)));
    }
    title("rules", output);
    for rule in Rule::ALL {
        output.line(output.paint(Paint::Strong, rule.name()));
        output.line(format!("  if relaxed: {}", rule.relaxed()));
    }
    title("known programs", output);
    for program in &PROGRAMS {
        output.line(output.paint(Paint::Strong, program.name));
        for sign in program.signs {
            output.line(format!("  recognised by {sign}"));
        }
        output.line(format!("  relaxes {}: {}", program.relaxed, program.reason));
    }
}

fn title(text: &str, output: &mut Output) {
    output.line("");
    output.line(output.paint(Paint::Strong, format!("== {text} ==")));
}

fn as_json() -> serde_json::Value {
    let names = |mode: Compat| mode.rules().map(Rule::name).collect::<Vec<_>>();
    let modes = Compat::WORDS
        .iter()
        .map(|(word, mode)| serde_json::json!({ "mode": word, "relaxes": names(*mode) }));
    let rules = Rule::ALL
        .iter()
        .map(|rule| serde_json::json!({ "rule": rule.name(), "relaxed": rule.relaxed() }));
    let programs = PROGRAMS.iter().map(|program| {
        let signs: Vec<String> = program.signs.iter().map(ToString::to_string).collect();
        serde_json::json!({
            "program": program.name,
            "signs": signs,
            "relaxes": names(program.relaxed),
            "reason": program.reason,
        })
    });
    serde_json::json!({
        "modes": modes.collect::<Vec<_>>(),
        "rules": rules.collect::<Vec<_>>(),
        "programs": programs.collect::<Vec<_>>(),
    })
}
