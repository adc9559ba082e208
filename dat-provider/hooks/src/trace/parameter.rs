//! The IA parameter `trace=FILE`.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

use dat_sync::Private;

use super::{TraceHooks, TraceWriter};
use crate::Hooks;
use crate::parameters::parts;
use dat_provider::OpenRequest;
use dat_provider::error::{Error, Result, ReturnType, Subtype};

const KEY: &str = "trace=";

/// The file, which the program may have closed: then another one has its number, which gets no lines.
struct TraceFile(Private<File>);

impl Write for TraceFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.0.is_there() { (&*self.0).write(line) } else { Err(ErrorKind::NotFound.into()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The hooks that `trace=FILE` requests, which append to that file, and the other parameters.
///
/// # Errors
/// `DAT_INVALID_PARAMETER` if the file cannot be opened.
pub(crate) fn requested(request: &OpenRequest<'_>) -> Result<Option<(impl Hooks, String)>> {
    let mut file = None;
    let mut rest = String::new();
    for (part, separators) in parts(request.parameters) {
        match part.strip_prefix(KEY) {
            Some(path) => file = Some(path),
            None => rest.extend([part, separators]),
        }
    }
    let Some(path) = file else { return Ok(None) };
    let writer = File::options().append(true).create(true).open(path).map_err(|error| {
        Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1)
            .because(format!("cannot open the trace file {path:?}"))
            .advise("use trace=FILE with a path that can be written and has no blanks or commas")
            .errno(error.raw_os_error().unwrap_or(0))
    })?;
    // To open a pipe blocks, which a private descriptor must not do when it is created.
    let writer = Private::create(|| Ok::<_, Error>(writer))?;
    let sink = Arc::new(TraceWriter::new(TraceFile(writer)));
    Ok(Some((TraceHooks::new(request.name, sink), rest)))
}
