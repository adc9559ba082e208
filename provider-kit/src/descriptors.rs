//! The limit of descriptors of the process: the IA parameter `descriptors`, which raises it, and the numbers of
//! connections that it allows.
//!
//! An adapter does not change the limit unless the parameter is given, because the limit applies to the whole process
//! and to the programs that it starts, and select(2) overruns its sets if a descriptor has a number above 1023.
#![allow(
    clippy::useless_conversion,
    reason = "the numbers of limits have 32 bits on some machines"
)]

use dat_provider::error::Result;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::parameters::{Limits, invalid};

/// Maximum number of endpoints of an adapter.
const MAX_ENDPOINTS: u64 = 65_536;

/// Bounds of the maximum number of links in the handshake, from a few descriptors to many.
const HANDSHAKES: (u64, u64) = (256, 4096);

/// The value of [`Limits::max_eps`] that [`Descriptors::apply`] replaces. No parameter can set it.
pub const MAX_EPS_FROM_LIMIT: u32 = 0;

/// The soft limit of descriptors that an adapter sets when it is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Descriptors {
    /// The limit does not change.
    #[default]
    Unchanged,
    /// At least this number. Written as the number.
    AtLeast(u64),
    /// The hard limit. Written `hard`.
    Hard,
}

impl Descriptors {
    /// The name of the IA parameter.
    pub const PARAMETER: &'static str = "descriptors";

    /// Reads the value of the parameter.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if it is neither a number nor `hard`.
    pub fn parse(value: &str) -> Result<Self> {
        let number = || value.parse().ok().filter(|number| *number > 0).map(Self::AtLeast);
        let parsed = if value == "hard" { Some(Self::Hard) } else { number() };
        parsed.ok_or_else(|| {
            invalid(format!("invalid value {value:?} for the IA parameter {}", Self::PARAMETER))
                .advise("use hard, or the number of descriptors that the process may have")
        })
    }

    /// Raises the limit as requested, and sets `max_eps` to the number of endpoints that then fit, unless a parameter
    /// has set it.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if the hard limit is lower, or the system forbids the call.
    pub fn apply(self, limits: &mut Limits) -> Result<()> {
        match self {
            Self::Unchanged => {}
            Self::AtLeast(number) => raise(number)?,
            Self::Hard => raise(hard())?,
        }
        if limits.max_eps == MAX_EPS_FROM_LIMIT {
            limits.max_eps = endpoints();
        }
        Ok(())
    }
}

/// The soft and the hard limit, or no limit if the system forbids reading them; a call that exceeds one then fails.
fn limits() -> (u64, u64) {
    let number = |limit| u64::try_from(limit).unwrap_or(u64::MAX);
    getrlimit(Resource::RLIMIT_NOFILE)
        .map_or((u64::MAX, u64::MAX), |(soft, hard)| (number(soft), number(hard)))
}

/// The soft limit.
fn soft() -> u64 {
    limits().0
}

/// The hard limit.
fn hard() -> u64 {
    limits().1
}

/// Raises the soft limit to a number, unless it is higher.
fn raise(number: u64) -> Result<()> {
    if soft() >= number {
        return Ok(());
    }
    let parameter = Descriptors::PARAMETER;
    let refused = |why: &str| {
        invalid(format!("cannot raise the limit of descriptors to {number} ({parameter}=): {why}"))
    };
    if number > hard() {
        return Err(refused(&format!("the hard limit is {}", hard())).advise(format!(
            "use {parameter}=hard, or raise the hard limit (LimitNOFILE= of systemd, limits.conf)"
        )));
    }
    let raised = libc::rlim_t::try_from(number).unwrap_or(libc::RLIM_INFINITY);
    let hard = libc::rlim_t::try_from(hard()).unwrap_or(libc::RLIM_INFINITY);
    setrlimit(Resource::RLIMIT_NOFILE, raised, hard).map_err(|errno| {
        refused("the system forbids it")
            .errno(errno as i32)
            .advise(format!("leave {parameter}= out, and raise the limit before: ulimit -n"))
    })
}

/// The limit as `dat info` shows it: both limits, or one number if they are the same.
#[must_use]
pub fn describe() -> String {
    match (soft(), hard()) {
        (soft, hard) if soft == hard => soft.to_string(),
        (soft, hard) => format!("{soft} (hard limit {hard})"),
    }
}

/// The number of endpoints that the soft limit allows: each connection has a socket, and half of the descriptors are
/// left to the program.
#[must_use]
pub fn endpoints() -> u32 {
    u32::try_from((soft() / 2).clamp(1, MAX_ENDPOINTS)).unwrap_or(u32::MAX)
}

/// Maximum number of accepted links of an adapter whose handshake is not complete: a job connects thousands at once.
/// Three quarters of the descriptors remain for other uses, because any host can cause such links.
#[must_use]
pub fn handshakes() -> usize {
    let (least, most) = HANDSHAKES;
    (soft() / 4).clamp(least, most) as usize
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_the_word_for_the_hard_limit_are_read() {
        assert_eq!(Descriptors::parse("hard"), Ok(Descriptors::Hard));
        assert_eq!(Descriptors::parse("4096"), Ok(Descriptors::AtLeast(4096)));
        for value in ["", "0", "-1", "soft", "1k"] {
            assert!(Descriptors::parse(value).is_err(), "{value}");
        }
    }

    #[test]
    fn a_parameter_for_the_endpoints_wins() {
        let applied = |max_eps| {
            let mut limits = Limits { max_eps, ..Limits::default() };
            Descriptors::Unchanged.apply(&mut limits).expect("nothing is raised");
            limits.max_eps
        };
        assert_eq!(applied(7), 7);
        assert_eq!(applied(MAX_EPS_FROM_LIMIT), endpoints());
    }
}
