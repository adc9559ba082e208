//! Who hears what the completion channel of a queue tells.
//!
//! That is the thread `dat-events`, unless a waiter sleeps on the channel itself and so is woken by
//! the device. After the wait the channel stays lent, since the next wait would have to lend it
//! again, and both take system calls. It is taken back when nobody used it for a while, because
//! failures are to be heard also while nobody waits.

/// The state of a channel; under the lock of its queue.
#[derive(Debug, Default)]
pub(crate) struct Ear {
    /// The thread does not listen.
    lent: bool,
    /// The thread looks from time to time whether to take it back.
    listed: bool,
    /// A waiter sleeps on it, or is about to.
    asleep: bool,
    /// Somebody waited since the thread looked.
    used: bool,
}

/// What is to be done for a waiter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub(crate) struct Lending {
    /// The thread has to stop listening.
    pub(crate) ignore: bool,
    /// The thread has to look from time to time.
    pub(crate) list: bool,
}

/// What the thread does with a channel on its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// It looks again later.
    Later,
    /// It need not look any more.
    Enough,
    /// It listens again, and looks no more.
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

    /// Nobody sleeps on it any more; whether the thread has to look from time to time.
    pub(crate) fn leave(&mut self) -> bool {
        if !std::mem::take(&mut self.asleep) {
            return false;
        }
        self.used = true;
        self.lent && !std::mem::replace(&mut self.listed, true)
    }

    /// It is needed back at once; whether it was lent.
    pub(crate) fn take_back(&mut self) -> bool {
        self.asleep = false;
        std::mem::take(&mut self.lent)
    }

    /// The thread looks.
    pub(crate) fn look(&mut self) -> Look {
        if self.asleep || !self.lent {
            // Who sleeps for long says so when he wakes.
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
        assert_eq!(ear.lend(), Lending { ignore: true, list: true }, "and lent anew");
    }

    #[test]
    fn nobody_looks_while_somebody_sleeps_for_long() {
        let mut ear = Ear::default();
        let _ = ear.lend();
        assert_eq!(ear.look(), Look::Enough);
        assert!(ear.is_lent());
        assert!(ear.leave(), "so who wakes has the thread look again");
        assert_eq!(ear.look(), Look::Later);
        assert_eq!(ear.look(), Look::TakeBack);
    }

    #[test]
    fn taken_back_at_once_it_is_off_the_list_with_the_next_look() {
        let mut ear = Ear::default();
        let _ = ear.lend();
        assert!(ear.take_back());
        assert!(!ear.take_back());
        assert!(!ear.leave(), "nobody sleeps on it");
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
