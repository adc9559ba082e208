//! One cell: the provider's table, what state the cell is in, and the object.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use dat_core::ObjectKind;

use super::keep::Keep;
use super::object::Object;
use crate::abi::DAT_PROVIDER;

/// Bytes of a cell; its address is a multiple of it.
pub(super) const SIZE: usize = 32;

/// What a handle points at. The layout is C's business in its first word only.
#[repr(C, align(32))]
pub(crate) struct Cell {
    provider: AtomicPtr<DAT_PROVIDER>,
    /// A [`Phase`] and a kind.
    state: AtomicU32,
    object: UnsafeCell<MaybeUninit<usize>>,
    /// What C was told about the object by address; made when there is something.
    keep: AtomicPtr<Keep>,
}

const _: () = assert!(size_of::<Cell>() == SIZE);

// SAFETY: the object is written before the state says that it is there, under the store's lock,
// and taken after no pin of any thread is left on the cell. Every object is Send and Sync.
unsafe impl Sync for Cell {}

/// How far the life of a cell has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Phase {
    /// No object.
    Free = 0,
    /// The core makes an object, or made one that C has not seen yet.
    Reserved = 1 << 8,
    /// The object is there.
    Live = 2 << 8,
    /// The object was freed; calls that began before may still use it.
    Dead = 3 << 8,
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
            keep: AtomicPtr::new(null_mut()),
        }
    }

    /// Whether a live object of that kind is here.
    #[inline]
    pub(super) fn is_live(&self, kind: ObjectKind) -> bool {
        self.state.load(Ordering::Acquire) == state(Phase::Live, kind)
    }

    pub(super) fn live_kind(&self) -> Option<ObjectKind> {
        let word = self.state.load(Ordering::Acquire);
        (word & !KIND == Phase::Live as u32).then(|| ObjectKind::ALL[(word & KIND) as usize])
    }

    pub(super) fn is(&self, phase: Phase, kind: ObjectKind) -> bool {
        self.state.load(Ordering::Relaxed) == state(phase, kind)
    }

    pub(super) fn enter(&self, phase: Phase, kind: ObjectKind) {
        self.state.store(state(phase, kind), Ordering::Release);
    }

    pub(super) fn clear(&self) {
        self.state.store(Phase::Free as u32, Ordering::Release);
    }

    pub(super) fn set_provider(&self, table: *mut DAT_PROVIDER) {
        self.provider.store(table, Ordering::Relaxed);
    }

    /// Puts an object in place.
    ///
    /// # Safety
    /// The cell is reserved for an object of that kind, and the store's lock is held.
    pub(super) unsafe fn fill<T: Object>(&self, object: T) {
        const { assert!(size_of::<T>() == size_of::<usize>() && align_of::<T>() <= SIZE) };
        // SAFETY: the size fits, and nobody else accesses a reserved cell under the lock.
        unsafe { self.object.get().cast::<T>().write(object) };
    }

    /// The object.
    ///
    /// # Safety
    /// An object of that type is in place, and stays for as long as the reference is used.
    #[inline]
    pub(super) unsafe fn object<T: Object>(&self) -> &T {
        // SAFETY: as the caller promises.
        unsafe { &*self.object.get().cast::<T>() }
    }

    /// Takes the object out.
    ///
    /// # Safety
    /// An object of that type is in place, and nobody uses it any more.
    pub(super) unsafe fn take<T: Object>(&self) -> T {
        // SAFETY: as the caller promises; it is not read again before the next fill.
        unsafe { self.object.get().cast::<T>().read() }
    }

    /// What C was told about the object.
    ///
    /// # Safety
    /// The cell is pinned and live, so that nobody takes it away.
    pub(super) unsafe fn keep(&self) -> &Keep {
        let found = self.keep.load(Ordering::Acquire);
        // SAFETY: made below, and freed only when the cell is given to another object.
        if let Some(keep) = unsafe { found.as_ref() } {
            return keep;
        }
        let made = Box::into_raw(Box::<Keep>::default());
        match self.keep.compare_exchange(null_mut(), made, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: made above.
            Ok(_) => unsafe { &*made },
            Err(other) => {
                // SAFETY: made above, and published nowhere.
                drop(unsafe { Box::from_raw(made) });
                // SAFETY: another thread's, as above.
                unsafe { &*other }
            }
        }
    }

    /// Frees what C received the address of for the last object of the cell. This happens when
    /// the cell is given to another object, not when the object is freed: programs read
    /// addresses and private data of endpoints that they have just freed.
    ///
    /// # Safety
    /// No call uses the cell.
    pub(super) unsafe fn forget(&self) {
        let keep = self.keep.swap(null_mut(), Ordering::AcqRel);
        if !keep.is_null() {
            // SAFETY: made by `keep` from a box, and taken out once.
            drop(unsafe { Box::from_raw(keep) });
        }
    }
}
