//! The IA parameter `trace=FILE`.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

use dat_sync::Private;

use super::{TraceHooks, TraceWriter};
use crate::decorate::adapter;
use crate::decorate::parameters::parts;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::{Adapter, OpenRequest, Provider};

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

/// Opens an adapter. If its parameters contain `trace=FILE`, every call and upcall of the adapter
/// is appended to that file, and the provider does not see the parameter.
///
/// # Errors
/// The provider's errors; `DAT_INVALID_PARAMETER` if the file cannot be opened.
pub fn open(provider: &dyn Provider, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
    let mut file = None;
    let mut rest = String::new();
    for (part, separators) in parts(request.parameters) {
        match part.strip_prefix(KEY) {
            Some(path) => file = Some(path),
            None => rest.extend([part, separators]),
        }
    }
    let Some(path) = file else { return provider.open(request) };
    let writer = File::options().append(true).create(true).open(path).map_err(|error| {
        Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1)
            .because(format!("cannot open the trace file {path:?}"))
            .advise("use trace=FILE with a path that can be written and has no blanks or commas")
            .errno(error.raw_os_error().unwrap_or(0))
    })?;
    // To open a pipe blocks, which a private descriptor must not do when it is created.
    let writer = Private::create(|| Ok::<_, Error>(writer))?;
    let hooks = TraceHooks::new(request.name, Arc::new(TraceWriter::new(TraceFile(writer))));
    adapter::open(provider, OpenRequest { parameters: &rest, ..request }, hooks)
}
