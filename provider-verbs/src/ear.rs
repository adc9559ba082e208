//! Which thread handles the events of a queue's completion channel.
//!
//! That is the thread `dat-events`, unless a waiter sleeps on the channel itself, so that the
//! device wakes it directly. After the wait the channel stays lent, since lending and taking back
//! cost system calls and the next wait would lend it again. The thread takes it back when no waiter
//! has used it for a while, because failures must also be noticed while no thread waits.

/// The state of a channel, protected by the lock of its queue.
#[derive(Debug, Default)]
pub(crate) struct Ear {
    /// The thread does not listen to the channel.
    lent: bool,
    /// The thread checks periodically whether to take the channel back.
    listed: bool,
    /// A waiter sleeps on it, or is about to.
    asleep: bool,
    /// A waiter used it since the last check.
    used: bool,
}

/// What must be done when a waiter borrows the channel.
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
pub(crate) enum Look {
    /// Check again later.
    Later,
    /// Stop checking.
    Enough,
    /// Listen to the channel again, and stop checking.
    TakeBack,
}

impl Ear {
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
    pub(crate) fn look(&mut self) -> Look {
        if self.asleep || !self.lent {
            // A waiter that sleeps now puts the channel back on the list when it wakes up.
            self.listed = false;
            return Look::Enough;
        }
        if std::mem::take(&mut self.used) {
            return Look::Later;
        }
        (self.lent, self.listed) = (false, false);
        Look::TakeBack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Lending = Lending { ignore: false, list: false };

    #[test]
    fn waits_one_after_the_other_lend_it_once() {
        let mut ear = Ear::default();
        assert_eq!(ear.lend(), Lending { ignore: true, list: true });
        assert!(!ear.leave(), "it is on the list");
        assert_eq!(ear.lend(), NOTHING);
        assert!(!ear.leave());
        assert!(ear.is_lent());
    }

    #[test]
    fn it_is_taken_back_when_nobody_waited_between_two_looks() {
        let mut ear = Ear::default();
        let _ = ear.lend();
        let _ = ear.leave();
        assert_eq!(ear.look(), Look::Later, "used since the last look");
        assert_eq!(ear.look(), Look::TakeBack);
        assert!(!ear.is_lent());
        assert_eq!(ear.lend(), Lending { ignore: true, list: true }, "and lent again");
    }

    #[test]
    fn nobody_looks_while_somebody_sleeps_for_long() {
        let mut ear = Ear::default();
        let _ = ear.lend();
        assert_eq!(ear.look(), Look::Enough);
        assert!(ear.is_lent());
        assert!(ear.leave(), "a waiter that wakes up makes the thread check again");
        assert_eq!(ear.look(), Look::Later);
        assert_eq!(ear.look(), Look::TakeBack);
    }

    #[test]
    fn taken_back_at_once_it_is_off_the_list_with_the_next_look() {
        let mut ear = Ear::default();
        let _ = ear.lend();
        assert!(ear.take_back());
        assert!(!ear.take_back());
        assert!(!ear.leave(), "no waiter sleeps on it");
        assert_eq!(ear.lend(), Lending { ignore: true, list: false }, "still on the list");
        assert!(ear.take_back());
        assert_eq!(ear.look(), Look::Enough);
        assert_eq!(ear.lend(), Lending { ignore: true, list: true });
    }

    #[test]
    fn who_did_not_sleep_leaves_nothing_behind() {
        let mut ear = Ear::default();
        assert!(!ear.leave());
        assert_eq!(ear.look(), Look::Enough);
    }
}
