//! What the tests through the provider contract share.

use crossbeam_channel::RecvTimeoutError;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use dat_core::error::{Error, Result, ReturnType};
use dat_core::provider::{Adapter, AdapterSink, AsyncUpcall, OpenRequest};
use dat_core::{Ia, Registry};

mod buffer;
mod log;
mod shared;
mod side;
mod world;

pub(crate) use buffer::Buffer;
pub(crate) use log::{Entry, Event, Ready, Recorder};
pub(crate) use shared::Shared;
pub(crate) use side::{Setup, Side};
pub(crate) use world::{Refuse, World};

/// Runs a test, and fails if it takes longer than a minute.
pub(crate) fn bounded(test: impl FnOnce() + Send + 'static) {
    let (done, wait) = crossbeam_channel::unbounded();
    let thread = std::thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    match wait.recv_timeout(Duration::from_secs(60)) {
        Err(RecvTimeoutError::Timeout) => panic!("the test does not end"),
        _ => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    }
}

/// Runs a bounded test in a world of its own.
pub(crate) fn in_world(test: impl FnOnce(&World) + Send + 'static) {
    bounded(move || test(&World::new()));
}

/// Runs a bounded test on two connected sides of a world of its own.
pub(crate) fn connected(test: impl FnOnce(&World, Side, Side) + Send + 'static) {
    in_world(|world| {
        let (a, b) = world.pair();
        test(world, a, b);
    });
}

/// Waits until a condition that depends on other threads is true.
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "never: {what}");
        std::thread::yield_now();
    }
}

pub(crate) struct NoAsync;

impl AdapterSink for NoAsync {
    fn async_event(&self, event: AsyncUpcall) {
        panic!("an asynchronous event: {event:?}");
    }
}

pub(crate) fn try_open(name: &str, parameters: &str) -> Result<Arc<dyn Adapter>> {
    let request = OpenRequest { name, parameters, sink: Arc::new(NoAsync) };
    dat_provider_loopback::provider().open(request)
}

/// An adapter of the DAT API.
pub(crate) fn open_ia() -> Ia {
    let registry = Registry::new();
    registry.add_provider(dat_provider_loopback::provider()).expect("an empty registry");
    registry.open("loopback").expect("its adapter opens")
}

/// Checks for each text of parameters that an adapter refuses it, with an error that has these words.
pub(crate) fn check_refused(cases: &[(&str, &[&str])], open: impl Fn(&str) -> Option<Error>) {
    for (text, words) in cases {
        let error = open(text).unwrap_or_else(|| panic!("{text:?} was accepted"));
        assert!(error.is(ReturnType::InvalidParameter), "{error}");
        let said = error.to_string();
        for word in *words {
            assert!(said.contains(word), "{text:?} gives {said:?} without {word:?}");
        }
    }
}

/// An address that no other test uses, so that tests do not find each other's listeners.
pub(crate) fn fresh_address() -> IpAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0x7f01_0001);
    IpAddr::V4(Ipv4Addr::from(NEXT.fetch_add(1, Ordering::Relaxed)))
}
