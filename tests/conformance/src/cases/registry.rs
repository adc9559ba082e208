//! The registry: names of adapters, and the errors of names that cannot be opened.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::prelude::*;
use dat_core::provider::stub::StubProvider;
use dat_core::provider::{Adapter, Description, DiscoveredAdapter, OpenRequest, Provider, Reach};
use dat_core::registry::{Configuration, EntryOrigin, EntryStatus, MAX_NAME};

cases! {
    "dat_registry_list_providers(3DAT)":
        the_adapter_under_test_is_listed,
        every_unusable_entry_has_a_reason,
        each_name_is_listed_once,
        lines_are_listed_before_discovered_adapters_and_those_by_their_reach;
    "dat_ia_open(3DAT)":
        an_unknown_name_is_not_found,
        each_open_creates_a_separate_instance,
        the_consumer_chooses_the_asynchronous_dispatcher,
        a_bad_queue_length_is_refused;
    "dat_registry_add_provider(3DAT), dat_registry_remove_provider(3DAT)":
        a_provider_is_added_once_and_removed_when_unused;
    "dat_ia_open(3DAT); reading: the name in dat.conf and its version":
        a_name_is_looked_up_with_its_version,
        a_larger_minor_version_is_used_if_none_matches_exactly,
        an_invalid_line_does_not_hide_others,
        a_default_line_takes_precedence,
        a_kernel_line_is_not_usable_here,
        a_line_takes_precedence_over_discovery,
        every_line_of_a_name_is_tried;
    "dat_ia_open(3DAT); reading: names that nothing has":
        the_nearest_name_is_suggested,
        the_length_of_a_name_is_limited;
}

/// The name without the parameters of the adapter under test.
fn plain(target: &Target) -> &str {
    target.name.split('?').next().unwrap_or(&target.name)
}

fn with(lines: &str) -> Registry {
    let registry = Registry::with_configuration(Configuration::from_text("dat.conf", lines));
    registry.add_provider(Arc::new(StubProvider)).expect("the first");
    registry
}

fn the_adapter_under_test_is_listed() {
    let target = target();
    let entries = target.registry.list();
    let usable = |entry: &&dat_core::registry::Entry| entry.status.is_usable();
    let entry = entries.iter().filter(usable).find(|entry| entry.name == plain(&target));
    let entry = entry.unwrap_or_else(|| panic!("no usable entry {:?}: {entries:?}", target.name));
    assert!(!entry.library.is_empty());
    let line = entry.to_line().expect("all of it is known");
    assert_eq!(line.name, plain(&target));
}

fn every_unusable_entry_has_a_reason() {
    for entry in target().registry.list() {
        match entry.status {
            EntryStatus::Usable => assert!(!entry.name.is_empty()),
            EntryStatus::Unusable(reason) => assert!(!reason.reason().is_empty(), "{reason}"),
            EntryStatus::Shadowed(by) => assert_ne!(by, entry.origin, "{}", entry.name),
        }
    }
}

fn each_name_is_listed_once() {
    let target = target();
    let listed = target.registry.listed_adapters(ApiVersion::ANY);
    let names: BTreeSet<&str> = listed.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names.len(), listed.len(), "a name that is there twice: {listed:?}");
    match listed.iter().find(|it| it.name == plain(&target)) {
        Some(told) => assert!(told.thread_safe, "{told:?}"),
        // An adapter with the reach of a process, next to others that reach farther.
        None => assert!(!listed.is_empty()),
    }
    try_open("").expect("its name opens it, listed or not").close(Close::Graceful).expect("empty");
}

/// A provider with one adapter, which has the name and the reach given.
struct Reaching(&'static str, Reach);

impl Provider for Reaching {
    fn describe(&self) -> Description {
        Description { name: self.0, reach: self.1, ..StubProvider.describe() }
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        vec![DiscoveredAdapter { name: self.0.to_owned(), summary: String::new(), unusable: None }]
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        StubProvider.open(request)
    }
}

fn lines_are_listed_before_discovered_adapters_and_those_by_their_reach() {
    let told = |lines: &str| {
        let configuration = Configuration::from_text("dat.conf", lines);
        let registry = Registry::with_configuration(configuration);
        let all = [
            Reaching("inside", Reach::Process),
            Reaching("tcp", Reach::Network),
            Reaching("host", Reach::Host),
            Reaching("rdma", Reach::Rdma),
        ];
        for provider in all {
            registry.add_provider(Arc::new(provider)).expect("another name");
        }
        let listed = registry.listed_adapters(ApiVersion::V2_0).into_iter();
        listed.map(|it| it.name).collect::<Vec<_>>()
    };
    assert_eq!(told(""), ["rdma", "tcp", "host"], "an adapter within the process is not listed");
    let lines = "inside u2.0 threadsafe default inside stub.0.1 \"\" \"\"\n\
                 mine u2.0 threadsafe default tcp stub.0.1 \"\" \"\"\n\
                 host u2.0 threadsafe default host stub.0.1 \"\" \"\"\n";
    assert_eq!(told(lines), ["inside", "mine", "host", "rdma", "tcp"], "lines in file order");
}

fn an_unknown_name_is_not_found() {
    let error = target().registry.open("there is nothing of that name");
    refused_naming(error, Subtype::NameNotRegistered, plain(&target()));
}

fn each_open_creates_a_separate_instance() {
    let (one, two) = (try_open("").expect("opens"), try_open("").expect("opens again"));
    assert_ne!(one, two);
    assert_ne!(one.id(), two.id());
    let pz = one.pz_create().expect("a zone");
    two.close(Close::Graceful).expect("nothing was made on it");
    assert!(one.is_live() && !two.is_live());
    pz.free().expect("live");
    one.close(Close::Graceful).expect("nothing is left");
    refused(one.close(Close::Graceful), Subtype::InvalidHandleIa);
}

fn the_consumer_chooses_the_asynchronous_dispatcher() {
    let target = target();
    let node = Node::new();
    let mine = node.evd(EvdFlags::ASYNC);
    let to = |async_evd| IaOptions { async_evd, ..IaOptions::default() };
    let open = |options: &IaOptions| target.registry.open_with(&target.name, options);
    let ia = open(&to(AsyncEvd::Existing(mine.clone()))).expect("a dispatcher for them");
    assert_eq!(ia.async_evd(), Some(mine.clone()));
    refused(mine.free(), Subtype::InvalidStateEvdInUse);
    ia.close(Close::Graceful).expect("the dispatcher is not the adapter's own");
    let ia = open(&to(AsyncEvd::Foreign)).expect("none at all");
    assert_eq!(ia.async_evd(), None);
    ia.close(Close::Graceful).expect("nothing is left");
    refused(open(&to(AsyncEvd::Existing(node.recv.clone()))), Subtype::InvalidHandleEvdAsync);
    mine.free().expect("unused again");
    refused(open(&to(AsyncEvd::Existing(mine))), Subtype::InvalidHandleEvdAsync);
    node.finish();
}

fn a_bad_queue_length_is_refused() {
    let target = target();
    for min_qlen in [0, u32::MAX] {
        let async_evd = AsyncEvd::Create { min_qlen: Some(min_qlen) };
        let options = IaOptions { async_evd, ..IaOptions::default() };
        refused(target.registry.open_with(&target.name, &options), Subtype::InvalidArg2);
    }
}

fn a_provider_is_added_once_and_removed_when_unused() {
    let registry = Registry::new();
    refused(registry.remove_provider("stub"), Subtype::NameNotRegistered);
    registry.add_provider(Arc::new(StubProvider)).expect("the first");
    refused(registry.add_provider(Arc::new(StubProvider)), ReturnType::ProviderAlreadyRegistered);
    let ia = registry.open(StubProvider::ADAPTER).expect("opens");
    refused(registry.remove_provider("stub"), ReturnType::ProviderInUse);
    ia.close(Close::Graceful).expect("nothing is left");
    drop(ia);
    registry.remove_provider("stub").expect("unused");
    refused(registry.open(StubProvider::ADAPTER), Subtype::NameNotRegistered);
}

/// Resolves a name for a version and returns the parameters of the entry.
fn parameters(registry: &Registry, name: &str, version: ApiVersion) -> Result<String> {
    let candidates = registry.resolve(name, version)?;
    Ok(candidates.into_iter().next().expect("never empty").parameters)
}

fn a_name_is_looked_up_with_its_version() {
    let registry = with(
        "both u1.2 threadsafe default stub stub.0.1 \"old=1\" \"\"\n\
         both u2.0 nonthreadsafe default stub stub.0.1 \"new=1\" \"\"\n\
         old u1.2 nonthreadsafe default stub stub.0.1 \"\" \"\"\n",
    );
    assert_eq!(parameters(&registry, "both", ApiVersion::V1_2).as_deref(), Ok("old=1"));
    assert_eq!(parameters(&registry, "both", ApiVersion::V2_0).as_deref(), Ok("new=1"));
    assert_eq!(parameters(&registry, "old", ApiVersion::ANY).as_deref(), Ok(""));
    refused(parameters(&registry, "old", ApiVersion::V2_0), Subtype::MajorNotFound);
    refused(parameters(&registry, "old", ApiVersion::new(1, 3)), Subtype::MinorNotFound);
}

fn a_larger_minor_version_is_used_if_none_matches_exactly() {
    let registry = with(
        "some u1.3 threadsafe default stub stub.0.1 \"larger=1\" \"\"\n\
         some u1.1 threadsafe nondefault stub stub.0.1 \"exact=1\" \"\"\n\
         late u1.2 threadsafe default stub stub.0.1 \"late=1\" \"\"\n",
    );
    let found = |name, minor| parameters(&registry, name, ApiVersion::new(1, minor));
    assert_eq!(found("some", 1).as_deref(), Ok("exact=1"), "whatever precedes it");
    for minor in [0, 2] {
        assert_eq!(found("some", minor).as_deref(), Ok("larger=1"), "1.{minor}");
    }
    assert_eq!(found("late", 1).as_deref(), Ok("late=1"));
    refused(found("late", 3), Subtype::MinorNotFound);
    refused(parameters(&registry, "late", ApiVersion::new(0, 1)), Subtype::MajorNotFound);
    let version = ApiVersion::new(1, 1);
    let options = IaOptions { version, ..IaOptions::default() };
    let ia = registry.open_with("late", &options).expect("1.2 serves 1.1");
    ia.close(Close::Graceful).expect("nothing was made on it");
}

fn an_invalid_line_does_not_hide_others() {
    let registry = with(
        "bad u2.0 sometimes default stub stub.0.1 \"\" \"\"\n\
         # a comment\n\
         good u2.0 threadsafe default stub stub.0.1 \"\" \"\"\n\
         short u2.0\n",
    );
    registry.open("good").expect("its line is in order").close(Close::Graceful).expect("empty");
    let entries = registry.list();
    let lines: Vec<_> = entries
        .iter()
        .filter_map(|entry| match entry.origin {
            EntryOrigin::Line { line, .. } => Some((line, entry.status.is_usable())),
            _ => None,
        })
        .collect();
    assert_eq!(lines, [(1, false), (3, true), (4, false)]);
    let error = registry.open("bad").expect_err("its line is in error");
    assert!(error.reason().contains("dat.conf:1"), "the place of the line: {error}");
}

fn a_default_line_takes_precedence() {
    let lines = "twice u2.0 threadsafe nondefault stub stub.0.1 \"n=1\" \"\"\n\
                 twice u2.0 threadsafe default stub stub.0.1 \"d=1\" \"\"\n\
                 once u2.0 threadsafe nondefault stub stub.0.1 \"n=2\" \"\"\n";
    let registry = with(lines);
    assert_eq!(parameters(&registry, "twice", ApiVersion::V2_0).as_deref(), Ok("d=1"));
    assert_eq!(parameters(&registry, "once", ApiVersion::V2_0).as_deref(), Ok("n=2"));
    let usable: Vec<bool> = registry.list()[..3].iter().map(|it| it.status.is_usable()).collect();
    assert_eq!(usable, [false, true, true]);
}

fn a_kernel_line_is_not_usable_here() {
    let registry = with("kern k2.0 threadsafe default stub stub.0.1 \"\" \"\"\n");
    let entry = &registry.list()[0];
    let reason = entry.status.reason().expect("not usable");
    assert!(reason.reason().contains("kernel"), "{reason}");
    refused(registry.open("kern"), Subtype::NameNotRegistered);
}

fn a_line_takes_precedence_over_discovery() {
    let registry = with("stub u2.0 threadsafe default stub stub.0.1 \"line=1\" \"\"\n");
    assert_eq!(parameters(&registry, "stub", ApiVersion::ANY).as_deref(), Ok("line=1"));
    let found = parameters(&registry, "stub?mine=2", ApiVersion::ANY);
    assert_eq!(found.as_deref(), Ok("line=1 mine=2"));
    // Only a usable entry hides the discovered adapter.
    let registry = with("stub k2.0 threadsafe default stub stub.0.1 \"line=1\" \"\"\n");
    assert_eq!(parameters(&registry, "stub", ApiVersion::ANY).as_deref(), Ok(""));
}

/// A provider that opens only with the parameter `good`.
struct Choosy;

impl Provider for Choosy {
    fn describe(&self) -> Description {
        Description { name: "choosy", ..StubProvider.describe() }
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        Vec::new()
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        if request.parameters == "good" {
            return StubProvider.open(request);
        }
        let error = Error::new(ReturnType::InternalError, Subtype::NoSubtype);
        Err(error.because(format!("{} is not good", request.parameters)))
    }
}

fn every_line_of_a_name_is_tried() {
    let line = |name, parameters| {
        format!("{name} u2.0 threadsafe default choosy choosy.1.0 \"{parameters}\" \"\"\n")
    };
    let lines = line("it", "first") + &line("it", "second") + &line("it", "good");
    let lines = lines + &line("other", "third") + &line("other", "fourth");
    let registry = with(&lines);
    registry.add_provider(Arc::new(Choosy)).expect("another name");
    registry.open("it").expect("its third line").close(Close::Graceful).expect("empty");
    let error = registry.open("other").expect_err("none of its lines");
    assert!(error.is(ReturnType::InternalError), "the code of the first: {error}");
    for reason in ["third is not good", "fourth is not good"] {
        assert!(error.reason().contains(reason), "the reason of each: {error}");
    }
}

fn the_nearest_name_is_suggested() {
    let target = target();
    let name = plain(&target);
    for mistake in [format!("{name}x"), format!("x{name}"), name.to_uppercase() + "0"] {
        let error = target.registry.open(&mistake);
        let error = refused(error, Subtype::NameNotRegistered);
        assert!(error.advice().starts_with("did you mean "), "{error}");
    }
    let registry = with("");
    let error = registry.open("stbu").expect_err("two letters swapped");
    assert_eq!(error.advice(), "did you mean \"stub\"?");
}

fn the_length_of_a_name_is_limited() {
    let registry = target().registry;
    for name in ["", "?address=127.0.0.1", &"n".repeat(MAX_NAME + 1)] {
        refused(registry.open(name), Subtype::InvalidArg1);
    }
    refused(registry.open(&"n".repeat(MAX_NAME)), Subtype::NameNotRegistered);
}
