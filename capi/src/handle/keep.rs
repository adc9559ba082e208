//! Memory whose address C holds as long as an object lives, and until its handle is given to
//! another object: socket addresses, private data, lists of attributes. Each query writes it again,
//! so a caller that overwrites it spoils only its own result.

use std::ptr::{null_mut, slice_from_raw_parts_mut};

use parking_lot::{Mutex, MutexGuard};

use crate::abi::{DAT_OS_WAIT_PROXY_AGENT, DAT_REGION_DESCRIPTION, DAT_VLEN};
use crate::convert::address::SocketAddress;
use crate::convert::attributes::NamedAttributes;
use crate::dialect::MoreKept;

/// Memory of the library whose address C knows.
pub(crate) struct Lasting<T: ?Sized>(*mut T);

// SAFETY: it owns the memory like a box; only this library frees it.
unsafe impl<T: ?Sized + Send> Send for Lasting<T> {}

impl<T> Default for Lasting<T> {
    fn default() -> Self {
        Self(null_mut())
    }
}

impl<T> Lasting<T> {
    /// Writes a value, at the same address as before.
    pub(crate) fn set(&mut self, value: T) -> *mut T {
        if self.0.is_null() {
            self.0 = Box::into_raw(Box::new(value));
        } else {
            // SAFETY: allocated by this type; C may read or write it, and no Rust reference to it
            // exists.
            unsafe { self.0.write(value) };
        }
        self.0
    }
}

impl<T> Default for Lasting<[T]> {
    fn default() -> Self {
        Self(slice_from_raw_parts_mut(null_mut(), 0))
    }
}

impl<T: Copy> Lasting<[T]> {
    /// Writes values, at the same address as before if their number is unchanged; returns NULL for
    /// none.
    pub(crate) fn write(&mut self, values: &[T]) -> *mut T {
        if values.is_empty() {
            return null_mut();
        }
        if self.0.len() == values.len() {
            // SAFETY: the allocation has this many elements, and no Rust reference to it exists.
            unsafe { self.0.cast::<T>().copy_from(values.as_ptr(), values.len()) };
        } else {
            *self = Self(Box::into_raw(Box::from(values)));
        }
        self.0.cast()
    }
}

impl<T: ?Sized> Drop for Lasting<T> {
    fn drop(&mut self) {
        if !self.0.cast::<u8>().is_null() {
            // SAFETY: allocated as a box, and freed once.
            drop(unsafe { Box::from_raw(self.0) });
        }
    }
}

/// The memory kept for one object; fields that its kind does not need stay empty.
#[derive(Default)]
pub(crate) struct Kept {
    /// The address of its own adapter.
    pub(crate) local_address: Lasting<SocketAddress>,
    /// The address of the peer's adapter.
    pub(crate) remote_address: Lasting<SocketAddress>,
    /// The data that the remote consumer sent last.
    pub(crate) private_data: Lasting<[u8]>,
    /// Lists of attributes, by their position in the queried struct.
    pub(crate) attributes: [NamedAttributes; 3],
    /// The memory of a local memory region.
    pub(crate) region: Option<Region>,
    /// The agent of a notification object.
    pub(crate) agent: Option<Agent>,
    /// What only one version of the API returns.
    pub(crate) more: MoreKept,
}

/// The memory of a local memory region, as its creator described it.
#[derive(Clone, Copy)]
pub(crate) struct Region {
    pub(crate) description: DAT_REGION_DESCRIPTION,
    pub(crate) length: DAT_VLEN,
}

// SAFETY: the addresses belong to the consumer; they are returned to it and never dereferenced.
unsafe impl Send for Region {}

/// A proxy agent, as its creator gave it.
#[derive(Clone, Copy)]
pub(crate) struct Agent(pub(crate) DAT_OS_WAIT_PROXY_AGENT);

// SAFETY: the function and the address belong to the consumer, which permits their use in any
// thread.
unsafe impl Send for Agent {}
// SAFETY: the function and the address belong to the consumer, which permits their use in any
// thread.
unsafe impl Sync for Agent {}

/// The kept memory, with its lock.
#[derive(Default)]
pub(super) struct Keep(Mutex<Kept>);

impl Keep {
    pub(super) fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock()
    }
}
