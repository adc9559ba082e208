//! The interface adapters that C programs have open: their handles are small numbers.
//!
//! Numbers start at 1, and the lowest free one is used first, as programs written for the
//! OpenFabrics library expect. The redirection macros, which call a provider's functions directly,
//! use the adapter's address instead: that of its cell, or the one that a C provider gave. This
//! module resolves both.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_void};
use std::ptr::{null_mut, without_provenance_mut};

use dat_core::Ia;
use dat_core::error::{Result, Subtype};
use dat_sync::{ProcessLock, Rank};

use crate::abi::{DAT_HANDLE, DAT_IA_HANDLE, DAT_PROVIDER};
use crate::handle::{self, invalid_handle};

/// An open adapter, by the address that its provider uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Adapter {
    /// The cell of a Rust adapter.
    Own(usize),
    /// An adapter of a C provider.
    Foreign(usize),
}

impl Adapter {
    const fn address(self) -> usize {
        match self {
            Self::Own(address) | Self::Foreign(address) => address,
        }
    }

    /// The handle by which its provider knows it.
    pub(crate) fn by_address(self) -> DAT_IA_HANDLE {
        handle::of_number(self.address() as u64)
    }
}

static OPEN: ProcessLock<Vec<Option<Adapter>>> = ProcessLock::new(Rank::AdapterNumbers, Vec::new());

fn number(index: usize) -> DAT_IA_HANDLE {
    without_provenance_mut::<c_void>(index + 1)
}

/// Assigns a number to an adapter.
pub(crate) fn add(adapter: Adapter) -> DAT_IA_HANDLE {
    let mut open = OPEN.lock();
    let index = open.iter().position(Option::is_none).unwrap_or(open.len());
    if index == open.len() {
        open.push(None);
    }
    open[index] = Some(adapter);
    number(index)
}

/// Releases the number of an adapter, unless it has been given to another one.
pub(crate) fn remove(handle: DAT_IA_HANDLE, adapter: Adapter) {
    let mut open = OPEN.lock();
    if let Some(place) = handle.addr().checked_sub(1).and_then(|index| open.get_mut(index)) {
        if *place == Some(adapter) {
            *place = None;
        }
    }
}

/// The open adapter with a number.
pub(crate) fn by_number(handle: DAT_IA_HANDLE) -> Option<Adapter> {
    let open = OPEN.lock();
    handle.addr().checked_sub(1).and_then(|index| open.get(index).copied().flatten())
}

/// The open adapter at an address, and its number.
pub(crate) fn by_address(address: usize) -> Option<(DAT_IA_HANDLE, Adapter)> {
    let open = OPEN.lock();
    let is_it = |adapter: &Option<Adapter>| adapter.is_some_and(|it| it.address() == address);
    let index = open.iter().position(is_it)?;
    Some((number(index), open[index]?))
}

/// The open adapter of a handle, which may be a number or an address.
pub(crate) fn find(handle: DAT_IA_HANDLE) -> Option<(DAT_IA_HANDLE, Adapter)> {
    match by_number(handle) {
        Some(adapter) => Some((handle, adapter)),
        None => by_address(handle.addr()),
    }
}

/// The Rust adapter of a handle.
pub(crate) fn own(handle: DAT_IA_HANDLE) -> Result<Ia> {
    let found = match find(handle) {
        Some((_, Adapter::Own(address))) => handle::get(handle::of_number(address as u64)),
        _ => None,
    };
    found.ok_or_else(|| invalid_handle(to_cell(handle), Subtype::InvalidHandleIa))
}

/// The handle by which C knows a Rust adapter.
pub(crate) fn handle_of(ia: &Ia) -> DAT_IA_HANDLE {
    of_number(ia.id())
}

/// The handle of the adapter that has this id in the core.
pub(crate) fn of_number(number: u64) -> DAT_IA_HANDLE {
    by_address(number as usize).map_or(null_mut(), |(handle, _)| handle)
}

/// The key for the lookup of any object: the cell of an adapter, or the handle itself.
pub(crate) fn to_cell(handle: DAT_HANDLE) -> DAT_HANDLE {
    match by_number(handle) {
        Some(Adapter::Own(address)) => handle::of_number(address as u64),
        _ => handle,
    }
}

/// Makes the function table of an adapter, with its name.
pub(crate) type MakeTable = fn(*const c_char) -> DAT_PROVIDER;

/// A table, and the name to which it points.
struct Table {
    functions: Box<DAT_PROVIDER>,
    _name: CString,
}

// SAFETY: the table points to functions, and to the name that is stored with it.
unsafe impl Send for Table {}

static TABLES: ProcessLock<BTreeMap<String, Table>> =
    ProcessLock::new(Rank::AdapterTables, BTreeMap::new());

/// The function table of a Rust adapter, to which its objects point; it was created when the adapter
/// was opened.
pub(crate) fn table(ia: &Ia) -> *mut DAT_PROVIDER {
    let mut tables = TABLES.lock();
    tables.get_mut(ia.name()).map_or(null_mut(), |table| &raw mut *table.functions)
}

/// Creates the function table of a Rust adapter, unless there is one.
pub(crate) fn add_table(ia: &Ia, make: MakeTable) {
    TABLES.lock().entry(ia.name().to_owned()).or_insert_with(|| {
        let name = CString::new(ia.name()).unwrap_or_default();
        Table { functions: Box::new(make(name.as_ptr())), _name: name }
    });
}
