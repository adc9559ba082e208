//! Looks at an adapter that is not opened for more. Handles of looks at adapters of ours are
//! numbers of this table; those of providers in C are their own.

use std::collections::BTreeMap;

use dat_core::error::{Result, Subtype};
use dat_core::registry::{Choice, Demand, Refusal};
use dat_core::{ApiVersion, IaQuery};
use parking_lot::Mutex;

use super::arguments::{Arguments, Rest};
use crate::abi::*;
use crate::answer::{Answer, DONE, invalid_handle};
use crate::argument::{Out, mask, out};
use crate::call::ia::name;
use crate::convert::interface;
use crate::foreign::adapter::{Server, answered};
use crate::foreign::answer as foreign_answer;
use crate::handle::{Kept, of_number};
use crate::registry;

struct Looks {
    /// The next number.
    next: usize,
    open: BTreeMap<usize, Look>,
}

/// An adapter that is looked at.
enum Look {
    /// One of ours, and what C was told of it by address.
    Own(#[expect(dead_code, reason = "kept for as long as the look")] Box<(IaQuery, Kept)>),
    /// One of a provider in C, by an address of its own.
    Foreign(Server),
}

/// Numbers look like addresses that are never mapped, and like no open adapter's.
const STEP: usize = 8;
const FIRST: usize = 1 << 20;

static LOOKS: Mutex<Looks> = Mutex::new(Looks { next: FIRST, open: BTreeMap::new() });

const OPEN: &str = "dat_ib_open_query";

/// Opens an adapter for a look, with the first that has the name and does not fail.
///
/// # Safety
/// The arguments are those of the operation.
pub(super) unsafe fn open(args: va_list) -> Answer {
    // SAFETY: as the caller promises.
    let mut arguments = unsafe { Arguments::of(args) };
    let ia_name: DAT_NAME_PTR = arguments.next();
    // SAFETY: as the caller promises.
    let name = unsafe { name(ia_name, 3) }?;
    let rest = || arguments.rest();
    let demand = Demand { version: ApiVersion::V2_0, thread_safe: None };
    let looked = registry::shared().find(&name, demand, |choice| match choice {
        Choice::Provider(candidate) => {
            let query = candidate.open_query()?;
            // SAFETY: as the caller promises.
            Ok(unsafe { show(query, rest()) })
        }
        Choice::Library(library) => {
            let what = format!("{} ({})", library.line.library, library.origin);
            let server = Server::of_library(&library)?;
            // SAFETY: as the caller promises.
            Ok(unsafe { ask(server, ia_name, rest(), &what) }.map_err(Refusal::Refused)?)
        }
        Choice::Registered(registration) => {
            let what = format!("the registered {registration}");
            let server = Server::of_registration(&registration)?;
            // SAFETY: as the caller promises.
            Ok(unsafe { ask(server, ia_name, rest(), &what) }.map_err(Refusal::Refused)?)
        }
    });
    looked.map_err(|error| error.during(OPEN))?
}

/// Tells what an adapter of ours is, and keeps the look.
///
/// # Safety
/// The arguments are those of the operation behind the name.
unsafe fn show(query: IaQuery, mut rest: Rest) -> Answer {
    // SAFETY: a copy of the caller's list.
    let mut arguments = unsafe { Arguments::of(rest.as_list()) };
    let ia_handle: *mut DAT_HANDLE = arguments.next();
    let ia_mask: DAT_IA_ATTR_MASK = arguments.next();
    let ia_attr: *mut DAT_IA_ATTR = arguments.next();
    let provider_mask: DAT_PROVIDER_ATTR_MASK = arguments.next();
    let provider_attr: *mut DAT_PROVIDER_ATTR = arguments.next();
    // SAFETY: as the caller promises.
    let place = unsafe { out(ia_handle, 4) }?;
    mask(ia_mask, DAT_IA_FIELD_ALL, 5)?;
    mask(provider_mask, DAT_PROVIDER_FIELD_ALL, 7)?;
    // SAFETY: as the caller promises.
    let ia_place = unsafe { wanted(ia_mask, ia_attr, 6) }?;
    // SAFETY: as the caller promises.
    let provider_place = unsafe { wanted(provider_mask, provider_attr, 8) }?;
    let mut kept = Kept::default();
    if let Some(place) = ia_place {
        place.write(interface::adapter_to_attributes(query.attributes(), &mut kept));
    }
    if let Some(place) = provider_place {
        place.write(interface::provider_to_attributes(query.provider_attributes(), &mut kept));
    }
    let mut looks = LOOKS.lock();
    let number = looks.next;
    looks.next += STEP;
    looks.open.insert(number, Look::Own(Box::new((query, kept))));
    place.write(std::ptr::without_provenance_mut(number));
    DONE
}

/// Where attributes go, if a mask asks for any.
///
/// # Safety
/// As for [`out`].
unsafe fn wanted<T>(mask: u64, place: *mut T, argument: u32) -> Result<Option<Out<T>>> {
    match mask {
        0 => Ok(None),
        // SAFETY: as the caller promises.
        _ => unsafe { out(place, argument) }.map(Some),
    }
}

/// Asks a provider in C, which gets the name in place of a handle, and keeps it loaded.
///
/// # Safety
/// The arguments are those of the operation behind the name.
unsafe fn ask(server: Server, ia_name: DAT_NAME_PTR, mut rest: Rest, what: &str) -> Result<Answer> {
    let mut copy = Rest::clone(&rest);
    // SAFETY: a copy of the caller's list.
    let ia_handle: *mut DAT_HANDLE = unsafe { Arguments::of(copy.as_list()) }.next();
    // SAFETY: as the caller promises.
    let mut place = unsafe { out(ia_handle, 4) }?;
    let slot = server.functions().handle_extendedop_func;
    let list = rest.as_list();
    // SAFETY: the table of a loaded provider, and the arguments that the caller gave.
    let code = slot.map(|it| unsafe { it(ia_name.cast(), DAT_IB_OPEN_QUERY_OP as i32, list) });
    match code {
        Some(DAT_SUCCESS) => {
            let address = place.fields().expose_provenance();
            LOOKS.lock().open.insert(address, Look::Foreign(server));
            Ok(DONE)
        }
        Some(code) => Err(answered(code, what).during(OPEN)),
        None => Ok(foreign_answer(None)),
    }
}

/// Ends a look.
///
/// # Safety
/// The arguments are those of the operation.
pub(super) unsafe fn close(handle: DAT_HANDLE, args: va_list) -> Answer {
    let look = LOOKS.lock().open.remove(&handle.addr());
    match look {
        Some(Look::Own(_)) => DONE,
        Some(Look::Foreign(server)) => {
            let slot = server.functions().handle_extendedop_func;
            let own = of_number(handle.addr() as u64);
            // SAFETY: the table of a loaded provider, and the arguments that the caller gave.
            foreign_answer(slot.map(|it| unsafe { it(own, DAT_IB_CLOSE_QUERY_OP as i32, args) }))
        }
        None => Err(invalid_handle(Subtype::InvalidHandleIa)),
    }
}
