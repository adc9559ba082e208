//! Copies between slices and registered memory, which spans describe.
#![allow(unsafe_code, reason = "registered memory is reached by address here, and only here")]

use std::ptr::NonNull;

use dat_provider::mem::Span;

use crate::fault::{Fault, copy, copy_in_order};

/// Total length of spans, in bytes.
#[must_use]
pub fn total(spans: &[Span]) -> usize {
    spans.iter().map(Span::len).sum()
}

/// Appends the bytes of the spans to `into`, except the first `skip` bytes.
///
/// # Errors
/// A span is not readable. Nothing is appended.
pub fn gather(spans: &[Span], mut skip: usize, into: &mut Vec<u8>) -> Result<(), Fault> {
    let before = into.len();
    for span in spans {
        let skipped = skip.min(span.len());
        skip -= skipped;
        let length = span.len() - skipped;
        let Some(from) = span.pointer(span.address() + skipped as u64, length as u64) else {
            continue;
        };
        into.reserve(length);
        let filled = into.len();
        // SAFETY: the creator of the span guarantees that the source is readable; `length` bytes were
        // reserved.
        let copied = unsafe { copy(from, into.as_mut_ptr().wrapping_add(filled), length) };
        copied.inspect_err(|_| into.truncate(before))?;
        // SAFETY: the copy has initialized them.
        unsafe { into.set_len(filled + length) };
    }
    Ok(())
}

/// Copies the bytes of the spans to `into` until either ends. Returns the number of copied bytes.
///
/// # Errors
/// A span is not readable.
pub fn gather_into(spans: &[Span], into: &mut [u8]) -> Result<usize, Fault> {
    let mut filled = 0;
    for span in spans {
        let length = span.len().min(into.len() - filled);
        let Some(from) = span.pointer(span.address(), length as u64) else { continue };
        // SAFETY: the creator of the span guarantees that the source is readable; `length` bytes of `into` are
        // left behind `filled`.
        unsafe { copy(from, into.as_mut_ptr().wrapping_add(filled), length) }?;
        filled += length;
    }
    Ok(filled)
}

/// Copies bytes to the spans until either ends, the last bytes of each span last. Returns the number of
/// copied bytes.
///
/// # Errors
/// A span is not writable.
pub fn scatter(mut bytes: &[u8], spans: &[Span]) -> Result<usize, Fault> {
    let before = bytes.len();
    for span in spans {
        let (part, rest) = bytes.split_at(bytes.len().min(span.len()));
        if let Some(to) = span.pointer(span.address(), part.len() as u64) {
            // SAFETY: the creator of the span guarantees that the target is writable; `part` fits into it.
            unsafe { copy_in_order(part.as_ptr(), to, part.len()) }?;
        }
        bytes = rest;
    }
    Ok(before - bytes.len())
}

/// A span of bytes that is only read. It must not be used after the borrow ends.
pub(crate) fn source(bytes: &[u8]) -> Span {
    // SAFETY: the writer of a link reads the span only during a call, in which the caller holds the
    // borrow.
    unsafe { Span::new(NonNull::from(bytes).cast(), bytes.len()) }
}

/// A span of bytes that is only written. It must not be used after the borrow ends.
pub(crate) fn target(bytes: &mut [u8]) -> Span {
    let length = bytes.len();
    // SAFETY: the reader of a link writes the span only during a call, in which the caller holds the
    // exclusive borrow.
    unsafe { Span::new(NonNull::from(bytes).cast(), length) }
}

/// The first `length` bytes of a span, or the whole span if it is shorter.
#[must_use]
pub fn first(span: Span, length: usize) -> Span {
    let length = length.min(span.len());
    let Some(base) = span.pointer(span.address(), 0).and_then(NonNull::new) else { return span };
    // SAFETY: it is a part of the span, so the guarantees of its creator cover it.
    unsafe { Span::new(base, length) }
}
