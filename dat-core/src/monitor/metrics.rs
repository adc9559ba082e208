//! A file of metrics in the text format of Prometheus (`monitor=FILE`).

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use dat_sync::descriptors::Private;
use dat_sync::without_signals;

use super::exposition::text;
use super::layout::Record;
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
