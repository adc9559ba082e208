//! Causes that keep an operation from making progress.

use std::fmt;

/// Defines the causes from a table of `Variant = number, "clause", "advice";`.
macro_rules! causes {
    ($($variant:ident = $number:literal, $clause:literal, $advice:literal;)+) => {
        /// The reason why the oldest operation of a queue pair waits. `dat top`, `dat_error_detail()` and the output of
        /// `DAT_DBG_TYPE` use the same words.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum WaitCause {
            $(#[doc = concat!("`", $clause, "`")] $variant = $number,)+
        }

        impl WaitCause {
            /// Every cause.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The cause, as a clause without a capital or a full stop.
            #[must_use]
            pub const fn clause(self) -> &'static str {
                match self {
                    $(Self::$variant => $clause,)+
                }
            }

            /// The advice, as a clause.
            #[must_use]
            pub const fn advice(self) -> &'static str {
                match self {
                    $(Self::$variant => $advice,)+
                }
            }
        }
    };
}

causes! {
    NoReceive = 1, "no receive is posted at the peer",
        "post receives at the peer before its consumer waits for something else";
    CompletionQueueFull = 2, "the completion queue is full",
        "dequeue its completions, or create a longer event dispatcher";
    PeerStopped = 3, "the process of the peer is stopped",
        "continue it (SIGCONT), or detach the debugger";
    LinkFull = 4, "the link is full, and the peer does not read it",
        "see what the process of the peer does: it neither polls nor waits, or has too little processor time";
    Peer = 5, "the peer has not executed it",
        "see what the process of the peer does, and whether the network between both works";
    EarlierReads = 6, "earlier RDMA reads are not answered",
        "see what the process of the peer does; a fence, or the limit of reads in flight, keeps later requests back";
    Consumer = 7, "its completion waits for the consumer",
        "dequeue events, or wait for them";
    Answer = 8, "the peer has not answered the connection request",
        "see whether the consumer of the peer accepts requests";
}

impl WaitCause {
    /// The number by which pages of `dat top` contain it; never 0.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The cause with a number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|cause| cause.number() == number)
    }
}

impl fmt::Display for WaitCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.clause())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_a_number_of_its_own_and_two_clauses() {
        for cause in WaitCause::ALL {
            assert_eq!(WaitCause::from_number(cause.number()), Some(*cause));
            for clause in [cause.clause(), cause.advice()] {
                assert!(clause.starts_with(char::is_lowercase) && !clause.ends_with('.'));
            }
        }
        assert_eq!(WaitCause::from_number(0), None);
        assert_eq!(WaitCause::from_number(u8::MAX), None);
    }
}
