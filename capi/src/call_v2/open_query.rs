//! Adapters opened only to be queried. For Rust adapters the handles are keys of this table; C
//! providers have their own handles.

use std::collections::BTreeMap;

use dat_core::registry::{OpenRequirements, Resolved};
use dat_core::{ApiVersion, IaQuery};
use dat_sync::{ProcessLock, Rank};

use super::arguments::Rest;
use super::*;
use crate::argument::wanted_out;
use crate::call::ia::name;
use crate::convert::interface;
use crate::foreign::{Server, result_of};
use crate::handle::{CStorage, of_number};
use crate::registry;

struct Looks {
    /// The next key.
    next: usize,
    open: BTreeMap<usize, Look>,
}

/// An adapter opened for a query.
enum Look {
    /// A Rust adapter, and the memory whose addresses C received.
    Own(#[expect(dead_code, reason = "kept for as long as the look")] Box<(IaQuery, CStorage)>),
    /// An adapter of a C provider, by its own address.
    Foreign(Server),
}

/// Keys look like addresses that are never mapped, and differ from the numbers of open adapters.
const STEP: usize = 8;
const FIRST: usize = 1 << 20;

static LOOKS: ProcessLock<Looks> =
    ProcessLock::new(Rank::Queries, Looks { next: FIRST, open: BTreeMap::new() });

const OPEN: &str = "dat_ib_open_query";

/// Opens an adapter for a query, in the first way that succeeds.
///
/// # Safety
/// The arguments are those of the operation.
pub(super) unsafe fn open(args: va_list) -> CallResult {
    // SAFETY: the caller passes the arguments of the operation.
    let mut arguments = unsafe { Arguments::of(args) };
    let ia_name: DAT_NAME_PTR = arguments.next();
    // SAFETY: the caller guarantees a C string, unless the check rejects the address.
    let name = unsafe { name(ia_name, 3) }?;
    let rest = || arguments.rest();
    let requirements = OpenRequirements { version: ApiVersion::V2_0, thread_safe: None };
    let looked = registry::shared().find(&name, requirements, |resolved| {
        let server = match resolved {
            Resolved::Provider(candidate) => {
                let query = candidate.open_query()?;
                // SAFETY: the caller passes the arguments of the operation.
                return Ok(unsafe { show(query, rest()) });
            }
            Resolved::Library(library) => Server::of_library(&library)?,
            Resolved::Registered(registration) => Server::of_registration(&registration)?,
        };
        // SAFETY: the caller passes the arguments of the operation.
        Ok(unsafe { ask(server, ia_name, rest()) }?)
    });
    looked.map_err(|error| error.during(OPEN))?
}

/// Returns the attributes of a Rust adapter, and keeps the adapter open.
///
/// # Safety
/// The arguments are those of the operation after the name.
unsafe fn show(query: IaQuery, mut rest: Rest) -> CallResult {
    // SAFETY: the list is a copy of the one that the caller passes.
    let mut arguments = unsafe { Arguments::of(rest.as_list()) };
    let ia_handle: *mut DAT_HANDLE = arguments.next();
    let ia_mask: DAT_IA_ATTR_MASK = arguments.next();
    let ia_attr: *mut DAT_IA_ATTR = arguments.next();
    let provider_mask: DAT_PROVIDER_ATTR_MASK = arguments.next();
    let provider_attr: *mut DAT_PROVIDER_ATTR = arguments.next();
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(ia_handle, 4) }?;
    mask(ia_mask, DAT_IA_FIELD_ALL, 5)?;
    mask(provider_mask, DAT_PROVIDER_FIELD_ALL, 7)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let ia_out = unsafe { wanted_out(ia_mask != 0, ia_attr, 6) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let provider_out = unsafe { wanted_out(provider_mask != 0, provider_attr, 8) }?;
    let mut kept = CStorage::default();
    ia_out.write_with(|| interface::adapter_to_attributes(query.attributes(), &mut kept));
    let attributes = query.provider_attributes();
    provider_out.write_with(|| interface::provider_to_attributes(attributes, &mut kept));
    let mut looks = LOOKS.lock();
    let number = looks.next;
    looks.next += STEP;
    looks.open.insert(number, Look::Own(Box::new((query, kept))));
    output.write(std::ptr::without_provenance_mut(number));
    OK
}

/// Opens an adapter of a C provider, which gets the name in output of a handle, and keeps the
/// provider loaded.
///
/// # Safety
/// The arguments are those of the operation after the name.
unsafe fn ask(server: Server, ia_name: DAT_NAME_PTR, mut rest: Rest) -> Result<CallResult> {
    let mut copy = Rest::clone(&rest);
    // SAFETY: the list is a copy of the one that the caller passes.
    let ia_handle: *mut DAT_HANDLE = unsafe { Arguments::of(copy.as_list()) }.next();
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(ia_handle, 4) }?;
    let slot = server.functions().handle_extendedop_func;
    let list = rest.as_list();
    // SAFETY: the function belongs to the table of a loaded provider; the list is a copy of the
    // caller's.
    let code = slot.map(|it| unsafe { it(ia_name.cast(), DAT_IB_OPEN_QUERY_OP as i32, list) });
    match code {
        Some(DAT_SUCCESS) => {
            let address = output.read().expose_provenance();
            LOOKS.lock().open.insert(address, Look::Foreign(server));
            Ok(OK)
        }
        Some(code) => Err(server.failed(code).during(OPEN)),
        None => Ok(result_of(None)),
    }
}

/// Closes an adapter opened for a query.
///
/// # Safety
/// The arguments are those of the operation.
pub(super) unsafe fn close(handle: DAT_HANDLE, args: va_list) -> CallResult {
    let look = LOOKS.lock().open.remove(&handle.addr());
    match look {
        Some(Look::Own(_)) => OK,
        Some(Look::Foreign(server)) => {
            let slot = server.functions().handle_extendedop_func;
            let own = of_number(handle.addr() as u64);
            // SAFETY: the function belongs to the table of a loaded provider; the caller passes the
            // arguments of the operation.
            result_of(slot.map(|it| unsafe { it(own, DAT_IB_CLOSE_QUERY_OP as i32, args) }))
        }
        None => Err(invalid_handle(handle, Subtype::InvalidHandleIa)),
    }
}
