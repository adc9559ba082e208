//! The registry of the library.

use std::ffi::CStr;
use std::sync::Arc;

use real::attr::{IaAttributes, ProviderAttributes};
use real::error::{Result, ReturnType};
use real::provider::{Provider, Relationship};
pub use real::registry::{
    ApiVersion, Candidate, Configuration, ConsumerSpace, Entry, EntryOrigin, EntryStatus, Line,
    LineVersion, ListedAdapter, MAX_NAME,
};

use super::adapter::Ia;
use super::ia_open::{self, IaOptions};
use super::result::call;
use super::result::missing;
use crate::abi::*;
use crate::version;

/// The registry of the library, or a registry of providers written in Rust, which the C API does
/// not have.
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

    /// A registry of providers written in Rust, with which all calls fail.
    #[must_use]
    pub const fn new() -> Self {
        Self { is_library: false }
    }

    /// Does the same as [`Registry::new`].
    #[must_use]
    pub fn with_configuration(_configuration: Configuration) -> Self {
        Self::new()
    }

    fn check(&self, what: &'static str) -> Result<()> {
        if self.is_library { Ok(()) } else { Err(missing(what)) }
    }

    /// The C API has no providers written in Rust.
    ///
    /// # Errors
    /// Always.
    pub fn add_provider(&self, _provider: Arc<dyn Provider>) -> Result<()> {
        Err(missing("Registry::add_provider"))
    }

    /// The C API has no providers written in Rust.
    ///
    /// # Errors
    /// Always.
    pub fn remove_provider(&self, _name: &str) -> Result<()> {
        Err(missing("Registry::remove_provider"))
    }

    /// The C API has no call that resolves a name.
    ///
    /// # Errors
    /// Always.
    pub fn resolve(&self, _name: &str, _version: ApiVersion) -> Result<Vec<Candidate>> {
        Err(missing("Registry::resolve"))
    }

    /// The names of dat_registry_list_providers(3DAT). The C API has no further information.
    ///
    /// # Panics
    /// If the call fails.
    #[must_use]
    pub fn list(&self) -> Vec<Entry> {
        let names = names().expect("a list");
        names.into_iter().map(entry).collect()
    }

    /// The names of dat_registry_list_providers(3DAT). A library has one version.
    ///
    /// # Panics
    /// If the call fails.
    #[must_use]
    pub fn listed_adapters(&self, _version: ApiVersion) -> Vec<ListedAdapter> {
        let listed =
            |entry: Entry| ListedAdapter { name: entry.name, thread_safe: entry.thread_safe };
        self.list().into_iter().map(listed).collect()
    }

    /// dat_ia_open(3DAT).
    pub fn open(&self, name: &str) -> Result<Ia> {
        self.open_with(name, &IaOptions::default())
    }

    /// dat_ia_open(3DAT), with options.
    pub fn open_with(&self, name: &str, options: &IaOptions) -> Result<Ia> {
        self.check("Registry::open_with")?;
        ia_open::open(name, options)
    }

    /// dat_ib_open_query of the extensions.
    pub fn open_query(&self, name: &str) -> Result<IaQuery> {
        self.check("Registry::open_query")?;
        let (handle, (attributes, provider)) = version::open_query(name)?;
        Ok(IaQuery { handle, attributes, provider })
    }

    /// dat_registry_providers_related of DAT 2.0.
    pub fn providers_related(&self, one: &str, other: &str) -> Result<Relationship> {
        self.check("Registry::providers_related")?;
        version::providers_related(one, other)
    }
}

fn names() -> Result<Vec<DAT_PROVIDER_INFO>> {
    // SAFETY: the struct holds integers and bytes, for which all zero bits are valid.
    let nothing: DAT_PROVIDER_INFO = unsafe { std::mem::zeroed() };
    let mut number = 0;
    // A call with a list that is too short fails and returns the number of entries.
    let no_list = std::ptr::null_mut();
    let refused = call!(registry.registry_list_providers(0, &raw mut number, no_list));
    assert!(refused.is_err_and(|error| error.is(ReturnType::InvalidParameter)));
    let mut found = vec![nothing; usize::try_from(number).expect("a count is not negative")];
    let mut places: Vec<_> = found.iter_mut().map(|place| &raw mut *place).collect();
    call!(registry.registry_list_providers(number, &raw mut number, places.as_mut_ptr()))?;
    assert_eq!(usize::try_from(number), Ok(found.len()), "all of them");
    Ok(found)
}

fn entry(info: DAT_PROVIDER_INFO) -> Entry {
    let bytes = info.ia_name.map(|byte| byte as u8);
    let name = CStr::from_bytes_until_nul(&bytes).expect("names are NUL-terminated");
    let (major, minor) = (info.dapl_version_major, info.dapl_version_minor);
    Entry {
        name: name.to_string_lossy().into_owned(),
        origin: EntryOrigin::Discovered,
        api_version: Some(LineVersion { space: ConsumerSpace::User, major, minor }),
        thread_safe: info.is_thread_safe != DAT_FALSE,
        is_default: false,
        library: String::new(),
        provider_version: None,
        parameters: String::new(),
        platform_parameters: String::new(),
        reach: None,
        summary: String::new(),
        syntax_error: None,
        status: EntryStatus::Usable,
    }
}

/// An adapter that is open for queries only (dat_ib_open_query). Dropping it closes it.
#[derive(Debug)]
pub struct IaQuery {
    handle: DAT_HANDLE,
    attributes: IaAttributes,
    provider: ProviderAttributes,
}

impl IaQuery {
    /// The attributes of the adapter.
    #[must_use]
    pub const fn attributes(&self) -> &IaAttributes {
        &self.attributes
    }

    /// The attributes of the provider.
    #[must_use]
    pub const fn provider_attributes(&self) -> &ProviderAttributes {
        &self.provider
    }
}

impl Drop for IaQuery {
    fn drop(&mut self) {
        // Drop has no caller to report an error to.
        let _ = version::close_query(self.handle);
    }
}
