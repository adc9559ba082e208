//! Adding and removing providers.

use std::sync::Arc;

use super::super::{ApiVersion, Registry};
use super::{Fake, assert_contains, registry};
use crate::error::{ReturnType, Subtype};
use crate::provider::{AdapterSink, AsyncUpcall};

const LINE: &str = "mine u2.0 threadsafe default fake fake.1.0 \"depth=4\" \"\"";

#[test]
fn a_registry_can_be_shared() {
    fn is_shared<T: Clone + Send + Sync + 'static>() {}
    is_shared::<Registry>();
    is_shared::<super::super::Candidate>();
    let registry = Registry::new();
    let other = registry.clone();
    registry.add_provider(Fake::new("fake", &["x"])).expect("a new name");
    assert_eq!(other.list().len(), 1);
}

#[test]
fn a_name_is_registered_once() {
    let registry = registry("", &[Fake::new("fake", &[])]);
    let error = registry.add_provider(Fake::new("fake", &["x"])).expect_err("the same name");
    assert!(error.is(ReturnType::ProviderAlreadyRegistered));
    assert_contains(&error.to_string(), &["\"fake\"", "3.4", "tests"]);
    assert!(registry.list().is_empty());
    registry.remove_provider("fake").expect("not in use");
    registry.add_provider(Fake::new("fake", &["x"])).expect("the name is free");
}

#[test]
fn a_provider_in_use_stays() {
    let registry = registry(LINE, &[Fake::new("fake", &["found"])]);
    let error = registry.remove_provider("fkae").expect_err("no such provider");
    assert!(error.is(ReturnType::ProviderNotFound));
    assert_contains(&error.to_string(), &["\"fake\"?"]);

    for name in ["mine", "found"] {
        let mut candidates = registry.resolve(name, ApiVersion::ANY).expect("a candidate");
        let guard = candidates.remove(0).guard;
        let second = guard.clone();
        assert_eq!(guard.description().name, "fake");
        drop(guard);
        let error = registry.remove_provider("fake").expect_err("in use");
        assert!(error.is(ReturnType::ProviderInUse));
        drop(second);
    }
    // Neither a listing nor a failed look-up is a use.
    drop(registry.list());
    registry.resolve("nothing", ApiVersion::ANY).expect_err("no such name");
    registry.remove_provider("fake").expect("not in use");
    assert!(registry.resolve("found", ApiVersion::ANY).is_err());
}

#[test]
fn a_line_is_usable_as_soon_as_its_provider_is_added() {
    let registry = registry(LINE, &[]);
    let error = registry.resolve("mine", ApiVersion::ANY).expect_err("no provider yet");
    assert_eq!(error.subtype(), Subtype::NameNotRegistered);
    registry.add_provider(Fake::new("fake", &[])).expect("a new name");
    let candidates = registry.resolve("mine?a=1&b=2", ApiVersion::ANY).expect("served");
    assert!(Arc::ptr_eq(&candidates[0].provider, &candidates[0].clone().provider));

    struct Sink;
    impl AdapterSink for Sink {
        fn async_event(&self, _event: AsyncUpcall) {}
    }
    let request = candidates[0].request(Arc::new(Sink));
    assert_eq!((request.name, request.parameters), ("mine", "depth=4 a=1&b=2"));
}

#[test]
fn removal_and_look_up_race_without_harm() {
    let registry = registry(LINE, &[]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..500 {
                registry.add_provider(Fake::new("fake", &[])).expect("the name is free");
                while registry.remove_provider("fake").is_err() {
                    std::thread::yield_now();
                }
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..500 {
                    if let Ok(candidates) = registry.resolve("mine", ApiVersion::ANY) {
                        assert_eq!(candidates.len(), 1);
                        let error = registry.remove_provider("fake").expect_err("in use");
                        assert!(error.is(ReturnType::ProviderInUse));
                    }
                }
            });
        }
    });
}
