//! Ready-made sinks: the last lines in memory, and a writer.

use std::collections::VecDeque;
use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dat_sync::{Mutex, without_signals};

use super::{Record, TraceSink};

/// Keeps the most recent lines, up to a given number; on until switched off.
#[derive(Debug)]
pub struct TraceRing {
    capacity: usize,
    off: AtomicBool,
    lines: Mutex<Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    kept: VecDeque<String>,
    lost: u64,
}

impl TraceRing {
    /// Creates a ring for `capacity` lines.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity, off: AtomicBool::new(false), lines: Mutex::default() }
    }

    /// Switches recording on or off. While off, a call costs only the check of this switch.
    pub fn switch(&self, on: bool) {
        self.off.store(!on, Ordering::Relaxed);
    }

    /// The lines, oldest first.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().kept.iter().cloned().collect()
    }

    /// Removes and returns the lines, oldest first.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.lock().kept).into()
    }

    /// Total number of lines dropped because the ring was full.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lines.lock().lost
    }
}

impl TraceSink for TraceRing {
    fn is_on(&self) -> bool {
        !self.off.load(Ordering::Relaxed)
    }

    fn record(&self, record: &Record<'_>) {
        let line = record.to_string();
        let mut lines = self.lines.lock();
        lines.kept.push_back(line);
        while lines.kept.len() > self.capacity {
            lines.kept.pop_front();
            lines.lost += 1;
        }
    }
}

/// Writes each record as a line, in one write.
pub struct TraceWriter<W> {
    writer: Mutex<W>,
    failures: AtomicU64,
}

impl<W: Write + Send> TraceWriter<W> {
    /// Creates a sink that writes to `writer`.
    #[must_use]
    pub fn new(writer: W) -> Self {
        Self { writer: Mutex::new(writer), failures: AtomicU64::new(0) }
    }

    /// Number of lines that could not be written; no call fails because of it.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Returns the writer.
    pub fn into_inner(self) -> W {
        self.writer.into_inner()
    }
}

impl<W: Write + Send> TraceSink for TraceWriter<W> {
    fn record(&self, record: &Record<'_>) {
        let line = format!("{record}\n");
        let written = without_signals(|| self.writer.lock().write_all(line.as_bytes()));
        if written.is_err() {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<W> fmt::Debug for TraceWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceWriter").field("failures", &self.failures).finish_non_exhaustive()
    }
}
