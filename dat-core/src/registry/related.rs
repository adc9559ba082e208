//! Whether two names denote related adapters.

use std::sync::Arc;

use super::{Candidate, OpenRequirements, Registry, Resolved};
use crate::error::Result;
use crate::provider::Relationship;

impl Registry {
    /// Whether two adapters can take over from one another (dat_registry_providers_related of DAT
    /// 2.0). An adapter is related to itself. For adapters of two providers, both are asked. A C
    /// provider cannot be asked, so nothing more is known of its adapters.
    ///
    /// # Errors
    /// `DAT_PROVIDER_NOT_FOUND` for an unknown name.
    pub fn providers_related(&self, one: &str, other: &str) -> Result<Relationship> {
        let describe = |error: crate::Error| error.during("dat_registry_providers_related");
        let first = self.first_resolved(one).map_err(describe)?;
        let second = self.first_resolved(other).map_err(describe)?;
        let (Resolved::Provider(first), Resolved::Provider(second)) = (&first, &second) else {
            return Ok(if one == other { Relationship::Related } else { Relationship::Unknown });
        };
        Ok(compare(first, second))
    }

    /// The first way to open a name, under any version.
    fn first_resolved(&self, name: &str) -> Result<Resolved> {
        let unusable = self.unusable();
        let loadable = self.allows_c_providers().then_some(&unusable);
        let mut all = self.look_up(name, OpenRequirements::ANY, loadable)?;
        Ok(all.swap_remove(0))
    }
}

/// Combines the answers of the providers of two adapters.
fn compare(first: &Candidate, second: &Candidate) -> Relationship {
    let same_provider = Arc::ptr_eq(&first.provider, &second.provider);
    if same_provider && first.adapter_name == second.adapter_name {
        return Relationship::Related;
    }
    let forth = first.provider.related(&first.adapter_name, &second.adapter_name);
    if same_provider {
        return forth;
    }
    let back = second.provider.related(&second.adapter_name, &first.adapter_name);
    match (forth, back) {
        (Relationship::Unknown, known) | (known, Relationship::Unknown) => known,
        (forth, back) if forth == back => forth,
        _ => Relationship::Conflicting,
    }
}
