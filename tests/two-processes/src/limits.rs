//! Limits of the whole process.

use dat_conformance::Node;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

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
