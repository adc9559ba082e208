//! Arguments from C, checked before use.

use std::ptr::NonNull;

use dat_core::error::{Error, Result, ReturnType, Subtype};

use crate::abi::{DAT_COUNT, DAT_PVOID};
use crate::page_check;

/// User-space addresses: from the end of the page that is never mapped to the highest user address.
/// Both bounds are aligned for any type.
const USER: std::ops::Range<usize> = 0x1000..0x7fff_ffff_f000;

/// The subtype that names an argument by its position, from 1.
pub(crate) fn subtype(argument: u32) -> Subtype {
    Subtype::from_value(Subtype::InvalidArg1.value() + argument - 1).unwrap_or(Subtype::NoSubtype)
}

/// The error for an argument, by its position.
#[cold]
pub(crate) fn invalid(argument: u32, reason: impl Into<String>) -> Error {
    Error::new(ReturnType::InvalidParameter, subtype(argument)).because(reason.into())
}

/// Whether a value can be the address of a `T`.
#[inline(always)]
pub(crate) fn is_address_of<T>(address: usize) -> bool {
    // One comparison: the bits that must be 0 in an aligned address become the highest ones.
    let bits = align_of::<T>().trailing_zeros();
    address.wrapping_sub(USER.start).rotate_right(bits) < (USER.end - USER.start) >> bits
}

/// Rejects a value that cannot be the address of a `T`.
#[inline]
pub(crate) fn check<T>(pointer: *const T, argument: u32) -> Result<()> {
    if is_address_of::<T>(pointer.addr()) {
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
pub(crate) struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    /// Writes the result.
    #[inline]
    pub(crate) fn write(self, value: T) {
        // SAFETY: the creator of this checked the address and guaranteed memory for a `T`.
        unsafe { self.0.write(value) };
    }

    /// The caller's struct, to write some of its fields. Every bit pattern is valid for the C
    /// structs.
    #[inline]
    pub(crate) fn fields(&mut self) -> &mut T {
        // SAFETY: the creator of this checked the address and guaranteed memory for a `T`, of which
        // every bit pattern is valid.
        unsafe { self.0.as_mut() }
    }
}

/// A destination of a result that the caller may omit.
pub(crate) struct OptionalOut<T>(Option<Out<T>>);

impl<T> OptionalOut<T> {
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
    // SAFETY: the check has rejected NULL.
    Ok(Out(unsafe { NonNull::new_unchecked(pointer) }))
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

/// Borrows a struct from the caller.
///
/// # Safety
/// The address is that of a readable `T` that no thread writes during the call, or one that the
/// check rejects.
#[inline]
pub(crate) unsafe fn given<'a, T>(pointer: *const T, argument: u32) -> Result<&'a T> {
    check(pointer, argument)?;
    // SAFETY: the check has passed, so the caller guarantees a readable `T`.
    Ok(unsafe { &*pointer })
}

/// Borrows a struct that the caller may omit.
///
/// # Safety
/// As for [`given`], unless it is NULL.
pub(crate) unsafe fn optional<'a, T>(pointer: *const T, argument: u32) -> Result<Option<&'a T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the pointer is not NULL, and the caller guarantees what `given` requires.
    unsafe { given(pointer, argument) }.map(Some)
}

/// Borrows an array; NULL is accepted for an empty one. A wrong count, with which the array would
/// exceed its memory, is rejected.
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
) -> Result<&'a [T]> {
    let (count_argument, pointer_argument) = arguments;
    if count == 0 {
        return Ok(&[]);
    }
    if count > most {
        return Err(too_many(count, most, count_argument));
    }
    check(pointer, pointer_argument)?;
    if !page_check::is_mapped_to_end(pointer.addr(), count as usize * size_of::<T>()) {
        return Err(too_short(count, pointer_argument));
    }
    // SAFETY: the caller guarantees the elements that are mapped; `count` is bounded, and the
    // memory is mapped to the end of the array.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count as usize) })
}

#[cold]
fn too_many(count: u64, most: u64, argument: u32) -> Error {
    invalid(argument, format!("{count} elements exceed the maximum of {most}"))
}

#[cold]
fn too_short(count: u64, argument: u32) -> Error {
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
    // SAFETY: the caller guarantees the given number of readable elements.
    unsafe { array(data.cast::<u8>().cast_const(), size.into(), PRIVATE_DATA, arguments) }
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
