//! A cell: the provider's table, the state of the cell, and the object.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use dat_core::ObjectKind;

use super::c_storage::LockedStorage;
use super::object::Object;
use crate::abi::DAT_PROVIDER;

/// Size of a cell in bytes; its address is a multiple of it.
pub(super) const SIZE: usize = 32;

/// The target of a handle. Only the layout of the first word matters to C.
#[repr(C, align(32))]
pub(crate) struct Cell {
    provider: AtomicPtr<DAT_PROVIDER>,
    /// A [`Phase`] and a kind.
    state: AtomicU32,
    object: UnsafeCell<MaybeUninit<usize>>,
    /// Memory whose address C received for the object; allocated when first needed.
    storage: AtomicPtr<LockedStorage>,
}

const _: () = assert!(size_of::<Cell>() == SIZE);

// SAFETY: the object is written under the store's lock before the state becomes live, and taken out
// after no thread has the cell pinned. Every object is Send and Sync.
unsafe impl Sync for Cell {}

/// The phase of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Phase {
    /// No object.
    Free = 0,
    /// The core is creating an object, or has created one that C does not know yet.
    Reserved = 1 << 8,
    /// The object exists.
    Live = 2 << 8,
    /// The object was freed; calls that began before may still use it.
    Dead = 3 << 8,
    /// The object belongs to the process from which this one was forked. The cell is never changed again.
    Inherited = 4 << 8,
}

const KIND: u32 = 0xff;

const fn state(phase: Phase, kind: ObjectKind) -> u32 {
    phase as u32 | kind as u32
}

impl Cell {
    pub(super) const fn new() -> Self {
        Self {
            provider: AtomicPtr::new(null_mut()),
            state: AtomicU32::new(Phase::Free as u32),
            object: UnsafeCell::new(MaybeUninit::uninit()),
            storage: AtomicPtr::new(null_mut()),
        }
    }

    /// Returns true if the cell holds a live object of that kind.
    #[inline]
    pub(super) fn is_live(&self, kind: ObjectKind) -> bool {
        // Pairs with `enter`.
        self.state.load(Ordering::Acquire) == state(Phase::Live, kind)
    }

    pub(super) fn live_kind(&self) -> Option<ObjectKind> {
        self.kind_in(Phase::Live)
    }

    /// The kind of the object, if it belongs to the process from which this one was forked.
    pub(super) fn inherited_kind(&self) -> Option<ObjectKind> {
        self.kind_in(Phase::Inherited)
    }

    fn kind_in(&self, phase: Phase) -> Option<ObjectKind> {
        let word = self.state.load(Ordering::Acquire);
        (word & !KIND == phase as u32).then(|| ObjectKind::ALL[(word & KIND) as usize])
    }

    /// Leaves a live object to the process from which this one was forked: no lookup finds it any
    /// more. Called in a handler of `fork`.
    pub(super) fn leave_to_parent(&self) {
        if let Some(kind) = self.live_kind() {
            self.enter(Phase::Inherited, kind);
        }
    }

    pub(super) fn is(&self, phase: Phase, kind: ObjectKind) -> bool {
        self.state.load(Ordering::Relaxed) == state(phase, kind)
    }

    pub(super) fn enter(&self, phase: Phase, kind: ObjectKind) {
        // Release: pairs with `is_live`. Against a pin, the fence that follows in a free orders it.
        self.state.store(state(phase, kind), Ordering::Release);
    }

    pub(super) fn clear(&self) {
        self.state.store(Phase::Free as u32, Ordering::Release);
    }

    pub(super) fn set_provider(&self, table: *mut DAT_PROVIDER) {
        self.provider.store(table, Ordering::Relaxed);
    }

    /// Stores an object.
    ///
    /// # Safety
    /// The cell is reserved for an object of that kind, and the caller holds the store's lock.
    pub(super) unsafe fn fill<T: Object>(&self, object: T) {
        const { assert!(size_of::<T>() == size_of::<usize>() && align_of::<T>() <= SIZE) };
        // SAFETY: the object fits, and no other code accesses a reserved cell under the lock.
        unsafe { self.object.get().cast::<T>().write(object) };
    }

    /// The object.
    ///
    /// # Safety
    /// The cell holds an object of that type, which stays as long as the reference is used.
    #[inline]
    pub(super) unsafe fn object<T: Object>(&self) -> &T {
        // SAFETY: the caller guarantees an object of that type.
        unsafe { &*self.object.get().cast::<T>() }
    }

    /// Takes the object out.
    ///
    /// # Safety
    /// The cell holds an object of that type, and no thread uses it any more.
    pub(super) unsafe fn take<T: Object>(&self) -> T {
        // SAFETY: the caller guarantees an object of that type; it is not read again before the
        // next `fill`.
        unsafe { self.object.get().cast::<T>().read() }
    }

    /// The memory whose address C received for the object.
    ///
    /// # Safety
    /// The cell is pinned and live, so that no thread frees the memory.
    pub(super) unsafe fn storage(&self) -> &LockedStorage {
        let found = self.storage.load(Ordering::Acquire);
        // SAFETY: allocated below, and freed only when the cell is given to another object.
        if let Some(storage) = unsafe { found.as_ref() } {
            return storage;
        }
        let new = Box::into_raw(Box::<LockedStorage>::default());
        // Release: pairs with the load above.
        match self.storage.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: allocated above, and now published.
            Ok(_) => unsafe { &*new },
            Err(other) => {
                // SAFETY: allocated above and not published.
                drop(unsafe { Box::from_raw(new) });
                // SAFETY: published by another thread, and freed only when the cell is given to
                // another object.
                unsafe { &*other }
            }
        }
    }

    /// Frees the memory whose address C received for the former object of the cell. This happens
    /// when the cell is given to another object, not when the object is freed: programs read
    /// addresses and private data of endpoints that they have just freed.
    ///
    /// # Safety
    /// No call uses the cell.
    pub(super) unsafe fn free_storage(&self) {
        let storage = self.storage.swap(null_mut(), Ordering::AcqRel);
        if !storage.is_null() {
            // SAFETY: allocated as a box in `storage`, and taken out once.
            drop(unsafe { Box::from_raw(storage) });
        }
    }
}
