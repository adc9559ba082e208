//! A file for a report that is opened before the run and written after it: a run of minutes must not end
//! with a report that cannot be written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file. If it is dropped without a report, an earlier file is as it was, and no new one is left.
#[derive(Debug)]
pub(crate) struct ReportFile {
    path: PathBuf,
    file: File,
    is_left_over: bool,
}

impl ReportFile {
    /// Opens the file for writing.
    ///
    /// # Errors
    /// The file cannot be created or written.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let is_left_over = !path.exists();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        Ok(Self { path: path.to_owned(), file, is_left_over })
    }

    /// Writes the report in place of what the file had.
    ///
    /// # Errors
    /// The report cannot be written.
    pub(crate) fn write(mut self, report: &str) -> io::Result<()> {
        self.is_left_over = false;
        // Devices and pipes have no length.
        let _ = self.file.set_len(0);
        self.file.write_all(report.as_bytes())
    }
}

impl Drop for ReportFile {
    fn drop(&mut self) {
        if self.is_left_over {
            let _ = fs::remove_file(&self.path);
        }
    }
}
