//! Where the code of this library is mapped in the process.

use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// A mapped file with code.
struct Image {
    base: usize,
    path: CString,
}

/// The image that contains an address.
fn around(address: *const c_void) -> Option<Image> {
    // SAFETY: the struct has only addresses and numbers, for which zero is valid.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes to `found` and does not dereference the address.
    if unsafe { libc::dladdr(address, &raw mut found) } == 0 || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's string is valid while the image is loaded.
    let path = unsafe { CStr::from_ptr(found.dli_fname) }.to_owned();
    Some(Image { base: found.dli_fbase.addr(), path })
}

fn own() -> Option<Image> {
    around((own as fn() -> Option<Image>) as *const c_void)
}

/// Returns true if the library is a shared object with its own copy of the standard library.
pub(crate) fn is_shared_object() -> bool {
    // SAFETY: the call only returns a number.
    let headers = unsafe { libc::getauxval(libc::AT_PHDR) };
    let program = around(ptr::without_provenance(headers as usize));
    own().zip(program).is_some_and(|(own, program)| own.base != program.base)
}

/// Returns true if the process has more rights than the user that started it; that user must not choose the
/// code that it loads.
pub(crate) fn is_privileged() -> bool {
    // SAFETY: the call only returns a number.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Makes the symbols of this library visible to libraries loaded from now on.
///
/// A program may have loaded it through a plugin with local symbol visibility, and C providers are
/// often linked without naming it. If this fails, the loader reports the missing symbol.
pub(crate) fn promote() {
    static IS_PROMOTED: AtomicBool = AtomicBool::new(false);
    if IS_PROMOTED.load(Ordering::Acquire) {
        return;
    }
    if let Some(own) = own() {
        let flags = libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_GLOBAL;
        // SAFETY: the library is already loaded, so no code runs. The handle is never closed, so the
        // symbols stay visible.
        let _ = unsafe { libc::dlopen(own.path.as_ptr(), flags) };
    }
    IS_PROMOTED.store(true, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_a_test_is_in_its_program() {
        assert!(!is_shared_object());
        let own = own().unwrap();
        assert!(!own.path.is_empty());
        let of_libc = around(libc::malloc as *const c_void).unwrap();
        assert_ne!(own.base, of_libc.base);
    }
}
