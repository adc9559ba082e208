//! Shared objects.

use std::ffi::{CStr, CString, c_void};
use std::ptr::NonNull;

use crate::image;

/// A shared object that is loaded; unloaded when dropped, if nobody else has it.
pub(super) struct SharedObject(NonNull<c_void>);

// SAFETY: the loader's handle can be used from any thread.
unsafe impl Send for SharedObject {}

impl SharedObject {
    /// Loads a file, by the rules of the loader, with all symbols that it needs. Fails with the
    /// loader's words.
    pub(super) fn load(file: &str) -> Result<Self, String> {
        if file.is_empty() {
            return Err("the line does not name a library".to_owned());
        }
        let name = CString::new(file).map_err(|_| format!("{file:?} contains a NUL byte"))?;
        image::promote();
        // SAFETY: runs the constructors of a library that the configuration names.
        let found = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        NonNull::new(found).map(Self).ok_or_else(loader_words)
    }

    /// The address of a symbol.
    pub(super) fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle is open, and the name ends with a zero.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }
}

impl Drop for SharedObject {
    fn drop(&mut self) {
        // SAFETY: open, and closed once; nobody calls into it any more. There is nobody to tell
        // of a failure, and the library then just stays.
        let _ = unsafe { libc::dlclose(self.0.as_ptr()) };
    }
}

/// What the loader says of its last failure in this thread; saying it takes it away.
fn loader_words() -> String {
    // SAFETY: no arguments.
    let words = unsafe { libc::dlerror() };
    if words.is_null() {
        return "the loader gave no reason".to_owned();
    }
    // SAFETY: a string of the loader's, which stays until its next call in this thread.
    unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::SharedObject;

    #[test]
    fn the_loader_says_why_not() {
        let words = |file| SharedObject::load(file).err().unwrap_or_default();
        assert!(words("libno-such-provider.so.9").contains("libno-such-provider.so.9"));
        assert!(words("").contains("does not name a library"));
        assert!(words("a\0b").contains("NUL"));
    }

    #[test]
    fn a_symbol_is_found_or_not() {
        let libc = SharedObject::load("libc.so.6").unwrap();
        assert!(libc.symbol(c"malloc").is_some());
        assert!(libc.symbol(c"dat_provider_init").is_none());
    }
}
