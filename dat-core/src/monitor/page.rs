//! The page of this process, as its writer sees it.

use std::os::fd::OwnedFd;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, SystemTime};

use dat_sync::descriptors::Private;
use rustix::io::Result;
use rustix::thread::futex;

use super::layout::{HEADER, LENGTH, MAGIC, MAX_SLOTS, Record, SLOT, Word};
use super::mapping::{self, Mapping};

/// The page of this process. Only one thread writes samples.
#[derive(Debug)]
pub(super) struct Page {
    mapping: Mapping,
}

impl Page {
    /// Creates an empty page, and the descriptor by which other processes find it. A child of `fork` has neither.
    pub(super) fn create() -> Result<(Self, Private<OwnedFd>)> {
        let file = Private::create(mapping::create)?;
        let mapping = Mapping::new(&*file, LENGTH / size_of::<u64>())?;
        mapping.word(Word::Process).store(std::process::id().into(), Ordering::Relaxed);
        mapping.word(Word::IsComplete).store(1, Ordering::Relaxed);
        mapping.word(Word::Magic).store(MAGIC, Ordering::Release);
        Ok((Self { mapping }, file))
    }

    /// Sets whether the page has everything that there is to see, so that requests need no answer.
    pub(super) fn set_complete(&self, is_complete: bool) {
        self.mapping.word(Word::IsComplete).store(is_complete.into(), Ordering::Release);
    }

    /// Writes a sample. Records that do not fit are counted.
    pub(super) fn write(&self, records: &[Record]) {
        let word = |word| self.mapping.word(word);
        let generation = word(Word::Generation).load(Ordering::Relaxed) | 1;
        word(Word::Generation).store(generation, Ordering::Relaxed);
        // Release: a reader that sees a word of this sample also sees the odd generation.
        fence(Ordering::Release);
        let slots = &self.mapping.words()[HEADER..];
        for (record, slot) in records.iter().zip(slots.chunks_exact(SLOT)) {
            for (value, word) in record.encode().iter().zip(slot) {
                word.store(*value, Ordering::Relaxed);
            }
        }
        let used = records.len().min(MAX_SLOTS);
        word(Word::Slots).store(used as u64, Ordering::Relaxed);
        word(Word::Omitted).store((records.len() - used) as u64, Ordering::Relaxed);
        word(Word::Time).store(now(), Ordering::Relaxed);
        // Release: a reader that sees this generation sees the whole sample.
        word(Word::Generation).store(generation.wrapping_add(1), Ordering::Release);
    }

    /// The last request of a reader.
    pub(super) fn request(&self) -> u32 {
        self.mapping.futex(Word::Request).load(Ordering::Acquire)
    }

    /// A request was answered by a sample.
    pub(super) fn answer(&self, request: u32) {
        self.mapping.futex(Word::Answer).store(request, Ordering::Release);
    }

    /// Sleeps until a reader makes another request than this one, or for at most that long.
    pub(super) fn sleep(&self, request: u32, longest: Duration) {
        let word = self.mapping.futex(Word::Request);
        let timeout = longest.try_into().ok();
        // Not private, because readers are other processes.
        let _ = futex::wait(word, futex::Flags::empty(), request, timeout.as_ref());
    }

    /// Ends the sleep of the thread.
    pub(super) fn wake(&self) {
        let word = self.mapping.futex(Word::Request);
        word.fetch_add(1, Ordering::AcqRel);
        let _ = futex::wake(word, futex::Flags::empty(), 1);
    }
}

/// The time by which samples of several processes are compared, in nanoseconds.
pub(super) fn now() -> u64 {
    // Not `clock_gettime` of rustix, which reads memory of the kernel that valgrind hides.
    let time = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
