//! The end of connections.
//!
//! Whoever ends a connection first moves the state on and puts the device's queue pair into
//! error, which flushes all that is outstanding. Then, in the thread `dat-events` unless nobody
//! is to hear of it, those completions are waited for, what the device never saw is flushed
//! behind them, and the end is reported.

use std::mem::replace;
use std::sync::Arc;
use std::thread::Builder;
use std::time::{Duration, Instant};

use dat_core::flags::Close;
use dat_core::provider::ConnectionUpcall;

use super::state::{Attempt, End, Endpoint, Mode, State};
use crate::engine::Command;

/// How long the device may take to flush a queue pair. What it did not by then is flushed all
/// the same.
const FLUSH_TIME: Duration = Duration::from_secs(2);

/// The pauses while it does.
const FLUSH_PAUSE: Duration = Duration::from_micros(100);

impl Endpoint {
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

    /// Ends the connection, if there is one; the rest is done in the thread.
    fn begin_end(&self, end: End) {
        let mut link = self.link.lock();
        let State::Connected(_) = &link.state else { return };
        let State::Connected(attempt) = replace(&mut link.state, State::Unconnected) else {
            return;
        };
        if let Some(hardware) = &link.hardware {
            // One that refuses is in error already, or gone.
            let _ = hardware.set_error();
        }
        // The other side may be gone, which is as good.
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

    /// The other side ended the connection, or the transport did.
    pub(super) fn ended_by_peer(&self, end: End) {
        self.begin_end(end);
    }

    /// Ends an attempt, with an event if there is one.
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

    /// Ends the attempt that is under way.
    fn give_up(&self, event: Option<ConnectionUpcall<'_>>) {
        let mut link = self.link.lock();
        let before = replace(&mut link.state, State::Unconnected);
        let (State::Connecting(attempt) | State::Accepting(attempt)) = before else {
            let connected = matches!(before, State::Connected(_));
            link.state = before;
            drop(link);
            // It became a connection meanwhile.
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

    /// Lets go of an attempt. On iWARP the kernel has whoever destroys its identifier, or its
    /// queue pair, wait until the other side answers or the time for that is over: a thread that
    /// does nothing else.
    fn abandon(&self, attempt: Attempt) {
        if !self.device.limits.is_iwarp {
            return;
        }
        let Attempt { id, key, .. } = attempt;
        drop(key);
        let hardware = self.link.lock().hardware.clone();
        // Without a thread it is done here.
        let _ = Builder::new().name("dat-abandon".to_owned()).spawn(move || {
            drop(id);
            drop(hardware);
        });
    }

    /// Whether a graceful disconnect has nothing to wait for any more; then it is under way.
    pub(crate) fn try_close(&self) -> bool {
        match &self.link.lock().state {
            State::Connected(attempt) if attempt.closing => {}
            _ => return true,
        }
        let (queue, ledger) = {
            let sender = self.sender.lock();
            (Arc::clone(&sender.attachment.queue), Arc::clone(&sender.ledger))
        };
        queue.collect();
        if ledger.pending() > 0 {
            return false;
        }
        self.begin_end(End::Disconnected);
        true
    }

    pub(super) fn retire(&self) {
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

    /// Completes all that is outstanding, and lets posts be flushed from now on.
    fn shut(&self) {
        let (requests, receives, live) = {
            let mut sender = self.sender.lock();
            let mut receiver = self.receiver.lock();
            let live = sender.mode == Mode::Live || receiver.mode == Mode::Live;
            sender.mark();
            receiver.early.clear();
            for mode in [&mut sender.mode, &mut receiver.mode] {
                if *mode != Mode::Flushed {
                    *mode = Mode::Held;
                }
            }
            let requests = (
                Arc::clone(&sender.attachment.queue),
                Arc::clone(&sender.ledger),
                sender.ledger.tail(),
            );
            let receives = (
                Arc::clone(&receiver.attachment.queue),
                Arc::clone(&receiver.ledger),
                receiver.ledger.tail(),
            );
            (requests, receives, live)
        };
        if live {
            let deadline = Instant::now() + FLUSH_TIME;
            for (queue, ledger, tail) in [&requests, &receives] {
                queue.collect();
                while !ledger.has_reached(*tail) && Instant::now() < deadline {
                    std::thread::sleep(FLUSH_PAUSE);
                    queue.collect();
                }
            }
        }
        // Posts come in between; when there is none left under the lock, it is over.
        loop {
            requests.0.flush(&requests.1);
            let mut sender = self.sender.lock();
            if sender.ledger.pending() == 0 {
                sender.mode = Mode::Flushed;
                sender.quiet = 0;
                break;
            }
        }
        loop {
            receives.0.flush(&receives.1);
            let mut receiver = self.receiver.lock();
            if receiver.ledger.pending() == 0 {
                receiver.mode = Mode::Flushed;
                break;
            }
        }
    }
}
