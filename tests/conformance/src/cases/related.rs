//! The relationship of adapters: can one take over from another (DAT 2.0)?

use std::sync::Arc;

use crate::prelude::*;
use dat_core::provider::stub::StubProvider;
use dat_core::provider::{
    Adapter, Description, DiscoveredAdapter, OpenRequest, Provider, Relationship, unsupported,
};

cases! {
    "DAT 2.0, dat_registry_providers_related":
        an_adapter_is_related_to_itself,
        an_unknown_name_is_not_found,
        one_provider_decides_for_its_own_adapters;
    "DAT 2.0, dat_registry_providers_related; reading: adapters of two providers":
        both_providers_are_asked;
}

fn an_adapter_is_related_to_itself() {
    let target = target();
    let related = target.registry.providers_related(&target.name, &target.name);
    assert_eq!(related, Ok(Relationship::Related));
}

fn an_unknown_name_is_not_found() {
    let target = target();
    for (one, other) in [
        (target.name.as_str(), "no such adapter"),
        ("no such adapter", &target.name),
        ("no such adapter", "no such adapter"),
    ] {
        refused(target.registry.providers_related(one, other), Subtype::NameNotRegistered);
    }
}

/// A provider with two adapters and an answer for every pair.
struct Opinionated {
    name: &'static str,
    adapters: [&'static str; 2],
    answer: Relationship,
}

impl Provider for Opinionated {
    fn describe(&self) -> Description {
        Description { name: self.name, ..StubProvider.describe() }
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        let found = |name: &str| DiscoveredAdapter {
            name: name.to_owned(),
            summary: "answers questions only".to_owned(),
            unusable: None,
        };
        self.adapters.map(found).into()
    }

    fn open(&self, _request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        Err(unsupported("adapters that can be opened"))
    }

    fn related(&self, one: &str, other: &str) -> Relationship {
        assert_ne!(one, other, "an adapter is not asked about itself");
        self.answer
    }
}

fn registry(first: Relationship, second: Relationship) -> Registry {
    let registry = Registry::new();
    for (name, adapters, answer) in
        [("first", ["a0", "a1"], first), ("second", ["b0", "b1"], second)]
    {
        let provider = Arc::new(Opinionated { name, adapters, answer });
        registry.add_provider(provider).expect("another name");
    }
    registry
}

fn one_provider_decides_for_its_own_adapters() {
    for answer in [Relationship::Related, Relationship::Unrelated, Relationship::Unknown] {
        let registry = registry(answer, Relationship::Conflicting);
        assert_eq!(registry.providers_related("a0", "a1"), Ok(answer));
        assert_eq!(registry.providers_related("a1", "a0"), Ok(answer));
        assert_eq!(registry.providers_related("a1", "a1"), Ok(Relationship::Related));
    }
}

fn both_providers_are_asked() {
    use Relationship::{Conflicting, Related, Unknown, Unrelated};
    for (first, second, expected) in [
        (Related, Related, Related),
        (Unrelated, Unrelated, Unrelated),
        (Unknown, Unknown, Unknown),
        (Related, Unknown, Related),
        (Unknown, Unrelated, Unrelated),
        (Related, Unrelated, Conflicting),
        (Unrelated, Related, Conflicting),
    ] {
        let registry = registry(first, second);
        assert_eq!(registry.providers_related("a0", "b1"), Ok(expected), "{first:?} {second:?}");
        assert_eq!(registry.providers_related("b1", "a0"), Ok(expected), "{first:?} {second:?}");
    }
}
