//! Opening adapters.

use std::ffi::CString;
use std::ptr::null_mut;

use real::ApiVersion;
use real::error::Result;

use super::adapter::Ia;
use super::attributes;
use super::convert::to_count;
use super::evd::Evd;
use super::handle_type::Handle as _;
use super::result::call;
use crate::abi::*;
use crate::version;

/// How an adapter is opened (dat_ia_open(3DAT)).
#[derive(Clone, Debug)]
pub struct IaOptions {
    /// The version of the API that the name must be registered for.
    pub version: ApiVersion,
    /// The dispatcher for asynchronous errors.
    pub async_evd: AsyncEvd,
}

/// The dispatcher for asynchronous errors of an adapter.
#[derive(Clone, Debug)]
pub enum AsyncEvd {
    /// A dispatcher that the adapter creates.
    Create {
        /// Minimum queue length in events; `DEFAULT_QLEN` if `None`.
        min_qlen: Option<u32>,
    },
    /// A dispatcher of the consumer.
    Existing(Evd),
    /// A dispatcher that exists elsewhere (`DAT_EVD_ASYNC_EXISTS`).
    Foreign,
}

impl Default for IaOptions {
    fn default() -> Self {
        Self { version: ApiVersion::ANY, async_evd: AsyncEvd::Create { min_qlen: None } }
    }
}

/// Queue length for asynchronous errors if the consumer names none: C has no default.
const DEFAULT_QLEN: u32 = 4;

/// Opens an adapter by its name.
pub(crate) fn open(name: &str, options: &IaOptions) -> Result<Ia> {
    let (mut evd, qlen) = match &options.async_evd {
        AsyncEvd::Create { min_qlen } => (DAT_HANDLE_NULL, min_qlen.unwrap_or(DEFAULT_QLEN)),
        AsyncEvd::Existing(evd) => (evd.handle(), 1),
        AsyncEvd::Foreign => (DAT_EVD_ASYNC_EXISTS, 1),
    };
    let text = CString::new(name).expect("names of cases contain no NUL");
    let mut handle: DAT_IA_HANDLE = null_mut();
    let (major, minor) = version::api_version(options.version);
    call!(registry.ia_openv(
        text.as_ptr().cast_mut(),
        to_count(qlen),
        &raw mut evd,
        &raw mut handle,
        major,
        minor,
        DAT_TRUE,
    ))?;
    let described = attributes::of_adapter(handle).and_then(|(attributes, provider)| {
        Ok((attributes, provider, attributes::default_endpoint(handle)?))
    });
    let (attributes, provider, default_ep) = match described {
        Ok(described) => described,
        Err(error) => {
            call!(table.ia_close_func(handle, DAT_CLOSE_ABRUPT_FLAG))?;
            return Err(error);
        }
    };
    Ok(Ia::opened(handle, attributes, provider, default_ep))
}
