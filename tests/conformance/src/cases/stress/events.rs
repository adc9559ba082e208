//! The events of the shared endpoints, and what each says.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::arena::Arena;
use crate::prelude::*;

/// The connection attempts of an endpoint, by its events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ends {
    pub(super) connected: bool,
    pub(super) ended: u32,
    /// An endpoint of that number was freed. Its connection ended with no event, and another may
    /// have the number by now: handles of C are used again.
    pub(super) freed: bool,
}

impl Arena {
    /// Takes events until the workers are done and no event is left.
    pub(super) fn take(&self, evd: &Evd) {
        let mut event = Event::default();
        loop {
            let last = self.all_done.load(Ordering::Acquire);
            match evd.wait(Duration::from_millis(2).into(), 1, &mut event) {
                Ok(WaitResult::Event { .. }) => self.note(&event),
                Ok(WaitResult::TimedOut { .. }) if last => return,
                Ok(WaitResult::TimedOut { .. }) => {}
                Err(error) => panic!("{error}"),
            }
            while evd.dequeue(&mut event).expect("no thread waits") {
                self.note(&event);
            }
        }
    }

    fn note(&self, event: &Event) {
        match event {
            Event::Dto(done) => {
                let fine = matches!(done.status, DtoStatus::Success | DtoStatus::Flushed);
                assert!(fine, "nothing that was posted can fail otherwise: {done:?}");
                let before = self.completed[done.cookie as usize].fetch_add(1, Ordering::Relaxed);
                assert_eq!(before, 0, "it completed twice: {done:?}");
            }
            Event::Connection(event) => self.note_connection(event),
            other => panic!("unexpected event {other:?}"),
        }
    }

    fn note_connection(&self, event: &ConnectionEvent) {
        let mut ends = self.ends.lock();
        let ends = ends.entry(event.ep).or_default();
        match event.kind {
            ConnectionEventKind::Established => {
                assert!(!ends.connected || ends.freed, "it was connected already: {event:?}");
                ends.connected = true;
            }
            ConnectionEventKind::Disconnected => {
                // Includes the end of an abandoned attempt.
                ends.connected = false;
                ends.ended += 1;
            }
            ConnectionEventKind::Broken => {
                assert!(ends.connected || ends.freed, "there was no connection: {event:?}");
                ends.connected = false;
                ends.ended += 1;
            }
            _ => {
                assert!(!ends.connected || ends.freed, "a connection stood: {event:?}");
                ends.ended += 1;
            }
        }
    }
}
