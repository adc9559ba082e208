//! The C library under test, loaded once. Its calls are looked up by name, as a linker does.

use std::env;
use std::ffi::{CStr, c_char};
use std::mem;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use super::shared_object::{Shared, fill};
use crate::abi::*;
use crate::version;

/// The calls of the library. The table has the type of a provider's table, which has a slot for
/// nearly every call; here each slot holds the function that the library exports by that name.
pub(crate) struct Library {
    pub(crate) shared: Shared,
    pub(crate) table: DAT_PROVIDER,
    pub(crate) registry: RegistryCalls,
    detail: extern "C" fn() -> *const c_char,
}

/// The calls that a provider's table does not have.
pub(crate) struct RegistryCalls {
    pub(crate) ia_openv: DAT_IA_OPENV_FUNC,
    pub(crate) registry_list_providers: Option<
        unsafe extern "C" fn(DAT_COUNT, *mut DAT_COUNT, *mut *mut DAT_PROVIDER_INFO) -> DAT_RETURN,
    >,
}

// SAFETY: the pointers are to functions of a library that is never unloaded.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

/// The library; the first call loads it.
///
/// # Panics
/// If it cannot be loaded.
pub(crate) fn library() -> &'static Library {
    static LIBRARY: LazyLock<Library> = LazyLock::new(Library::load);
    &LIBRARY
}

/// Loads the library and returns its path. Builds it first, unless the environment names one.
///
/// # Panics
/// If it cannot be built or loaded.
pub fn load() -> &'static Path {
    &library().shared.path
}

/// The path that the environment names, or else the library that `make` builds from this source tree.
fn find() -> PathBuf {
    if let Some(path) = env::var_os(version::VARIABLE) {
        return path.into();
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let path = workspace.join(target).join("capi/lib").join(version::FILE);
    let built = Command::new("make").arg("--no-print-directory").current_dir(&workspace).output();
    let built = built.expect("make, which builds the C libraries: apt-get install make");
    let errors = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "make cannot build the C libraries: {errors}");
    path
}

impl Library {
    fn load() -> Self {
        let shared = Shared::load(find(), version::VARIABLE);
        // SAFETY: the struct holds pointers and optional function pointers, for which all zero bits are valid.
        let mut table: DAT_PROVIDER = unsafe { mem::zeroed() };
        fill! { shared, table;
            ia_query_func = c"dat_ia_query",
            ia_close_func = c"dat_ia_close",
            set_consumer_context_func = c"dat_set_consumer_context",
            get_consumer_context_func = c"dat_get_consumer_context",
            get_handle_type_func = c"dat_get_handle_type",
            cno_create_func = c"dat_cno_create",
            cno_modify_agent_func = c"dat_cno_modify_agent",
            cno_query_func = c"dat_cno_query",
            cno_free_func = c"dat_cno_free",
            cno_wait_func = c"dat_cno_wait",
            cr_query_func = c"dat_cr_query",
            cr_accept_func = c"dat_cr_accept",
            cr_reject_func = c"dat_cr_reject",
            cr_handoff_func = c"dat_cr_handoff",
            evd_create_func = c"dat_evd_create",
            evd_query_func = c"dat_evd_query",
            evd_modify_cno_func = c"dat_evd_modify_cno",
            evd_enable_func = c"dat_evd_enable",
            evd_disable_func = c"dat_evd_disable",
            evd_wait_func = c"dat_evd_wait",
            evd_resize_func = c"dat_evd_resize",
            evd_post_se_func = c"dat_evd_post_se",
            evd_dequeue_func = c"dat_evd_dequeue",
            evd_free_func = c"dat_evd_free",
            ep_create_func = c"dat_ep_create",
            ep_query_func = c"dat_ep_query",
            ep_modify_func = c"dat_ep_modify",
            ep_connect_func = c"dat_ep_connect",
            ep_dup_connect_func = c"dat_ep_dup_connect",
            ep_disconnect_func = c"dat_ep_disconnect",
            ep_post_send_func = c"dat_ep_post_send",
            ep_post_recv_func = c"dat_ep_post_recv",
            ep_post_rdma_read_func = c"dat_ep_post_rdma_read",
            ep_post_rdma_write_func = c"dat_ep_post_rdma_write",
            ep_get_status_func = c"dat_ep_get_status",
            ep_free_func = c"dat_ep_free",
            lmr_create_func = c"dat_lmr_create",
            lmr_query_func = c"dat_lmr_query",
            lmr_free_func = c"dat_lmr_free",
            rmr_create_func = c"dat_rmr_create",
            rmr_query_func = c"dat_rmr_query",
            rmr_bind_func = c"dat_rmr_bind",
            rmr_free_func = c"dat_rmr_free",
            psp_create_func = c"dat_psp_create",
            psp_query_func = c"dat_psp_query",
            psp_free_func = c"dat_psp_free",
            rsp_create_func = c"dat_rsp_create",
            rsp_query_func = c"dat_rsp_query",
            rsp_free_func = c"dat_rsp_free",
            pz_create_func = c"dat_pz_create",
            pz_query_func = c"dat_pz_query",
            pz_free_func = c"dat_pz_free",
            psp_create_any_func = c"dat_psp_create_any",
            ep_reset_func = c"dat_ep_reset",
            evd_set_unwaitable_func = c"dat_evd_set_unwaitable",
            evd_clear_unwaitable_func = c"dat_evd_clear_unwaitable",
            lmr_sync_rdma_read_func = c"dat_lmr_sync_rdma_read",
            lmr_sync_rdma_write_func = c"dat_lmr_sync_rdma_write",
            ep_create_with_srq_func = c"dat_ep_create_with_srq",
            ep_recv_query_func = c"dat_ep_recv_query",
            ep_set_watermark_func = c"dat_ep_set_watermark",
            srq_create_func = c"dat_srq_create",
            srq_free_func = c"dat_srq_free",
            srq_post_recv_func = c"dat_srq_post_recv",
            srq_query_func = c"dat_srq_query",
            srq_resize_func = c"dat_srq_resize",
            srq_set_lw_func = c"dat_srq_set_lw",
        }
        version::fill_more(&shared, &mut table);
        let registry = RegistryCalls {
            ia_openv: shared.find(c"dat_ia_openv"),
            registry_list_providers: shared.find(c"dat_registry_list_providers"),
        };
        let detail = shared.find(c"dat_error_detail");
        Self { shared, table, registry, detail }
    }

    /// The text of dat_error_detail() for this thread's last error.
    pub(crate) fn detail(&self) -> String {
        let text = (self.detail)();
        // SAFETY: never NULL, and valid until this thread's next DAT call.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}
