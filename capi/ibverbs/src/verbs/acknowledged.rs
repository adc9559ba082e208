//! Events that the program has taken and not acknowledged: their object is destroyed only afterwards
//! (ibv_ack_cq_events(3), ibv_ack_async_event(3)).

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The events of an object.
#[derive(Debug, Default)]
pub(crate) struct Unacknowledged {
    state: Mutex<State>,
    decreased: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Number of events.
    count: u64,
    /// A thread has waited for them. To notify none is a system call, too.
    is_awaited: bool,
}

impl Unacknowledged {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is valid at any time.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program has taken an event.
    pub(crate) fn take(&self) {
        self.lock().count += 1;
    }

    /// It acknowledges this number of events.
    pub(crate) fn acknowledge(&self, number: u32) {
        let mut state = self.lock();
        state.count = state.count.saturating_sub(number.into());
        if state.is_awaited {
            self.decreased.notify_all();
        }
    }

    /// Waits until all are acknowledged.
    pub(crate) fn wait(&self) {
        let mut state = self.lock();
        state.is_awaited = true;
        drop(self.decreased.wait_while(state, |state| state.count != 0));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn destroying_waits_for_the_last_acknowledgement() {
        let events = Arc::new(Unacknowledged::default());
        events.wait();
        events.take();
        events.take();
        events.acknowledge(1);
        let is_acknowledged = Arc::new(AtomicBool::new(false));
        let waiter = {
            let (events, flag) = (Arc::clone(&events), Arc::clone(&is_acknowledged));
            std::thread::spawn(move || {
                events.wait();
                flag.load(Ordering::Acquire)
            })
        };
        is_acknowledged.store(true, Ordering::Release);
        events.acknowledge(1);
        assert!(waiter.join().expect("the waiter returns"));
    }
}
