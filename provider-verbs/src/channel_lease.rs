//! Which thread handles the events of a queue's completion channel.
//!
//! That is the thread `dat-events`, unless a waiter sleeps on the channel itself, so that the
//! device wakes it directly. After the wait the channel stays lent, since lending and taking back
//! cost system calls and the next wait would lend it again. The thread takes it back when no waiter
//! has used it for a while, because failures must also be noticed while no thread waits.

/// The state of a channel, protected by the lock of its queue.
#[derive(Debug, Default)]
pub(crate) struct ChannelLease {
    /// The thread does not listen to the channel.
    lent: bool,
    /// The thread checks periodically whether to take the channel back.
    listed: bool,
    /// A waiter sleeps on it, or is about to.
    asleep: bool,
    /// A waiter used it since the last check.
    used: bool,
}

/// The work when a waiter borrows the channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub(crate) struct Lending {
    /// The thread must stop listening.
    pub(crate) ignore: bool,
    /// The thread must start checking periodically.
    pub(crate) list: bool,
}

/// The result of a periodic check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Review {
    /// Check again later.
    Later,
    /// Stop checking.
    Enough,
    /// Listen to the channel again, and stop checking.
    TakeBack,
}

impl ChannelLease {
    pub(crate) fn is_lent(&self) -> bool {
        self.lent
    }

    /// A waiter is about to sleep.
    pub(crate) fn lend(&mut self) -> Lending {
        let ignore = !self.lent;
        (self.lent, self.asleep, self.used) = (true, true, true);
        Lending { ignore, list: ignore && !std::mem::replace(&mut self.listed, true) }
    }

    /// The waiter no longer sleeps on it; returns whether the thread must start checking
    /// periodically.
    pub(crate) fn leave(&mut self) -> bool {
        if !std::mem::take(&mut self.asleep) {
            return false;
        }
        self.used = true;
        self.lent && !std::mem::replace(&mut self.listed, true)
    }

    /// Takes the channel back at once; returns whether it was lent.
    pub(crate) fn take_back(&mut self) -> bool {
        self.asleep = false;
        std::mem::take(&mut self.lent)
    }

    /// The periodic check.
    pub(crate) fn review(&mut self) -> Review {
        if self.asleep || !self.lent {
            // A waiter that sleeps now puts the channel back on the list when it wakes up.
            self.listed = false;
            return Review::Enough;
        }
        if std::mem::take(&mut self.used) {
            return Review::Later;
        }
        (self.lent, self.listed) = (false, false);
        Review::TakeBack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Lending = Lending { ignore: false, list: false };

    #[test]
    fn consecutive_waits_lend_it_once() {
        let mut lease = ChannelLease::default();
        assert_eq!(lease.lend(), Lending { ignore: true, list: true });
        assert!(!lease.leave(), "it is on the list");
        assert_eq!(lease.lend(), NOTHING);
        assert!(!lease.leave());
        assert!(lease.is_lent());
    }

    #[test]
    fn it_is_taken_back_if_no_thread_waited_between_two_checks() {
        let mut lease = ChannelLease::default();
        let _ = lease.lend();
        let _ = lease.leave();
        assert_eq!(lease.review(), Review::Later, "used since the last check");
        assert_eq!(lease.review(), Review::TakeBack);
        assert!(!lease.is_lent());
        assert_eq!(lease.lend(), Lending { ignore: true, list: true }, "and lent again");
    }

    #[test]
    fn nothing_is_checked_during_a_long_wait() {
        let mut lease = ChannelLease::default();
        let _ = lease.lend();
        assert_eq!(lease.review(), Review::Enough);
        assert!(lease.is_lent());
        assert!(lease.leave(), "a waiter that wakes up makes the thread check again");
        assert_eq!(lease.review(), Review::Later);
        assert_eq!(lease.review(), Review::TakeBack);
    }

    #[test]
    fn after_take_back_the_next_check_ends_the_checks() {
        let mut lease = ChannelLease::default();
        let _ = lease.lend();
        assert!(lease.take_back());
        assert!(!lease.take_back());
        assert!(!lease.leave(), "no waiter sleeps on it");
        assert_eq!(lease.lend(), Lending { ignore: true, list: false }, "still on the list");
        assert!(lease.take_back());
        assert_eq!(lease.review(), Review::Enough);
        assert_eq!(lease.lend(), Lending { ignore: true, list: true });
    }

    #[test]
    fn leaving_without_a_wait_has_no_effect() {
        let mut lease = ChannelLease::default();
        assert!(!lease.leave());
        assert_eq!(lease.review(), Review::Enough);
    }
}
