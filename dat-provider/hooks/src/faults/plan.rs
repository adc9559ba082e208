//! The plan: what goes wrong, and when.

use crate::parameters::parts;
use dat_provider::error::{Error, Result, ReturnType, Subtype};

/// The prefix of the parameter names.
const PREFIX: &str = "fault.";

/// The fate of an attempt to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConnectFault {
    /// The attempt is refused, but not by a consumer.
    Refuse,
    /// There is no route to the address.
    Unreachable,
    /// No answer ever arrives.
    Silent,
}

/// A side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttemptSide {
    /// The side that requested it.
    Connect,
    /// The side that accepted it.
    Accept,
}

/// An asynchronous error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AsyncFault {
    /// The adapter can no longer be used.
    Catastrophic,
    /// The provider had an internal error.
    Internal,
    /// The queue pair to which the post was made broke.
    EpBroken,
}

/// The faults; by default none. The [module](super) documents each fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    pub(super) connect: Option<ConnectFault>,
    pub(super) connect_nth: u64,
    pub(super) break_after: u64,
    pub(super) register_nth: u64,
    pub(super) post_nth: u64,
    pub(super) create_nth: u64,
    pub(super) delay: u64,
    pub(super) reorder: Option<u64>,
    pub(super) async_fault: Option<AsyncFault>,
    pub(super) async_after: u64,
    pub(super) late_established: Option<AttemptSide>,
}

/// Methods that set a field of the plan.
macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident($argument:ident: $type:ty) = $value:expr;)+) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $field(mut self, $argument: $type) -> Self {
            self.$field = $value;
            self
        }
    )+};
}

impl FaultPlan {
    /// No fault.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Attempts to connect fail: all of them, or only the one chosen by [`Self::connect_nth`].
        connect(fault: ConnectFault) = Some(fault);
        /// Only the n-th attempt to connect fails; 0 for all.
        connect_nth(n: u64) = n;
        /// Connections break after the n-th request on a side; 0 for never.
        break_after(n: u64) = n;
        /// The n-th registration fails; 0 for none.
        register_nth(n: u64) = n;
        /// The n-th post fails; 0 for none.
        post_nth(n: u64) = n;
        /// The n-th creation fails; 0 for none.
        create_nth(n: u64) = n;
        /// Completions are held back for this number of polls.
        delay(polls: u64) = polls;
        /// Completions of different streams are reordered pseudorandomly, starting from the seed.
        reorder(seed: u64) = Some(seed);
        /// On that side, a connection is reported as established only when a receive has completed.
        late_established(side: AttemptSide) = Some(side);
    }

    /// An asynchronous error is raised after the n-th post to a queue pair; 0 for never.
    #[must_use]
    pub fn async_after(mut self, fault: AsyncFault, n: u64) -> Self {
        (self.async_fault, self.async_after) = (Some(fault), n);
        self
    }

    /// Applies the `fault.KEY=VALUE` pairs of IA parameters, where a later one wins. Returns the
    /// changed plan, and the parameters without those pairs but otherwise unchanged.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` for an unknown key or value, with those that are known.
    pub fn with_parameters(mut self, parameters: &str) -> Result<(Self, String)> {
        let mut rest = String::with_capacity(parameters.len());
        let mut given = Vec::new();
        for (part, separators) in parts(parameters) {
            let Some(fault) = part.strip_prefix(PREFIX) else {
                rest.push_str(part);
                rest.push_str(separators);
                continue;
            };
            let Some((key, value)) = fault.split_once('=') else {
                return Err(invalid(format!("the IA parameter {part:?} has no value"))
                    .advise(format!("use {PREFIX}KEY=VALUE; {}", keys())));
            };
            let Some(entry) = KEYS.iter().find(|entry| entry.name == key) else {
                return Err(invalid(format!(
                    "unknown IA parameter \"{PREFIX}{key}\" (with the value {value:?})"
                ))
                .advise(keys()));
            };
            if (entry.set)(&mut self, value).is_none() {
                return Err(invalid(format!(
                    "invalid value {value:?} for the IA parameter \
                     {PREFIX}{key}"
                ))
                .advise(format!("give {}", entry.accepts)));
            }
            given.push((key, value));
        }
        let of = |key: &str| given.iter().find(|(name, _)| *name == key);
        for (when, what, is_known) in [
            ("connect_nth", "connect", self.connect.is_some()),
            ("async_after", "async", self.async_fault.is_some()),
        ] {
            if let (Some((_, value)), false) = (of(when), is_known) {
                return Err(invalid(format!(
                    "the IA parameter {PREFIX}{when}={value} has no effect alone"
                ))
                .advise(format!("use {PREFIX}{what} as well")));
            }
        }
        if of("async").is_some() && of("async_after").is_none() {
            self.async_after = self.async_after.max(1);
        }
        Ok((self, rest))
    }
}

/// A key: a description of the values that it accepts, and its setter.
struct Key {
    name: &'static str,
    accepts: &'static str,
    set: fn(&mut FaultPlan, &str) -> Option<()>,
}

const NUMBER: &str = "a whole number from 0 (never) to 18446744073709551615";
const NUMBER_OR_ALL: &str = "a whole number from 0 (all) to 18446744073709551615";
const SEED: &str = "a whole number from 0 to 18446744073709551615";

const KEYS: [Key; 11] = [
    key("connect", "refuse, unreachable or silent", |plan, value| {
        plan.connect = Some(match value {
            "refuse" => ConnectFault::Refuse,
            "unreachable" => ConnectFault::Unreachable,
            "silent" => ConnectFault::Silent,
            _ => return None,
        });
        Some(())
    }),
    key("connect_nth", NUMBER_OR_ALL, |plan, value| number(&mut plan.connect_nth, value)),
    key("break_after", NUMBER, |plan, value| number(&mut plan.break_after, value)),
    key("register_nth", NUMBER, |plan, value| number(&mut plan.register_nth, value)),
    key("post_nth", NUMBER, |plan, value| number(&mut plan.post_nth, value)),
    key("create_nth", NUMBER, |plan, value| number(&mut plan.create_nth, value)),
    key("delay", NUMBER, |plan, value| number(&mut plan.delay, value)),
    key("reorder", SEED, |plan, value| number(plan.reorder.insert(0), value)),
    key("async", "catastrophic, internal or ep_broken", |plan, value| {
        plan.async_fault = Some(match value {
            "catastrophic" => AsyncFault::Catastrophic,
            "internal" => AsyncFault::Internal,
            "ep_broken" => AsyncFault::EpBroken,
            _ => return None,
        });
        Some(())
    }),
    key("async_after", NUMBER, |plan, value| number(&mut plan.async_after, value)),
    key("late_established", "connect or accept", |plan, value| {
        plan.late_established = Some(match value {
            "connect" => AttemptSide::Connect,
            "accept" => AttemptSide::Accept,
            _ => return None,
        });
        Some(())
    }),
];

const fn key(
    name: &'static str,
    accepts: &'static str,
    set: fn(&mut FaultPlan, &str) -> Option<()>,
) -> Key {
    Key { name, accepts, set }
}

fn number(place: &mut u64, value: &str) -> Option<()> {
    *place = value.parse().ok()?;
    Some(())
}

fn keys() -> String {
    let names: Vec<_> = KEYS.iter().map(|key| format!("{PREFIX}{}", key.name)).collect();
    format!("the fault parameters are {}", names.join(", "))
}

fn invalid(reason: String) -> Error {
    Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1).because(reason)
}
