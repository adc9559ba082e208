//! Requests and receives, which are posted to a queue pair.
#![allow(unsafe_code, reason = "inline data is read by address, as its constructor demands")]

use std::ptr::with_exposed_provenance;
use std::sync::Arc;

use bitflags::bitflags;

use crate::access::Access;
use crate::address_handle::AddressHandle;
use crate::error::Result;
use crate::region::Region;
use crate::window::Window;

/// A piece of local memory, in the layout of `ibv_sge`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Sge {
    /// Its address.
    pub address: u64,
    /// Its length in bytes.
    pub length: u32,
    /// The local key of its region.
    pub key: u32,
}

bitflags! {
    /// How a request is executed and completes (`ibv_send_flags`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct SendFlags: u32 {
        /// It starts after all earlier reads and atomics have completed.
        const FENCE = 1;
        /// It completes even if the queue pair does not signal all requests.
        const SIGNALED = 1 << 1;
        /// The receive of the peer makes an event that waits for solicited ones.
        const SOLICITED = 1 << 2;
        /// The data is copied at the post, and needs no key. Set in C only: here [`Data::Inline`] says it.
        const INLINE = 1 << 3;
        /// Checksums, which this device does not compute.
        const IP_CSUM = 1 << 4;
    }
}

/// Memory of the peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    /// Its address there.
    pub address: u64,
    /// The remote key of its region or window.
    pub key: u32,
}

/// The operation of a request. Immediate data is in network order, as in `ibv_send_wr`: its bytes arrive as they are
/// in memory here.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum SendOperation<'a> {
    /// Sends a message.
    Send,
    /// Sends a message with immediate data.
    SendWithImmediate(u32),
    /// Sends a message and invalidates a window of the peer, by its remote key.
    SendWithInvalidate(u32),
    /// Writes memory of the peer.
    Write(Remote),
    /// Writes memory of the peer, and completes a receive there with the immediate data.
    WriteWithImmediate(Remote, u32),
    /// Reads memory of the peer.
    Read(Remote),
    /// Replaces eight bytes of the peer by `swap` if they are equal to `compare`; the segment gets what was there.
    CompareSwap {
        /// The eight bytes, aligned to eight.
        remote: Remote,
        /// The expected value.
        compare: u64,
        /// The new value.
        swap: u64,
    },
    /// Adds to eight bytes of the peer; the segment gets what was there.
    FetchAdd {
        /// The eight bytes, aligned to eight.
        remote: Remote,
        /// The summand.
        add: u64,
    },
    /// Binds a window of type 2 with the key that the program chose (`IBV_WR_BIND_MW`).
    Bind {
        /// The window.
        window: &'a Arc<Window>,
        /// Its new remote key: that of the window with another lowest byte.
        key: u32,
        /// The memory to which it is bound.
        bind: WindowBind<'a>,
    },
    /// Invalidates a local window of type 2 by its remote key.
    LocalInvalidate(u32),
}

/// The memory to which a window is bound (`ibv_mw_bind_info`).
#[derive(Clone, Copy, Debug)]
pub struct WindowBind<'a> {
    /// The region; ignored if the length is 0.
    pub region: Option<&'a Arc<Region>>,
    /// The first address that the peer may access.
    pub address: u64,
    /// Number of bytes that the peer may access; 0 unbinds the window.
    pub length: u64,
    /// The accesses that the peer may make.
    pub access: Access,
}

/// The local memory of a request.
#[derive(Clone, Copy, Debug)]
pub enum Data<'a> {
    /// Registered memory.
    Segments(&'a [Sge]),
    /// Memory that is copied during the call (`IBV_SEND_INLINE`).
    Inline(Inline<'a>),
}

/// Memory that a post copies. Its keys are not used.
#[derive(Clone, Copy, Debug)]
pub struct Inline<'a>(Source<'a>);

#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    /// Memory that is readable, as the constructor demands.
    Segments(&'a [Sge]),
    Bytes(&'a [u8]),
}

impl<'a> Inline<'a> {
    /// Memory by addresses.
    ///
    /// # Safety
    /// The memory of each segment must be readable, and not written meanwhile, as long as this value is in use.
    #[must_use]
    pub const unsafe fn from_segments(segments: &'a [Sge]) -> Self {
        Self(Source::Segments(segments))
    }

    /// Bytes.
    #[must_use]
    pub const fn from_bytes(bytes: &'a [u8]) -> Self {
        Self(Source::Bytes(bytes))
    }

    /// Number of bytes.
    pub(crate) fn length(&self) -> u64 {
        match self.0 {
            Source::Segments(segments) => segments.iter().map(|one| u64::from(one.length)).sum(),
            Source::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Calls a function with each piece, in order, until it fails.
    pub(crate) fn for_each(&self, mut act: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let segments = match self.0 {
            Source::Segments(segments) => segments,
            Source::Bytes(bytes) => return act(bytes),
        };
        for segment in segments.iter().filter(|one| one.length != 0) {
            let base = with_exposed_provenance(segment.address as usize);
            // SAFETY: the constructor demands that the memory is readable and not written meanwhile.
            act(unsafe { std::slice::from_raw_parts(base, segment.length as usize) })?;
        }
        Ok(())
    }

    /// A copy of all bytes.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut all = Vec::new();
        // The function does not fail.
        let _ = self.for_each(|bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        });
        all
    }
}

/// The destination of a datagram.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a> {
    /// The address handle.
    pub address: &'a Arc<AddressHandle>,
    /// The number of the queue pair there.
    pub number: u32,
    /// Its key (Q_Key); with the highest bit, the key of the sending queue pair is used.
    pub key: u32,
}

/// A request to post (`ibv_send_wr`).
#[derive(Clone, Copy, Debug)]
pub struct SendRequest<'a> {
    /// Returned in the completion.
    pub wr_id: u64,
    /// The operation.
    pub operation: SendOperation<'a>,
    /// How it is executed and completes.
    pub flags: SendFlags,
    /// The local memory.
    pub data: Data<'a>,
    /// The destination of a datagram; `None` for connected queue pairs.
    pub destination: Option<Destination<'a>>,
}
