//! The end of connections.
//!
//! The thread that ends a connection first advances the state and puts the device's queue pair into
//! the error state, which flushes everything outstanding. Then the thread `dat-events` (or, if
//! nothing is reported, the same thread) waits for these completions, flushes after them what the
//! device never got, and reports the end.

use std::mem::replace;
use std::time::{Duration, Instant};

use dat_provider::ConnectionUpcall;
use dat_provider::flags::Close;

use super::state::{Attempt, End, Mode, State, VerbsQp};
use crate::engine::Command;

/// Maximum time that the device may take to flush a queue pair. After that, the remaining requests
/// are completed as flushed anyway.
const FLUSH_TIME: Duration = Duration::from_secs(2);

/// The poll interval during that time.
const FLUSH_PAUSE: Duration = Duration::from_micros(100);

impl VerbsQp {
    pub(super) fn disconnect(&self, how: Close) {
        let mut link = self.link.lock();
        match &mut link.state {
            State::Unconnected | State::Disconnected(_) | State::Ending(..) => {}
            State::Connected(attempt) if how == Close::Graceful => {
                if !replace(&mut attempt.closing, true) {
                    self.sender.lock().mark();
                    self.device.engine.send(Command::Close(self.me.clone()));
                }
            }
            State::Connected(_) => {
                drop(link);
                self.begin_end(End::Disconnected);
            }
            State::Connecting(_) | State::Accepting(_) => {
                drop(link);
                self.give_up(None);
            }
        }
    }

    /// Begins the end of the connection, if there is one; the thread does the rest.
    fn begin_end(&self, end: End) {
        let mut link = self.link.lock();
        let State::Connected(_) = &link.state else { return };
        let State::Connected(attempt) = replace(&mut link.state, State::Unconnected) else {
            return;
        };
        if let Some(hardware) = &link.hardware {
            // A queue pair that refuses is already in the error state, or its device was removed.
            let _ = hardware.set_error();
        }
        // The other side may be gone already, which is fine.
        let _ = attempt.id.disconnect();
        link.state = State::Ending(attempt, end);
        drop(link);
        if let Some(me) = self.me.upgrade() {
            self.device.engine.send(Command::Finish(me));
        }
    }

    /// Completes the end of a connection, in the thread.
    pub(crate) fn finish(&self) {
        if !matches!(self.link.lock().state, State::Ending(..)) {
            return;
        }
        self.shut();
        let mut link = self.link.lock();
        let before = replace(&mut link.state, State::Unconnected);
        let State::Ending(attempt, end) = before else {
            link.state = before;
            return;
        };
        let Attempt { number, id, key, .. } = attempt;
        link.state = State::Disconnected(Some(id));
        let sink = link.listener();
        drop(link);
        drop(key);
        if let (Some(sink), Some(event)) = (sink, end.upcall()) {
            sink.connection_event(number, event);
        }
    }

    /// Something failed: the connection is broken.
    pub(crate) fn trouble(&self) {
        if self.datagrams {
            return self.datagram_trouble();
        }
        let mut link = self.link.lock();
        match &mut link.state {
            State::Accepting(attempt) | State::Connecting(attempt) => attempt.troubled = true,
            State::Connected(_) => {
                drop(link);
                self.begin_end(End::Broken);
            }
            _ => {}
        }
    }

    /// The other side or the transport ended the connection.
    pub(super) fn ended_by_peer(&self, end: End) {
        self.begin_end(end);
    }

    /// Ends an attempt, with an event if one is given.
    pub(crate) fn fail_attempt(&self, key: u64, event: Option<ConnectionUpcall<'_>>) {
        if let (true, Some(event)) = (self.datagrams, event) {
            return self.fail_resolution(key, event);
        }
        {
            let mut link = self.link.lock();
            let pending = matches!(&link.state, State::Connecting(_) | State::Accepting(_));
            if !pending || link.state.attempt(key).is_none() {
                return;
            }
        }
        self.give_up(event);
    }

    /// Ends the attempt in progress.
    fn give_up(&self, event: Option<ConnectionUpcall<'_>>) {
        let mut link = self.link.lock();
        let before = replace(&mut link.state, State::Unconnected);
        let (State::Connecting(attempt) | State::Accepting(attempt)) = before else {
            let connected = matches!(before, State::Connected(_));
            link.state = before;
            drop(link);
            // It became a connection in the meantime.
            if connected {
                self.begin_end(End::Disconnected);
            }
            return;
        };
        if let Some(hardware) = &link.hardware {
            let _ = hardware.set_error();
        }
        link.state = State::Ending(attempt, End::Silent);
        drop(link);
        self.shut();
        let mut link = self.link.lock();
        let before = replace(&mut link.state, State::Disconnected(None));
        let State::Ending(attempt, _) = before else {
            link.state = before;
            return;
        };
        let sink = link.listener();
        drop(link);
        let number = attempt.number;
        self.abandon(attempt);
        if let (Some(sink), Some(event)) = (sink, event) {
            sink.connection_event(number, event);
        }
    }

    /// Drops an attempt. On iWARP, destroying its identifier or its queue pair blocks in the kernel
    /// until the other side answers or a time-out expires, so a separate thread does it.
    fn abandon(&self, attempt: Attempt) {
        if !self.device.limits.is_iwarp {
            return;
        }
        let Attempt { id, key, .. } = attempt;
        drop(key);
        let hardware = self.link.lock().hardware.clone();
        // If no thread can be started, it is dropped here.
        let _ = dat_sync::thread::start("dat-abandon", move || {
            drop(id);
            drop(hardware);
        });
    }

    /// Returns true if a graceful disconnect has nothing left to wait for; if so, it begins.
    pub(crate) fn try_close(&self) -> bool {
        match &self.link.lock().state {
            State::Connected(attempt) if attempt.closing => {}
            _ => return true,
        }
        let requests = self.sender.lock().queue.completing();
        requests.queue.collect();
        if !requests.is_done() {
            return false;
        }
        self.begin_end(End::Disconnected);
        true
    }

    pub(super) fn shutdown(&self) {
        let mut link = self.link.lock();
        if replace(&mut link.retired, true) {
            return;
        }
        if let State::Connected(attempt) = &link.state {
            let _ = attempt.id.disconnect();
        }
        let before = (replace(&mut link.state, State::Disconnected(None)), link.datagrams.take());
        if let Some(hardware) = &link.hardware {
            let _ = hardware.set_error();
        }
        drop(link);
        self.shut();
        match before {
            (State::Connecting(attempt) | State::Accepting(attempt), _) => self.abandon(attempt),
            other => drop(other),
        }
    }

    /// Completes everything outstanding, and makes later posts be flushed.
    fn shut(&self) {
        let (requests, receives, live) = {
            let mut sender = self.sender.lock();
            let mut receiver = self.receiver.lock();
            let live = [sender.queue.mode(), receiver.queue.mode()].contains(&Mode::Live);
            sender.mark();
            receiver.early.clear();
            sender.queue.hold();
            receiver.queue.hold();
            (sender.queue.completing(), receiver.queue.completing(), live)
        };
        if live {
            let deadline = Instant::now() + FLUSH_TIME;
            for posts in [&requests, &receives] {
                posts.queue.collect();
                while !posts.is_done() && Instant::now() < deadline {
                    std::thread::sleep(FLUSH_PAUSE);
                    posts.queue.collect();
                }
            }
        }
        // Posts may come in between; it is over when none is left under the lock.
        loop {
            requests.flush();
            let mut sender = self.sender.lock();
            if sender.queue.completing().is_done() {
                sender.queue.leave(Mode::Flushed);
                sender.quiet = 0;
                break;
            }
        }
        loop {
            receives.flush();
            let mut receiver = self.receiver.lock();
            if receiver.queue.completing().is_done() {
                receiver.queue.leave(Mode::Flushed);
                break;
            }
        }
    }
}
