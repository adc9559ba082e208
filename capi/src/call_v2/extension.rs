//! The operations of the InfiniBand extension (dat_extension_op).

use dat_core::Collective;

use super::*;
use crate::call::post::{cookie, flags, on};
use crate::convert::memory::{Segments, local_from_c, remote, segments};

pub(crate) unsafe fn opv(handle: DAT_HANDLE, ext_op: DAT_EXTENDED_OP, args: va_list) -> CallResult {
    // SAFETY: the caller passes the arguments of the operation.
    unsafe { op(handle, ext_op, args) }.map_err(|error| match error.operation() {
        "" => error.during(call_of(ext_op)),
        _ => error,
    })
}

/// The call as the program wrote it: a macro over `dat_extension_op`.
fn call_of(ext_op: DAT_EXTENDED_OP) -> &'static str {
    match ext_op as DAT_IB_OP {
        DAT_IB_FETCH_AND_ADD_OP => "dat_ib_post_fetch_and_add",
        DAT_IB_CMP_AND_SWAP_OP => "dat_ib_post_cmp_and_swap",
        DAT_IB_RDMA_WRITE_IMMED_OP => "dat_ib_post_rdma_write_immed",
        DAT_IB_UD_SEND_OP => "dat_ib_post_send_ud",
        DAT_IB_QUERY_COUNTERS_OP => "dat_ib_query_counters",
        DAT_IB_PRINT_COUNTERS_OP => "dat_ib_print_counters",
        DAT_IB_START_COUNTERS_OP => "dat_ib_start_counter",
        DAT_IB_STOP_COUNTERS_OP => "dat_ib_stop_counter",
        DAT_IB_UD_CM_FREE_OP => "dat_ib_ud_cm_free",
        DAT_IB_UD_AH_FREE_OP => "dat_ib_ud_ah_free",
        DAT_IB_OPEN_QUERY_OP => "dat_ib_open_query",
        DAT_IB_CLOSE_QUERY_OP => "dat_ib_close_query",
        _ => "dat_extension_op",
    }
}

/// # Safety
/// The arguments are those of the operation.
unsafe fn op(handle: DAT_HANDLE, ext_op: DAT_EXTENDED_OP, args: va_list) -> CallResult {
    let operation = ext_op as DAT_IB_OP;
    match operation {
        // SAFETY: the caller passes the arguments of the operation.
        DAT_IB_OPEN_QUERY_OP => return unsafe { open_query::open(args) },
        // SAFETY: the caller passes the arguments of the operation.
        DAT_IB_CLOSE_QUERY_OP => return unsafe { open_query::close(handle, args) },
        _ => {}
    }
    // SAFETY: the caller passes the arguments of the operation.
    if let Some(result) = unsafe { foreign_extension::op(handle, ext_op, args) } {
        return result;
    }
    // SAFETY: the caller passes the arguments of the operation.
    let arguments = unsafe { Arguments::of(args) };
    match operation {
        DAT_IB_FETCH_AND_ADD_OP => fetch_and_add(handle, arguments),
        DAT_IB_CMP_AND_SWAP_OP => compare_and_swap(handle, arguments),
        DAT_IB_RDMA_WRITE_IMMED_OP => write_immediate(handle, arguments),
        DAT_IB_UD_SEND_OP => send_datagram(handle, arguments),
        // SAFETY: the caller passes the arguments of the operation.
        DAT_IB_QUERY_COUNTERS_OP => unsafe { counters::query(handle, arguments) },
        // SAFETY: the caller passes the arguments of the operation.
        DAT_IB_PRINT_COUNTERS_OP => unsafe { counters::print(handle, arguments) },
        DAT_IB_START_COUNTERS_OP => counters::start(handle),
        DAT_IB_STOP_COUNTERS_OP => counters::stop(handle),
        DAT_IB_UD_CM_FREE_OP => free_request(handle, arguments),
        DAT_IB_UD_AH_FREE_OP => free_address(handle, arguments),
        _ => collective(handle, ext_op),
    }
}

/// The local segment of an atomic operation.
fn local(arguments: &mut Arguments, argument: u32) -> Result<dat_core::LmrTriplet> {
    let segment: *mut DAT_LMR_TRIPLET = arguments.next();
    // SAFETY: the caller guarantees a readable struct, unless the check rejects the address.
    unsafe { given(segment.cast_const(), argument) }.map(local_from_c)
}

fn context(arguments: &mut Arguments) -> u64 {
    cookie(DAT_CONTEXT { as_64: arguments.next() })
}

fn fetch_and_add(handle: DAT_EP_HANDLE, mut arguments: Arguments) -> CallResult {
    on(handle, |ep| {
        let add = arguments.next();
        let local = local(&mut arguments, 4)?;
        let cookie = context(&mut arguments);
        let target: *mut DAT_RMR_TRIPLET = arguments.next();
        // SAFETY: the caller guarantees a readable segment, unless the check rejects the address.
        let target = unsafe { remote(target, 6) }?;
        ep.post_fetch_and_add(add, local, cookie, target, flags(arguments.next()))
    })
}

fn compare_and_swap(handle: DAT_EP_HANDLE, mut arguments: Arguments) -> CallResult {
    on(handle, |ep| {
        let compare = arguments.next();
        let swap = arguments.next();
        let local = local(&mut arguments, 5)?;
        let cookie = context(&mut arguments);
        let target: *mut DAT_RMR_TRIPLET = arguments.next();
        // SAFETY: the caller guarantees a readable segment, unless the check rejects the address.
        let target = unsafe { remote(target, 7) }?;
        let flags = flags(arguments.next());
        ep.post_compare_and_swap((compare, swap), local, cookie, target, flags)
    })
}

fn write_immediate(handle: DAT_EP_HANDLE, mut arguments: Arguments) -> CallResult {
    on(handle, |ep| {
        let count: DAT_COUNT = arguments.next();
        let iov: *mut DAT_LMR_TRIPLET = arguments.next();
        let mut buffer = Segments::new();
        // SAFETY: the caller guarantees the given number of readable segments.
        let iov = unsafe { segments(count, iov, &mut buffer) }?;
        let cookie = context(&mut arguments);
        let target: *mut DAT_RMR_TRIPLET = arguments.next();
        // SAFETY: the caller guarantees a readable segment, unless the check rejects the address.
        let target = unsafe { remote(target, 6) }?;
        let immediate = arguments.next();
        ep.post_rdma_write_immediate(iov, cookie, target, immediate, flags(arguments.next()))
    })
}

fn send_datagram(handle: DAT_EP_HANDLE, mut arguments: Arguments) -> CallResult {
    on(handle, |ep| {
        let count: DAT_COUNT = arguments.next();
        let iov: *mut DAT_LMR_TRIPLET = arguments.next();
        let mut buffer = Segments::new();
        // SAFETY: the caller guarantees the given number of readable segments.
        let iov = unsafe { segments(count, iov, &mut buffer) }?;
        let to = address_handle::get(ep.adapter().id(), &address(&mut arguments, 5)?)
            .ok_or_else(|| unknown_address(5))?;
        let cookie = context(&mut arguments);
        ep.post_send_datagram(iov, &to, cookie, flags(arguments.next()))
    })
}

fn address(arguments: &mut Arguments, argument: u32) -> Result<DAT_IB_ADDR_HANDLE> {
    let address: *mut DAT_IB_ADDR_HANDLE = arguments.next();
    // SAFETY: the caller guarantees a readable struct, unless the check rejects the address.
    unsafe { given(address.cast_const(), argument) }
}

#[cold]
fn unknown_address(argument: u32) -> Error {
    invalid(argument, "the address handle was freed, or belongs to another adapter")
        .advise("use the remote_ah of an established event while its adapter is open")
}

fn free_address(handle: DAT_EP_HANDLE, mut arguments: Arguments) -> CallResult {
    let endpoint: Ep = object(handle)?;
    match address_handle::free(endpoint.adapter().id(), &address(&mut arguments, 3)?) {
        true => OK,
        false => Err(unknown_address(3)),
    }
}

/// Frees the request of an attempt: there is nothing to free, because it ends with its event. So
/// the context in the event is 0.
fn free_request(handle: DAT_EP_HANDLE, mut arguments: Arguments) -> CallResult {
    object::<Ep>(handle)?;
    match context(&mut arguments) {
        0 => OK,
        other => Err(invalid(3, format!("{other:#x} is not the context of an event"))),
    }
}

fn collective(handle: DAT_HANDLE, ext_op: DAT_EXTENDED_OP) -> CallResult {
    let operation = u32::try_from(ext_op).ok().and_then(Collective::from_number);
    let cell = adapters::to_cell(handle);
    let object = AnyObject::get(cell);
    match (operation, object) {
        (Some(operation), Some(AnyObject::Ia(ia))) => ia.collective(operation)?,
        (Some(operation), Some(AnyObject::Evd(evd))) => evd.adapter().collective(operation)?,
        (_, None) => return Err(invalid_handle(cell, Subtype::InvalidHandle1)),
        (operation, Some(_)) => {
            let name = operation.map_or("the operation", Collective::name);
            let reason = format!("{name} ({ext_op:#x}) is not an operation of a built-in provider");
            return Err(Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
                .during("dat_extension_op")
                .because(reason));
        }
    }
    OK
}
