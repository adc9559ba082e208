//! Local memory regions.

use std::ptr::NonNull;

use dat_core::mem::Span;
use dat_core::{Lmr, LmrTriplet, MemorySource, Privileges};

use super::*;
use crate::argument::array;
use crate::convert::memory::{lmr_param_to_c, local_from_c};
use crate::handle::Region;
use crate::page_check;

const CREATE: &str = "dat_lmr_create";

/// Registers memory.
///
/// # Safety
/// The output pointers are NULL or point to writable memory; the memory to register stays valid until the region is freed.
pub(crate) unsafe fn create(
    ia_handle: DAT_IA_HANDLE,
    mem_type: DAT_MEM_TYPE,
    region_desc: DAT_REGION_DESCRIPTION,
    length: DAT_VLEN,
    pz_handle: DAT_PZ_HANDLE,
    mem_priv: DAT_MEM_PRIV_FLAGS,
    #[cfg(dat2)] va_type: DAT_VA_TYPE,
    lmr_handle: *mut DAT_LMR_HANDLE,
    lmr_context: *mut DAT_LMR_CONTEXT,
    rmr_context: *mut DAT_RMR_CONTEXT,
    registered_length: *mut DAT_VLEN,
    registered_address: *mut DAT_VADDR,
) -> CallResult {
    /// The position of the first output argument; the others follow.
    const AT: u32 = by_version! { { 7 } { 8 } };
    #[cfg(dat2)]
    crate::version::check_va_type(va_type, 7)?;
    let ia = adapters::own(ia_handle)?;
    let pz = object(pz_handle)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let handle_out = unsafe { out(lmr_handle, AT) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let context_out = unsafe { optional_out(lmr_context, AT + 1) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let remote_out = unsafe { optional_out(rmr_context, AT + 2) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let length_out = unsafe { optional_out(registered_length, AT + 3) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let address_out = unsafe { optional_out(registered_address, AT + 4) }?;
    let region = Region { description: region_desc, length };
    // SAFETY: the caller guarantees the memory and a matching description.
    let lmr = unsafe { register(&ia, &pz, mem_type, region, mem_priv) }?;
    let param = lmr.query()?;
    let handle = handle::attach(lmr, adapters::table(&ia));
    handle::with_storage(handle, |kept| kept.region = Some(region));
    handle_out.write(handle);
    context_out.write(param.lmr_context);
    remote_out.write(param.rmr_context);
    length_out.write(param.registered_size);
    address_out.write(param.registered_address);
    OK
}

/// # Safety
/// The description matches its memory type.
unsafe fn register(
    ia: &Ia,
    pz: &Pz,
    mem_type: DAT_MEM_TYPE,
    Region { description, length }: Region,
    mem_priv: DAT_MEM_PRIV_FLAGS,
) -> Result<Lmr> {
    let privileges = Privileges::from_bits_retain(mem_priv);
    let original: Lmr;
    let source = match mem_type {
        DAT_MEM_TYPE_VIRTUAL => {
            // SAFETY: every member starts with an address, and any bit pattern is valid.
            let address = unsafe { description.for_va };
            MemorySource::Span(span(ia, address, length, privileges)?)
        }
        DAT_MEM_TYPE_LMR => {
            // SAFETY: every member starts with an address, and any bit pattern is valid.
            original = object(unsafe { description.for_lmr_handle })?;
            MemorySource::Lmr(&original)
        }
        DAT_MEM_TYPE_SHARED_VIRTUAL => {
            // SAFETY: any bit pattern is valid.
            let shared = unsafe { description.for_shared_memory };
            // SAFETY: the caller guarantees a readable struct, unless the check rejects it.
            let id = unsafe { given(shared.shared_memory_id.cast_const(), 3) }?;
            let span = span(ia, shared.virtual_address, length, privileges)?;
            MemorySource::Shared { id: id.map(|it| it as u8), span }
        }
        other => return Err(invalid(2, format!("invalid DAT_MEM_TYPE value {other:#x}"))),
    };
    ia.lmr_create(source, pz, privileges)
}

/// The memory, if it is mapped with the needed access.
fn span(ia: &Ia, address: DAT_PVOID, size: DAT_VLEN, access: Privileges) -> Result<Span> {
    let fail = |argument, reason: String| Err(invalid(argument, reason).during(CREATE));
    if size == 0 {
        return Err(Error::new(ReturnType::LengthError, Subtype::NoSubtype)
            .during(CREATE)
            .because("a region has at least one byte"));
    }
    let base = NonNull::new(address.cast::<u8>());
    let (Some(base), Ok(length)) = (base, usize::try_from(size)) else {
        return fail(3, format!("there are no {size} bytes of memory at {address:p}"));
    };
    let most = ia.attributes().max_lmr_block_size;
    if size > most {
        return fail(4, format!("the length {size} exceeds the adapter's {most}"));
    }
    let writes = Privileges::LOCAL_WRITE | Privileges::REMOTE_WRITE | Privileges::REMOTE_ATOMIC;
    if let Err(errno) = page_check::check(address.addr(), length, access.intersects(writes)) {
        let end = address.addr().saturating_add(length);
        return Err(Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg3)
            .during(CREATE)
            .because(format!(
                "the memory from {address:p} to {end:#x} is not all mapped with the requested \
                 access"
            ))
            .advise(
                "register memory that is mapped, and mapped writable if its privileges \
                 include writing",
            )
            .errno(errno));
    }
    // SAFETY: the range was just found to be mapped; the consumer guarantees that it stays so
    // until the region is freed.
    Ok(unsafe { Span::new(base, length) })
}

query_call! { Lmr as DAT_LMR_PARAM, DAT_LMR_FIELD_ALL: |lmr, lmr_handle| {
    let param = lmr.query()?;
    let region = handle::storage_of::<Lmr, _>(lmr_handle, |kept| kept.region)?;
    let region = region.ok_or_else(|| invalid_handle(lmr_handle, Lmr::SUBTYPE))?;
    lmr_param_to_c(adapters::handle_of(&lmr.adapter()), region, &param)
}}

/// Maximum number of segments in one sync call.
const MAX_SEGMENTS: u64 = 1 << 20;

/// # Safety
/// The address is that of `num_segments` readable segments.
unsafe fn segments(
    local_segments: *const DAT_LMR_TRIPLET,
    num_segments: DAT_VLEN,
) -> Result<Vec<LmrTriplet>> {
    // SAFETY: the caller guarantees the given number of readable elements.
    let segments = unsafe { array(local_segments, num_segments, MAX_SEGMENTS, (3, 2)) }?;
    Ok(segments.iter().map(local_from_c).collect())
}

pub(crate) unsafe fn sync_rdma_read(
    ia_handle: DAT_IA_HANDLE,
    local_segments: *const DAT_LMR_TRIPLET,
    num_segments: DAT_VLEN,
) -> CallResult {
    let ia = adapters::own(ia_handle)?;
    // SAFETY: the caller guarantees the given number of readable segments.
    ia.lmr_sync_rdma_read(&unsafe { segments(local_segments, num_segments) }?)?;
    OK
}

pub(crate) unsafe fn sync_rdma_write(
    ia_handle: DAT_IA_HANDLE,
    local_segments: *const DAT_LMR_TRIPLET,
    num_segments: DAT_VLEN,
) -> CallResult {
    let ia = adapters::own(ia_handle)?;
    // SAFETY: the caller guarantees the given number of readable segments.
    ia.lmr_sync_rdma_write(&unsafe { segments(local_segments, num_segments) }?)?;
    OK
}

end_call! { Lmr }
