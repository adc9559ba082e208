//! Options of identifiers.

use super::Identifier;
use super::message::Ece;
use super::socket::BindOptions;
use super::state::State;
use crate::error::{Error, Result};
use crate::queue_pair::QueuePairType;

/// The options that rdma_set_option(3) sets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Options {
    pub(super) type_of_service: u8,
    may_share: bool,
    is_family_only: Option<bool>,
    /// The time-out of a packet as the exponent of verbs.
    pub(super) ack_timeout: Option<u8>,
    pub(super) ece: Ece,
}

impl Options {
    pub(super) const fn of_bind(&self) -> BindOptions {
        BindOptions { may_share: self.may_share, is_family_only: self.is_family_only }
    }
}

impl Identifier {
    /// Sets the type of service, which becomes the traffic class of the queue pair (`RDMA_OPTION_ID_TOS`).
    pub fn set_type_of_service(&self, value: u8) {
        self.inner.lock().options.type_of_service = value;
    }

    /// Allows other identifiers to be bound to its address, if they allow it, too (`RDMA_OPTION_ID_REUSEADDR`).
    ///
    /// # Errors
    /// `EINVAL` if it is bound already and `value` is false.
    pub fn set_reuse_address(&self, value: bool) -> Result<()> {
        if value {
            // As with the kernel, it has no effect on an address that it has.
            self.inner.lock().options.may_share = true;
            return Ok(());
        }
        self.before_bind(|options| options.may_share = false)
    }

    /// Leaves addresses of IPv4 out if it is bound to all addresses of IPv6 (`RDMA_OPTION_ID_AFONLY`).
    ///
    /// # Errors
    /// `EINVAL` if it is bound already.
    pub fn set_family_only(&self, value: bool) -> Result<()> {
        self.before_bind(|options| options.is_family_only = Some(value))
    }

    fn before_bind(&self, set: impl FnOnce(&mut Options)) -> Result<()> {
        let mut inner = self.inner.lock();
        if inner.state != State::Idle {
            return Err(inner.refusal("set an option of the binding"));
        }
        set(&mut inner.options);
        Ok(())
    }

    /// Sets the time after which the queue pair repeats a packet: 4.096 µs times two to the power of the value
    /// (`RDMA_OPTION_ID_ACK_TIMEOUT`).
    ///
    /// # Errors
    /// `EINVAL` for a value above 31, and for a type of queue pair that has no such time.
    pub fn set_ack_timeout(&self, value: u8) -> Result<()> {
        if value > 31 || self.qp_type() != QueuePairType::Rc {
            return Err(Error::invalid(format!(
                "cannot set the time-out {value}: it is at most 31, and for reliable connections"
            )));
        }
        self.inner.lock().options.ack_timeout = Some(value);
        Ok(())
    }

    /// Sets the options of the vendor that are sent to the peer (rdma_set_local_ece(3)).
    ///
    /// # Errors
    /// `EINVAL` without a vendor.
    pub fn set_local_ece(&self, ece: Ece) -> Result<()> {
        if ece.vendor_id == 0 {
            return Err(Error::invalid("cannot set options of a vendor: there is no vendor"));
        }
        self.inner.lock().options.ece = ece;
        Ok(())
    }
}
