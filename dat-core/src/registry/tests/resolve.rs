//! From a name to candidates.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::super::{ApiVersion, Configuration, OpenError, OpenRequirements, Registry};
use super::{Fake, assert_contains, registry, resolved};
use crate::error::{ReturnType, Subtype};

const TEXT: &str = r#"
twice u2.0 threadsafe    default    fake     p.1.2 "first"  ""
twice u2.0 nonthreadsafe default    other    p.1.2 "second" ""
twice u2.0 threadsafe    nondefault fake     p.1.2 "third"  ""
only  u2.0 threadsafe    nondefault fake     p.1.2 ""       ""
only  u2.0 threadsafe    nondefault fake     p.1.2 "x y"    ""
mixed u1.2 threadsafe    default    fake     p.1.2 "old"    ""
mixed u2.0 threadsafe    nondefault fake     p.1.2 "new"    ""
part  u2.0 threadsafe    default    liba.so  p.1.2 "c"      ""
part  u2.0 threadsafe    nondefault fake     p.1.2 "rust"   ""
found u2.0 threadsafe    default    fake     p.1.2 "line"   ""
dup   u2.0 threadsafe    default    liba.so  p.1.2 ""       ""
q?a=1 u2.0 threadsafe    default    fake     p.1.2 ""       ""
old   u1.1 threadsafe    default    fake     p.1.2 ""       ""
old   u1.2 threadsafe    default    liba.so  p.1.2 ""       ""
bad   u2.0 threadSafe    default    fake     p.1.2 ""       ""
semi  u1.2 threadsafe    default    fake     p.1.2 ""       ""
semi  2.0  threadsafe    default    fake     p.1.2 ""       ""
krnl  k2.0 threadsafe    default    fake     p.1.2 ""       ""
krnl  u2.0 threadsafe    default    liba.so  p.1.2 ""       ""
"#;

fn all() -> Registry {
    let fake = Fake::new("fake", &["found", "dup", "free", "down"]);
    fake.break_adapter("down");
    registry(TEXT, &[fake, Fake::new("other", &["free"])])
}

#[test]
fn candidates_come_in_the_order_of_look_up() {
    let (any, v1, v2) = (ApiVersion::ANY, ApiVersion::V1_2, ApiVersion::V2_0);
    for (name, version, expected) in [
        ("twice", any, &["conf:2 twice [first]", "conf:3 twice [second]"][..]),
        ("twice?n=1", v2, &["conf:2 twice [first n=1]", "conf:3 twice [second n=1]"]),
        ("only", any, &["conf:5 only []", "conf:6 only [x y]"]),
        ("only?a?b", any, &["conf:5 only [a?b]", "conf:6 only [x y a?b]"]),
        ("only?", any, &["conf:5 only []", "conf:6 only [x y]"]),
        ("mixed", any, &["conf:7 mixed [old]"]),
        ("mixed", v1, &["conf:7 mixed [old]"]),
        // A line for another version takes no precedence.
        ("mixed", v2, &["conf:8 mixed [new]"]),
        // Nor does a line that cannot be used here.
        ("part", any, &["conf:10 part [rust]"]),
        ("found", any, &["conf:11 found [line]"]),
        ("found", v1, &["discovered found []"]),
        ("dup?x=1", any, &["discovered dup [x=1]"]),
        ("free", v1, &["discovered free []", "discovered free []"]),
        ("q?a=1", any, &["conf:13 q?a=1 []"]),
        // A line of a larger minor version is used if none matches exactly.
        ("mixed", ApiVersion::new(1, 1), &["conf:7 mixed [old]"]),
        ("old", ApiVersion::new(1, 0), &["conf:14 old []"]),
    ] {
        let candidates = resolved(&all(), name, version).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(candidates, expected, "{name} {version}");
    }
}

#[test]
fn a_provider_that_cannot_have_a_name_does_not_discover_for_it() {
    let fake = Fake::new("fake", &["found"]);
    let knowing =
        |name, adapters: &[&str]| Arc::new(Fake { knows: true, ..Fake::plain(name, adapters) });
    let (near, far) = (knowing("near", &["near?", "near"][..]), knowing("far", &["far"][..]));
    let registry = registry(TEXT, &[Arc::clone(&fake), Arc::clone(&near), Arc::clone(&far)]);
    for (name, looks) in [
        ("twice", [0, 0, 0]),
        ("near", [1, 1, 0]),
        ("near?x=1", [2, 2, 0]),
        ("near?", [3, 3, 0]),
        ("far", [4, 3, 1]),
    ] {
        registry.resolve(name, ApiVersion::ANY).unwrap_or_else(|error| panic!("{error}"));
        let asked = [&fake, &near, &far].map(|it| it.looks.load(Ordering::Relaxed));
        assert_eq!(asked, looks, "{name}");
    }
    // If no provider may have the name, all are asked, for the error.
    let error = registry.resolve("fa", ApiVersion::ANY).expect_err("no such name");
    assert_contains(&error.to_string(), &["did you mean \"far\"?"]);
    assert_eq!(far.looks.load(Ordering::Relaxed), 2);
}

#[test]
fn a_failure_lists_what_is_known_about_the_name() {
    let (any, v1, v2) = (ApiVersion::ANY, ApiVersion::V1_2, ApiVersion::V2_0);
    let name = Subtype::NameNotRegistered;
    for (asked, version, subtype, parts) in [
        (
            "twise",
            any,
            name,
            &["IA \"twise\"", "no adapter has that name", "did you mean \"twice\"?"][..],
        ),
        ("frei?x=1", any, name, &["IA \"frei\"", "\"dup\", \"free\"", "did you mean \"free\"?"]),
        ("nothing like it", any, name, &["\"twice\", \"only\"", "`dat list`"]),
        (
            "old",
            v2,
            Subtype::MajorNotFound,
            &["registered for u1.1, u1.2, requested u2.0", "conf:14"],
        ),
        (
            "old",
            ApiVersion::new(1, 3),
            Subtype::MinorNotFound,
            &["registered for u1.1, u1.2, requested u1.3", "add a line for u1.3"],
        ),
        ("twice", v1, Subtype::MajorNotFound, &["registered for u2.0, requested u1.2"]),
        (
            "old",
            v1,
            name,
            &["conf:14: registered for u1.1, requested u1.2", "conf:15: \"liba.so\""],
        ),
        (
            "bad",
            any,
            name,
            &["conf:16:12: expected \"threadsafe\"", "did you mean \"threadsafe\"?"],
        ),
        (
            "semi",
            v2,
            Subtype::MajorNotFound,
            &["registered for u1.2", "conf:18:7: expected an API"],
        ),
        ("krnl", any, name, &["conf:19: k2.0 is for kernel consumers", "conf:20: \"liba.so\""]),
    ] {
        let error = resolved(&all(), asked, version).expect_err(asked);
        assert!(error.is(ReturnType::ProviderNotFound), "{error}");
        assert_eq!(error.subtype(), subtype, "{error}");
        assert_eq!(error.operation(), "dat_ia_open");
        assert_contains(&error.to_string(), parts);
    }
}

#[test]
fn an_adapter_that_is_down_gives_the_reason_of_its_provider() {
    let error = resolved(&all(), "down?x=1", ApiVersion::ANY).expect_err("the port is down");
    assert!(error.is(ReturnType::InsufficientResources));
    assert_contains(
        &error.to_string(),
        &["Registry::open on IA \"down\"", "the port is down", "plug it in"],
    );
}

#[test]
fn names_have_from_1_to_255_bytes() {
    let long = "n".repeat(256);
    for name in ["", "?", "?x=1", long.as_str()] {
        let error = resolved(&all(), name, ApiVersion::ANY).expect_err("no name");
        assert!(error.is(ReturnType::InvalidParameter), "{error}");
        assert_eq!(error.subtype(), Subtype::InvalidArg1);
    }
    // Parameters have no such limit.
    let name = format!("only?{long}");
    assert_eq!(resolved(&all(), &name, ApiVersion::ANY).expect("a candidate").len(), 2);
    let error = resolved(&all(), &long[1..], ApiVersion::ANY).expect_err("unknown");
    assert!(error.is(ReturnType::ProviderNotFound));
}

#[test]
fn an_unreadable_configuration_is_part_of_the_reason() {
    let missing = std::path::Path::new("/nowhere/dat.conf");
    let configuration = Configuration::from_paths(Some(missing.as_os_str()), missing);
    let registry = Registry::with_configuration(configuration);
    let error = resolved(&registry, "ib0", ApiVersion::ANY).expect_err("nothing is there");
    assert_contains(
        &error.to_string(),
        &[
            "no adapter can be opened",
            "/nowhere/dat.conf: cannot read the file that DAT_OVERRIDE names",
            "No such file",
        ],
    );
    // Adapters that providers discover are still found.
    registry.add_provider(Fake::new("fake", &["ib0"])).expect("a new name");
    assert!(resolved(&registry, "ib0", ApiVersion::ANY).is_ok());
}

#[test]
fn many_names_are_counted() {
    let names: Vec<String> = (0..40).map(|n| format!("adapter-{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let registry = registry("", &[Fake::new("fake", &names)]);
    let error = resolved(&registry, "zzz", ApiVersion::ANY).expect_err("unknown");
    assert_contains(error.reason(), &["\"adapter-15\", and 24 more"]);
}

#[test]
fn only_what_can_be_opened_is_suggested() {
    let lines = "\
        ofa-v2-mlx5_0-1 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 \"mlx5_0 1\" \"\"\n\
        goood u2.0 nonthreadsafe default libgood.so dapl.2.0 \"\" \"\"\n\
        broken u2.0 threadsafe default fake dapl.2.0\n";
    let registry = registry(lines, &[Fake::new("fake", &["here"])]).allow_c_providers();
    let error = |name| {
        let open = |_| -> Result<(), OpenError> { panic!("nothing to open") };
        registry.find(name, OpenRequirements::ANY, open).expect_err("unknown")
    };
    // A line of a C library that merely contains the name may be that of an absent device.
    let absent = error("mlx5_0");
    assert_contains(absent.reason(), &["\"here\"; besides, 2 names are lines for C libraries"]);
    assert!(!absent.advice().contains("ofa-v2"), "{absent}");
    // A typo of one is still recognized, but no line with an error is suggested.
    assert_contains(error("good").advice(), &["did you mean \"goood\"?"]);
    assert!(!error("brokn").advice().contains("broken"));
}
