//! Copies between bytes of the process and memory named by spans.
#![allow(unsafe_code, reason = "registered memory is reached by address here, and only here")]

use std::ptr::NonNull;

use dat_provider::mem::{Span, copy};

/// Total length of spans, in bytes.
#[must_use]
pub fn total(spans: &[Span]) -> usize {
    spans.iter().map(Span::len).sum()
}

/// Appends the bytes of the spans, without the first `skip` of them.
pub fn gather(spans: &[Span], mut skip: usize, into: &mut Vec<u8>) {
    for span in spans {
        let passed = skip.min(span.len());
        skip -= passed;
        let length = span.len() - passed;
        let Some(from) = span.pointer(span.address() + passed as u64, length as u64) else {
            continue;
        };
        into.reserve(length);
        let filled = into.len();
        // SAFETY: the span's maker answers for the source; `length` bytes were reserved.
        unsafe { copy(from, into.as_mut_ptr().wrapping_add(filled), length) };
        // SAFETY: they were written by the copy.
        unsafe { into.set_len(filled + length) };
    }
}

/// Copies bytes into the spans, as far as both go. Returns how many were copied.
pub fn scatter(mut bytes: &[u8], spans: &[Span]) -> usize {
    let before = bytes.len();
    for span in spans {
        let (part, rest) = bytes.split_at(bytes.len().min(span.len()));
        if let Some(to) = span.pointer(span.address(), part.len() as u64) {
            // SAFETY: the span's maker answers for the target, and the part fits into it.
            unsafe { copy(part.as_ptr(), to, part.len()) };
        }
        bytes = rest;
    }
    before - bytes.len()
}

/// A span of bytes that are only read through it.
///
/// The borrow ends with the caller's use of the span: it must not keep it.
pub(crate) fn source(bytes: &[u8]) -> Span {
    // SAFETY: writers of a link read the span and keep none after the call, during which the
    // caller holds the borrow.
    unsafe { Span::new(NonNull::from(bytes).cast(), bytes.len()) }
}

/// A span of bytes that are only written through it, as for [`source`].
pub(crate) fn target(bytes: &mut [u8]) -> Span {
    let length = bytes.len();
    // SAFETY: readers of a link write the span and keep none after the call, during which the
    // caller holds the exclusive borrow.
    unsafe { Span::new(NonNull::from(bytes).cast(), length) }
}

/// The first `length` bytes of a span, or all of it.
#[must_use]
pub fn first(span: Span, length: usize) -> Span {
    let length = length.min(span.len());
    let Some(base) = span.pointer(span.address(), 0).and_then(NonNull::new) else { return span };
    // SAFETY: a part of the span, for which its maker answers.
    unsafe { Span::new(base, length) }
}
