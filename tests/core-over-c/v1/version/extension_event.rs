//! Events of extensions.

use std::sync::Arc;

use crate::abi::DAT_EVENT;
use crate::api::Event;
use crate::api::adapter::Adapter;

/// DAT 1.2 has no events of extensions.
pub(crate) const fn extension_event(_from: &DAT_EVENT, _ia: &Arc<Adapter>) -> Option<Event> {
    None
}
