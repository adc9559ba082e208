//! The sleep of a waiter on the only connection of its dispatcher, which it reads itself when it wakes up: an arrival
//! wakes no other thread.

use std::os::fd::AsFd;
use std::sync::Arc;

use dat_sync::descriptors::Beacon;
use dat_sync::futex::Expected;

use crate::claim::ClaimableProgress;
use crate::evd::Objects;
use crate::provider::{CompletionDescriptor, SharedWord, SleepTarget};

/// The objects that the waiter sleeps on.
pub(crate) struct LinkSleep {
    target: Target,
    /// Keeps the wake-up object for the next sleep.
    progress: Arc<ClaimableProgress>,
}

enum Target {
    /// The descriptor of the connection, and the one that another thread makes readable to wake the waiter.
    Descriptor(CompletionDescriptor, Arc<Beacon>),
    /// A word of the connection, and its value. Another thread wakes the waiter by the wake word of its dispatcher.
    Word(Arc<dyn SharedWord>, u32),
}

impl LinkSleep {
    /// A sleep on the target that [`begin_sleep`](crate::provider::CompletionPoller::begin_sleep) has returned;
    /// `None` if the process has no descriptor left.
    pub(crate) fn new(progress: &Arc<ClaimableProgress>, target: SleepTarget) -> Option<Self> {
        let target = match target {
            SleepTarget::Descriptor(link) => Target::Descriptor(link, progress.take_wake()?),
            SleepTarget::Word { word, seen } => Target::Word(word, seen),
        };
        Some(Self { target, progress: Arc::clone(progress) })
    }

    /// Sets the target of the next sleep. Returns false if the process has no descriptor left for it.
    pub(crate) fn set_target(&mut self, target: SleepTarget) -> bool {
        match (&mut self.target, target) {
            (Target::Descriptor(link, _), SleepTarget::Descriptor(next)) => *link = next,
            (Target::Word(word, seen), SleepTarget::Word { word: next, seen: now }) => {
                (*word, *seen) = (next, now);
            }
            (_, target) => match Self::new(&self.progress, target) {
                Some(other) => *self = other,
                None => return false,
            },
        }
        true
    }

    /// The objects to sleep on.
    pub(crate) fn objects(&self) -> Objects<'_> {
        match &self.target {
            Target::Descriptor(link, wake) => {
                Objects::Connections(wake, [wake.as_fd(), link.as_fd()])
            }
            Target::Word(word, seen) => {
                Objects::ConnectionWord(Expected { word: word.word(), seen: *seen })
            }
        }
    }
}

impl Drop for LinkSleep {
    fn drop(&mut self) {
        if let Target::Descriptor(_, wake) = &self.target {
            self.progress.return_wake(Arc::clone(wake));
        }
    }
}
