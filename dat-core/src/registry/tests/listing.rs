//! The listing, and the statuses in it.

use super::super::{ApiVersion, EntryOrigin, EntryStatus};
use super::{Fake, assert_contains, registry, short};

/// A line of dat.conf, for the provider `fake` unless another library is given.
fn line(name: &str, version: &str, default: &str, library: &str) -> String {
    format!("{name} {version} nonthreadsafe {default} {library} p.1.2 \"{name} {version}\" pp\n")
}

#[test]
fn everything_is_listed_in_the_order_of_look_up() {
    let text = [
        line("second", "u2.0", "nondefault", "fake"),
        line("first", "u1.2", "default", "fake"),
        line("second", "u1.2", "default", "fake"),
        line("first", "u2.0", "default", "fake"),
        line("broken", "2.0", "default", "fake"),
        line("kernel", "k2.0", "default", "fake"),
        line("foreign", "u2.0", "default", "libdaplofa.so.2"),
        line("ib1", "u2.0", "nondefault", "fake"),
        line("ib2", "u2.0", "default", "libdaplofa.so.2"),
    ]
    .concat();
    let fake = Fake::new("fake", &["ib0", "ib1", "ib2", "ib3"]);
    fake.break_adapter("ib3");
    let registry = registry(text, &[fake, Fake::new("other", &["ib0", "last"])]);
    let entries: Vec<String> = registry.list().iter().map(short).collect();
    let foreign = "unusable: \"libdaplofa.so.2\" is not a built-in provider but a \
                   shared object, which only the C library (libdat2) loads";
    let expected = [
        "conf:1 \"second\" shadowed by conf:3",
        "conf:2 \"first\" usable",
        "conf:3 \"second\" usable",
        "conf:4 \"first\" usable",
        "conf:5 \"broken\" unusable: expected an API version such as \"u1.2\" or \"u2.0\", found \"2.0\"",
        "conf:6 \"kernel\" unusable: k2.0 is for kernel consumers",
        &format!("conf:7 \"foreign\" {foreign}"),
        "conf:8 \"ib1\" usable",
        &format!("conf:9 \"ib2\" {foreign}"),
        "discovered \"ib0\" usable",
        "discovered \"ib1\" shadowed by conf:8",
        "discovered \"ib2\" usable",
        "discovered \"ib3\" unusable: the port is down",
        "discovered \"ib0\" usable",
        "discovered \"last\" usable",
    ];
    assert_eq!(entries, expected);
}

#[test]
fn an_entry_has_the_fields_of_its_line() {
    let text = [line("a", "u1.2", "nondefault", "fake"), line("b", "u1.2", "maybe", "x")].concat();
    let entries = registry(text, &[Fake::new("fake", &["c"])]).list();
    let [a, b, c] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!(a.origin, EntryOrigin::Line { file: std::path::Path::new("conf").into(), line: 1 });
    assert_eq!(a.api_version.map(|version| version.to_string()).as_deref(), Some("u1.2"));
    assert_eq!((a.thread_safe, a.is_default), (false, false));
    assert_eq!((a.library.as_str(), a.parameters.as_str()), ("fake", "a u1.2"));
    assert_eq!(a.platform_parameters, "pp");
    assert!(a.status.is_usable() && a.status.reason().is_none());

    assert_eq!(b.name, "b");
    let error = b.syntax_error.as_ref().expect("a syntax error");
    assert_eq!((error.line(), error.column()), (2, 22));
    assert_contains(&error.caret(), &["b u1.2 nonthreadsafe maybe x p.1.2", "\n   "]);
    let EntryStatus::Unusable(reason) = &b.status else { panic!("{b:?}") };
    assert_contains(&reason.to_string(), &["conf:2:22", "found \"maybe\"", "others"]);
    assert!(b.to_line().is_none());

    assert_eq!((c.api_version, c.library.as_str(), c.summary.as_str()), (None, "fake", "c is up"));
    let suggested = c.to_line().expect("a line").to_string();
    assert_eq!(suggested, "c u2.0 threadsafe default fake fake.3.4 \"\" \"\"");
    // The suggested line gives the name in place of the adapter.
    let again = registry(suggested, &[Fake::new("fake", &["c"])]);
    let candidates = again.resolve("c", ApiVersion::V2_0).expect("the line");
    assert_eq!(candidates[0].origin.to_string(), "conf:1");
}

#[test]
fn a_library_name_similar_to_a_provider_is_suggested() {
    let text = line("a", "u2.0", "default", "lopback");
    for (providers, advice) in [
        (vec![Fake::new("loopback", &[])], "did you mean the provider \"loopback\"?"),
        (vec![Fake::new("verbs", &[])], "name a provider as library: \"verbs\""),
        (vec![], "open it through libdat2"),
    ] {
        let entries = registry(&text, &providers).list();
        assert_contains(entries[0].status.reason().expect("foreign").advice(), &[advice]);
    }
}
