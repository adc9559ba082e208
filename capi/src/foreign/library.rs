//! Shared objects.

use std::ffi::{CStr, CString, c_void};
use std::ptr::NonNull;

use crate::self_map;

/// A loaded shared object; dropping it unloads the object unless others have loaded it too.
pub(super) struct SharedObject(NonNull<c_void>);

// SAFETY: the loader's handle can be used from any thread.
unsafe impl Send for SharedObject {}

impl SharedObject {
    /// Loads a file by the rules of the dynamic loader, and resolves all symbols. An error is the
    /// loader's message.
    pub(super) fn load(file: &str) -> Result<Self, String> {
        if file.is_empty() {
            return Err("the line does not name a library".to_owned());
        }
        let name = CString::new(file).map_err(|_| format!("{file:?} contains a NUL byte"))?;
        self_map::promote();
        // SAFETY: this runs the constructors of a library that the configuration names, and so
        // trusts.
        let found = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        NonNull::new(found).map(Self).ok_or_else(loader_words)
    }

    /// The address of a symbol.
    pub(super) fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle is open, and the name is zero-terminated.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }
}

impl Drop for SharedObject {
    fn drop(&mut self) {
        // SAFETY: the handle is open and closed once, and no code calls into the library any more.
        // If it fails, the library stays loaded, and no caller could handle the error.
        let _ = unsafe { libc::dlclose(self.0.as_ptr()) };
    }
}

/// The loader's last error message in this thread; reading it clears it.
fn loader_words() -> String {
    // SAFETY: the call takes no arguments.
    let words = unsafe { libc::dlerror() };
    if words.is_null() {
        return "the loader gave no reason".to_owned();
    }
    // SAFETY: the loader returns a C string that is valid until its next call in this thread.
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
