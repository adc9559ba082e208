//! Use counts: an object cannot be destroyed while others use it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dat_sync::Mutex;

use crate::error::{Error, Result};

/// The number of users of an object, and what the object itself uses; once it is destroyed, there are no new users, and
/// it uses nothing.
#[derive(Debug, Default)]
pub(crate) struct UseCount {
    users: Arc<AtomicU32>,
    used: Mutex<Vec<Use>>,
}

/// One use, until it is dropped.
#[derive(Debug)]
pub(crate) struct Use(Arc<AtomicU32>);

const DESTROYED: u32 = u32::MAX;

impl UseCount {
    /// The count of an object that uses others.
    pub(crate) fn using(used: Vec<Use>) -> Self {
        Self { users: Arc::default(), used: Mutex::new(used) }
    }

    /// Adds a user.
    ///
    /// # Errors
    /// `EINVAL` if the object is destroyed.
    pub(crate) fn add(&self) -> Result<Use> {
        let add = |count: u32| (count < DESTROYED - 1).then(|| count + 1);
        match self.users.fetch_update(Ordering::AcqRel, Ordering::Acquire, add) {
            Ok(_) => Ok(Use(Arc::clone(&self.users))),
            Err(_) => Err(Error::plain(libc::EINVAL, "the object is destroyed")),
        }
    }

    /// Checks that the object can be destroyed.
    ///
    /// # Errors
    /// As [`end`](Self::end).
    pub(crate) fn check(&self, text: &'static str) -> Result<()> {
        match self.users.load(Ordering::Acquire) {
            0 => Ok(()),
            count => Err(refused(count, text)),
        }
    }

    /// Marks the object as destroyed.
    ///
    /// # Errors
    /// `EBUSY` with the text if it has users, `EINVAL` if it is destroyed already.
    pub(crate) fn end(&self, text: &'static str) -> Result<()> {
        match self.users.compare_exchange(0, DESTROYED, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                let used = std::mem::take(&mut *self.used.lock());
                drop(used);
                Ok(())
            }
            Err(count) => Err(refused(count, text)),
        }
    }

    /// Lets an object be destroyed once more, which uses nothing now. The caller has [ended](Self::end) it.
    pub(crate) fn undo_end(&self) {
        self.users.store(0, Ordering::Release);
    }
}

fn refused(count: u32, text: &'static str) -> Error {
    if count == DESTROYED {
        Error::plain(libc::EINVAL, "the object is destroyed already")
    } else {
        Error::busy(text)
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
