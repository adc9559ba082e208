//! The interface adapters that C has open: their handles are small numbers.
//!
//! Numbers start at 1, and the lowest free one is used first, as programs of the incumbent's
//! expect. A provider's own calls, reached through the redirection macros, know an adapter by its
//! address instead: that of its cell, or what a foreign provider gave. Either way leads here.

use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::ptr::{null_mut, without_provenance_mut};

use dat_core::InterfaceAdapter;
use dat_core::error::{Result, Subtype};
use parking_lot::{Mutex, RwLock};

use crate::abi::{DAT_HANDLE, DAT_IA_HANDLE, DAT_PROVIDER};
use crate::answer::invalid_handle;
use crate::{handle, table};

/// An open adapter, by the address that its provider knows it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Adapter {
    /// The cell of one of ours.
    Own(usize),
    /// An adapter of a foreign provider.
    Foreign(usize),
}

impl Adapter {
    const fn address(self) -> usize {
        match self {
            Self::Own(address) | Self::Foreign(address) => address,
        }
    }
}

static OPEN: RwLock<Vec<Option<Adapter>>> = RwLock::new(Vec::new());

fn number(index: usize) -> DAT_IA_HANDLE {
    without_provenance_mut::<c_void>(index + 1)
}

/// Gives an adapter its number.
pub(crate) fn add(adapter: Adapter) -> DAT_IA_HANDLE {
    let mut open = OPEN.write();
    let index = open.iter().position(Option::is_none).unwrap_or(open.len());
    if index == open.len() {
        open.push(None);
    }
    open[index] = Some(adapter);
    number(index)
}

/// Takes the number of an adapter back, unless another has it by now.
pub(crate) fn remove(handle: DAT_IA_HANDLE, adapter: Adapter) {
    let mut open = OPEN.write();
    if let Some(place) = handle.addr().checked_sub(1).and_then(|index| open.get_mut(index)) {
        if *place == Some(adapter) {
            *place = None;
        }
    }
}

/// The open adapter of a number.
pub(crate) fn by_number(handle: DAT_IA_HANDLE) -> Option<Adapter> {
    let open = OPEN.read();
    handle.addr().checked_sub(1).and_then(|index| open.get(index).copied().flatten())
}

/// The number of the open adapter at an address, and the adapter.
pub(crate) fn by_address(address: usize) -> Option<(DAT_IA_HANDLE, Adapter)> {
    let open = OPEN.read();
    let is_it = |adapter: &Option<Adapter>| adapter.is_some_and(|it| it.address() == address);
    let index = open.iter().position(is_it)?;
    Some((number(index), open[index]?))
}

/// The open adapter behind a handle, given as a number or as an address.
pub(crate) fn find(handle: DAT_IA_HANDLE) -> Option<(DAT_IA_HANDLE, Adapter)> {
    match by_number(handle) {
        Some(adapter) => Some((handle, adapter)),
        None => by_address(handle.addr()),
    }
}

/// The adapter of ours behind a handle.
pub(crate) fn own(handle: DAT_IA_HANDLE) -> Result<InterfaceAdapter> {
    let found = match find(handle) {
        Some((_, Adapter::Own(address))) => handle::get(handle::of_number(address as u64)),
        _ => None,
    };
    found.ok_or_else(|| invalid_handle(Subtype::InvalidHandleIa))
}

/// The handle that C has for an adapter of ours.
pub(crate) fn handle_of(ia: &InterfaceAdapter) -> DAT_IA_HANDLE {
    of_number(ia.id())
}

/// The handle that C has for the adapter that the core knows by a number.
pub(crate) fn of_number(number: u64) -> DAT_IA_HANDLE {
    by_address(number as usize).map_or(null_mut(), |(handle, _)| handle)
}

/// What to look an object of any kind up by: adapters by their cells, others as they are.
pub(crate) fn to_cell(handle: DAT_HANDLE) -> DAT_HANDLE {
    match by_number(handle) {
        Some(Adapter::Own(address)) => handle::of_number(address as u64),
        _ => handle,
    }
}

/// The function table of an adapter of ours, which its objects point to.
pub(crate) fn table(ia: &InterfaceAdapter) -> *mut DAT_PROVIDER {
    struct Table {
        functions: Box<DAT_PROVIDER>,
        _name: CString,
    }
    // SAFETY: the table points to functions and to the name beside it.
    unsafe impl Send for Table {}
    static TABLES: Mutex<BTreeMap<String, Table>> = Mutex::new(BTreeMap::new());

    let mut tables = TABLES.lock();
    if let Some(table) = tables.get_mut(ia.name()) {
        return &raw mut *table.functions;
    }
    let name = CString::new(ia.name()).unwrap_or_default();
    let mut functions = Box::new(table::functions(name.as_ptr()));
    let address = &raw mut *functions;
    tables.insert(ia.name().to_owned(), Table { functions, _name: name });
    address
}
