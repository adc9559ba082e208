//! Posts whose requests polls send, or execute.
//!
//! MPI libraries write a long message in several posts, await no completion of them, and then poll a dispatcher for
//! connection events. Each post would be a system call of its own. So the posts after the first one leave their requests
//! to the next such poll, as long as polls follow: the thread checks that, and sends what was left if there was no poll.
//! Polls that were late are followed by a pause.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use dat_sync::clock;

use super::lease_history::{LeaseEnd, LeaseHistory, MIN_CHECK_INTERVAL, intervals};

/// Posts leave requests to polls after this many polls that followed several posts.
const MIN_BURSTS: u32 = 4;
/// This many such polls are not counted after a lease was refused: each request for a lease wakes the thread.
const UNCOUNTED_BURSTS: u32 = 64;
/// The lease ends after this many consecutive checks between which polls have sent nothing.
const MAX_UNUSED: u32 = 4;

/// What posts and polls share with the thread.
#[derive(Default)]
pub(super) struct LeftPosts {
    /// True while posts leave requests to polls.
    is_lent: AtomicBool,
    /// True if a request was left since the last poll.
    has_left: AtomicBool,
    /// The poll count at the last post, and the number of posts since that poll whose requests may be left.
    polls_seen: AtomicU32,
    posts: AtomicU32,
    /// Number of polls that followed several posts, since they were last counted.
    bursts: AtomicU32,
    /// Number of the next such polls that are not counted.
    uncounted: AtomicU32,
}

/// The place of a post between two polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Posted {
    /// It is the first one since the last poll.
    First,
    /// As `First`, and polls have followed enough posts to begin a lease.
    Begins,
    /// It follows another one.
    Follows,
}

impl LeftPosts {
    /// A request is posted whose completion the consumer does not await, and which polls could send (`may_wait`).
    /// `polls` counts the polls. Concurrent posts of two threads may count as one.
    #[inline]
    pub(super) fn note_post(&self, polls: u32, may_wait: bool) -> Posted {
        let posts = self.posts.load(Ordering::Relaxed);
        if self.polls_seen.load(Ordering::Relaxed) == polls {
            self.posts.store(posts.wrapping_add(u32::from(may_wait)), Ordering::Relaxed);
            return Posted::Follows;
        }
        self.polls_seen.store(polls, Ordering::Relaxed);
        self.posts.store(u32::from(may_wait), Ordering::Relaxed);
        if posts > 1 && !self.is_lent() { self.note_burst() } else { Posted::First }
    }

    /// A poll has followed several posts.
    fn note_burst(&self) -> Posted {
        let uncounted = self.uncounted.load(Ordering::Relaxed);
        if uncounted > 0 {
            self.uncounted.store(uncounted - 1, Ordering::Relaxed);
            return Posted::First;
        }
        let bursts = self.bursts.load(Ordering::Relaxed) + 1;
        let begins = bursts >= MIN_BURSTS;
        self.bursts.store(if begins { 0 } else { bursts }, Ordering::Relaxed);
        if begins { Posted::Begins } else { Posted::First }
    }

    /// True if posts leave requests to polls.
    #[inline]
    pub(super) fn is_lent(&self) -> bool {
        self.is_lent.load(Ordering::Relaxed)
    }

    /// A request was left.
    pub(super) fn set_left(&self) {
        self.has_left.store(true, Ordering::Relaxed);
    }

    /// True if a request was left since the last poll.
    #[inline]
    pub(super) fn has_left(&self) -> bool {
        self.has_left.load(Ordering::Relaxed)
    }

    /// A poll takes what was left.
    pub(super) fn take(&self) {
        self.has_left.store(false, Ordering::Relaxed);
    }
}

/// The lease, and the counters that decide whether there is one.
#[derive(Default)]
pub(super) struct PostLease {
    history: LeaseHistory,
    /// Time of the next check of the lease; `None` without a lease.
    due: Option<Instant>,
    /// Number of polls at the last check.
    polls_seen: u32,
    /// Number of requests that polls had sent at the last check, and consecutive checks without more.
    sent_seen: u32,
    unused: u32,
}

impl PostLease {
    /// Returns the time of the next check.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Posts leave requests to polls from now on, unless they were late recently. `sent` counts what was left and sent
    /// so far.
    pub(super) fn begin(&mut self, left: &LeftPosts, (polls, sent): (u32, u32), is_busy: bool) {
        if self.due.is_some() {
            return;
        }
        if self.history.forbids_lease() {
            return left.uncounted.store(UNCOUNTED_BURSTS, Ordering::Relaxed);
        }
        self.history.begin(sent);
        (self.polls_seen, self.sent_seen, self.unused) = (polls, sent, 0);
        self.due = Some(clock::now() + intervals(is_busy).0);
        left.is_lent.store(true, Ordering::Relaxed);
    }

    /// Returns true if the thread must send what was left: a check is due and there was no poll since the last one, or no
    /// lease exists.
    pub(super) fn is_late(&mut self, (polls, sent): (u32, u32), is_busy: bool) -> bool {
        let now = clock::now();
        if self.due.is_none_or(|due| now < due) {
            return self.due.is_none();
        }
        self.due = Some(now + intervals(is_busy).0);
        let has_sent = std::mem::replace(&mut self.sent_seen, sent) != sent;
        self.unused = if has_sent { 0 } else { self.unused + 1 };
        std::mem::replace(&mut self.polls_seen, polls) == polls
    }

    /// A check has left requests to the next poll: checks soon that there was one.
    pub(super) fn check_soon(&mut self) {
        self.due = self.due.map(|due| due.min(clock::now() + MIN_CHECK_INTERVAL));
    }

    /// Ends the lease if the thread had to send something (`has_waited`), or polls have sent nothing for a while.
    pub(super) fn end_if_over(&mut self, left: &LeftPosts, sent: u32, has_waited: bool) {
        if self.due.is_some() && (has_waited || self.unused >= MAX_UNUSED) {
            // Before the driver takes jobs again.
            left.is_lent.store(false, Ordering::Relaxed);
            self.due = None;
            self.history.end(if has_waited { LeaseEnd::Late } else { LeaseEnd::Unused }, sent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bursts of posts, each after a poll, until they begin a lease.
    fn begun() -> (LeftPosts, PostLease) {
        let (left, mut lease) = (LeftPosts::default(), PostLease::default());
        for polls in 1..=MIN_BURSTS {
            let posted = [(); 3].map(|()| left.note_post(polls, true));
            assert_eq!(posted, [Posted::First, Posted::Follows, Posted::Follows]);
        }
        assert_eq!(left.note_post(MIN_BURSTS + 1, true), Posted::Begins);
        lease.begin(&left, (MIN_BURSTS + 1, 0), false);
        (left, lease)
    }

    #[test]
    fn single_posts_begin_no_lease() {
        let left = LeftPosts::default();
        for polls in 1..100 {
            assert_eq!(left.note_post(polls, false), Posted::First);
            assert_eq!(
                left.note_post(polls, true),
                Posted::Follows,
                "of those that count, it is alone"
            );
        }
        assert_eq!(left.note_post(100, true), Posted::First);
        assert!((1..100).all(|_| left.note_post(100, true) == Posted::Follows), "there is no poll");
    }

    #[test]
    fn the_thread_sends_what_no_poll_has_and_a_pause_follows() {
        let (left, mut lease) = begun();
        assert!(!lease.is_late((MIN_BURSTS + 1, 0), false), "no check is due");
        lease.due = Some(clock::now());
        assert!(!lease.is_late((100, 0), false), "there was a poll");
        lease.due = Some(clock::now());
        assert!(lease.is_late((100, 0), false));
        lease.end_if_over(&left, 1, true);
        assert!(!left.is_lent());
        lease.begin(&left, (100, 1), false);
        assert!(!left.is_lent(), "a late lease is followed by a pause");
        assert!(lease.is_late((100, 1), false), "without a lease, nothing is left to polls");
    }

    #[test]
    fn a_refused_lease_is_not_requested_again_soon() {
        let (left, mut lease) = begun();
        lease.end_if_over(&left, 1, true);
        lease.begin(&left, (100, 1), false);
        assert_eq!(left.note_post(MIN_BURSTS + 1, true), Posted::Follows);
        let begins =
            |polls: &u32| [(); 2].map(|()| left.note_post(*polls, true))[0] == Posted::Begins;
        let first = (101..).find(begins);
        assert_eq!(first, Some(100 + UNCOUNTED_BURSTS + MIN_BURSTS));
    }

    #[test]
    fn a_lease_that_saves_nothing_ends() {
        let (left, mut lease) = begun();
        for check in 1..=MAX_UNUSED {
            assert!(left.is_lent());
            lease.due = Some(clock::now());
            assert!(!lease.is_late((100 + check, 0), false));
            lease.end_if_over(&left, 0, false);
        }
        assert!(!left.is_lent());
        lease.begin(&left, (200, 0), false);
        assert!(left.is_lent(), "it was not late");
    }
}
