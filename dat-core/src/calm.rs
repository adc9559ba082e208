//! Locks under which no proxy agent is called.
//!
//! An agent is called in the thread that brought the event, and that may be inside a control call
//! or a transition of an endpoint. Called there, it would wait for its own thread as soon as it
//! asked for the state of that endpoint. So it waits until its thread has left the last of these
//! locks.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::Weak;

use parking_lot::{Mutex, MutexGuard};

use crate::cno::ProxyAgent;
use crate::evd::{EvdInner, EventDispatcher};

/// A mutex; see the module.
#[derive(Debug)]
pub(crate) struct CalmMutex<T>(Mutex<T>);

/// Has the mutex. Agents that waited for the end of it are called after the mutex is free.
pub(crate) struct CalmGuard<'a, T> {
    guard: MutexGuard<'a, T>,
    _inside: Inside,
}

/// Counts a lock of this thread.
struct Inside;

/// Agents are being called in this thread: what they bring about waits for its turn.
struct Calling;

/// A call that waits.
struct Call {
    agent: ProxyAgent,
    evd: Option<Weak<EvdInner>>,
}

thread_local! {
    static LOCKS: Cell<u32> = const { Cell::new(0) };
    static CALLING: Cell<bool> = const { Cell::new(false) };
    static WAITING: RefCell<VecDeque<Call>> = const { RefCell::new(VecDeque::new()) };
}

impl<T> CalmMutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> CalmGuard<'_, T> {
        CalmGuard { _inside: Inside::new(), guard: self.0.lock() }
    }

    pub(crate) fn try_lock(&self) -> Option<CalmGuard<'_, T>> {
        let guard = self.0.try_lock()?;
        Some(CalmGuard { _inside: Inside::new(), guard })
    }
}

impl<T> Deref for CalmGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for CalmGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl Inside {
    fn new() -> Self {
        LOCKS.set(LOCKS.get() + 1);
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        LOCKS.set(LOCKS.get() - 1);
        deliver();
    }
}

impl Call {
    fn make(self) {
        let evd = self.evd.as_ref().and_then(Weak::upgrade);
        (self.agent)(evd.map(|evd| EventDispatcher::from_inner(&evd)));
    }
}

/// Calls an agent, or has it called when this thread has left its locks and the agents before.
pub(crate) fn call(agent: ProxyAgent, evd: Option<&Weak<EvdInner>>) {
    let mut call = Some(Call { agent, evd: evd.cloned() });
    let _ = WAITING.try_with(|waiting| waiting.borrow_mut().extend(call.take()));
    match call {
        None => deliver(),
        // A thread that is at its very end keeps nothing any more.
        Some(call) => call.make(),
    }
}

/// Makes the calls that wait, one after the other, if nothing is in the way.
fn deliver() {
    if LOCKS.get() > 0 || CALLING.get() {
        return;
    }
    let _calling = Calling::begin();
    // At the very end of a thread nobody waits any more.
    while let Ok(Some(call)) = WAITING.try_with(|waiting| waiting.borrow_mut().pop_front()) {
        call.make();
    }
}

impl Calling {
    fn begin() -> Self {
        CALLING.set(true);
        Self
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        CALLING.set(false);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn agents_are_called_at_once_or_after_the_last_lock_in_order() {
        let (one, two) = (Arc::new(CalmMutex::new(0)), CalmMutex::new(0));
        let seen = Arc::new(AtomicU32::new(0));
        let agent = |number: u32| -> ProxyAgent {
            let (one, seen) = (Arc::clone(&one), Arc::clone(&seen));
            Arc::new(move |_| {
                *one.lock() += 1;
                seen.store(seen.load(Ordering::Relaxed) * 10 + number, Ordering::Relaxed);
            })
        };
        call(agent(1), None);
        assert_eq!(seen.load(Ordering::Relaxed), 1);
        let outer = one.lock();
        let inner = two.try_lock().expect("free");
        call(agent(2), None);
        call(agent(3), None);
        drop(inner);
        assert_eq!(seen.load(Ordering::Relaxed), 1, "one lock is left");
        drop(outer);
        assert_eq!(seen.load(Ordering::Relaxed), 123);
        assert_eq!(*one.lock(), 3);
    }

    #[test]
    fn what_an_agent_brings_about_under_a_lock_of_its_own_comes_after_it() {
        let lock = Arc::new(CalmMutex::new(Vec::new()));
        let noted = |number: u32| -> ProxyAgent {
            let lock = Arc::clone(&lock);
            Arc::new(move |_| lock.lock().push(number))
        };
        let (own, later) = (Arc::clone(&lock), noted(2));
        let outer = lock.lock();
        call(
            Arc::new(move |_| {
                let mut inside = own.lock();
                call(Arc::clone(&later), None);
                inside.push(1);
            }),
            None,
        );
        call(noted(3), None);
        drop(outer);
        assert_eq!(*lock.lock(), [1, 3, 2]);
    }
}
