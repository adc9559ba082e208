//! Arguments from C, checked before use.
//!
//! An argument may be unaligned: a structure of a program may be packed, or lie inside of a message.
//! So arguments are copied and never borrowed, except bytes.

use std::marker::PhantomData;

use dat_core::error::{Error, Result, ReturnType, Subtype};

use crate::abi::{DAT_COUNT, DAT_PVOID};
use crate::page_check;

/// User-space addresses: from the end of the page that is never mapped to the highest user address that a program gets
/// without a request for it. Both bounds are aligned for any type.
const USER: std::ops::Range<usize> = 0x1000..end_of_user_space();

/// See `TASK_SIZE` of each processor in Linux.
const fn end_of_user_space() -> usize {
    // 47 bits, and on processors that are not named here what their registers hold.
    #[cfg(target_pointer_width = "64")]
    let end = if cfg!(target_arch = "x86_64") {
        (1 << 47) - 0x1000
    } else if cfg!(target_arch = "riscv64") {
        1 << 47
    } else if cfg!(target_arch = "aarch64") {
        1 << 48
    } else {
        1 << 63
    };
    // A program of 32 bits on a kernel of 64 bits has nearly everything.
    #[cfg(not(target_pointer_width = "64"))]
    let end = usize::MAX - 0xfff;
    end
}

/// The subtype that names an argument by its position, from 1.
pub(crate) fn subtype(argument: u32) -> Subtype {
    Subtype::from_value(Subtype::InvalidArg1.value() + argument - 1).unwrap_or(Subtype::NoSubtype)
}

/// The error for an argument, by its position.
#[cold]
pub(crate) fn invalid(argument: u32, reason: impl Into<String>) -> Error {
    Error::new(ReturnType::InvalidParameter, subtype(argument)).because(reason.into())
}

/// Returns true if a value can be the address of an argument.
#[inline(always)]
pub(crate) fn is_address(address: usize) -> bool {
    address.wrapping_sub(USER.start) < USER.end - USER.start
}

/// Returns true if a value can be the address of an aligned `T`.
#[inline(always)]
pub(crate) fn is_aligned_address<T>(address: usize) -> bool {
    // One comparison: the bits that must be 0 in an aligned address become the highest ones.
    let bits = align_of::<T>().trailing_zeros();
    address.wrapping_sub(USER.start).rotate_right(bits) < (USER.end - USER.start) >> bits
}

/// Rejects a value that cannot be the address of an argument.
#[inline]
pub(crate) fn check<T>(pointer: *const T, argument: u32) -> Result<()> {
    if is_address(pointer.addr()) { Ok(()) } else { Err(no_address(pointer.addr(), 1, argument)) }
}

/// As [`check`], for memory that is not copied: it must be aligned.
pub(crate) fn check_aligned<T>(pointer: *const T, argument: u32) -> Result<()> {
    if is_aligned_address::<T>(pointer.addr()) {
        Ok(())
    } else {
        Err(no_address(pointer.addr(), align_of::<T>(), argument))
    }
}

#[cold]
fn no_address(address: usize, align: usize, argument: u32) -> Error {
    let what = match address {
        0 => "is NULL".to_owned(),
        _ if !USER.contains(&address) => {
            format!("({address:#x}) is not a valid user-space address")
        }
        _ => format!("({address:#x}) is not aligned to {align} bytes"),
    };
    invalid(argument, format!("argument {argument} {what}"))
        .advise("pass the address of a variable of the argument's type")
}

/// The destination of a result, which is written only on success.
pub(crate) struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    /// Writes the result.
    #[inline]
    pub(crate) fn write(self, value: T) {
        // SAFETY: the creator of this checked the address and guaranteed memory for a `T`.
        unsafe { self.0.write_unaligned(value) };
    }

    /// The value that the caller's variable has before the call. Every bit pattern is valid for the
    /// C types.
    #[inline]
    pub(crate) fn read(&self) -> T {
        // SAFETY: the creator of this checked the address and guaranteed memory for a `T`, of which
        // every bit pattern is valid.
        unsafe { self.0.read_unaligned() }
    }

    /// Writes some fields of the caller's struct; the others keep their values.
    #[inline]
    pub(crate) fn update(self, change: impl FnOnce(&mut T)) {
        if self.0.is_aligned() {
            // SAFETY: the address is aligned, and its creator guaranteed memory for a `T` that only
            // this call uses; every bit pattern is valid.
            return change(unsafe { &mut *self.0 });
        }
        let mut copy = self.read();
        change(&mut copy);
        self.write(copy);
    }
}

/// A destination of a result that the caller may omit.
pub(crate) struct OptionalOut<T>(Option<Out<T>>);

impl<T: Copy> OptionalOut<T> {
    /// Writes the result, if there is a destination.
    #[inline]
    pub(crate) fn write(self, value: T) {
        self.write_with(|| value);
    }

    /// As [`write`](Self::write), with the result that a function returns.
    #[inline]
    pub(crate) fn write_with(self, value: impl FnOnce() -> T) {
        if let Some(output) = self.0 {
            output.write(value());
        }
    }
}

/// A mandatory destination of a result.
///
/// # Safety
/// Unless the address is rejected as one that cannot belong to a `T`, it is the address of memory
/// for a `T` that only this call uses until it returns.
#[inline]
pub(crate) unsafe fn out<T>(pointer: *mut T, argument: u32) -> Result<Out<T>> {
    check(pointer, argument)?;
    Ok(Out(pointer))
}

/// An optional destination of a result.
///
/// # Safety
/// As for [`out`], unless it is NULL.
#[inline]
pub(crate) unsafe fn optional_out<T>(pointer: *mut T, argument: u32) -> Result<OptionalOut<T>> {
    // SAFETY: the caller guarantees what `wanted_out` requires, unless the pointer is NULL.
    unsafe { wanted_out(!pointer.is_null(), pointer, argument) }
}

/// The destination of a result that the caller may not request.
///
/// # Safety
/// As for [`out`], if the result is requested.
#[inline]
pub(crate) unsafe fn wanted_out<T>(
    is_wanted: bool,
    pointer: *mut T,
    argument: u32,
) -> Result<OptionalOut<T>> {
    if !is_wanted {
        return Ok(OptionalOut(None));
    }
    // SAFETY: the result is requested, so the caller guarantees what `out` requires.
    unsafe { out(pointer, argument) }.map(|output| OptionalOut(Some(output)))
}

/// Copies a struct of the caller.
///
/// # Safety
/// The address is that of a readable `T` that no thread writes during the call, or one that the
/// check rejects.
#[inline]
pub(crate) unsafe fn given<T: Copy>(pointer: *const T, argument: u32) -> Result<T> {
    check(pointer, argument)?;
    // SAFETY: the check has passed, so the caller guarantees a readable `T`.
    Ok(unsafe { pointer.read_unaligned() })
}

/// Copies a struct that the caller may omit.
///
/// # Safety
/// As for [`given`], unless it is NULL.
pub(crate) unsafe fn optional<T: Copy>(pointer: *const T, argument: u32) -> Result<Option<T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the pointer is not NULL, and the caller guarantees what `given` requires.
    unsafe { given(pointer, argument) }.map(Some)
}

/// An array of the caller, whose elements are copied one by one.
#[derive(Clone, Copy)]
pub(crate) struct Array<'a, T> {
    first: *const T,
    count: usize,
    borrowed: PhantomData<&'a [T]>,
}

impl<'a, T: Copy> Array<'a, T> {
    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The elements.
    pub(crate) fn iter(self) -> impl Iterator<Item = T> + 'a
    where
        T: 'a,
    {
        // SAFETY: the creator of this guaranteed `count` readable elements for the lifetime.
        (0..self.count).map(move |at| unsafe { self.first.wrapping_add(at).read_unaligned() })
    }
}

/// An array of the caller; NULL is accepted for an empty one. A wrong count, with which the array
/// would exceed its memory, is rejected.
///
/// # Safety
/// The address is that of a readable element. Up to `count` elements, as far as memory is mapped,
/// are readable, and no thread writes or unmaps them during the call.
#[inline]
pub(crate) unsafe fn array<'a, T>(
    pointer: *const T,
    count: u64,
    most: u64,
    arguments: (u32, u32),
) -> Result<Array<'a, T>> {
    let (count_argument, pointer_argument) = arguments;
    if count > most {
        return Err(too_many(count, most, count_argument));
    }
    let count = count as usize;
    if count > 0 {
        check(pointer, pointer_argument)?;
        if !page_check::is_mapped_to_end(pointer.addr(), count * size_of::<T>()) {
            return Err(too_short(count, pointer_argument));
        }
    }
    Ok(Array { first: pointer, count, borrowed: PhantomData })
}

#[cold]
fn too_many(count: u64, most: u64, argument: u32) -> Error {
    invalid(argument, format!("{count} elements exceed the maximum of {most}"))
}

#[cold]
fn too_short(count: usize, argument: u32) -> Error {
    invalid(argument, format!("memory ends before the {count} elements of argument {argument} do"))
        .advise("pass the number of elements that the array has")
}

/// Maximum length in bytes of the private data that a call may pass; providers accept less.
const PRIVATE_DATA: u64 = 1 << 20;

/// Borrows the private data of a call.
///
/// # Safety
/// The private data has `size` readable bytes.
pub(crate) unsafe fn private_data<'a>(
    size: DAT_COUNT,
    data: DAT_PVOID,
    arguments: (u32, u32),
) -> Result<&'a [u8]> {
    let size = count(size, arguments.0)?;
    let first = data.cast::<u8>().cast_const();
    // SAFETY: the caller guarantees the given number of readable elements.
    let bytes = unsafe { array(first, size.into(), PRIVATE_DATA, arguments) }?;
    match bytes.len() {
        0 => Ok(&[]),
        // SAFETY: the memory was just found to be mapped to the end of the array; the caller
        // guarantees that it is readable, and a byte is aligned everywhere.
        count => Ok(unsafe { std::slice::from_raw_parts(first, count) }),
    }
}

/// A signed C count, which must not be negative.
#[inline]
pub(crate) fn count(value: i32, argument: u32) -> Result<u32> {
    u32::try_from(value).map_err(|_| below_0(value, argument))
}

#[cold]
fn below_0(value: i32, argument: u32) -> Error {
    invalid(argument, format!("argument {argument} is negative ({value})"))
}

/// Rejects a query mask with undefined bits (dat_ia_query(3DAT), dat_ep_query(3DAT) and all other
/// queries).
#[inline]
pub(crate) fn mask(mask: impl Into<u64>, fields: impl Into<u64>, argument: u32) -> Result<()> {
    match mask.into() & !fields.into() {
        0 => Ok(()),
        unknown => Err(unknown_fields(unknown, argument)),
    }
}

#[cold]
fn unknown_fields(bits: u64, argument: u32) -> Error {
    invalid(argument, format!("the mask has undefined bits: {bits:#x}"))
        .advise("use the constants of the header that has the structure")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::is_address;

    #[test]
    fn every_address_of_a_mapping_is_accepted() {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        // The kernel's own page is not in user space.
        let lines: Vec<&str> = maps.lines().filter(|line| !line.ends_with("[vsyscall]")).collect();
        assert!(lines.len() > 5, "only {lines:?}");
        for line in lines {
            let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let number = |text| usize::from_str_radix(text, 16).unwrap();
            assert!(is_address(number(start)) && is_address(number(end) - 1), "{line}");
        }
    }

    /// Programs under emulation have lower addresses than the kernel of the processor gives.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_address_of_a_stack_is_accepted_on_every_processor() {
        let stack = if cfg!(target_arch = "aarch64") { 0xffff_f7ff_e000 } else { 0x7fff_f7ff_e000 };
        assert!(is_address(stack));
        assert!(!is_address(0) && !is_address(usize::MAX));
    }
}
