//! The thread `dat-progress` of an adapter, and waiters that claim its work.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dat_provider::error::{Error, Result, Subtype};
use dat_provider::{LocalCause, WaiterProgress};
use dat_sync::Mutex;
use rustix::thread::CpuSet;

use super::core::{Core, Shared};
use super::driver::Driver;
use super::placement::{Opener, Placement};
use super::ready_list::ReadyList;
use super::transport::Transport;

/// Maximum number of passes of a waiter in a row. It leaves the rest to the thread.
const MAX_WAITER_PASSES: u32 = 8;

/// The driver of an adapter, and whose work it is.
pub(super) struct ProgressThread {
    shared: Arc<Shared>,
    driver: Mutex<Driver>,
    /// Whether a waiter has claimed the work.
    is_claimed: AtomicBool,
}

/// The thread of an adapter with its objects, and the processors on which it may run.
pub(super) type Started = (Arc<Core>, Arc<ProgressThread>, CpuSet);

/// Starts the thread of an adapter, which ends when the core is dropped.
///
/// # Errors
/// `DAT_INSUFFICIENT_RESOURCES` if a descriptor or the thread cannot be created, `DAT_INVALID_PARAMETER` if it
/// may not run on the processors that the transport requests.
pub(super) fn start(transport: Box<dyn Transport>) -> Result<Started> {
    let shared = Shared::new(transport).map_err(|errno| {
        let what = "open the descriptors of the adapter (eventfd, epoll)";
        LocalCause { what, errno: errno.raw_os_error() }.error(Subtype::NoSubtype)
    })?;
    let shared = Arc::new(shared);
    let core = Arc::new(Core::new(Arc::clone(&shared)));
    let driver = Mutex::new(Driver::new(Arc::clone(&shared), Arc::downgrade(&core)));
    let is_claimed = AtomicBool::new(false);
    let thread = Arc::new(ProgressThread { shared, driver, is_claimed });
    let (report, placed) = std::sync::mpsc::sync_channel(1);
    let run = {
        let thread = Arc::clone(&thread);
        let (opener, processors) = (Opener::current()?, thread.shared.transport.processors());
        move || {
            let placement = Placement::of_thread(opener, processors);
            let _ = report.send(placement.as_ref().map(Placement::allowed).map_err(Error::clone));
            if let Ok(placement) = placement {
                thread.run(placement);
            }
        }
    };
    dat_sync::thread::start("dat-progress", run).map_err(|error| cannot_start(&error))?;
    let ended = |_| cannot_start(&std::io::Error::from_raw_os_error(libc::EINTR));
    let processors = placed.recv().map_err(ended)??;
    Ok((core, thread, processors))
}

fn cannot_start(error: &std::io::Error) -> Error {
    LocalCause::new("start the thread dat-progress", error).error(Subtype::NoSubtype)
}

impl ProgressThread {
    fn run(&self, mut placement: Placement) {
        let mut descriptors = ReadyList::new();
        loop {
            let mut driver = self.driver.lock();
            while driver.pass(&mut descriptors) {}
            if driver.is_finished() {
                return;
            }
            let deadline = driver.begin_sleep();
            drop(driver);
            placement.update();
            // A waiter that claimed the work while the thread woke up for a link reads that link.
            while !self.shared.sleep(deadline) && self.is_claimed.load(Ordering::Relaxed) {}
        }
    }
}

impl WaiterProgress for ProgressThread {
    fn claim(&self) -> bool {
        let is_claimed =
            self.shared.origin.is_here() && !self.is_claimed.swap(true, Ordering::Acquire);
        if is_claimed {
            self.shared.wake_thread_for_links(false);
        }
        is_claimed
    }

    fn release(&self) {
        if self.shared.origin.is_here() {
            // What has arrived in the meantime would wake the thread at once.
            let _ = self.advance();
            self.shared.wake_thread_for_links(true);
            self.is_claimed.store(false, Ordering::Release);
        }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.shared.links.as_fd()
    }

    fn advance(&self) -> bool {
        let Some(mut driver) = self.driver.try_lock() else { return false };
        let mut descriptors = ReadyList::new();
        for _ in 0..MAX_WAITER_PASSES {
            if !driver.pass(&mut descriptors) {
                break;
            }
        }
        if driver.needs_thread() {
            self.shared.wake();
        }
        true
    }
}
