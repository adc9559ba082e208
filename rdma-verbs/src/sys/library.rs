//! libibverbs and librdmacm, opened when they are first needed.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt;

use dat_sync::Lazy;

use libc::{size_t, sockaddr, ssize_t};

use super::gid::ibv_gid_entry;
use super::rdma_cma::{
    rdma_addrinfo, rdma_cm_event, rdma_cm_id, rdma_cm_join_mc_attr_ex, rdma_conn_param,
    rdma_event_channel,
};
use super::verbs::{
    ibv_ah, ibv_ah_attr, ibv_async_event, ibv_comp_channel, ibv_context, ibv_cq, ibv_device,
    ibv_device_attr, ibv_ece, ibv_gid, ibv_mr, ibv_pd, ibv_port_attr, ibv_qp, ibv_qp_attr,
    ibv_qp_ex, ibv_qp_init_attr, ibv_srq, ibv_srq_attr, ibv_srq_init_attr, ibv_wc,
};

/// The functions of both libraries.
pub struct Libraries {
    pub verbs: Verbs,
    pub cm: RdmaCm,
}

impl fmt::Debug for Libraries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Libraries").finish_non_exhaustive()
    }
}

/// Why a library cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// The file name of the library.
    pub library: &'static str,
    /// The text of the dynamic linker.
    pub reason: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot use {}: {}", self.library, self.reason)
    }
}

impl std::error::Error for LoadError {}

/// Opens the libraries the first time, and returns the same result from then on.
///
/// # Errors
/// One of the libraries, or a function of it, is missing.
pub fn libraries() -> Result<&'static Libraries, &'static LoadError> {
    static LIBRARIES: Lazy<Result<Libraries, LoadError>> =
        Lazy::new(|| Ok(Libraries { verbs: Verbs::load()?, cm: RdmaCm::load()? }));
    LIBRARIES.as_ref()
}

/// Looks up the function of a symbol; the second argument gives its type.
macro_rules! function {
    ($symbol:expr, ($($arg:ty),*) $(-> $result:ty)?) => {
        // SAFETY: the symbol with that name and version is a function of that type: both are frozen
        // once released, and the types are tested against the header. The library is never closed.
        unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) $(-> $result)?>(
                $symbol,
            )
        }
    };
}

/// A table of functions of a library, each looked up with its symbol version. Those in the second
/// part were added in later releases and may be missing.
macro_rules! functions {
    ($(#[$doc:meta])* $table:ident = $library:literal {
        $($name:ident @ $version:literal ($($arg:ty),*) $(-> $result:ty)?;)+
    } later {
        $($later:ident @ $release:literal ($($later_arg:ty),*) $(-> $later_result:ty)?;)+
    }) => {
        $(#[$doc])*
        pub struct $table {
            $(pub $name: unsafe extern "C" fn($($arg),*) $(-> $result)?,)+
            $(pub $later: Option<unsafe extern "C" fn($($later_arg),*) $(-> $later_result)?>,)+
        }

        impl fmt::Debug for $table {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($table)).finish_non_exhaustive()
            }
        }

        impl $table {
            fn load() -> Result<Self, LoadError> {
                let library = Library::open($library)?;
                Ok(Self {
                    $($name: function!(
                        library.symbol(stringify!($name), $version)?,
                        ($($arg),*) $(-> $result)?
                    ),)+
                    $($later: library.symbol(stringify!($later), $release).ok().map(|symbol| {
                        function!(symbol, ($($later_arg),*) $(-> $later_result)?)
                    }),)+
                })
            }

            /// Every function, with its symbol version.
            #[cfg(test)]
            const NAMES: &[(&'static str, &'static str)] =
                &[$((stringify!($name), $version),)+ $((stringify!($later), $release),)+];
        }
    };
}

functions! {
    /// Functions of libibverbs.
    Verbs = "libibverbs.so.1" {
        ibv_get_device_list @ "IBVERBS_1.1" (*mut c_int) -> *mut *mut ibv_device;
        ibv_free_device_list @ "IBVERBS_1.1" (*mut *mut ibv_device);
        ibv_open_device @ "IBVERBS_1.1" (*mut ibv_device) -> *mut ibv_context;
        ibv_close_device @ "IBVERBS_1.1" (*mut ibv_context) -> c_int;
        ibv_get_async_event @ "IBVERBS_1.1" (*mut ibv_context, *mut ibv_async_event) -> c_int;
        ibv_ack_async_event @ "IBVERBS_1.1" (*mut ibv_async_event);
        ibv_query_device @ "IBVERBS_1.1" (*mut ibv_context, *mut ibv_device_attr) -> c_int;
        ibv_query_port @ "IBVERBS_1.1" (*mut ibv_context, u8, *mut ibv_port_attr) -> c_int;
        ibv_alloc_pd @ "IBVERBS_1.1" (*mut ibv_context) -> *mut ibv_pd;
        ibv_dealloc_pd @ "IBVERBS_1.1" (*mut ibv_pd) -> c_int;
        ibv_reg_mr @ "IBVERBS_1.1" (*mut ibv_pd, *mut c_void, size_t, c_int) -> *mut ibv_mr;
        ibv_dereg_mr @ "IBVERBS_1.1" (*mut ibv_mr) -> c_int;
        ibv_create_comp_channel @ "IBVERBS_1.0" (*mut ibv_context) -> *mut ibv_comp_channel;
        ibv_destroy_comp_channel @ "IBVERBS_1.0" (*mut ibv_comp_channel) -> c_int;
        ibv_create_cq @ "IBVERBS_1.1"
            (*mut ibv_context, c_int, *mut c_void, *mut ibv_comp_channel, c_int) -> *mut ibv_cq;
        ibv_resize_cq @ "IBVERBS_1.1" (*mut ibv_cq, c_int) -> c_int;
        ibv_destroy_cq @ "IBVERBS_1.1" (*mut ibv_cq) -> c_int;
        ibv_get_cq_event @ "IBVERBS_1.1"
            (*mut ibv_comp_channel, *mut *mut ibv_cq, *mut *mut c_void) -> c_int;
        ibv_ack_cq_events @ "IBVERBS_1.1" (*mut ibv_cq, c_uint);
        ibv_create_srq @ "IBVERBS_1.1" (*mut ibv_pd, *mut ibv_srq_init_attr) -> *mut ibv_srq;
        ibv_modify_srq @ "IBVERBS_1.1" (*mut ibv_srq, *mut ibv_srq_attr, c_int) -> c_int;
        ibv_destroy_srq @ "IBVERBS_1.1" (*mut ibv_srq) -> c_int;
        ibv_create_qp @ "IBVERBS_1.1" (*mut ibv_pd, *mut ibv_qp_init_attr) -> *mut ibv_qp;
        ibv_query_qp @ "IBVERBS_1.1"
            (*mut ibv_qp, *mut ibv_qp_attr, c_int, *mut ibv_qp_init_attr) -> c_int;
        ibv_modify_qp @ "IBVERBS_1.1" (*mut ibv_qp, *mut ibv_qp_attr, c_int) -> c_int;
        ibv_destroy_qp @ "IBVERBS_1.1" (*mut ibv_qp) -> c_int;
        ibv_create_ah @ "IBVERBS_1.1" (*mut ibv_pd, *mut ibv_ah_attr) -> *mut ibv_ah;
        ibv_destroy_ah @ "IBVERBS_1.1" (*mut ibv_ah) -> c_int;
        ibv_query_gid @ "IBVERBS_1.1" (*mut ibv_context, u8, c_int, *mut ibv_gid) -> c_int;
        ibv_query_pkey @ "IBVERBS_1.1" (*mut ibv_context, u8, c_int, *mut u16) -> c_int;
        ibv_query_srq @ "IBVERBS_1.1" (*mut ibv_srq, *mut ibv_srq_attr) -> c_int;
        ibv_attach_mcast @ "IBVERBS_1.1" (*mut ibv_qp, *const ibv_gid, u16) -> c_int;
        ibv_detach_mcast @ "IBVERBS_1.1" (*mut ibv_qp, *const ibv_gid, u16) -> c_int;
        ibv_init_ah_from_wc @ "IBVERBS_1.1"
            (*mut ibv_context, u8, *mut ibv_wc, *mut c_void, *mut ibv_ah_attr) -> c_int;
    } later {
        ibv_qp_to_qp_ex @ "IBVERBS_1.6" (*mut ibv_qp) -> *mut ibv_qp_ex;
        ibv_reg_mr_iova2 @ "IBVERBS_1.8"
            (*mut ibv_pd, *mut c_void, size_t, u64, c_uint) -> *mut ibv_mr;
        _ibv_query_gid_ex @ "IBVERBS_1.11"
            (*mut ibv_context, u32, u32, *mut ibv_gid_entry, u32, size_t) -> c_int;
        _ibv_query_gid_table @ "IBVERBS_1.11"
            (*mut ibv_context, *mut ibv_gid_entry, size_t, u32, size_t) -> ssize_t;
        ibv_reg_dmabuf_mr @ "IBVERBS_1.12"
            (*mut ibv_pd, u64, size_t, u64, c_int, c_int) -> *mut ibv_mr;
    }
}

functions! {
    /// Functions of librdmacm.
    RdmaCm = "librdmacm.so.1" {
        rdma_create_event_channel @ "RDMACM_1.0" () -> *mut rdma_event_channel;
        rdma_destroy_event_channel @ "RDMACM_1.0" (*mut rdma_event_channel);
        rdma_create_id @ "RDMACM_1.0"
            (*mut rdma_event_channel, *mut *mut rdma_cm_id, *mut c_void, c_uint) -> c_int;
        rdma_destroy_id @ "RDMACM_1.0" (*mut rdma_cm_id) -> c_int;
        rdma_bind_addr @ "RDMACM_1.0" (*mut rdma_cm_id, *mut sockaddr) -> c_int;
        rdma_resolve_addr @ "RDMACM_1.0"
            (*mut rdma_cm_id, *mut sockaddr, *mut sockaddr, c_int) -> c_int;
        rdma_resolve_route @ "RDMACM_1.0" (*mut rdma_cm_id, c_int) -> c_int;
        rdma_create_qp @ "RDMACM_1.0"
            (*mut rdma_cm_id, *mut ibv_pd, *mut ibv_qp_init_attr) -> c_int;
        rdma_destroy_qp @ "RDMACM_1.0" (*mut rdma_cm_id);
        rdma_connect @ "RDMACM_1.0" (*mut rdma_cm_id, *mut rdma_conn_param) -> c_int;
        rdma_establish @ "RDMACM_1.2" (*mut rdma_cm_id) -> c_int;
        rdma_listen @ "RDMACM_1.0" (*mut rdma_cm_id, c_int) -> c_int;
        rdma_get_request @ "RDMACM_1.0" (*mut rdma_cm_id, *mut *mut rdma_cm_id) -> c_int;
        rdma_accept @ "RDMACM_1.0" (*mut rdma_cm_id, *mut rdma_conn_param) -> c_int;
        rdma_reject @ "RDMACM_1.0" (*mut rdma_cm_id, *const c_void, u8) -> c_int;
        rdma_notify @ "RDMACM_1.0" (*mut rdma_cm_id, c_uint) -> c_int;
        rdma_disconnect @ "RDMACM_1.0" (*mut rdma_cm_id) -> c_int;
        rdma_get_cm_event @ "RDMACM_1.0"
            (*mut rdma_event_channel, *mut *mut rdma_cm_event) -> c_int;
        rdma_ack_cm_event @ "RDMACM_1.0" (*mut rdma_cm_event) -> c_int;
        rdma_get_src_port @ "RDMACM_1.0" (*mut rdma_cm_id) -> u16;
        rdma_get_dst_port @ "RDMACM_1.0" (*mut rdma_cm_id) -> u16;
        rdma_migrate_id @ "RDMACM_1.0" (*mut rdma_cm_id, *mut rdma_event_channel) -> c_int;
        rdma_set_option @ "RDMACM_1.0"
            (*mut rdma_cm_id, c_int, c_int, *mut c_void, size_t) -> c_int;
        rdma_init_qp_attr @ "RDMACM_1.2"
            (*mut rdma_cm_id, *mut ibv_qp_attr, *mut c_int) -> c_int;
        rdma_getaddrinfo @ "RDMACM_1.0"
            (*const c_char, *const c_char, *const rdma_addrinfo, *mut *mut rdma_addrinfo) -> c_int;
        rdma_freeaddrinfo @ "RDMACM_1.0" (*mut rdma_addrinfo);
        rdma_create_ep @ "RDMACM_1.0"
            (*mut *mut rdma_cm_id, *mut rdma_addrinfo, *mut ibv_pd, *mut ibv_qp_init_attr) -> c_int;
        rdma_destroy_ep @ "RDMACM_1.0" (*mut rdma_cm_id);
        rdma_create_srq @ "RDMACM_1.0"
            (*mut rdma_cm_id, *mut ibv_pd, *mut ibv_srq_init_attr) -> c_int;
        rdma_destroy_srq @ "RDMACM_1.0" (*mut rdma_cm_id);
        rdma_leave_multicast @ "RDMACM_1.0" (*mut rdma_cm_id, *mut sockaddr) -> c_int;
        rdma_join_multicast_ex @ "RDMACM_1.1"
            (*mut rdma_cm_id, *mut rdma_cm_join_mc_attr_ex, *mut c_void) -> c_int;
    } later {
        rdma_set_local_ece @ "RDMACM_1.3" (*mut rdma_cm_id, *mut ibv_ece) -> c_int;
        rdma_get_remote_ece @ "RDMACM_1.3" (*mut rdma_cm_id, *mut ibv_ece) -> c_int;
        rdma_reject_ece @ "RDMACM_1.3" (*mut rdma_cm_id, *const c_void, u8) -> c_int;
    }
}

/// A library that was opened and is never closed: its threads and objects outlive any owner.
struct Library {
    handle: *mut c_void,
    name: &'static str,
}

impl Library {
    fn open(name: &'static str) -> Result<Self, LoadError> {
        let mut file = name.to_owned();
        file.push('\0');
        // SAFETY: the name ends with a zero byte. The initialisers of the two libraries only set up
        // their own state.
        let handle = unsafe {
            libc::dlopen(file.as_ptr().cast::<c_char>(), libc::RTLD_NOW | libc::RTLD_LOCAL)
        };
        if handle.is_null() {
            return Err(LoadError { library: name, reason: last_error() });
        }
        Ok(Self { handle, name })
    }

    fn symbol(&self, name: &str, version: &str) -> Result<*mut c_void, LoadError> {
        let [symbol, node] = [name, version].map(|text| format!("{text}\0"));
        let (symbol, node) = (symbol.as_ptr().cast::<c_char>(), node.as_ptr().cast::<c_char>());
        // SAFETY: the handle belongs to a library that stays open, and both texts end with a zero
        // byte.
        #[cfg(target_env = "gnu")]
        let found = unsafe { libc::dlvsym(self.handle, symbol, node) };
        // Other C libraries have no lookup by version.
        #[cfg(not(target_env = "gnu"))]
        let _ = node;
        // SAFETY: as above.
        #[cfg(not(target_env = "gnu"))]
        let found = unsafe { libc::dlsym(self.handle, symbol) };
        if found.is_null() {
            return Err(LoadError { library: self.name, reason: last_error() });
        }
        Ok(found)
    }
}

/// The dynamic linker's text for the last failure of this thread; reading it clears it.
fn last_error() -> String {
    // SAFETY: the call has no preconditions; its result is valid until the thread's next call.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the dynamic linker gave no reason".to_owned();
    }
    // SAFETY: the text is not null and ends with a zero byte.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_an_error_that_names_it() {
        let failure = Library::open("libnothere.so.1").err().expect("no such library");
        assert_eq!(failure.library, "libnothere.so.1");
        assert!(failure.to_string().contains("libnothere.so.1"), "{failure}");
        assert!(failure.reason.contains("No such file"), "{failure}");
    }

    #[test]
    fn a_missing_symbol_version_is_an_error_that_names_it() {
        let c = Library::open("libc.so.6").expect("the C library");
        let failure = c.symbol("malloc", "NONE_1.0").expect_err("no such version");
        assert!(failure.reason.contains("NONE_1.0"), "{failure}");
    }

    #[test]
    fn only_public_symbol_versions_are_looked_up() {
        for (name, version) in Verbs::NAMES {
            // The header calls functions with that prefix inline, with the size of a structure.
            let name = name.strip_prefix('_').unwrap_or(name);
            assert!(name.starts_with("ibv_") && version.starts_with("IBVERBS_1."), "{name}");
        }
        for (name, version) in RdmaCm::NAMES {
            assert!(name.starts_with("rdma_") && version.starts_with("RDMACM_1."), "{name}");
        }
    }
}
