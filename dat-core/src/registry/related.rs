//! Whether two names stand for related adapters.

use std::sync::Arc;

use super::{ApiVersion, Registry};
use crate::error::Result;
use crate::provider::Relationship;

impl Registry {
    /// Whether two adapters can take over from one another (dat_registry_providers_related of
    /// DAT 2.0). An adapter is related to itself; for adapters of two providers both are
    /// asked.
    ///
    /// # Errors
    /// `DAT_PROVIDER_NOT_FOUND` for a name that nothing has.
    pub fn providers_related(&self, one: &str, other: &str) -> Result<Relationship> {
        let describe = |error: crate::Error| error.during("dat_registry_providers_related");
        let first = self.resolve(one, ApiVersion::ANY).map_err(describe)?;
        let second = self.resolve(other, ApiVersion::ANY).map_err(describe)?;
        let (first, second) = (&first[0], &second[0]);
        let same_provider = Arc::ptr_eq(&first.provider, &second.provider);
        if same_provider && first.adapter_name == second.adapter_name {
            return Ok(Relationship::Related);
        }
        let forth = first.provider.related(&first.adapter_name, &second.adapter_name);
        if same_provider {
            return Ok(forth);
        }
        let back = second.provider.related(&second.adapter_name, &first.adapter_name);
        Ok(match (forth, back) {
            (Relationship::Unknown, known) | (known, Relationship::Unknown) => known,
            (forth, back) if forth == back => forth,
            _ => Relationship::Conflicting,
        })
    }
}
