//! The destructors of thread-local values.
//!
//! Rust registers them with this function of the C library, which ends the process if it has no memory for
//! that. Inside our libraries the name means the function below; it allocates with the reserve.

use std::ffi::{c_int, c_void};
use std::ptr;

use dat_sync::Lazy;

type Destructor = unsafe extern "C" fn(*mut c_void);

/// A registered destructor. The destructors of a thread form a list, whose head is the value of the key.
struct Registered {
    run: Destructor,
    value: *mut c_void,
    next: *mut Registered,
}

/// `None` if the process has no key left.
fn key() -> Option<libc::pthread_key_t> {
    static KEY: Lazy<Option<libc::pthread_key_t>> = Lazy::new(|| {
        let mut key = 0;
        // SAFETY: the variable lives during the call, and the function has the type that it needs.
        let created = unsafe { libc::pthread_key_create(&raw mut key, Some(run_all)) };
        (created == 0).then_some(key)
    });
    *KEY
}

/// If it fails, which the caller cannot report, the value is never dropped.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cxa_thread_atexit_impl(
    run: Destructor,
    value: *mut c_void,
    _library: *mut c_void,
) -> c_int {
    let Some(key) = key() else { return -1 };
    // SAFETY: the key was created and is never deleted.
    let next = unsafe { libc::pthread_getspecific(key) }.cast();
    let registered = Box::into_raw(Box::new(Registered { run, value, next }));
    // SAFETY: as above.
    let result = unsafe { libc::pthread_setspecific(key, registered.cast()) };
    if result != 0 {
        // SAFETY: allocated above, and not in the list.
        drop(unsafe { Box::from_raw(registered) });
    }
    result
}

/// Runs the destructors of the thread that ends, the last one first. One that registers another begins a new
/// list, for which the C library calls this again.
unsafe extern "C" fn run_all(first: *mut c_void) {
    let mut next = first.cast::<Registered>();
    while !ptr::eq(next, ptr::null()) {
        // SAFETY: entries of the list were allocated as boxes, and each is taken once.
        let registered = unsafe { Box::from_raw(next) };
        next = registered.next;
        // SAFETY: Rust registered the function for this value of the thread, which has not been freed.
        unsafe { (registered.run)(registered.value) };
    }
}
