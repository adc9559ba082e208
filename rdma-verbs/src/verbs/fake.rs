//! A context in memory of the test, for calls that reach a device only through the operations of
//! its context.

use std::mem::{MaybeUninit, offset_of};
use std::ptr::{NonNull, without_provenance_mut};
use std::sync::Arc;

use super::{CompletionQueue, Context, Owner, ProtectionDomain};
use crate::sys::extended::verbs_context;
use crate::sys::verbs::{ibv_cq, ibv_pd};

struct Device(MaybeUninit<verbs_context>);

// SAFETY: the tests set its operations before they share it, and only read it afterwards.
unsafe impl Send for Device {}
// SAFETY: the same holds for shared references.
unsafe impl Sync for Device {}

/// An extended context whose operations are those that `set` adds.
pub(super) fn context(set: impl FnOnce(&mut verbs_context)) -> Context {
    with_size(size_of::<verbs_context>(), set)
}

/// The context of a library that knows only the last operations: those from that offset.
pub(super) fn old_context(first: usize, set: impl FnOnce(&mut verbs_context)) -> Context {
    with_size(size_of::<verbs_context>() - first, set)
}

fn with_size(size: usize, set: impl FnOnce(&mut verbs_context)) -> Context {
    // SAFETY: all zeros is a valid value of the type: no operation and no object.
    let mut tail: verbs_context = unsafe { MaybeUninit::zeroed().assume_init() };
    tail.sz = size;
    tail.context.abi_compat = without_provenance_mut(usize::MAX);
    set(&mut tail);
    let owner = Arc::new(Device(MaybeUninit::new(tail)));
    let start = owner.0.as_ptr().cast::<u8>().cast_mut();
    let raw = start.wrapping_add(offset_of!(verbs_context, context)).cast();
    let raw = NonNull::new(raw).expect("the address of a value");
    // SAFETY: the context lives as long as its owner, and no test calls a function of the library.
    unsafe { Context::owned_by(raw, owner as Owner) }
}

struct Domain(ibv_pd);

// SAFETY: it is never changed.
unsafe impl Send for Domain {}
// SAFETY: it is never changed.
unsafe impl Sync for Domain {}

/// A domain of such a context.
pub(super) fn domain(context: &Context) -> Arc<ProtectionDomain> {
    let owner = Arc::new(Domain(ibv_pd { context: context.raw(), handle: 7 }));
    let raw = NonNull::from(&owner.0);
    // SAFETY: the domain lives as long as its owner.
    unsafe { ProtectionDomain::owned_by(raw, context.clone(), owner as Owner) }
}

struct Queue(ibv_cq);

// SAFETY: it is never changed.
unsafe impl Send for Queue {}
// SAFETY: it is never changed.
unsafe impl Sync for Queue {}

/// A completion queue of such a context.
pub(super) fn queue(context: &Context) -> Arc<CompletionQueue> {
    // SAFETY: all zeros is a valid value of the type.
    let mut queue: ibv_cq = unsafe { MaybeUninit::zeroed().assume_init() };
    queue.context = context.raw();
    let owner = Arc::new(Queue(queue));
    let raw = NonNull::from(&owner.0);
    // SAFETY: the queue lives as long as its owner.
    unsafe { CompletionQueue::owned_by(raw, context.clone(), None, Arc::default(), owner as Owner) }
}
