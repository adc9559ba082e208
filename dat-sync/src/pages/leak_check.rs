//! LeakSanitizer in the program: it does not scan mapped memory by itself, and would report what only our pages refer
//! to as leaked.

use std::ffi::{CStr, c_void};
use std::mem::transmute;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

use nix::libc;

/// Makes the sanitizer scan memory, if the program has one.
pub(super) fn scan(base: *const u8, len: usize) {
    static FUNCTION: Function = Function::new(c"__lsan_register_root_region");
    FUNCTION.call(base, len);
}

/// Ends that.
pub(super) fn forget(base: *const u8, len: usize) {
    static FUNCTION: Function = Function::new(c"__lsan_unregister_root_region");
    FUNCTION.call(base, len);
}

/// A function of sanitizer/lsan_interface.h that the program may have.
struct Function {
    name: &'static CStr,
    /// [`UNKNOWN`] before the first call, null if the program does not have it.
    address: AtomicPtr<c_void>,
}

const UNKNOWN: *mut c_void = without_provenance_mut(1);

impl Function {
    const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(if cfg!(miri) { null_mut() } else { UNKNOWN }) }
    }

    fn call(&self, base: *const u8, len: usize) {
        let mut address = self.address.load(Ordering::Relaxed);
        if address == UNKNOWN {
            // SAFETY: the name ends with a zero byte.
            address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, self.name.as_ptr()) };
            self.address.store(address, Ordering::Relaxed);
        }
        if !address.is_null() {
            // SAFETY: both functions have this type.
            let call = unsafe {
                transmute::<*mut c_void, unsafe extern "C" fn(*const c_void, usize)>(address)
            };
            // SAFETY: the range is a mapping of this module; the sanitizer reads it until it is forgotten.
            unsafe { call(base.cast(), len) };
        }
    }
}
