//! Datagram endpoints of the InfiniBand extensions.

use std::fmt;

use real::error::Result;
use real::{Address, CompletionFlags, LmrTriplet};

use super::Ep;
use super::handle_type::Handle as _;
use super::segments::segments;
use crate::version;

/// The address of a datagram endpoint (`DAT_IB_ADDR_HANDLE`).
#[derive(Clone, PartialEq, Eq)]
pub struct DatagramAddress {
    pub(crate) remote: version::Remote,
}

impl DatagramAddress {
    /// Length of the prefix of a received datagram, in bytes.
    pub const PREFIX: u64 = real::DatagramAddress::PREFIX;

    /// The address of the adapter.
    #[must_use]
    pub fn address(&self) -> Address {
        self.remote.address()
    }

    /// The queue pair number (QPN).
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

impl Ep {
    /// dat_ib_post_send_ud of the extensions.
    pub fn post_send_datagram(
        &self,
        iov: &[LmrTriplet],
        to: &DatagramAddress,
        cookie: u64,
        flags: CompletionFlags,
    ) -> Result<()> {
        version::send_datagram(self.handle(), &mut segments(iov), &to.remote, cookie, flags)
    }
}
