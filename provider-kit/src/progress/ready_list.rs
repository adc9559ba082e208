//! The descriptors that are ready, as the driver reads them from the epoll descriptor of the links.

use std::os::fd::AsFd;

use dat_sync::epoll;
use rustix::event::Timespec;
use rustix::io::{Errno, Result};

/// Number of descriptors that one call reports at first.
const INITIAL: usize = 64;

/// The descriptors that were ready in the last call of [`wait`](Self::wait).
pub(super) struct ReadyList(Vec<epoll::Event>);

impl ReadyList {
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(INITIAL))
    }

    /// Waits until a descriptor is ready or the time-out expires. Returns true if the list is complete: it is not if
    /// the call was interrupted or the list is full; the next list is then longer.
    ///
    /// # Errors
    /// The descriptor is not an epoll set.
    pub(super) fn wait(&mut self, epoll: impl AsFd, timeout: Option<&Timespec>) -> Result<bool> {
        if self.0.len() == self.0.capacity() {
            self.0.reserve(self.0.len());
        }
        match epoll::wait_into(epoll, &mut self.0, timeout) {
            Ok(()) => Ok(self.0.len() < self.0.capacity()),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The tokens of the descriptors.
    pub(super) fn tokens(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|event| event.data.u64())
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};

    const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

    #[test]
    fn it_grows_until_it_has_every_ready_descriptor() {
        let epoll = epoll::create().expect("one more");
        let ready: Vec<_> = (0..INITIAL as u64 + 1)
            .map(|token| {
                let one = eventfd(1, EventfdFlags::CLOEXEC).expect("one more");
                let data = epoll::EventData::new_u64(token);
                epoll::add(&epoll, &one, data, epoll::EventFlags::IN).expect("a new one");
                one
            })
            .collect();
        let mut list = ReadyList::new();
        assert_eq!(list.wait(&epoll, Some(&NOW)), Ok(false));
        assert_eq!(list.tokens().count(), INITIAL);
        assert_eq!(list.wait(&epoll, Some(&NOW)), Ok(true));
        let mut tokens: Vec<u64> = list.tokens().collect();
        tokens.sort_unstable();
        assert!(tokens.into_iter().eq(0..ready.len() as u64));
    }

    #[test]
    fn a_call_that_fails_finds_nothing_and_does_not_lengthen_the_list() {
        let other = eventfd(0, EventfdFlags::CLOEXEC).expect("one more");
        let mut list = ReadyList::new();
        let before = list.0.capacity();
        for _ in 0..3 {
            assert_eq!(list.wait(&other, Some(&NOW)), Err(Errno::INVAL));
            assert_eq!((list.tokens().count(), list.0.capacity()), (0, before));
        }
    }
}
