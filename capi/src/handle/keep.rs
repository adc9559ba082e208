//! What C holds the address of for as long as an object lives, and until its handle is given to
//! another object: socket addresses, private data, lists of attributes. Each query writes them
//! again, so that a caller that overwrites them spoils only its own answer.

use std::ptr::{null_mut, slice_from_raw_parts_mut};

use parking_lot::{Mutex, MutexGuard};

use crate::abi::{DAT_OS_WAIT_PROXY_AGENT, DAT_REGION_DESCRIPTION, DAT_VLEN};
use crate::convert::address::SocketAddress;
use crate::convert::attributes::NamedAttributes;
use crate::dialect::MoreKept;

/// Memory of the library's that C knows the address of.
pub(crate) struct Lasting<T: ?Sized>(*mut T);

// SAFETY: it owns the memory like a box; only this library frees it.
unsafe impl<T: ?Sized + Send> Send for Lasting<T> {}

impl<T> Default for Lasting<T> {
    fn default() -> Self {
        Self(null_mut())
    }
}

impl<T> Lasting<T> {
    /// Writes a value, in the same place as before.
    pub(crate) fn set(&mut self, value: T) -> *mut T {
        if self.0.is_null() {
            self.0 = Box::into_raw(Box::new(value));
        } else {
            // SAFETY: made above; C may read or write it, and no reference to it exists here.
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
    /// Writes values, in the same place as before where they are as many; NULL for none.
    pub(crate) fn write(&mut self, values: &[T]) -> *mut T {
        if values.is_empty() {
            return null_mut();
        }
        if self.0.len() == values.len() {
            // SAFETY: room for as many values, made below; no reference to it exists here.
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
            // SAFETY: made from a box, and freed once.
            drop(unsafe { Box::from_raw(self.0) });
        }
    }
}

/// The memory kept for one object; what the kind of object has no use for stays empty.
#[derive(Default)]
pub(crate) struct Kept {
    /// The address of its own adapter.
    pub(crate) local_address: Lasting<SocketAddress>,
    /// The address of the other adapter.
    pub(crate) remote_address: Lasting<SocketAddress>,
    /// What the other consumer sent last.
    pub(crate) private_data: Lasting<[u8]>,
    /// Lists of attributes, by their place in the struct that was asked for.
    pub(crate) attributes: [NamedAttributes; 3],
    /// What a local memory region was made from.
    pub(crate) region: Option<Region>,
    /// The agent of a notification object.
    pub(crate) agent: Option<Agent>,
    /// What only one version of the API tells.
    pub(crate) more: MoreKept,
}

/// What a local memory region was made from, as its maker said.
#[derive(Clone, Copy)]
pub(crate) struct Region {
    pub(crate) description: DAT_REGION_DESCRIPTION,
    pub(crate) length: DAT_VLEN,
}

// SAFETY: addresses of the consumer's, given back and never followed.
unsafe impl Send for Region {}

/// A proxy agent, as its maker gave it.
#[derive(Clone, Copy)]
pub(crate) struct Agent(pub(crate) DAT_OS_WAIT_PROXY_AGENT);

// SAFETY: an address and a function of the consumer's, who offers them to any thread.
unsafe impl Send for Agent {}
// SAFETY: as for Send.
unsafe impl Sync for Agent {}

/// What is kept, behind its lock.
#[derive(Default)]
pub(super) struct Keep(Mutex<Kept>);

impl Keep {
    pub(super) fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock()
    }
}
