//! Endpoints for datagrams, of the extensions of DAT 2.0.

use std::fmt;
use std::net::IpAddr;

use real::error::Result;
use real::{CompletionFlags, LmrTriplet};

use super::Endpoint;
use super::post::segments;
use crate::dialect;

/// Where datagrams can be sent to (`DAT_IB_ADDR_HANDLE`).
#[derive(Clone, PartialEq, Eq)]
pub struct DatagramAddress {
    pub(crate) remote: dialect::Remote,
}

impl DatagramAddress {
    /// The bytes that a received datagram has before its message.
    pub const PREFIX: u64 = real::DatagramAddress::PREFIX;

    /// The adapter's address.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.remote.address()
    }

    /// The number of the queue pair there.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.remote.number()
    }
}

impl fmt::Debug for DatagramAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.number(), self.address())
    }
}

impl Endpoint {
    /// dat_ib_post_send_ud of the extensions.
    ///
    /// # Errors
    /// As the call.
    pub fn post_send_datagram(
        &self,
        iov: &[LmrTriplet],
        to: &DatagramAddress,
        cookie: u64,
        flags: CompletionFlags,
    ) -> Result<()> {
        dialect::send_datagram(self.handle(), &mut segments(iov), &to.remote, cookie, flags)
    }
}
