//! Open devices (ibv_open_device(3)), and the operations that inline functions of the header call through them.

use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::ptr::without_provenance_mut;
use std::sync::{Arc, OnceLock};

use rdma_verbs::sys::extended::verbs_context;
use rdma_verbs::sys::verbs::{ibv_context, ibv_context_ops, ibv_device};

use super::{
    attributes, clock, completion_queue, completion_queue_ex, device, domain, post, queue_pair,
    region, shared_receive, window,
};
use crate::guard;
use crate::object::{self, Zero};

/// An open device. The structure of C is behind its extended operations.
#[repr(C)]
struct Context {
    c: verbs_context,
    core: Arc<dat_soft_verbs::Context>,
}

const OFFSET: usize = offset_of!(Context, c) + offset_of!(verbs_context, context);

/// The context of the core.
///
/// # Safety
/// The context must be open.
pub unsafe fn core<'a>(context: *mut ibv_context) -> &'a Arc<dat_soft_verbs::Context> {
    let whole = context.wrapping_byte_sub(OFFSET).cast::<Context>();
    // SAFETY: the caller guarantees an open context, which is a part of this; the field never changes.
    unsafe { &(*whole).core }
}

/// The process that first opened a device: a child of fork(2) has connections of its own.
static PROCESS: OnceLock<u32> = OnceLock::new();

/// Runs when the process exits, with its objects as the program has left them.
extern "C" fn at_exit() {
    if PROCESS.get() == Some(&std::process::id()) {
        // A panic was reported on standard error.
        let _ = guard::run(|| {
            dat_soft_verbs::end_connections();
            Ok(())
        });
    }
}

/// Opens a device, or returns null with errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_open_device(device: *mut ibv_device) -> *mut ibv_context {
    guard::object(|| {
        // SAFETY: the caller guarantees a device.
        let core = unsafe { device::core(device) }.open()?;
        PROCESS.get_or_init(|| {
            // SAFETY: the library is never unloaded (link/libraries). Without memory for it, it does not run.
            let _ = unsafe { libc::atexit(at_exit) };
            std::process::id()
        });
        let mut c = extended_operations();
        c.context.device = device;
        c.context.ops = operations();
        c.context.async_fd = core.async_events().descriptor().as_raw_fd();
        // Programs duplicate it for ibv_import_device, which refuses it.
        c.context.cmd_fd = c.context.async_fd;
        c.context.num_comp_vectors = 1;
        // What says that there are extended operations (`__VERBS_ABI_IS_EXTENDED`).
        c.context.abi_compat = without_provenance_mut(usize::MAX);
        let whole = object::create(|_| Ok(Context { c, core }))?;
        Ok(whole.wrapping_byte_add(OFFSET).cast())
    })
}

/// Closes a context. As in rdma-core, its objects are not destroyed: the program does that before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_close_device(context: *mut ibv_context) -> c_int {
    guard::number(|| {
        // SAFETY: the caller guarantees an open context, which is a part of this.
        unsafe { object::delete(context.wrapping_byte_sub(OFFSET).cast::<Context>()) };
        Ok(0)
    })
}

/// The operations of a plain context.
fn operations() -> ibv_context_ops {
    // SAFETY: all zeros is valid: no operation.
    let mut operations: ibv_context_ops = unsafe { std::mem::zeroed() };
    operations._compat_query_device = attributes::ibv_query_device as *const c_void;
    operations._compat_query_port = attributes::ibv_query_port as *const c_void;
    operations.alloc_mw = Some(window::allocate);
    operations.bind_mw = Some(window::bind);
    operations.dealloc_mw = Some(window::deallocate);
    operations.poll_cq = Some(completion_queue::poll);
    operations.req_notify_cq = Some(completion_queue::request_notification);
    operations.post_srq_recv = Some(shared_receive::post);
    operations.post_send = Some(post::send);
    operations.post_recv = Some(post::receive);
    operations
}

/// The operations of an extended context. What is missing fails in the header's functions with `EOPNOTSUPP`.
fn extended_operations() -> verbs_context {
    let mut operations = verbs_context::zero();
    operations.sz = size_of::<verbs_context>();
    operations.query_port = Some(attributes::query_port);
    operations.query_device_ex = Some(attributes::query_device_ex);
    operations.query_rt_values = Some(clock::query);
    operations.advise_mr = Some(region::advise);
    operations.alloc_parent_domain = Some(domain::allocate_parent);
    operations.alloc_td = Some(domain::allocate_thread_domain);
    operations.dealloc_td = Some(domain::deallocate_thread_domain);
    operations.create_cq_ex = Some(completion_queue_ex::create);
    operations.modify_cq = Some(completion_queue::modify);
    operations.create_qp_ex = Some(queue_pair::create_extended);
    operations.create_srq_ex = Some(shared_receive::create_extended);
    operations
}
