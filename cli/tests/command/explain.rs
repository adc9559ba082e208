//! What a code means, however it is given.

use crate::common::{Ran, run};

fn explain(code: &str) -> Ran {
    run(&["explain", code])
}

#[test]
fn a_return_is_split_into_its_parts() {
    for code in ["0x8005000b", "0X8005000B", "2147811339", "-2147155957"] {
        let ran = explain(code);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let title = format!("{code} = error | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA");
        assert_eq!(ran.out.lines().next(), Some(title.as_str()));
        assert!(ran.out.contains("  -> "), "{}", ran.out);
    }
    let json = run(&["explain", "0x800f0000", "--json"]).json();
    assert_eq!(json["class"], "error");
    assert_eq!(json["matches"][0]["name"], "DAT_TIMEOUT_EXPIRED");
    assert_eq!(json["matches"].as_array().map(Vec::len), Some(1));
}

#[test]
fn names_are_found_whatever_their_case_and_beginning() {
    for (code, name) in [
        ("DAT_INVALID_STATE", "DAT_INVALID_STATE  (return type 0x00070000)"),
        ("invalid_handle_ep", "DAT_INVALID_HANDLE_EP  (subtype 0x000c)"),
        ("dat_dto_err_flushed", "DAT_DTO_ERR_FLUSHED  (completion status 1)"),
        ("flushed", "DAT_DTO_ERR_FLUSHED  (completion status 1)"),
        ("Unreachable", "DAT_CONNECTION_EVENT_UNREACHABLE  (event 0x04008)"),
        ("0x4006", "DAT_CONNECTION_EVENT_BROKEN  (event 0x04006)"),
        ("0x10001", "DAT_SOFTWARE_EVENT  (event 0x10001)"),
        ("0x000a0000", "DAT_PROVIDER_NOT_FOUND  (return type 0x000a0000)"),
    ] {
        let ran = explain(code);
        assert_eq!(ran.code, Some(0), "{code}: {}", ran.err);
        assert_eq!(ran.out.lines().next(), Some(name), "{code}");
    }
}

#[test]
fn the_compatibility_modes_are_explained_with_their_rules_and_known_programs() {
    let ran = explain("compat");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let json = run(&["explain", "compat", "--json"]).json();
    assert_eq!(json["modes"][0]["mode"], "strict");
    assert_eq!(json["modes"][1]["mode"], "ofa");
    for (list, key) in [("modes", "mode"), ("rules", "rule"), ("programs", "program")] {
        let list = json[list].as_array().expect("a list");
        assert!(list.len() >= 2, "{list:?}");
        for entry in list {
            let name = entry[key].as_str().expect("a name");
            assert!(ran.out.contains(name), "{name} is missing: {}", ran.out);
        }
    }
    for program in json["programs"].as_array().expect("a list") {
        for text in ["reason", "signs", "relaxes"].map(|key| match &program[key] {
            serde_json::Value::Array(several) => several[0].clone(),
            one => one.clone(),
        }) {
            let text = text.as_str().expect("a text");
            assert!(ran.out.contains(text), "{text} is missing: {}", ran.out);
        }
    }
}

#[test]
fn a_number_of_several_meanings_has_all_of_them() {
    let json = run(&["explain", "5", "--json"]).json();
    let kinds: Vec<_> = json["matches"].as_array().expect("matches").iter().collect();
    assert_eq!(kinds[0]["name"], "DAT_RESOURCE_TEVD");
    assert_eq!(kinds[1]["name"], "DAT_DTO_ERR_BAD_RESPONSE");
}

#[test]
fn a_typo_is_answered_with_what_was_meant() {
    for (typo, meant) in [
        ("DAT_INVALID_HANDEL", "DAT_INVALID_HANDLE"),
        ("flushd", "DAT_DTO_ERR_FLUSHED"),
        ("unreachble", "DAT_CONNECTION_EVENT_UNREACHABLE"),
    ] {
        let ran = explain(typo);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
        assert!(ran.err.ends_with(&format!("did you mean {meant}?\n")), "{}", ran.err);
    }
    for nonsense in ["zzzzzzzzzz", "0x80ff0000", "0x8005ffff", "4711"] {
        let ran = explain(nonsense);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{nonsense}");
        assert!(ran.err.starts_with("dat: "), "{}", ran.err);
    }
}

#[test]
fn all_of_them_have_words() {
    let json = run(&["explain", "--all", "--json"]).json();
    let codes = json.as_array().expect("codes");
    assert!(codes.len() > 130, "{}", codes.len());
    for code in codes {
        for key in ["kind", "name", "meaning", "advice"] {
            assert!(code[key].as_str().is_some_and(|text| !text.is_empty()), "{code}");
        }
        let found = run(&["explain", code["name"].as_str().unwrap_or_default(), "--json"]).json();
        assert_eq!(found["matches"][0]["name"], code["name"]);
    }
    let text = run(&["explain", "--all"]).out;
    for kind in ["return type", "subtype", "completion status", "event"] {
        assert!(text.contains(&format!("== {kind} ==")));
    }
}

#[test]
fn a_call_is_explained_with_its_arguments_events_and_codes() {
    let ran = explain("dat_ep_connect");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    for part in [
        "dat_ep_connect  (call",
        "DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle,",
        "private_data (input, may be NULL)",
        "DAT_CONNECTION_EVENT_ESTABLISHED",
        "DAT_INVALID_PARAMETER DAT_INVALID_ARG4: timeout",
        "DAT_INVALID_STATE DAT_INVALID_STATE_EP_CONNECTED",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert!(explain("DAT_IA_OPEN").out.starts_with("dat_ia_open  (call"));
    let json = run(&["explain", "dat_pz_free", "--json"]).json();
    assert_eq!(json["call"], "dat_pz_free");
    assert_eq!(json["codes"][0]["subtype"], "DAT_INVALID_HANDLE_PZ");
    let ran = explain("dat_ep_conect");
    assert!(ran.err.ends_with("did you mean dat_ep_connect?\n"), "{}", ran.err);
}

#[test]
fn every_example_of_the_help_works() {
    let help = run(&["explain", "--help"]).out;
    let examples: Vec<&str> =
        help.lines().filter_map(|line| line.trim().strip_prefix("dat explain ")).collect();
    assert!(examples.len() > 5, "{help}");
    for example in examples {
        let code = example.split_whitespace().next().expect("an argument");
        let ran = run(&["explain", code]);
        assert_eq!(ran.code, Some(0), "{example}: {}", ran.err);
    }
}
