//! The registry of the library.

use std::ffi::CStr;
use std::sync::Arc;

use real::attr::{IaAttributes, ProviderAttributes};
use real::error::Result;
use real::provider::{Provider, Relationship};
pub use real::registry::{
    ApiVersion, Candidate, Configuration, Entry, Fate, Line, LineVersion, MAX_NAME, Origin, Space,
};

use super::adapter::{self, IaOptions, InterfaceAdapter};
use super::answer::missing;
use super::library::call;
use crate::abi::*;
use crate::dialect;

/// The one registry of a library, or a registry of providers written in Rust, which no call of C
/// can have.
#[derive(Clone, Debug)]
pub struct Registry {
    is_library: bool,
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl Registry {
    /// The registry of the library under test.
    #[must_use]
    pub const fn of_library() -> Self {
        Self { is_library: true }
    }

    /// A registry of providers written in Rust: nothing can be done with it here.
    #[must_use]
    pub const fn new() -> Self {
        Self { is_library: false }
    }

    /// As [`Registry::new`].
    #[must_use]
    pub fn with_configuration(_configuration: Configuration) -> Self {
        Self::new()
    }

    fn check(&self, what: &'static str) -> Result<()> {
        if self.is_library { Ok(()) } else { Err(missing(what)) }
    }

    /// C has no providers written in Rust.
    ///
    /// # Errors
    /// Always.
    pub fn add_provider(&self, _provider: Arc<dyn Provider>) -> Result<()> {
        Err(missing("Registry::add_provider"))
    }

    /// C has no providers written in Rust.
    ///
    /// # Errors
    /// Always.
    pub fn remove_provider(&self, _name: &str) -> Result<()> {
        Err(missing("Registry::remove_provider"))
    }

    /// C does not tell what a name leads to.
    ///
    /// # Errors
    /// Always.
    pub fn resolve(&self, _name: &str, _version: ApiVersion) -> Result<Vec<Candidate>> {
        Err(missing("Registry::resolve"))
    }

    /// The names of dat_registry_list_providers(3DAT), which are all that can be opened; C tells
    /// no more of them.
    ///
    /// # Panics
    /// When the call fails.
    #[must_use]
    pub fn list(&self) -> Vec<Entry> {
        let names = names().expect("a list");
        names.into_iter().map(entry).collect()
    }

    /// dat_ia_open(3DAT).
    ///
    /// # Errors
    /// As the call.
    pub fn open(&self, name: &str) -> Result<InterfaceAdapter> {
        self.open_with(name, &IaOptions::default())
    }

    /// dat_ia_open(3DAT), with options.
    ///
    /// # Errors
    /// As the call.
    pub fn open_with(&self, name: &str, options: &IaOptions) -> Result<InterfaceAdapter> {
        self.check("Registry::open_with")?;
        adapter::open(name, options)
    }

    /// dat_ib_open_query of the extensions.
    ///
    /// # Errors
    /// As the call.
    pub fn open_query(&self, name: &str) -> Result<IaQuery> {
        self.check("Registry::open_query")?;
        dialect::open_query(name)
    }

    /// dat_registry_providers_related of DAT 2.0.
    ///
    /// # Errors
    /// As the call.
    pub fn providers_related(&self, one: &str, other: &str) -> Result<Relationship> {
        self.check("Registry::providers_related")?;
        dialect::providers_related(one, other)
    }
}

fn names() -> Result<Vec<DAT_PROVIDER_INFO>> {
    // SAFETY: numbers and bytes, for which zero is a value.
    let nothing: DAT_PROVIDER_INFO = unsafe { std::mem::zeroed() };
    let mut found = [nothing; 64];
    let mut places = found.each_mut().map(|place| &raw mut *place);
    let mut number = 0;
    let most = places.len() as DAT_COUNT;
    call!(registry.registry_list_providers(most, &raw mut number, places.as_mut_ptr()))?;
    Ok(found[..usize::try_from(number).expect("a number of entries")].to_vec())
}

fn entry(info: DAT_PROVIDER_INFO) -> Entry {
    let bytes = info.ia_name.map(|byte| byte as u8);
    let name = CStr::from_bytes_until_nul(&bytes).expect("names end within their room");
    let (major, minor) = (info.dapl_version_major, info.dapl_version_minor);
    Entry {
        name: name.to_string_lossy().into_owned(),
        origin: Origin::Discovered,
        api_version: Some(LineVersion { space: Space::User, major, minor }),
        thread_safe: info.is_thread_safe != DAT_FALSE,
        is_default: false,
        library: String::new(),
        provider_version: None,
        parameters: String::new(),
        platform_parameters: String::new(),
        summary: String::new(),
        syntax_error: None,
        fate: Fate::Usable,
    }
}

/// An adapter that was opened for a look only (dat_ib_open_query); closes when dropped.
#[derive(Debug)]
pub struct IaQuery {
    pub(crate) handle: DAT_HANDLE,
    pub(crate) attributes: IaAttributes,
    pub(crate) provider: ProviderAttributes,
}

impl IaQuery {
    /// What the adapter is and how much it holds.
    #[must_use]
    pub const fn attributes(&self) -> &IaAttributes {
        &self.attributes
    }

    /// What the provider offers.
    #[must_use]
    pub const fn provider_attributes(&self) -> &ProviderAttributes {
        &self.provider
    }
}

impl Drop for IaQuery {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = dialect::close_query(self.handle);
    }
}
