//! Arguments from C, checked before use.

use std::ptr::NonNull;

use dat_core::error::{Error, Result, ReturnType, Subtype};

use crate::abi::DAT_HANDLE;
use crate::answer::invalid_handle;
use crate::handle::{self, Object};
use crate::mapped;

/// Addresses of a process end here, and begin above the page that is never mapped; both are
/// aligned to anything.
const USER: std::ops::Range<usize> = 0x1000..0x7fff_ffff_f000;

/// The subtype that names an argument by its number, from 1.
pub(crate) fn subtype(argument: u32) -> Subtype {
    Subtype::from_value(Subtype::InvalidArg1.value() + argument - 1).unwrap_or(Subtype::NoSubtype)
}

/// The error of an argument, by its number.
#[cold]
pub(crate) fn invalid(argument: u32, reason: impl Into<String>) -> Error {
    Error::new(ReturnType::InvalidParameter, subtype(argument)).because(reason.into())
}

/// Whether a value can be the address of a `T`.
#[inline(always)]
pub(crate) fn is_address_of<T>(address: usize) -> bool {
    // In one comparison: bits that are none of an aligned address become the highest.
    let bits = align_of::<T>().trailing_zeros();
    address.wrapping_sub(USER.start).rotate_right(bits) < (USER.end - USER.start) >> bits
}

/// Refuses what can't be the address of a `T`.
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
        _ if !USER.contains(&address) => format!(
            "({address:#x}) is not a valid user-space \
             address"
        ),
        _ => format!("({address:#x}) is not aligned to {align} bytes"),
    };
    invalid(argument, format!("argument {argument} {what}"))
        .advise("pass the address of a variable of the argument's type")
}

/// Where a result goes; written on success only.
pub(crate) struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    /// Writes the result.
    #[inline]
    pub(crate) fn write(self, value: T) {
        // SAFETY: checked, and memory for a `T` as the maker of this promised.
        unsafe { self.0.write(value) };
    }

    /// The caller's struct, to write some fields of it. Every pattern of bits is a value of the
    /// structs of C.
    #[inline]
    pub(crate) fn fields(&mut self) -> &mut T {
        // SAFETY: as for `write`.
        unsafe { self.0.as_mut() }
    }
}

/// Where a result must go.
///
/// # Safety
/// Unless it is recognised as no address of a `T`, the address is that of memory for one, which
/// is the call's until it returns.
#[inline]
pub(crate) unsafe fn out<T>(pointer: *mut T, argument: u32) -> Result<Out<T>> {
    check(pointer, argument)?;
    // SAFETY: no address that passes the check is NULL.
    Ok(Out(unsafe { NonNull::new_unchecked(pointer) }))
}

/// Where a result may go.
///
/// # Safety
/// As [`out`], where not NULL.
#[inline]
pub(crate) unsafe fn optional_out<T>(pointer: *mut T, argument: u32) -> Result<Option<Out<T>>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller promises.
    unsafe { out(pointer, argument) }.map(Some)
}

/// Lends a struct that the caller gives by its address.
///
/// # Safety
/// The address is that of a readable `T`, which nobody writes during the call.
#[inline]
pub(crate) unsafe fn given<'a, T>(pointer: *const T, argument: u32) -> Result<&'a T> {
    check(pointer, argument)?;
    // SAFETY: as the caller promises.
    Ok(unsafe { &*pointer })
}

/// Lends a struct that the caller may leave out.
///
/// # Safety
/// As [`given`], where not NULL.
pub(crate) unsafe fn optional<'a, T>(pointer: *const T, argument: u32) -> Result<Option<&'a T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller promises.
    unsafe { given(pointer, argument) }.map(Some)
}

/// Lends an array; NULL will do for none. A count that is wrong, so that memory ends before the
/// array does, is refused.
///
/// # Safety
/// The address is that of a readable element, and of as many as there is memory for up to `count`,
/// which no thread writes or unmaps during the call.
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
    if !mapped::goes_on(pointer.addr(), count as usize * size_of::<T>()) {
        return Err(too_short(count, pointer_argument));
    }
    // SAFETY: as the caller promises; the count is bounded, and there is memory to its end.
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

/// A count of C's, which is signed: none is below 0.
#[inline]
pub(crate) fn count(value: i32, argument: u32) -> Result<u32> {
    u32::try_from(value).map_err(|_| below_0(value, argument))
}

#[cold]
fn below_0(value: i32, argument: u32) -> Error {
    invalid(argument, format!("argument {argument} is negative ({value})"))
}

/// Refuses a mask of a query that has bits of no field (dat_ia_query(3DAT), dat_ep_query(3DAT)
/// and all other queries).
#[inline]
pub(crate) fn mask(mask: impl Into<u64>, fields: impl Into<u64>, argument: u32) -> Result<()> {
    match mask.into() & !fields.into() {
        0 => Ok(()),
        unknown => Err(unknown_fields(unknown, argument)),
    }
}

#[cold]
fn unknown_fields(bits: u64, argument: u32) -> Error {
    invalid(argument, format!("the mask has bits of no field: {bits:#x}"))
        .advise("use the constants of the header that has the structure")
}

/// The object behind a handle that must be given.
#[inline]
pub(crate) fn object<T: Object>(handle: DAT_HANDLE, subtype: Subtype) -> Result<T> {
    handle::get(handle).ok_or_else(|| invalid_handle(subtype))
}

/// The object behind a handle that may be `DAT_HANDLE_NULL`.
pub(crate) fn optional_object<T: Object>(
    handle: DAT_HANDLE,
    subtype: Subtype,
) -> Result<Option<T>> {
    if handle.is_null() { Ok(None) } else { object(handle, subtype).map(Some) }
}
