//! C libraries, which the owner of the registry loads.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::{
    ApiVersion, Configuration, ConsumerSpace, EntryStatus, LineVersion, OpenError,
    OpenRequirements, Registration, Registry, Resolved,
};
use super::{Fake, assert_contains, short};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::provider::Relationship;

const TEXT: &str = r#"
twice u2.0 threadsafe    default    liba.so  p.1.2 "first"  ""
twice u2.0 threadsafe    default    libb.so  p.1.2 "second" ""
twice u2.0 threadsafe    nondefault libc.so  p.1.2 "third"  ""
mixed u2.0 nonthreadsafe default    liba.so  p.1.2 "c"      ""
mixed u2.0 threadsafe    default    fake     p.1.2 "ours"   ""
mixed u2.0 nonthreadsafe default    libb.so  p.1.2 "c"      ""
found u2.0 nonthreadsafe default    liba.so  p.1.2 ""       ""
old   u1.2 nonthreadsafe default    liba.so  p.1.2 ""       ""
old   u2.0 nonthreadsafe default    libb.so  p.1.2 ""       ""
very  u1.2 nonthreadsafe default    liba.so  p.1.2 ""       ""
both  u2.0 threadsafe    default    liba.so  p.1.2 ""       ""
both  u2.0 nonthreadsafe nondefault libb.so  p.1.2 ""       ""
safe  u2.0 threadsafe    default    liba.so  p.1.2 ""       ""
bare  u2.0 nonthreadsafe default    liba.so  p.1.2 ""       ""
q?a=1 u2.0 nonthreadsafe default    liba.so  p.1.2 ""       ""
broke u2.0 threadSafe    default    liba.so  p.1.2 ""       ""
"#;

const TWO: OpenRequirements =
    OpenRequirements { version: ApiVersion::V2_0, thread_safe: Some(false) };

fn with_c_providers() -> Registry {
    let registry =
        Registry::with_configuration(Configuration::from_text("conf", TEXT)).allow_c_providers();
    registry.add_provider(Fake::new("fake", &["found", "free"])).expect("a new name");
    registry
}

/// What the owner does with a resolved name, by library or name; otherwise it opens.
#[derive(Clone, Copy)]
enum Will {
    NotLoad,
    Refuse,
}
use Will::{NotLoad, Refuse};

/// Opens a name; returns what opened and everything that was tried before.
fn open(
    registry: &Registry,
    name: &str,
    requirements: OpenRequirements,
    will: &[(&str, Will)],
) -> (Result<String>, Vec<String>) {
    let will: HashMap<_, _> = will.iter().copied().collect();
    let mut tried = Vec::new();
    let opened = registry.find(name, requirements, |resolved| {
        let (what, key) = match &resolved {
            Resolved::Provider(it) => (format!("{} [{}]", it.origin, it.parameters), "ours".into()),
            Resolved::Library(it) => (format!("{}", it.origin), it.line.library.clone()),
            Resolved::Registered(it) => (it.to_string(), it.name.clone()),
        };
        tried.push(what.clone());
        match (will.get(key.as_str()), resolved) {
            (None, _) => Ok(what),
            (Some(NotLoad), Resolved::Library(library)) => {
                let reason = format!("{key}: cannot open shared object file");
                Err(OpenError::Unusable(library.unusable(reason)))
            }
            (Some(_), _) => {
                let error = Error::new(ReturnType::InsufficientResources, Subtype::NoSubtype);
                Err(error.because(format!("{key} has no device")).into())
            }
        }
    });
    (opened, tried)
}

#[test]
fn libraries_are_tried_in_file_order_until_one_opens() {
    for (name, will, expected) in [
        ("twice", &[][..], &["conf:2"][..]),
        ("twice", &[("liba.so", NotLoad)], &["conf:2", "conf:3"]),
        ("twice", &[("liba.so", Refuse)], &["conf:2", "conf:3"]),
        // A nondefault line is used only if no default line can be loaded.
        ("twice", &[("liba.so", NotLoad), ("libb.so", NotLoad)], &["conf:2", "conf:3", "conf:4"]),
        ("mixed", &[("liba.so", NotLoad)], &["conf:5", "conf:6 [ours]"]),
        ("mixed", &[("liba.so", Refuse), ("ours", Refuse)], &["conf:5", "conf:6 [ours]", "conf:7"]),
        ("found", &[("liba.so", NotLoad)], &["conf:8", "discovered []"]),
        ("q?a=1", &[], &["conf:16"]),
    ] {
        let (opened, tried) = open(&with_c_providers(), name, OpenRequirements::ANY, will);
        assert_eq!(tried, expected, "{name}");
        assert_eq!(opened.expect(name), *expected.last().expect("something opens"));
    }
}

#[test]
fn an_entry_that_refused_keeps_lower_ranks_from_being_tried() {
    let will = [("liba.so", NotLoad), ("libb.so", Refuse)];
    let (opened, tried) = open(&with_c_providers(), "twice", OpenRequirements::ANY, &will);
    assert_eq!(tried, ["conf:2", "conf:3"]);
    let error = opened.expect_err("neither opened");
    assert!(error.is(ReturnType::InsufficientResources), "{error}");
    assert_contains(&error.to_string(), &["libb.so has no device", "liba.so: cannot open"]);
}

#[test]
fn a_failure_has_the_reason_of_each_library() {
    let will = [("liba.so", NotLoad), ("libb.so", NotLoad), ("libc.so", NotLoad)];
    let (opened, tried) = open(&with_c_providers(), "twice", OpenRequirements::ANY, &will);
    assert_eq!(tried.len(), 3);
    let error = opened.expect_err("nothing loads");
    assert!(error.is(ReturnType::ProviderNotFound), "{error}");
    assert_eq!(error.subtype(), Subtype::NameNotRegistered);
    assert_contains(
        &error.to_string(),
        &["IA \"twice\"", "conf:2: liba.so: cannot open", "conf:3: libb.so", "conf:4: libc.so"],
    );
}

#[test]
fn a_failed_load_is_listed_until_it_works() {
    let status = |registry: &Registry| short(&registry.list()[0]);
    let registry = with_c_providers();
    assert_eq!(status(&registry), "conf:2 \"twice\" usable");
    assert_eq!(short(&registry.list()[2]), "conf:4 \"twice\" shadowed by conf:2");
    let will = [("liba.so", NotLoad), ("libb.so", NotLoad)];
    open(&registry, "twice", OpenRequirements::ANY, &will).0.expect("the third line");
    let listed: Vec<String> = registry.list()[..3].iter().map(short).collect();
    assert_eq!(
        listed,
        [
            "conf:2 \"twice\" unusable: liba.so: cannot open shared object file",
            "conf:3 \"twice\" unusable: libb.so: cannot open shared object file",
            "conf:4 \"twice\" usable",
        ]
    );
    // It is tried again, and a library that loads is usable whatever it returns from the open.
    let (opened, tried) = open(&registry, "twice", OpenRequirements::ANY, &[("liba.so", Refuse)]);
    assert_eq!((opened.expect("the second line").as_str(), tried.len()), ("conf:3", 2));
    assert_eq!(status(&registry), "conf:2 \"twice\" usable");
    // Clones refer to the same registry; another registry has its own state.
    assert_eq!(status(&registry.clone()), status(&with_c_providers()));
}

#[test]
fn nothing_is_loaded_that_was_not_requested() {
    let registry = with_c_providers();
    drop(registry.list());
    for name in ["free", "nothing", "broke", ""] {
        let (_, tried) = open(&registry, name, OpenRequirements::ANY, &[]);
        assert!(tried.iter().all(|it| it.starts_with("discovered")), "{name}: {tried:?}");
    }
}

#[test]
fn the_version_is_matched_exactly_before_a_larger_minor_one() {
    let requirements = |version| OpenRequirements { version, ..TWO };
    for (version, expected) in [(ApiVersion::V1_2, "conf:9"), (ApiVersion::V2_0, "conf:10")] {
        let (opened, tried) = open(&with_c_providers(), "old", requirements(version), &[]);
        assert_eq!((opened.expect("a line"), tried.len()), (expected.to_owned(), 1));
    }
    for (version, subtype, text) in [
        (ApiVersion::V2_0, Subtype::MajorNotFound, "registered for u1.2, requested u2.0"),
        (ApiVersion::new(1, 3), Subtype::MinorNotFound, "registered for u1.2, requested u1.3"),
    ] {
        let (opened, tried) = open(&with_c_providers(), "very", requirements(version), &[]);
        let error = opened.expect_err("another version");
        assert_eq!((error.subtype(), tried.len()), (subtype, 0), "{error}");
        assert_contains(&error.to_string(), &[text, "conf:11"]);
    }
}

#[test]
fn thread_safety_is_matched_exactly_unless_only_more_is_offered() {
    let requirements = |thread_safe| OpenRequirements { thread_safe, ..TWO };
    for (name, thread_safe, expected) in [
        ("both", Some(true), &["conf:12"][..]),
        // An exact match takes precedence over one that offers more, even over a default line.
        ("both", Some(false), &["conf:13"]),
        ("both", None, &["conf:12"]),
        ("safe", Some(false), &["conf:14"]),
        ("bare", Some(false), &["conf:15"]),
        ("bare", None, &["conf:15"]),
        // Rust providers satisfy both.
        ("mixed", Some(true), &["conf:6 [ours]"]),
    ] {
        let (opened, tried) = open(&with_c_providers(), name, requirements(thread_safe), &[]);
        assert_eq!(tried, expected, "{name}");
        opened.expect(name);
    }
    let (_, tried) = open(&with_c_providers(), "both", TWO, &[("libb.so", NotLoad)]);
    assert_eq!(tried, ["conf:13", "conf:12"]);
    let (opened, tried) = open(&with_c_providers(), "bare", requirements(Some(true)), &[]);
    let error = opened.expect_err("it is not safe for threads");
    assert!(error.is(ReturnType::ProviderNotFound), "{error}");
    assert_eq!((error.subtype(), tried.len()), (Subtype::ThreadSafetyNotFound, 0));
    assert_contains(&error.to_string(), &["registered as nonthreadsafe, requested threadsafe"]);
}

#[test]
fn a_library_takes_no_parameters_with_the_name() {
    let registry = with_c_providers();
    let (opened, tried) = open(&registry, "bare?n=1", TWO, &[]);
    let error = opened.expect_err("its parameters are those of the line");
    assert_contains(
        &error.to_string(),
        &["conf:15", "not accept parameters in the name", "remove the ?"],
    );
    assert!(tried.is_empty());
    // The library itself has no defect.
    assert!(registry.list().iter().any(|it| short(it) == "conf:15 \"bare\" usable"));
    // A Rust provider accepts parameters, so only it can be meant by such a name.
    let (_, tried) = open(&registry, "mixed?n=1", TWO, &[]);
    assert_eq!(tried, ["conf:6 [ours n=1]"]);
    let (_, tried) = open(&registry, "found?n=1", TWO, &[]);
    assert_eq!(tried, ["discovered [n=1]"]);
    let (_, tried) = open(&registry, "bare?", TWO, &[]);
    assert_eq!(tried, ["conf:15"]);
}

#[test]
fn the_calls_of_this_crate_refuse_c_libraries_with_the_reason() {
    let registry = with_c_providers();
    let error = registry.open("bare").expect_err("of C");
    assert!(error.is(ReturnType::ProviderNotFound), "{error}");
    assert_contains(&error.to_string(), &["conf:15: \"liba.so\" is not a built-in", "libdat2"]);
    assert_eq!(registry.resolve("mixed", ApiVersion::ANY).expect("ours").len(), 1);
    // Without C providers, the search gives the same error.
    let registry = Registry::with_configuration(Configuration::from_text("conf", TEXT));
    let (opened, tried) = open(&registry, "bare", TWO, &[]);
    assert_contains(&opened.expect_err("of C").to_string(), &["libdat2"]);
    assert!(tried.is_empty());
    let error =
        registry.add_registration(registration("x", false)).expect_err("it cannot be opened");
    assert!(error.is(ReturnType::ModelNotSupported), "{error}");
}

fn registration(name: &str, thread_safe: bool) -> Registration {
    let version = LineVersion { space: ConsumerSpace::User, major: 2, minor: 0 };
    Registration { name: name.to_owned(), version, thread_safe }
}

#[test]
fn a_c_provider_that_registered_itself_takes_precedence() {
    let registry = with_c_providers();
    let own = registration("bare", false);
    registry.add_registration(own.clone()).expect("new");
    let again = registry.add_registration(own.clone()).expect_err("it is there");
    assert!(again.is(ReturnType::ProviderAlreadyRegistered), "{again}");
    registry.add_registration(registration("bare", true)).expect("for threads");
    let nameless = registry.add_registration(registration("", true)).expect_err("no name");
    assert!(nameless.is(ReturnType::InvalidParameter), "{nameless}");

    let text = "provider \"bare\" u2.0 nonthreadsafe";
    let (opened, tried) = open(&registry, "bare", TWO, &[]);
    assert_eq!((opened.expect("registered"), tried.len()), (text.to_owned(), 1));
    let (opened, tried) = open(&registry, "bare", TWO, &[("bare", Refuse)]);
    assert!(opened.expect_err("it refused").is(ReturnType::InsufficientResources));
    assert_eq!(tried, [text]);
    let threads = OpenRequirements { thread_safe: Some(true), ..TWO };
    let (_, tried) = open(&registry, "bare", threads, &[]);
    assert_eq!(tried, ["provider \"bare\" u2.0 threadsafe"]);
    let one = OpenRequirements { version: ApiVersion::V1_2, ..TWO };
    let error = open(&registry, "bare", one, &[]).0.expect_err("another version");
    assert_eq!(error.subtype(), Subtype::MajorNotFound, "{error}");

    let entry = &registry.list()[0];
    assert_eq!(short(entry), "registered by the program \"bare\" usable");
    assert!(entry.to_line().is_none() && entry.library.is_empty());
    let error = registry.open("bare").expect_err("of C");
    assert_contains(&error.to_string(), &[text, "libdat2"]);

    registry.remove_registration(&own).expect("there");
    let gone = registry.remove_registration(&own).expect_err("gone");
    assert!(gone.is(ReturnType::ProviderNotFound), "{gone}");
    let (_, tried) = open(&registry, "bare", TWO, &[]);
    assert_eq!(tried, ["conf:15"], "the line asks for no more than was asked");
}

#[test]
fn an_attempt_may_use_the_registry() {
    let registry = with_c_providers();
    let opened = registry.find("bare", TWO, |resolved| {
        let Resolved::Library(library) = resolved else { panic!("{resolved:?}") };
        // As a library does when it is initialised.
        let own = registration(&library.line.name, library.line.thread_safe);
        registry.add_registration(own)?;
        registry.add_provider(Fake::new("other", &[]))?;
        Ok(registry.list().len())
    });
    assert_eq!(opened.expect("loaded"), registry.list().len());
}

#[test]
fn many_threads_search_at_once() {
    let registry = with_c_providers();
    let lost = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (registry, lost) = (&registry, &lost);
            scope.spawn(move || {
                for round in 0..200 {
                    let will =
                        if (thread + round) % 2 == 0 { &[][..] } else { &[("liba.so", NotLoad)] };
                    let (opened, _) = open(registry, "bare", TWO, will);
                    lost.fetch_add(usize::from(opened.is_err()), Ordering::Relaxed);
                    for entry in registry.list() {
                        assert!(
                            !matches!(entry.status, EntryStatus::Shadowed(_))
                                || entry.name != "bare"
                        );
                    }
                }
            });
        }
    });
    assert_eq!(lost.load(Ordering::Relaxed), 400);
}

#[test]
fn a_library_is_related_to_itself_and_otherwise_unknown() {
    let registry = with_c_providers();
    let related = |one, other| registry.providers_related(one, other).expect("both are there");
    assert_eq!(related("twice", "twice"), Relationship::Related);
    assert_eq!(related("twice", "bare"), Relationship::Unknown);
    assert_eq!(related("twice", "free"), Relationship::Unknown);
    assert!(registry.providers_related("twice", "unknown").is_err());
}

#[test]
fn a_list_has_the_fates_for_a_demand() {
    let registry = with_c_providers();
    let statuses = |name: &str, requirements| -> Vec<bool> {
        let entries =
            registry.list_for(requirements).into_iter().filter(|entry| entry.name == name);
        entries.map(|entry| entry.status.is_usable()).collect()
    };
    assert_eq!(statuses("old", TWO), [false, true]);
    assert_eq!(
        statuses("old", OpenRequirements { version: ApiVersion::V1_2, ..TWO }),
        [true, false]
    );
    // A consumer that requires thread safety gets another line first.
    assert_eq!(
        statuses("both", OpenRequirements { thread_safe: Some(true), ..TWO }),
        [true, false]
    );
    assert_eq!(statuses("both", TWO), [false, true]);
}
