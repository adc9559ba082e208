//! Interface adapters.

use std::ffi::CStr;

use dat_core::registry::{Candidate, OpenRequirements, Resolved};
use dat_core::{ApiVersion, AsyncEvd, Compat, IaOptions};

use super::ep::close as close_how;
use super::*;
use crate::adapters::{Adapter, MakeTable};
use crate::argument::wanted_out;
use crate::convert::interface;
use crate::debug::{self, Kind};
use crate::foreign::Server;
use crate::memory::shortage;
use crate::{codes, foreign, registry, version};

const OPEN: &str = "dat_ia_open";

/// The name of an adapter; invalid UTF-8 is replaced.
///
/// # Safety
/// The address is NULL or that of a C string.
pub(crate) unsafe fn name(name: DAT_NAME_PTR, argument: u32) -> Result<String> {
    // SAFETY: the caller guarantees a readable struct, unless the check rejects the address.
    unsafe { given(name.cast_const(), argument) }.map_err(|error| {
        error.advise("pass the name of an adapter; `dat list` shows the names, for example tcp-lo")
    })?;
    // SAFETY: the pointer is not NULL, and the caller guarantees a C string.
    Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

pub(crate) unsafe fn openv(
    ia_name: DAT_NAME_PTR,
    async_evd_min_qlen: DAT_COUNT,
    async_evd_handle: *mut DAT_EVD_HANDLE,
    ia_handle: *mut DAT_IA_HANDLE,
    dat_major: DAT_UINT32,
    dat_minor: DAT_UINT32,
    thread_safety: DAT_BOOLEAN,
    make_table: MakeTable,
) -> CallResult {
    // SAFETY: the caller guarantees a C string, unless the check rejects the address.
    let name = unsafe { name(ia_name, 1) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let evd_out = unsafe { out(async_evd_handle, 3) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(ia_handle, 4) }?;
    debug::say(Kind::Consumer, || {
        format!("dat_ia_openv ({name:?}, {dat_major}.{dat_minor}, {thread_safety})")
    });
    let version = version(dat_major, dat_minor)?;
    shortage::check()?;
    let mark = shortage::Mark::new();
    let requirements = OpenRequirements { version, thread_safe: Some(thread_safety != DAT_FALSE) };
    let request =
        foreign::OpenRequest { name: ia_name, async_evd_min_qlen, async_evd: evd_out.read() };
    let opened = registry::shared().find(&name, requirements, |resolved| match resolved {
        Resolved::Provider(candidate) => Ok(open_own(candidate, version, &request)?),
        Resolved::Library(library) => Ok(open_foreign(Server::of_library(&library)?, &request)?),
        Resolved::Registered(registration) => {
            Ok(open_foreign(Server::of_registration(&registration)?, &request)?)
        }
    })?;
    let (handle, evd) = match opened {
        Opened::Own(ia) => {
            adapters::add_table(&ia, make_table);
            let evd = async_evd(&ia);
            let cell = handle::attach(ia.clone(), adapters::table(&ia));
            (adapters::add(Adapter::Own(cell.addr())), evd)
        }
        Opened::Foreign(opened) => {
            (adapters::add(Adapter::Foreign(opened.address)), opened.async_evd)
        }
    };
    if mark.is_passed() {
        // SAFETY: any value may be passed as a handle.
        unsafe { close(handle, DAT_CLOSE_ABRUPT_FLAG) }?;
        return Err(shortage::undone().during(OPEN));
    }
    evd_out.write(evd);
    output.write(handle);
    OK
}

/// The version of the API that a program requests: that of this library, or a smaller minor version
/// (dat_registry_list_providers(3DAT)).
fn version(major: u32, minor: u32) -> Result<ApiVersion> {
    let (own_major, own_minor) = codes::VERSION;
    let subtype = match () {
        () if major != own_major => Subtype::MajorNotFound,
        () if minor > own_minor => Subtype::MinorNotFound,
        () => return Ok(ApiVersion::new(major, minor)),
    };
    Err(Error::new(ReturnType::ProviderNotFound, subtype)
        .during(OPEN)
        .because(format!("the program requests DAT {major}.{minor}"))
        .advise(format!("this library implements DAT {own_major}.{own_minor}; link the other one")))
}

/// The error for an `async_evd_handle` whose variable was not set before the call.
#[cold]
fn unset_evd(error: Error) -> Error {
    error
        .because(
            "the variable that async_evd_handle points to does not hold a live event dispatcher",
        )
        .advise("set it to DAT_HANDLE_NULL before the call, to have a dispatcher created")
}

/// An adapter that was opened.
enum Opened {
    Own(Ia),
    Foreign(foreign::Opened),
}

// Not part of the frame of its caller, which is on the stack while an adapter is opened; the same below.
#[inline(never)]
fn open_foreign(server: Server, request: &foreign::OpenRequest) -> Result<Opened> {
    let opened = foreign::open(server, request)?;
    version::foreign_opened(opened.table, handle::of_number(opened.address as u64));
    Ok(Opened::Foreign(opened))
}

#[inline(never)]
fn open_own(
    candidate: Candidate,
    version: ApiVersion,
    request: &foreign::OpenRequest,
) -> Result<Opened> {
    let async_evd = match request.async_evd {
        DAT_HANDLE_NULL => {
            AsyncEvd::Create { min_qlen: Some(count(request.async_evd_min_qlen, 2)?) }
        }
        DAT_EVD_ASYNC_EXISTS => AsyncEvd::Foreign,
        evd => {
            AsyncEvd::Existing(object_as(evd, Subtype::InvalidHandleEvdAsync).map_err(unset_evd)?)
        }
    };
    let known = candidate.known_program();
    let opened = candidate.open(&IaOptions { version, async_evd }).map(Opened::Own)?;
    if let Some(program) = known {
        debug::say(Kind::Static, || {
            format!("{program}; {}=strict turns this off", Compat::VARIABLE)
        });
    }
    Ok(opened)
}

/// The handle of the dispatcher of asynchronous errors.
fn async_evd(ia: &Ia) -> DAT_EVD_HANDLE {
    match ia.async_evd() {
        Some(evd) => handle::attach::<Evd>(evd, adapters::table(ia)),
        None => DAT_EVD_OUT_OF_SCOPE,
    }
}

pub(crate) unsafe fn query(
    ia_handle: DAT_IA_HANDLE,
    async_evd_handle: *mut DAT_EVD_HANDLE,
    ia_attr_mask: DAT_IA_ATTR_MASK,
    ia_attr: *mut DAT_IA_ATTR,
    provider_attr_mask: DAT_PROVIDER_ATTR_MASK,
    provider_attr: *mut DAT_PROVIDER_ATTR,
) -> CallResult {
    let ia = adapters::own(ia_handle)?;
    mask(ia_attr_mask, DAT_IA_FIELD_ALL, 3)?;
    mask(provider_attr_mask, DAT_PROVIDER_FIELD_ALL, 5)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let evd_out = unsafe { optional_out(async_evd_handle, 2) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let ia_out = unsafe { wanted_out(ia_attr_mask != 0, ia_attr, 4) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let provider_out = unsafe { wanted_out(provider_attr_mask != 0, provider_attr, 6) }?;
    let shown = handle::with_storage(handle::of_number(ia.id()), |kept| {
        ia_out.write_with(|| interface::adapter_to_attributes(ia.attributes(), kept));
        let attributes = ia.provider_attributes();
        provider_out.write_with(|| interface::provider_to_attributes(attributes, kept));
    });
    shown.ok_or_else(|| invalid_handle(ia_handle, Ia::SUBTYPE))?;
    evd_out.write_with(|| async_evd(&ia));
    OK
}

pub(crate) unsafe fn close(ia_handle: DAT_IA_HANDLE, close_flags: DAT_CLOSE_FLAGS) -> CallResult {
    debug::say(Kind::Consumer, || format!("dat_ia_close ({ia_handle:p})"));
    match adapters::find(ia_handle) {
        Some((number, adapter @ Adapter::Own(_))) => {
            let ia = adapters::own(number)?;
            ia.close(close_how(close_flags)?)?;
            version::adapter_closed(ia.id());
            adapters::remove(number, adapter);
            handle::reclaim_all();
            OK
        }
        Some((number, adapter @ Adapter::Foreign(_))) => {
            foreign::close(number, adapter, close_flags)
        }
        None => Err(invalid_handle(ia_handle, Ia::SUBTYPE)),
    }
}

/// Converts the number of an adapter to its address, and back.
pub(crate) unsafe fn get_ia_handle(
    handle: DAT_IA_HANDLE,
    ia_handle_out: *mut DAT_IA_HANDLE,
) -> CallResult {
    let other = match adapters::by_number(handle) {
        Some(adapter) => Some(adapter.by_address()),
        None => adapters::by_address(handle.addr()).map(|(number, _)| number),
    };
    let other = other.ok_or_else(|| invalid_handle(handle, Ia::SUBTYPE))?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    unsafe { out(ia_handle_out, 2) }?.write(other);
    OK
}

/// Opens a Rust adapter for a caller of the function table, which uses no numbers.
pub(crate) unsafe fn open_by_table(
    ia_name: DAT_NAME_PTR,
    async_evd_min_qlen: DAT_COUNT,
    async_evd_handle: *mut DAT_EVD_HANDLE,
    ia_handle: *mut DAT_IA_HANDLE,
    make_table: MakeTable,
) -> CallResult {
    let (major, minor) = codes::VERSION;
    let mut number = DAT_HANDLE_NULL;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(ia_handle, 4) }?;
    // SAFETY: the caller keeps the contract of dat_ia_openv(3DAT); `number` is a local variable.
    unsafe {
        openv(
            ia_name,
            async_evd_min_qlen,
            async_evd_handle,
            &raw mut number,
            major,
            minor,
            DAT_TRUE,
            make_table,
        )
    }?;
    match adapters::by_number(number) {
        Some(adapter) => {
            output.write(adapter.by_address());
            OK
        }
        None => Err(Error::new(ReturnType::InternalError, Subtype::NoSubtype).during(OPEN)),
    }
}
