//! Adapters of C providers: opened through the provider's table, closed through their own.

use std::ffi::c_void;
use std::ptr::null_mut;

use dat_core::error::{Error, ReturnType, Subtype};
use dat_core::registry::{Library, OpenError, Registration};
use dat_sync::{ProcessLock, Rank};

use super::line::{self, Loaded};
use super::registered::Use;
use super::tables::{self, Table};
use super::{handles, peek};
use crate::abi::*;
use crate::adapters::{self, Adapter};
use crate::debug::{self, Kind};
use crate::handle::invalid_handle;
use crate::result::CallResult;
use crate::{argument, codes, handle, strerror};

/// The arguments with which a program opens an adapter.
pub(crate) struct OpenRequest {
    pub(crate) name: DAT_NAME_PTR,
    pub(crate) async_evd_min_qlen: DAT_COUNT,
    pub(crate) async_evd: DAT_EVD_HANDLE,
}

/// An adapter that was opened.
pub(crate) struct Opened {
    /// The address by which its provider knows it.
    pub(crate) address: usize,
    /// The dispatcher of asynchronous errors, as the provider returned it.
    pub(crate) async_evd: DAT_EVD_HANDLE,
    /// Its function table, which is valid until it is closed.
    pub(crate) table: &'static DAT_PROVIDER,
}

/// A use of a provider, and of the library of its line. Dropped in this order: a library that is
/// finalised unregisters its provider, which must not be in use then.
pub(crate) struct Server {
    provider: Use,
    _library: Option<Loaded>,
    /// The text that names it in errors.
    what: String,
}

impl Server {
    /// The provider that the library of a line registers.
    pub(crate) fn of_library(library: &Library) -> Result<Self, OpenError> {
        let loaded = Loaded::get(library).map_err(OpenError::Unusable)?;
        let Some(provider) = Use::take(&line::registration(&library.line)) else {
            let reason = format!("{}: the provider unregistered itself", library.line.library);
            return Err(OpenError::Unusable(library.unusable(reason)));
        };
        let what = format!("{} ({})", library.line.library, library.origin);
        Ok(Self { provider, _library: Some(loaded), what })
    }

    /// A provider that registered itself.
    pub(crate) fn of_registration(registration: &Registration) -> Result<Self, OpenError> {
        let what = format!("the registered {registration}");
        let gone = || refused(&what, "unregistered itself meanwhile");
        let provider = Use::take(registration).ok_or_else(gone)?;
        // It may belong to the library of a line with another name, which must stay loaded.
        let loaded = match provider.line() {
            Some(line) => Some(Loaded::again(line).ok_or_else(gone)?),
            None => None,
        };
        Ok(Self { provider, _library: loaded, what })
    }

    /// The provider's table, which is valid as long as `self`.
    pub(crate) fn functions(&self) -> &DAT_PROVIDER {
        // SAFETY: the table belongs to a registered provider, which this use keeps registered.
        unsafe { tables::at(self.provider.table()) }
    }

    /// The error if the provider returned this code to an open.
    pub(crate) fn failed(&self, code: DAT_RETURN) -> Error {
        let (return_type, subtype) =
            codes::decode(code).unwrap_or((ReturnType::InternalError, Subtype::NoSubtype));
        let name = match strerror::names(code) {
            Some((major, minor)) => {
                format!("{} {}", major.to_string_lossy(), minor.to_string_lossy())
            }
            None => "which is not a code of this API".to_owned(),
        };
        Error::new(return_type, subtype)
            .during("dat_ia_open")
            .on(&self.what)
            .because(format!("the provider returned {code:#010x}, {name}"))
            .advise(
                "check that the device in the line exists; OpenFabrics providers print more with \
                 DAPL_DBG_TYPE=0xffff",
            )
    }
}

/// An open adapter.
struct Open {
    /// The address by which its provider knows it.
    address: usize,
    /// The table to which its first word points; known as long as its library is loaded.
    table: Table,
    _server: Server,
}

static OPEN: ProcessLock<Vec<Open>> = ProcessLock::new(Rank::ForeignAdapters, Vec::new());

/// Opens an adapter of a provider.
pub(crate) fn open(server: Server, asked: &OpenRequest) -> Result<Opened, Error> {
    let what = &server.what;
    let mut evd = asked.async_evd;
    if handle::is_cell(evd.addr()) {
        return Err(invalid_handle(evd, Subtype::InvalidHandleEvdAsync)
            .on(what)
            .because("the asynchronous error dispatcher belongs to another provider"));
    }
    let Some(open) = server.functions().ia_open_func else {
        return Err(refused(what, "has no function that opens adapters"));
    };
    let mut ia = null_mut::<c_void>();
    debug::say(Kind::Provider, || format!("{what}: ia_open_func"));
    // SAFETY: the name is the program's C string, and both destinations are local variables.
    let code = unsafe { open(asked.name, asked.async_evd_min_qlen, &raw mut evd, &raw mut ia) };
    if code != DAT_SUCCESS {
        return Err(server.failed(code));
    }
    // From now on other calls find the adapter by its address, whose provenance must be exposed.
    let address = ia.expose_provenance();
    let Some(table) = table_of(address) else {
        return Err(refused(what, &format!("returned an invalid adapter handle ({address:#x})")));
    };
    let functions = table.functions();
    OPEN.lock().push(Open { address, table, _server: server });
    Ok(Opened { address, async_evd: evd, table: functions })
}

/// The table to which the first word of an adapter points.
fn table_of(address: usize) -> Option<Table> {
    let is_address = argument::is_aligned_address::<usize>(address) && !handle::is_cell(address);
    let table = if is_address { peek::word(address)? } else { return None };
    let last = table.checked_add(size_of::<DAT_PROVIDER>() - size_of::<usize>())?;
    let is_table = argument::is_aligned_address::<DAT_PROVIDER>(table)
        && peek::word(table).is_some()
        && peek::word(last).is_some();
    // SAFETY: an adapter of a provider begins with the address of its function table.
    is_table.then(|| unsafe { Table::register(table) })
}

fn refused(what: &str, how: &str) -> Error {
    Error::new(ReturnType::InternalError, Subtype::NoSubtype)
        .during("dat_ia_open")
        .on(what)
        .because(format!("the provider {how}"))
        .advise("this is a bug in the provider: report it to its vendor")
}

/// Closes an adapter; the last one of a library finalises the library.
pub(crate) fn close(number: DAT_IA_HANDLE, adapter: Adapter, how: DAT_CLOSE_FLAGS) -> CallResult {
    let Adapter::Foreign(address) = adapter else {
        return Err(invalid_handle(number, Subtype::InvalidHandleIa));
    };
    // The thread that removes the entry closes the adapter: the provider sees one close, however
    // many threads try.
    let mut open = OPEN.lock();
    let place = open.iter().position(|it| it.address == address);
    let place = place.ok_or_else(|| invalid_handle(number, Subtype::InvalidHandleIa))?;
    let closing = open.swap_remove(place);
    drop(open);
    let ia = handle::of_number(address as u64);
    debug::say(Kind::Provider, || format!("ia_close_func ({address:#x})"));
    // SAFETY: the adapter is open, and the flags are the caller's.
    let code = closing.table.functions().ia_close_func.map(|it| unsafe { it(ia, how) });
    if code != Some(DAT_SUCCESS) {
        OPEN.lock().push(closing);
        return super::result_of(code);
    }
    adapters::remove(number, adapter);
    // An abrupt close ends objects whose handles are not known here.
    handles::forget_all();
    drop(closing);
    super::result_of(code)
}
