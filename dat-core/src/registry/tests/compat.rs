//! What chooses the relaxed rules of an adapter: the first of name, line, environment, and the table
//! of known programs that says anything.

use super::*;
use crate::compat::known::PROGRAMS;
use crate::compat::{Compat, ProgramSign};

/// Shows the sign of the first known program.
fn known(sign: &ProgramSign) -> bool {
    PROGRAMS[0].signs.contains(sign)
}

fn unknown(_: &ProgramSign) -> bool {
    false
}

/// The rules that are relaxed for a name in a process, with a line `lined` that has these parameters.
fn relaxed(name: &str, line: &str, variable: &str, signs: fn(&ProgramSign) -> bool) -> Compat {
    let text = format!("lined u2.0 threadsafe default fake fake.0.1 \"{line}\" \"\"");
    let registry = Registry::with_configuration(Configuration::from_text("dat.conf", &text))
        .with_compat(variable)
        .with_known_programs(signs);
    registry.add_provider(Fake::new("fake", &[])).expect("the only provider");
    let candidates = registry.resolve(name, ApiVersion::ANY).expect("a line of that name");
    let by_table = candidates[0].known_program().is_some();
    let relaxed = candidates[0].compat.relaxed().expect("a mode");
    assert_eq!(by_table, relaxed == PROGRAMS[0].relaxed, "{name} {line} {variable}");
    relaxed
}

#[test]
fn name_line_and_environment_have_precedence_over_the_table() {
    let table = PROGRAMS[0].relaxed;
    for (name, line, variable, expected) in [
        ("lined", "", "", table),
        ("lined", "max_eps=4", "", table),
        ("lined", "", "ofa", Compat::OFA),
        ("lined", "compat=ofa", "strict", Compat::OFA),
        ("lined?compat=ofa", "compat=strict", "strict", Compat::OFA),
        ("lined", "", "strict", Compat::STRICT),
        ("lined", "compat=strict", "", Compat::STRICT),
        ("lined", "compat=strict", "ofa", Compat::STRICT),
        ("lined?compat=strict", "", "", Compat::STRICT),
        ("lined?compat=strict", "compat=ofa", "ofa", Compat::STRICT),
    ] {
        assert_eq!(relaxed(name, line, variable, known), expected, "{name} {line:?} {variable:?}");
    }
}

#[test]
fn all_rules_hold_for_a_program_that_is_not_known() {
    assert_eq!(relaxed("lined", "", "", unknown), Compat::STRICT);
}
