//! Limits of the whole process.

use dat_conformance::{Node, exchange, expect_request, state, until};
use dat_core::{Connect, EpProvision, EpState, Event};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::process::mapped_files;

/// The soft limit that a service gets from systemd, and the hard limit.
const SOFT: u64 = 1024;
const HARD: u64 = 4096;

/// Needs a process of its own, because it lowers the limit.
///
/// # Panics
/// If an open changes the limit without the parameter, or does not follow the parameter.
pub fn an_open_leaves_the_limit_alone_unless_a_parameter_raises_it(open: fn(&str) -> Node) {
    let limit = Rlimit { current: Some(SOFT), maximum: Some(HARD) };
    setrlimit(Resource::Nofile, limit).expect("lower");
    let opened = |parameters| {
        let max_eps = open(parameters).ia.attributes().max_eps;
        (max_eps, getrlimit(Resource::Nofile).current)
    };
    // Half of the descriptors are left to the program.
    assert_eq!(opened(""), (SOFT as u32 / 2, Some(SOFT)));
    assert_eq!(opened("max_eps=7"), (7, Some(SOFT)));
    assert_eq!(opened("descriptors=1000"), (SOFT as u32 / 2, Some(SOFT)), "it is never lowered");
    assert_eq!(opened("descriptors=2000"), (1000, Some(2000)));
    assert_eq!(opened("max_eps=7,descriptors=hard"), (7, Some(HARD)));
    assert_eq!(opened(""), (HARD as u32 / 2, Some(HARD)));
}

/// The process may not write large files, as after `ulimit -f 64`. Needs a process of its own.
///
/// # Panics
/// If shared memory is used, or TCP is not.
pub fn small_files_raise_no_signal(open: fn(&str) -> Node) {
    let limit = Rlimit { current: Some(64 << 10), maximum: None };
    setrlimit(Resource::Fsize, limit).expect("lower");
    let node = open("");
    let (client, server) = (node.ep(), node.ep());
    let psp = node.ia.psp_create_any(&node.requests, EpProvision::Consumer).expect("a qualifier");
    let is_shm = node.ia.attributes().adapter_name == "shm";
    match client.connect(&Connect::to(node.address(), psp.qualifier())) {
        Err(error) => {
            assert!(is_shm && error.to_string().contains("ulimit -f"), "{error}");
            return;
        }
        Ok(()) if is_shm => {
            until("the attempt fails", || state(&client) == EpState::Disconnected);
            return;
        }
        Ok(()) => {}
    }
    expect_request(&node.requests).request.accept(Some(&server), b"").expect("unconnected");
    until("it is established", || {
        [&client, &server].iter().all(|ep| state(ep) == EpState::Connected)
    });
    assert!(
        dat_conformance::drain(&node.connect)
            .iter()
            .all(|event| { matches!(event, Event::Connection(_)) })
    );
    exchange(&node, &client, &server);
    // The file of the doorbells is as long as the limit.
    assert!(mapped_files() <= 1, "the connection uses shared memory");
}
