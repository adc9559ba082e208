//! Where the code of this library lies in the process.

use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::sync::Once;

/// A file that is mapped with code.
struct Image {
    base: usize,
    path: CString,
}

/// The image that an address belongs to.
fn around(address: *const c_void) -> Option<Image> {
    // SAFETY: addresses and numbers, for which zero is a value.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: looks the address up and follows it nowhere.
    if unsafe { libc::dladdr(address, &raw mut found) } == 0 || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a string of the loader's, which stays while the image is loaded.
    let path = unsafe { CStr::from_ptr(found.dli_fname) }.to_owned();
    Some(Image { base: found.dli_fbase.addr(), path })
}

fn own() -> Option<Image> {
    around((own as fn() -> Option<Image>) as *const c_void)
}

/// Whether the library is a shared object, with a standard library of its own.
pub(crate) fn is_shared_object() -> bool {
    // SAFETY: asks for a number.
    let headers = unsafe { libc::getauxval(libc::AT_PHDR) };
    let program = around(ptr::without_provenance(headers as usize));
    own().zip(program).is_some_and(|(own, program)| own.base != program.base)
}

/// Whether the process runs with more rights than who started it has, who then must not choose
/// what code it loads.
pub(crate) fn is_privileged() -> bool {
    // SAFETY: asks for a number.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Lets the libraries that are loaded from now on find the symbols of this one.
///
/// A program may have loaded it with a plugin, out of the sight of others, and providers of C
/// are often linked without naming it. The loader says which symbol is missing where that fails.
pub(crate) fn promote() {
    static PROMOTED: Once = Once::new();
    PROMOTED.call_once(|| {
        if let Some(own) = own() {
            let flags = libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_GLOBAL;
            // SAFETY: loads nothing: the library is here, and runs no code of others. The
            // handle is never closed, so that the symbols stay.
            let _ = unsafe { libc::dlopen(own.path.as_ptr(), flags) };
        }
    });
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
