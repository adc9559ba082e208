//! C providers that register themselves at run time.

use super::c_provider::Registration;
use super::name_errors::bad_length;
use super::{ADD, REMOVE, Registry, State};

use crate::error::{Error, Result, ReturnType, Subtype};

impl Registry {
    /// Adds a C provider that no line names. It takes precedence over all lines of its name.
    ///
    /// # Errors
    /// `DAT_PROVIDER_ALREADY_REGISTERED` if an equal registration exists; `DAT_INVALID_PARAMETER`
    /// for a name that cannot be looked up; `DAT_MODEL_NOT_SUPPORTED` unless the registry is
    /// [`Registry::allow_c_providers`].
    pub fn add_registration(&self, registration: Registration) -> Result<()> {
        let describe = |error: Error| error.during(ADD).on(&registration);
        if !self.allows_c_providers() {
            let error = Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
                .because("only the C libraries open C providers");
            return Err(describe(error));
        }
        if let Some(error) = bad_length(&registration.name) {
            return Err(describe(error.with_subtype(Subtype::InvalidArg2)));
        }
        let add = |state: &mut State| {
            let is_new = !state.registrations.contains(&registration);
            if is_new {
                state.registrations.push(registration.clone());
            }
            is_new
        };
        if !self.shared.with(add) {
            let error = Error::new(ReturnType::ProviderAlreadyRegistered, Subtype::NoSubtype)
                .because("the name is already registered for that version and thread safety")
                .advise("remove the other provider first");
            return Err(describe(error));
        }
        Ok(())
    }

    /// Removes a C provider that no line names.
    ///
    /// # Errors
    /// `DAT_PROVIDER_NOT_FOUND` if it is not registered.
    pub fn remove_registration(&self, registration: &Registration) -> Result<()> {
        let remove = |state: &mut State| {
            let place = state.registrations.iter().position(|other| other == registration)?;
            Some(state.registrations.remove(place))
        };
        if self.shared.with(remove).is_none() {
            return Err(Error::new(ReturnType::ProviderNotFound, Subtype::NameNotRegistered)
                .during(REMOVE)
                .on(registration)
                .because("no provider is registered with that name, version and thread safety"));
        }
        Ok(())
    }
}
