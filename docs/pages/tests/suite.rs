//! What the conformance suite provokes is on the pages: it runs over loopback, and each error that
//! a case expected and got must be a code of the page of the call that the error names.

use std::process::ExitCode;

use dat_conformance::check::expected_errors;
use dat_conformance::{Plan, Target, all, set_target};
use dat_core::Registry;
use dat_pages::{Prototypes, find};

fn main() -> ExitCode {
    let registry = Registry::new();
    registry.add_provider(dat_provider_loopback::provider()).expect("the only provider");
    set_target(Target::new(registry, "loopback"));
    let verdicts = Plan::default().run(&all(), |_| {});
    let failed = verdicts.iter().filter(|it| it.outcome.is_failure()).count();
    let prototypes = Prototypes::committed();
    let (mut known, mut missing) = (0, 0);
    for (name, return_type, subtype) in expected_errors() {
        // An operation of the Rust API, which C does not have.
        if name.contains("::") {
            continue;
        }
        let call = find(name).unwrap_or_else(|| panic!("{name} has no page"));
        let has = |code: &dat_pages::Code| {
            code.return_type == return_type
                && (code.subtype == subtype || is_any_state(code, subtype))
        };
        if call.codes(&prototypes).iter().any(has) {
            known += 1;
        } else {
            println!("the page of {name} has no {return_type} {subtype}");
            missing += 1;
        }
    }
    println!("{known} codes that cases provoke are on the pages of their calls, {missing} are not");
    assert!(known > 350, "the suite provoked {known} codes only");
    ExitCode::from(u8::from(missing > 0 || failed > 0))
}

/// Some pages say that the subtype names another endpoint's state.
fn is_any_state(code: &dat_pages::Code, subtype: &str) -> bool {
    code.cause.contains("The subtype names its state")
        && subtype.starts_with("DAT_INVALID_STATE_EP_")
}
