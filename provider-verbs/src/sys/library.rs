//! libibverbs and librdmacm, opened the first time that one is asked for.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt;
use std::sync::OnceLock;

use libc::{size_t, sockaddr};

use super::rdma_cma::{
    rdma_addrinfo, rdma_cm_event, rdma_cm_id, rdma_conn_param, rdma_event_channel,
};
use super::verbs::{
    ibv_ah, ibv_ah_attr, ibv_async_event, ibv_comp_channel, ibv_context, ibv_cq, ibv_device,
    ibv_device_attr, ibv_mr, ibv_pd, ibv_port_attr, ibv_qp, ibv_qp_attr, ibv_qp_init_attr, ibv_srq,
    ibv_srq_attr, ibv_srq_init_attr,
};

/// Both libraries: one is of no use to the provider without the other.
pub(crate) struct Libraries {
    pub(crate) verbs: Verbs,
    pub(crate) cm: RdmaCm,
}

/// Why a library is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadFailure {
    /// What was looked for.
    pub(crate) library: &'static str,
    /// What the dynamic linker said, taken at once.
    pub(crate) reason: String,
}

impl fmt::Display for LoadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} can't be used: {}", self.library, self.reason)
    }
}

/// The libraries, or why they can't be used; looked for once in the life of the process.
pub(crate) fn libraries() -> Result<&'static Libraries, &'static LoadFailure> {
    static LIBRARIES: OnceLock<Result<Libraries, LoadFailure>> = OnceLock::new();
    LIBRARIES.get_or_init(|| Ok(Libraries { verbs: Verbs::load()?, cm: RdmaCm::load()? })).as_ref()
}

/// A table of functions of a library, each looked up with its symbol version.
macro_rules! functions {
    ($(#[$doc:meta])* $table:ident = $library:literal {
        $($name:ident @ $version:literal ($($arg:ty),*) $(-> $result:ty)?;)+
    }) => {
        $(#[$doc])*
        #[allow(dead_code, reason = "some serve a part of the layers that only tests use")]
        pub(crate) struct $table {
            $(pub(crate) $name: unsafe extern "C" fn($($arg),*) $(-> $result)?,)+
        }

        impl $table {
            fn load() -> Result<Self, LoadFailure> {
                let library = Library::open($library)?;
                Ok(Self {
                    $($name: {
                        let symbol = library.symbol(stringify!($name), $version)?;
                        // SAFETY: the symbol of that name and version is a function of that
                        // type: both are frozen once released, and the types are tested
                        // against the header. The library is never closed.
                        unsafe {
                            std::mem::transmute::<
                                *mut c_void,
                                unsafe extern "C" fn($($arg),*) $(-> $result)?,
                            >(symbol)
                        }
                    },)+
                })
            }

            /// Every function, with the version that is asked for.
            #[cfg(test)]
            pub(crate) const NAMES: &[(&'static str, &'static str)] =
                &[$((stringify!($name), $version)),+];
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
    }
}

/// A library that was opened and stays so: threads and objects of it outlive any owner.
struct Library {
    handle: *mut c_void,
    name: &'static str,
}

impl Library {
    fn open(name: &'static str) -> Result<Self, LoadFailure> {
        let mut file = name.to_owned();
        file.push('\0');
        // SAFETY: the name ends with a zero byte. The initialisers of the two libraries only
        // set up their own state.
        let handle = unsafe {
            libc::dlopen(file.as_ptr().cast::<c_char>(), libc::RTLD_NOW | libc::RTLD_LOCAL)
        };
        if handle.is_null() {
            return Err(LoadFailure { library: name, reason: last_error() });
        }
        Ok(Self { handle, name })
    }

    fn symbol(&self, name: &str, version: &str) -> Result<*mut c_void, LoadFailure> {
        let [symbol, node] = [name, version].map(|text| format!("{text}\0"));
        let (symbol, node) = (symbol.as_ptr().cast::<c_char>(), node.as_ptr().cast::<c_char>());
        // SAFETY: the handle is of a library that stays open, and both texts end with a zero
        // byte.
        #[cfg(target_env = "gnu")]
        let found = unsafe { libc::dlvsym(self.handle, symbol, node) };
        // SAFETY: as above; this C library has no look-up by version.
        #[cfg(not(target_env = "gnu"))]
        let found = {
            let _ = node;
            unsafe { libc::dlsym(self.handle, symbol) }
        };
        if found.is_null() {
            return Err(LoadFailure { library: self.name, reason: last_error() });
        }
        Ok(found)
    }
}

/// What the dynamic linker says of the last failure of this thread; reading it takes it.
fn last_error() -> String {
    // SAFETY: it needs nothing; its result is valid until the next call of the thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the dynamic linker gives no reason".to_owned();
    }
    // SAFETY: it is not null, and so a text that ends with a zero byte.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_one_readable_reason() {
        let failure = Library::open("libnothere.so.1").err().expect("no such library");
        assert_eq!(failure.library, "libnothere.so.1");
        assert!(failure.to_string().contains("libnothere.so.1"), "{failure}");
        assert!(failure.reason.contains("No such file"), "{failure}");
    }

    #[test]
    fn a_version_that_is_not_there_is_told() {
        let c = Library::open("libc.so.6").expect("the C library");
        let failure = c.symbol("malloc", "NONE_1.0").expect_err("no such version");
        assert!(failure.reason.contains("NONE_1.0"), "{failure}");
    }

    #[test]
    fn only_public_versions_are_asked_for() {
        for (name, version) in Verbs::NAMES {
            assert!(name.starts_with("ibv_") && version.starts_with("IBVERBS_1."), "{name}");
        }
        for (name, version) in RdmaCm::NAMES {
            assert!(name.starts_with("rdma_") && version.starts_with("RDMACM_1."), "{name}");
        }
    }
}
