use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicUsize;

use rustix::event::{EventfdFlags, epoll, eventfd};

use super::list::MAX_PER_POLL;
use super::*;
use crate::doorbell::{Board, tests::LocalBoard};

/// A link that only counts.
struct Link {
    reads: AtomicUsize,
    is_hot: AtomicBool,
    activity: AtomicU32,
    doorbell: Option<Arc<Doorbell>>,
    descriptor: OwnedFd,
}

impl PolledLink for Link {
    fn poll(&self, info: PollInfo) -> PollOutcome {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.is_hot.store(info.is_hot, Ordering::Relaxed);
        PollOutcome {
            again: false,
            activity: self.activity.load(Ordering::Relaxed),
            is_active: true,
        }
    }

    fn give_back(&self) {}

    fn signal(&self) -> Option<Signal> {
        Some(self.doorbell.clone().map_or(Signal::Descriptor, Signal::Doorbell))
    }

    fn join(&self, set: BorrowedFd<'_>, key: u64) -> bool {
        let data = epoll::EventData::new_u64(key);
        let added = epoll::add(set, &self.descriptor, data, epoll::EventFlags::IN);
        matches!(added, Ok(()) | Err(rustix::io::Errno::EXIST))
    }
}

impl Link {
    /// Receives data.
    fn arrive(&self) {
        self.activity.fetch_add(1, Ordering::Relaxed);
        match &self.doorbell {
            Some(_) if self.is_hot() => {}
            Some(doorbell) => doorbell.ring(),
            None => drop(rustix::io::write(&self.descriptor, &1_u64.to_ne_bytes())),
        }
    }

    fn is_hot(&self) -> bool {
        self.is_hot.load(Ordering::Relaxed)
    }

    /// Reads since the last call.
    fn reads(&self) -> usize {
        self.reads.swap(0, Ordering::Relaxed)
    }
}

fn polled(link: &Arc<Link>) -> Arc<dyn PolledLink> {
    let link: Arc<Link> = Arc::clone(link);
    link
}

/// Links of one completion queue, which have been read once each.
fn links(count: u32, has_doorbells: bool) -> (PolledLinks, Vec<Arc<Link>>) {
    let (queue, board) = (PolledLinks::default(), Arc::new(LocalBoard::default()));
    let new = |number| {
        let doorbell = has_doorbells
            .then(|| Arc::new(Doorbell::new(Arc::clone(&board) as Arc<dyn Board>, number)));
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC).expect("a descriptor");
        let link = Arc::new(Link {
            reads: AtomicUsize::new(0),
            is_hot: AtomicBool::new(false),
            activity: AtomicU32::new(0),
            doorbell,
            descriptor,
        });
        let key = queue.add(polled(&link));
        queue.linked(key);
        link
    };
    let links: Vec<Arc<Link>> = (0..count).map(new).collect();
    for _ in 0..count {
        queue.poll();
    }
    reads(&links);
    (queue, links)
}

fn reads(links: &[Arc<Link>]) -> Vec<usize> {
    links.iter().map(|link| link.reads()).collect()
}

#[test]
fn each_poll_reads_two_links() {
    let (queue, links) = links(2, true);
    assert!(!queue.is_selective());
    queue.poll();
    queue.poll();
    assert_eq!(reads(&links), [2, 2]);
    assert!(links.iter().all(|link| link.is_hot()));
}

#[test]
fn of_many_links_those_are_read_that_have_received() {
    for has_doorbells in [true, false] {
        let (queue, links) = links(40, has_doorbells);
        assert!(queue.is_selective());
        queue.poll();
        assert_eq!(reads(&links), [0; 40]);
        links[7].arrive();
        links[39].arrive();
        queue.poll();
        let mut expected = [0; 40];
        (expected[7], expected[39]) = (1, 1);
        assert_eq!(reads(&links), expected, "doorbells: {has_doorbells}");
        assert!(!links[7].is_hot());
    }
}

#[test]
fn all_that_ring_are_read_in_turn() {
    let (queue, links) = links(200, true);
    links.iter().for_each(|link| link.arrive());
    for _ in 0..links.len().div_ceil(MAX_PER_POLL) {
        queue.poll();
    }
    assert_eq!(reads(&links), [1; 200]);
}

#[test]
fn a_link_that_receives_often_is_hot_until_it_is_idle() {
    let (queue, links) = links(10, true);
    for _ in 0..10 {
        links[3].arrive();
        queue.poll();
    }
    assert!(links[3].is_hot());
    links[3].reads();
    queue.poll();
    assert_eq!(links[3].reads(), 1, "it need not ring");
    links[4].arrive();
    for _ in 0..10_000 {
        queue.poll();
    }
    assert!(!links[3].is_hot());
    assert_eq!(links[4].reads(), 1, "the others are read as well");
    links[3].reads();
    queue.poll();
    assert_eq!(links[3].reads(), 0);
}

#[test]
fn a_poll_counts_only_if_it_looks_for_data_on_all_links() {
    let (queue, links) = links(10, true);
    for _ in 0..10 {
        links[3].arrive();
        queue.poll();
    }
    let mut skipped = 0;
    for link in &links[4..] {
        link.arrive();
        let polls = queue.polls();
        loop {
            links[3].arrive();
            queue.poll();
            if link.reads() > 0 {
                break;
            }
            assert_eq!(queue.polls(), polls, "data waits");
            skipped += 1;
        }
        assert_eq!(queue.polls(), polls + 1);
    }
    assert!(skipped > 0, "each poll has looked");
}

#[test]
fn two_of_many_busy_links_are_hot_and_none_waits() {
    let (queue, links) = links(30, true);
    for _ in 0..1000 {
        links.iter().for_each(|link| link.arrive());
        queue.poll();
        queue.poll();
    }
    assert_eq!(links.iter().filter(|link| link.is_hot()).count(), 2);
    let fewest = reads(&links).into_iter().min();
    assert!(fewest >= Some(400), "{fewest:?}");
}

#[test]
fn a_suggested_link_is_hot_or_learns_that_it_is_not() {
    let (queue, links) = links(5, true);
    for link in &links[..3] {
        queue.request_hot(Arc::downgrade(&polled(link)));
    }
    queue.poll();
    assert_eq!(links.iter().filter(|link| link.is_hot()).count(), 2);
    assert!(links[2].reads() > 0);
}

#[test]
fn removed_links_are_read_no_more() {
    for count in [2, 100] {
        let (queue, mut links) = links(count, true);
        for _ in 0..10 {
            links.iter().for_each(|link| link.arrive());
            queue.poll();
        }
        let removed = links.split_off(1);
        // Keys are given from 0.
        (1..count as usize).for_each(|key| queue.remove(key));
        removed.iter().for_each(|link| link.arrive());
        reads(&removed);
        links[0].reads();
        (0..20).for_each(|_| assert!(queue.poll()));
        assert!(reads(&removed).iter().all(|count| *count == 0));
        assert!(removed.iter().all(|link| Arc::strong_count(link) == 1), "no reference is left");
        links[0].arrive();
        queue.poll();
        assert!(links[0].reads() > 0);
        queue.remove(0);
        assert!(!queue.poll());
    }
}

#[test]
fn the_key_of_a_removed_link_serves_another() {
    let (queue, links) = links(10, true);
    links[4].arrive();
    queue.remove(4);
    let key = queue.add(polled(&links[4]));
    queue.linked(key);
    queue.poll();
    links[4].reads();
    links[4].arrive();
    queue.poll();
    assert_eq!(links[4].reads(), 1);
}
