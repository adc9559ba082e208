//! The names of the calls in errors of the registry.

pub(super) const OPEN: &str = "dat_ia_open";
pub(super) const LISTING: &str = "dat_registry_list_providers";
pub(super) const ADD: &str = "dat_registry_add_provider";
pub(super) const REMOVE: &str = "dat_registry_remove_provider";
