//! A file of metrics in the text format of Prometheus (`monitor=FILE`).

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use dat_sync::descriptors::Private;
use dat_sync::without_signals;

use super::layout::{AdapterRecord, ConnectionRecord, CountersRecord, Record};
use crate::counters::{CounterId, EpCounter};
use crate::error::{Error, Result, ReturnType, Subtype};

/// A file that always has the metrics of one sample: each replaces the one before (rename(2)).
#[derive(Debug)]
pub(super) struct MetricsFile {
    path: PathBuf,
    temporary: PathBuf,
    /// Why the last sample was not written.
    trouble: Mutex<String>,
}

impl MetricsFile {
    /// The file, without a metric yet. `%p` in the path is the number of this process.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if it cannot be written.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let path = Self::resolve(path);
        let mut temporary = path.clone().into_os_string();
        temporary.push(format!(".{}", std::process::id()));
        let file = Self { path, temporary: temporary.into(), trouble: Mutex::default() };
        file.replace("").map_err(|error| {
            Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1)
                .because(format!("cannot write the metrics file {:?}", file.path))
                .advise("use monitor=FILE with a path in a folder that can be written, without blanks or commas")
                .errno(error.raw_os_error().unwrap_or(0))
        })?;
        Ok(file)
    }

    /// The path that a parameter denotes in this process.
    fn resolve(path: &Path) -> PathBuf {
        path.to_string_lossy().replace("%p", &std::process::id().to_string()).into()
    }

    /// Whether this is the file that a parameter denotes.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        self.path == Self::resolve(path)
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        let written = without_signals(|| {
            let create =
                || File::options().write(true).create(true).truncate(true).open(&self.temporary);
            let file = Private::create(create)?;
            (&*file).write_all(text.as_bytes())?;
            drop(file);
            fs::rename(&self.temporary, &self.path)
        });
        if written.is_err() {
            let _ = fs::remove_file(&self.temporary);
        }
        written
    }

    /// Writes the metrics of a sample. A failure is [kept](Self::trouble), and the next sample is tried again.
    pub(super) fn write(&self, records: &[&Record]) {
        let trouble = match self.replace(&text(records)) {
            Ok(()) => String::new(),
            Err(error) => format!("cannot write the metrics file {}: {error}", self.path.display()),
        };
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    /// Why the last sample was not written; empty if it was.
    pub(super) fn trouble(&self) -> String {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for MetricsFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// A metric of a connection: its name, its type, its help, and its value.
type Metric = (&'static str, &'static str, &'static str, fn(&ConnectionRecord) -> Option<f64>);

const METRICS: [Metric; 10] = [
    ("dat_requests", "gauge", "Requests that are not complete.", |it| Some(it.requests.into())),
    ("dat_receives", "gauge", "Receives that no message has consumed.", |it| {
        Some(it.receives.into())
    }),
    ("dat_credits", "gauge", "Messages for which the peer has receives.", |it| {
        it.credits.map(f64::from)
    }),
    ("dat_completions", "gauge", "Completions that the consumer has not taken.", |it| {
        Some(it.completions.into())
    }),
    ("dat_sent_requests_total", "counter", "Requests that were posted.", |it| {
        Some(it.sent.requests as f64)
    }),
    ("dat_received_requests_total", "counter", "Requests of the peer that were executed.", |it| {
        Some(it.received.requests as f64)
    }),
    ("dat_sent_bytes_total", "counter", "Bytes that the link has sent.", |it| {
        it.sent.bytes.map(|bytes| bytes as f64)
    }),
    ("dat_received_bytes_total", "counter", "Bytes that the link has received.", |it| {
        it.received.bytes.map(|bytes| bytes as f64)
    }),
    ("dat_oldest_seconds", "gauge", "Time without progress of the oldest operation.", |it| {
        Some(it.age as f64 / 1e9)
    }),
    ("dat_stalled", "gauge", "1 if the oldest operation waits for more than a second.", |it| {
        Some(f64::from(u8::from(it.waits_for.is_some())))
    }),
];

/// The metrics of the records of adapters and connections.
fn text(records: &[&Record]) -> String {
    let adapters = records.iter().filter_map(|record| match record {
        Record::Adapter(adapter) => Some(adapter),
        _ => None,
    });
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ =
        writeln!(text, "# HELP dat_endpoints Endpoints of an adapter.\n# TYPE dat_endpoints gauge");
    for AdapterRecord { ia, name, endpoints, .. } in adapters.clone() {
        let name = label(name);
        let _ = writeln!(text, "dat_endpoints{{adapter=\"{name}\",ia=\"{ia}\"}} {endpoints}");
    }
    for (name, kind, help, value) in METRICS {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for record in records {
            let Record::Connection(connection) = record else { continue };
            let Some(value) = value(connection) else { continue };
            let adapter = adapters.clone().find(|adapter| adapter.ia == connection.ia);
            let labels = labels(adapter.map_or("", |adapter| &adapter.name), connection);
            let _ = match connection.waits_for.filter(|_| name == "dat_stalled") {
                Some(cause) => writeln!(text, "{name}{{{labels},cause=\"{cause}\"}} {value}"),
                None => writeln!(text, "{name}{{{labels}}} {value}"),
            };
        }
    }
    let _ = writeln!(
        text,
        "# HELP dat_counter_total Counters of endpoints that the program has started.\n\
         # TYPE dat_counter_total counter"
    );
    for record in records {
        let Record::Counters(CountersRecord { ia, ep, values }) = record else { continue };
        for (counter, value) in EpCounter::ALL.iter().zip(values) {
            let _ = writeln!(
                text,
                "dat_counter_total{{ia=\"{ia}\",endpoint=\"{ep}\",counter=\"{}\"}} {value}",
                counter.name()
            );
        }
    }
    text
}

fn labels(adapter: &str, connection: &ConnectionRecord) -> String {
    let ConnectionRecord { ia, ep, transport, peer, .. } = connection;
    let (adapter, peer) = (label(adapter), label(peer));
    format!(
        "adapter=\"{adapter}\",ia=\"{ia}\",endpoint=\"{ep}\",peer=\"{peer}\",link=\"{transport}\""
    )
}

/// The value of a label.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn labels_are_quoted() {
        assert_eq!(label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
