//! Looks at an adapter that is not opened for more. Their handles are numbers of this table.

use std::collections::BTreeMap;

use dat_core::IaQuery;
use dat_core::error::Subtype;
use parking_lot::Mutex;

use super::arguments::Arguments;
use crate::abi::*;
use crate::answer::{Answer, DONE, invalid_handle};
use crate::argument::out;
use crate::call::ia::name;
use crate::convert::interface;
use crate::handle::Kept;
use crate::registry;

struct Looks {
    next: usize,
    open: BTreeMap<usize, Look>,
}

/// An adapter that is looked at, and what C was told of it by address.
struct Look {
    _query: IaQuery,
    _kept: Kept,
}

/// Numbers look like addresses that are never mapped, and like no open adapter's.
const STEP: usize = 8;
const FIRST: usize = 1 << 20;

static LOOKS: Mutex<Looks> = Mutex::new(Looks { next: FIRST, open: BTreeMap::new() });

pub(super) unsafe fn open(mut arguments: Arguments) -> Answer {
    // SAFETY: as the caller promises.
    let name = unsafe { name(arguments.next(), 3) }?;
    let ia_handle: *mut DAT_HANDLE = arguments.next();
    let ia_mask: DAT_IA_ATTR_MASK = arguments.next();
    let ia_attr: *mut DAT_IA_ATTR = arguments.next();
    let provider_mask: DAT_PROVIDER_ATTR_MASK = arguments.next();
    let provider_attr: *mut DAT_PROVIDER_ATTR = arguments.next();
    // SAFETY: as the caller promises.
    let place = unsafe { out(ia_handle, 4) }?;
    let ia_place = match ia_mask {
        0 => None,
        // SAFETY: as the caller promises.
        _ => Some(unsafe { out(ia_attr, 6) }?),
    };
    let provider_place = match provider_mask {
        0 => None,
        // SAFETY: as the caller promises.
        _ => Some(unsafe { out(provider_attr, 8) }?),
    };
    let query = registry::shared().open_query(&name)?;
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
    looks.open.insert(number, Look { _query: query, _kept: kept });
    place.write(std::ptr::without_provenance_mut(number));
    DONE
}

pub(super) fn close(handle: DAT_HANDLE) -> Answer {
    let look = LOOKS.lock().open.remove(&handle.addr());
    look.map(drop).ok_or_else(|| invalid_handle(Subtype::InvalidHandleIa))?;
    DONE
}
