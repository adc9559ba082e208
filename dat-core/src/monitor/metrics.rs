//! A file of metrics in the text format of Prometheus (`monitor=FILE`).

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use dat_sync::descriptors::Private;
use dat_sync::{Mutex, without_signals};

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

    /// Returns true if this is the file that a parameter denotes.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        self.path == Self::resolve(path)
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        let written = without_signals(|| {
            // Others may write into the folder: what they put at this name is replaced, and a link is not followed.
            let _ = fs::remove_file(&self.temporary);
            let create = || File::create_new(&self.temporary);
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
        *self.trouble.lock() = trouble;
    }

    /// Why the last sample was not written; empty if it was.
    pub(super) fn trouble(&self) -> String {
        self.trouble.lock().clone()
    }
}

impl Drop for MetricsFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_at_the_temporary_name_is_not_followed() {
        let folder = std::env::temp_dir().join(format!("dat-metrics-{}", std::process::id()));
        fs::create_dir(&folder).expect("a new folder");
        let (other, path) = (folder.join("other"), folder.join("metrics"));
        fs::write(&other, "of another").expect("it can be written");
        let temporary = folder.join(format!("metrics.{}", std::process::id()));
        std::os::unix::fs::symlink(&other, temporary).expect("a link");
        let file = MetricsFile::create(&path).expect("it can be written");
        assert_eq!(fs::read_to_string(&other).expect("it is there"), "of another");
        assert!(!path.symlink_metadata().expect("it is there").is_symlink());
        drop(file);
        fs::remove_dir_all(&folder).expect("it is there");
    }
}
