//! The functions that replace `malloc` and its like in our libraries. The option `--wrap` of the linker makes
//! every reference one to `__wrap_malloc`, and a reference to `__real_malloc` one to the system's function. A
//! `#[global_allocator]` would not be enough: the standard library allocates the handles of threads without it.
#![allow(unsafe_code, reason = "implements an allocator")]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use super::reserve;

/// The alignment of what `malloc` returns.
const ALIGN: usize = align_of::<libc::max_align_t>();

unsafe extern "C" {
    fn __real_malloc(size: usize) -> *mut c_void;
    fn __real_calloc(count: usize, size: usize) -> *mut c_void;
    fn __real_realloc(memory: *mut c_void, size: usize) -> *mut c_void;
    fn __real_posix_memalign(memory: *mut *mut c_void, align: usize, size: usize) -> c_int;
    fn __real_free(memory: *mut c_void);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_malloc(size: usize) -> *mut c_void {
    // SAFETY: the caller upholds the contract of the system's function.
    let memory = unsafe { __real_malloc(size) };
    if memory.is_null() { reserve::take(size, ALIGN) } else { memory }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_calloc(count: usize, size: usize) -> *mut c_void {
    // SAFETY: the caller upholds the contract of the system's function.
    let memory = unsafe { __real_calloc(count, size) };
    match count.checked_mul(size) {
        Some(size) if memory.is_null() => {
            let memory = reserve::take(size, ALIGN);
            if !memory.is_null() {
                // SAFETY: the block was taken above, and has this size.
                unsafe { memory.cast::<u8>().write_bytes(0, size) };
            }
            memory
        }
        _ => memory,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_posix_memalign(
    memory: *mut *mut c_void,
    align: usize,
    size: usize,
) -> c_int {
    // SAFETY: the caller upholds the contract of the system's function.
    let error = unsafe { __real_posix_memalign(memory, align, size) };
    if error != libc::ENOMEM {
        return error;
    }
    let block = reserve::take(size, align);
    if block.is_null() {
        return error;
    }
    // SAFETY: the caller guarantees memory for the result.
    unsafe { memory.write(block) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_free(memory: *mut c_void) {
    match reserve::bank_of(memory) {
        // SAFETY: not a block of a bank, so it came from the system.
        None => unsafe { __real_free(memory) },
        Some(bank) => bank.give_back(memory),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_realloc(memory: *mut c_void, size: usize) -> *mut c_void {
    if reserve::bank_of(memory).is_none() {
        // SAFETY: not a block of a bank, so it came from the system; the contract is that of its function.
        let moved = unsafe { __real_realloc(memory, size) };
        if !moved.is_null() || size == 0 {
            return moved;
        }
    }
    // SAFETY: the caller guarantees memory of `malloc`, or NULL.
    unsafe { move_with_reserve(memory, size) }
}

/// Changes the size of memory that is in a bank, or that the system refused to change.
///
/// # Safety
/// As for `realloc`.
#[cold]
#[inline(never)]
unsafe fn move_with_reserve(memory: *mut c_void, size: usize) -> *mut c_void {
    let bank = reserve::bank_of(memory);
    let before = match bank {
        Some(bank) => bank.size_of(memory),
        // SAFETY: memory of the system's `malloc`, or NULL.
        None => unsafe { libc::malloc_usable_size(memory) },
    };
    // Out of the bank, if that is possible now.
    // SAFETY: any size may be requested.
    let system = unsafe { __real_malloc(size) };
    let moved = match system.is_null() {
        false => system,
        true if size <= before => return memory,
        true => reserve::take(size, ALIGN),
    };
    if moved.is_null() {
        return null_mut();
    }
    // SAFETY: both are at least this long, and different.
    unsafe { moved.copy_from_nonoverlapping(memory, before.min(size)) };
    // SAFETY: the caller gives up the memory if this succeeds.
    unsafe { __wrap_free(memory) };
    moved
}
