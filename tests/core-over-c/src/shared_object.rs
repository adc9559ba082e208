//! A shared object, loaded at run time.

use std::ffi::{CStr, CString, c_void};
use std::mem;
use std::path::PathBuf;

/// A shared object that is never unloaded.
pub(crate) struct Shared {
    object: *mut c_void,
    pub(crate) path: PathBuf,
}

impl Shared {
    /// Loads the object with its dependencies; `variable` is the environment variable that names it.
    pub(crate) fn load(path: PathBuf, variable: &str) -> Self {
        let name =
            CString::new(path.as_os_str().as_encoded_bytes()).expect("a path contains no NUL");
        // SAFETY: the name is NUL-terminated; the constructors of the library have no preconditions.
        let object = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(
            !object.is_null(),
            "cannot load {}: {}; set {variable} to the path of another library",
            path.display(),
            last_error()
        );
        Self { object, path }
    }

    /// The address of an exported symbol, which must exist.
    ///
    /// `F` must be the function pointer type of the symbol, or an option of it.
    pub(crate) fn find<F>(&self, name: &CStr) -> F {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: the object is loaded, and the name is NUL-terminated.
        let address = unsafe { libc::dlsym(self.object, name.as_ptr()) };
        assert!(!address.is_null(), "{}: no {}", self.path.display(), name.to_string_lossy());
        // SAFETY: the symbol is a function, and `F` has its prototype in the headers.
        unsafe { mem::transmute_copy(&address) }
    }
}

fn last_error() -> String {
    // SAFETY: dlerror has no preconditions.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "no reason was given".to_owned();
    }
    // SAFETY: not NULL, and valid until this thread's next call of the loader.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Fills slots of the table by the names of the calls.
macro_rules! fill {
    ($shared:expr, $table:expr; $($place:ident = $name:literal,)+) => {
        $($table.$place = $shared.find($name);)+
    };
}
#[allow(unused_imports, reason = "DAT 1.2 has nothing to add to the table")]
pub(crate) use fill;
