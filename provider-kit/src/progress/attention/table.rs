//! The reader of a link: one constant table of state and event.
//!
//! Every pair has an entry, and the compiler proves it: the table is built at compile time from the rules below, each
//! cell exactly once. The page `docs/attention.md` is generated from this table.

use std::time::Duration;

macro_rules! names {
    ($(#[$what:meta])* $type:ident { $($(#[doc = $doc:literal])+ $name:ident,)+ }) => {
        $(#[$what])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum $type {
            $($(#[doc = $doc])+ $name,)+
        }

        impl $type {
            const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Its name.
            #[allow(dead_code, reason = "only tests use the names of events")]
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }

            /// Its description.
            #[cfg(test)]
            const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($doc),+),)+
                }
            }
        }
    };
}

names! {
    /// The reader of a link.
    State {
        /// The driver reads the link when its descriptor is readable.
        Driver,
        /// The driver reads the link in its next pass, because a read left data behind.
        NextPass,
        /// The link is lent until the consumer's requests complete: every poll of its completion queues reads it.
        Borrowed,
        /// The link is lent: every poll of its completion queues reads it.
        EveryPoll,
        /// The link is lent: a poll reads it when its doorbell has rung.
        Doorbell,
        /// The link is lent: a poll reads it when the epoll set of the completion queue reports its descriptor.
        PollSet,
        /// A waiter of the only completion queue that polls the link sleeps on its descriptor, and reads it when it wakes up.
        Waiter,
        /// The same on a word that the peer changes. The driver reads the link, too, when its descriptor is readable.
        WordWaiter,
        /// The connection has ended, and the link is being closed.
        Closed,
    }
}

names! {
    /// Events that may change the reader of a link.
    Event {
        /// A read of the driver or of a poll left data behind.
        DataLeft,
        /// A pass of the driver has reached the link.
        PassBegan,
        /// The consumer polls for the completion of its requests, and each poll reads every link.
        AwaitsRequests,
        /// The requests of the consumer are complete: it can stop polling.
        RequestsDone,
        /// Polls are faster than the driver, and each of them reads every link.
        LentToEveryPoll,
        /// Polls are faster than the driver, and check doorbells.
        LentByDoorbell,
        /// Polls are faster than the driver, and check the epoll set of their completion queue.
        LentByPollSet,
        /// A check of the lease has found that the consumer does not poll.
        ConsumerAway,
        /// A waiter of a completion queue is about to sleep.
        ConsumerSleeps,
        /// A waiter is about to sleep on the descriptor of the link.
        WaiterSleeps,
        /// A waiter is about to sleep on a word of the link.
        WaiterSleepsOnWord,
        /// That waiter has taken its completions, or has gone.
        WaiterLeaves,
        /// The driver had to wait for the lock of the queue pair, or the doorbell has not rung for several checks.
        DriverRecalls,
        /// The connection ends.
        Ended,
    }
}

/// The thread that an arrival wakes.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    /// The driver: its thread, or the waiter that has claimed its work.
    Driver,
    /// The waiter that sleeps on the link.
    Waiter,
    /// None: the reader runs already, or polls.
    None,
    /// None, but the next poll finds a mark: the peer sets a bit, or the kernel reports the descriptor.
    Poll,
}

/// The longest time between two checks of a lease while a processor is idle: an arrival on a lent link is seen
/// within this time and a wake-up of the thread, even if the consumer does not poll any more.
pub(in crate::progress) const LEASE_BOUND: Duration = Duration::from_micros(50);

impl State {
    /// Returns true if pollers read the link.
    #[inline]
    pub(crate) const fn is_lent(self) -> bool {
        matches!(self, Self::Borrowed | Self::EveryPoll | Self::Doorbell | Self::PollSet)
    }

    /// The thread that an arrival wakes.
    #[cfg(test)]
    const fn woken(self) -> Woken {
        match self {
            Self::Driver => Woken::Driver,
            Self::Waiter | Self::WordWaiter => Woken::Waiter,
            Self::NextPass | Self::Borrowed | Self::EveryPoll | Self::Closed => Woken::None,
            Self::Doorbell | Self::PollSet => Woken::Poll,
        }
    }

    /// The longest time until an arrival is seen, besides the time until the reader runs; without an end if no thread
    /// reads the link.
    #[allow(dead_code, reason = "Rust 1.85 does not count uses in constants without a name")]
    const fn bound(self) -> Option<Duration> {
        match self {
            Self::Driver | Self::NextPass | Self::Waiter | Self::WordWaiter => Some(Duration::ZERO),
            Self::Borrowed | Self::EveryPoll | Self::Doorbell | Self::PollSet => Some(LEASE_BOUND),
            Self::Closed => None,
        }
    }

    /// The state after an event.
    #[inline]
    pub(crate) const fn after(self, event: Event) -> Self {
        match TABLE[self as usize][event as usize] {
            Some(next) => next,
            None => self,
        }
    }
}

const STATES: usize = State::ALL.len();
const EVENTS: usize = Event::ALL.len();

use Event as E;
use State as S;

/// Events, the states in which they have the same effect, and the next state; nothing if the state stays.
struct Rule(&'static [Event], &'static [State], Option<State>);

const OF_DRIVER: &[State] = &[S::Driver, S::NextPass];
const OF_WAITER: &[State] = &[S::Waiter, S::WordWaiter];
const LENT: &[State] = &[S::Borrowed, S::EveryPoll, S::Doorbell, S::PollSet];
/// Lent for as long as the consumer polls.
const LENT_TO_POLLER: &[State] = &[S::EveryPoll, S::Doorbell, S::PollSet];

const RULES: &[Rule] = &[
    Rule(&[E::DataLeft], OF_DRIVER, Some(S::NextPass)),
    // The next poll reads it.
    Rule(&[E::DataLeft], LENT, None),
    Rule(&[E::PassBegan], OF_DRIVER, Some(S::Driver)),
    Rule(&[E::PassBegan], LENT, None),
    Rule(&[E::AwaitsRequests], OF_DRIVER, Some(S::Borrowed)),
    Rule(&[E::AwaitsRequests], LENT, None),
    Rule(&[E::RequestsDone], &[S::Borrowed], Some(S::Driver)),
    Rule(&[E::RequestsDone], OF_DRIVER, None),
    Rule(&[E::RequestsDone], LENT_TO_POLLER, None),
    // Of a lent link: the completion queue has got more links, or this one has become one of its hot ones.
    Rule(&[E::LentToEveryPoll], OF_DRIVER, Some(S::EveryPoll)),
    Rule(&[E::LentToEveryPoll], LENT, Some(S::EveryPoll)),
    Rule(&[E::LentByDoorbell], OF_DRIVER, Some(S::Doorbell)),
    Rule(&[E::LentByDoorbell], LENT, Some(S::Doorbell)),
    Rule(&[E::LentByPollSet], OF_DRIVER, Some(S::PollSet)),
    Rule(&[E::LentByPollSet], LENT, Some(S::PollSet)),
    Rule(&[E::ConsumerAway, E::ConsumerSleeps, E::DriverRecalls], LENT, Some(S::Driver)),
    Rule(&[E::ConsumerAway, E::ConsumerSleeps, E::DriverRecalls], OF_DRIVER, None),
    Rule(&[E::WaiterSleeps], &[S::Driver], Some(S::Waiter)),
    Rule(&[E::WaiterSleeps], &[S::NextPass], None),
    Rule(&[E::WaiterSleeps], LENT, Some(S::Waiter)),
    Rule(&[E::WaiterSleeps], OF_WAITER, Some(S::Waiter)),
    Rule(&[E::WaiterSleepsOnWord], &[S::Driver], Some(S::WordWaiter)),
    Rule(&[E::WaiterSleepsOnWord], &[S::NextPass], None),
    Rule(&[E::WaiterSleepsOnWord], LENT, Some(S::WordWaiter)),
    Rule(&[E::WaiterSleepsOnWord], OF_WAITER, Some(S::WordWaiter)),
    Rule(&[E::WaiterLeaves], OF_DRIVER, None),
    Rule(&[E::WaiterLeaves], LENT, None),
    // It may not end the sleep of the waiter.
    Rule(&[E::DataLeft], OF_WAITER, Some(S::NextPass)),
    Rule(&[E::WaiterLeaves], OF_WAITER, Some(S::Driver)),
    Rule(&[E::PassBegan, E::AwaitsRequests, E::RequestsDone], OF_WAITER, None),
    Rule(&[E::LentToEveryPoll, E::LentByDoorbell, E::LentByPollSet], OF_WAITER, None),
    Rule(&[E::ConsumerAway, E::ConsumerSleeps, E::DriverRecalls], OF_WAITER, None),
    Rule(&[E::Ended], OF_WAITER, Some(S::Closed)),
    Rule(&[E::Ended], OF_DRIVER, Some(S::Closed)),
    Rule(&[E::Ended], LENT, Some(S::Closed)),
    Rule(Event::ALL, &[S::Closed], None),
];

/// The table; the build fails if a cell is missing or set twice.
const TABLE: [[Option<State>; EVENTS]; STATES] =
    dat_sync::transition_table!(RULES, Rule, STATES, EVENTS);

/// An arrival is always seen: a lent link returns to the driver when the consumer does not poll, and each state of an
/// open link names a bound.
const _: () = {
    let mut state = 0;
    while state < STATES {
        let from = State::ALL[state];
        let away = from.after(E::ConsumerAway);
        let asleep = from.after(E::ConsumerSleeps);
        assert!(!away.is_lent() && !asleep.is_lent(), "a link stays lent");
        assert!(from.bound().is_some() != matches!(from, S::Closed), "a state without a bound");
        assert!(matches!(from.after(E::Ended), S::Closed), "a link outlives its connection");
        if let Some(bound) = from.bound() {
            assert!(bound.as_nanos() <= LEASE_BOUND.as_nanos(), "an arrival waits for too long");
        }
        state += 1;
    }
};

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use std::fmt::Write;

    use super::*;

    fn page() -> String {
        let mut page = String::from(
            "# The reader of a link\n\nThis page is generated from provider-kit/src/progress/attention/table.rs: \
             `DAT_BLESS=1 cargo test -p dat-provider-kit attention`.\n\nA connection over shared memory or TCP has one \
             link, and one reader at a time. The driver is the thread `dat-progress` of the adapter, or a thread in \
             `dat_evd_wait` or `dat_cno_wait` that has claimed its work. While a consumer polls a dispatcher for connection \
             events, as MPI libraries do when they await a message in memory, these polls are the driver, and read \
             the links of up to four completion queues as polls of these do; the thread checks every 50 us (500 us while \
             every processor is busy) whether there are any, and reads what they have left. While every processor is \
             busy, the thread checks leases less often, up to every 2 ms. A child of `fork` reads no link of its parent.\n\n\
             The sockets of an endpoint for datagrams are read as a link that is in the state Driver, EveryPoll or \
             PollSet, within the same bounds.\n\n| state | meaning | an arrival wakes | and is \
             seen within |\n| --- | --- | --- | --- |\n",
        );
        for state in State::ALL {
            let woken = match state.woken() {
                Woken::Driver => "the driver",
                Woken::Waiter => "the waiter",
                Woken::None => "no thread",
                Woken::Poll => "no thread; the next poll finds a mark",
            };
            let bound = match state.bound() {
                None => "-".to_owned(),
                Some(_) if OF_WAITER.contains(state) => "a wake-up of the waiter".to_owned(),
                Some(Duration::ZERO) => "a wake-up or pass of the driver".to_owned(),
                Some(bound) => format!(
                    "the next poll, or {} us and a wake-up of the thread",
                    bound.as_micros()
                ),
            };
            let _ = writeln!(page, "| {} |{} | {woken} | {bound} |", state.name(), state.meaning());
        }
        page.push_str("\n| event | meaning |\n| --- | --- |\n");
        for event in Event::ALL {
            let _ = writeln!(page, "| {} |{} |", event.name(), event.meaning());
        }
        page.push_str("\nThe state after each event:\n\n| |");
        State::ALL.iter().for_each(|state| _ = write!(page, " {} |", state.name()));
        page.push_str("\n|");
        page.push_str(&" --- |".repeat(STATES + 1));
        for event in Event::ALL {
            let _ = write!(page, "\n| {} |", event.name());
            for state in State::ALL {
                let next = state.after(*event);
                let _ = write!(page, " {} |", if next == *state { "" } else { next.name() });
            }
        }
        page.push('\n');
        page
    }

    #[test]
    fn the_page_is_that_of_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/attention.md");
        if std::env::var_os("DAT_BLESS").is_some() {
            std::fs::write(path, page()).expect("a writable page");
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(written == page(), "docs/attention.md: generate it again");
    }
}
