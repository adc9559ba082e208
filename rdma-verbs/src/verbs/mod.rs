//! Verbs: devices, memory, queues, and posts (libibverbs).
//!
//! Each object keeps its parents alive, and dropping it destroys it: any order of drops is correct.
//! Any thread may use any object at any time.
//!
//! # Memory
//! A [`MemoryRegion`] owns its memory, which the program copies into and out of: the device and
//! the peer may write it at any time, so it is never borrowed. A post refers to ranges of regions
//! ([`Segment`]) and keeps them registered until its completion is taken.
//!
//! # Records
//! [`QueuePair::post_send`] and [`QueuePair::post_receive`] record a post of [`Segment`]s or inline
//! bytes: they check what C leaves to the caller, and keep the objects of the post until its
//! completion is taken by [`CompletionQueue::poll`]. The completion needs the record even if the
//! post uses no object, because it also ends the unsignaled posts before it.
//!
//! A record costs a lock, two allocations and a reference to each region. Programs that keep
//! records of their own, such as a DAT provider, post [`Unrecorded`] memory, which adds nothing to
//! C, and take the completions by [`CompletionQueue::poll_raw`]; a completion queue serves posts of
//! one of the two kinds. [`Poster`] is such a post with one segment, prepared.
//! [`QueuePair::bind_window_raw`] has no record either.

mod access;
mod address_handle;
mod advice;
mod async_event;
mod batch;
mod bind;
mod channel;
mod completion;
mod completion_queue;
mod completion_queue_ex;
mod device;
mod device_ex;
mod domain;
#[cfg(test)]
mod fake;
mod gid_table;
mod in_flight;
mod memory;
mod moderation;
mod port;
mod post;
mod poster;
mod queue_pair;
mod queue_pair_attributes;
mod receive;
mod region;
mod segment;
mod shared_receive;
mod state;
mod thread_domain;
mod values;
mod window;

pub use access::{Access, SendFlags};
pub use address_handle::{AddressHandle, AddressVector, Gid, GlobalRoute};
pub use advice::Advice;
pub use async_event::{AsyncEvent, DeviceEvent, PortEvent, QueuePairEvent, SharedReceiveEvent};
pub use batch::{SendBatch, SendOperations};
pub use bind::WindowBind;
pub use channel::CompletionChannel;
pub use completion::{Completion, CompletionKind, CompletionStatus};
pub use completion_queue::CompletionQueue;
pub use completion_queue_ex::{
    CompletionFields, ExtendedCompletion, ExtendedCompletionQueue, ExtendedQueueInit,
};
pub use device::{Context, DeviceAttributes, DeviceEntry, devices};
pub use device_ex::{
    AtomicSizes, ExtendedDeviceAttributes, ModerationLimits, OnDemandPaging, PacketPacing,
    PagedOperations, PciAtomics, RawPacketOffloads, ReceiveHashing, Segmentation, TagMatching,
};
pub use domain::ProtectionDomain;
pub use gid_table::{GidEntry, GidType};
pub use memory::Memory;
pub use moderation::Moderation;
pub use port::{LinkLayer, PortAttributes, PortState};
pub use post::{Operation, RequestData, SendRequest, Unrecorded};
pub use poster::{Poster, SingleSgeOp, SingleSgeReceive, SingleSgeRequest, WorkRequest};
pub use queue_pair::{Capabilities, QueuePair, QueuePairInit, QueuePairType};
pub use queue_pair_attributes::{AlternatePath, PathMigration, QueuePairAttributes};
pub use receive::ReceiveData;
pub use region::MemoryRegion;
pub use segment::{RemoteAddress, Segment};
pub use shared_receive::{SharedReceiveAttributes, SharedReceiveQueue};
pub use state::{Mtu, QueuePairState, ReceiveSide, SendSide, Service};
pub use thread_domain::ThreadDomain;
pub use window::{MemoryWindow, WindowType};

pub use crate::error::{Error, ErrorObject, Result};
pub use crate::sys::verbs::{ibv_sge as Sge, ibv_wc as WorkCompletion};

pub(crate) use channel::set_nonblocking;
pub(crate) use in_flight::{InFlight, Order, Records};
pub(crate) use queue_pair::{Parts, QueueRecords};

use std::any::Any;
use std::sync::Arc;

/// The owner of an object that this crate did not create; the object lives as long as this.
pub type Owner = Arc<dyn Any + Send + Sync>;

/// The functions of a library, for objects that can exist only after the library was opened.
macro_rules! library {
    ($table:ident) => {
        match crate::sys::libraries() {
            Ok(libraries) => &libraries.$table,
            Err(_) => unreachable!("an object of a library that was never opened"),
        }
    };
}
pub(crate) use library;

/// Reads a field of a live object of the library that the library may write in another thread: the
/// volatile read returns the value before or after the write.
macro_rules! field {
    ($object:expr, $($field:ident).+) => {{
        // SAFETY: the object is alive, so the field lies in it.
        let field = unsafe { &raw const (*$object).$($field).+ };
        // SAFETY: the object is alive; the field holds a valid value at any time.
        unsafe { field.read_volatile() }
    }};
}
pub(crate) use field;

/// Defines a type that wraps a pointer to an object of the library.
macro_rules! object {
    ($(#[$doc:meta])* $name:ident($raw:ident) {
        $($(#[$attribute:meta])* $visible:vis $field:ident: $type:ty),* $(,)?
    }) => {
        $(#[$doc])*
        pub struct $name {
            raw: std::ptr::NonNull<$raw>,
            $($(#[$attribute])* $visible $field: $type,)*
        }

        // SAFETY: the library's calls on the object are thread safe, and fields that are read
        // directly never change or are read with `field!`.
        unsafe impl Send for $name {}
        // SAFETY: the same holds for shared references to the object.
        unsafe impl Sync for $name {}

        impl $name {
            /// The object of the library, valid as long as this one.
            #[inline]
            pub fn raw(&self) -> *mut $raw {
                self.raw.as_ptr()
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.raw).finish()
            }
        }
    };
}
pub(crate) use object;

/// Converts a key to the pointer field in which C stores it.
pub(crate) fn key_to_pointer(key: u64) -> *mut std::ffi::c_void {
    std::ptr::without_provenance_mut(key as usize)
}

/// Converts such a field back to the key.
pub(crate) fn pointer_to_key(pointer: *mut std::ffi::c_void) -> u64 {
    pointer.addr() as u64
}
