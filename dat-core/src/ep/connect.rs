//! Connecting, disconnecting and resetting.

use std::net::SocketAddr;

use super::control::Remote;
use super::table::EpEvent;
use super::{Config, Ep, EpInner, EpState};
use crate::counters::{EpCounter, IaCounter};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::flags::{Close, ConnectFlags, Qos};
use crate::private_data::check_private_data;
use crate::provider::{Address, ConnectRequest, IncomingRequest};
use crate::timeout::Timeout;

/// The destination and parameters of a connection (dat_ep_connect(3DAT)).
///
/// ```
/// use dat_core::{Connect, Timeout};
/// use std::net::Ipv4Addr;
/// use std::time::Duration;
///
/// let connect = Connect::to(Ipv4Addr::new(192, 0, 2, 1), 5000)
///     .timeout(Duration::from_secs(10))
///     .private_data(b"version 2");
/// assert_eq!(connect.qualifier, 5000);
/// assert_eq!(connect.timeout, Timeout::After(Duration::from_secs(10)));
/// ```
#[derive(Clone, Debug)]
pub struct Connect<'a> {
    /// The address of the remote adapter. The unspecified one, of either family, is that of this adapter.
    pub address: Address,
    /// The connection qualifier on which the remote consumer listens.
    pub qualifier: u64,
    /// How long establishing the connection may take; not zero.
    pub timeout: Timeout,
    /// Data for the remote consumer, at most the provider's maximum.
    pub private_data: &'a [u8],
    /// The quality of service.
    pub qos: Qos,
    /// Further requirements.
    pub flags: ConnectFlags,
}

impl Connect<'static> {
    /// A connection without time-out, private data, quality of service or flags.
    #[must_use]
    pub fn to(address: impl Into<Address>, qualifier: u64) -> Self {
        Self {
            address: address.into(),
            qualifier,
            timeout: Timeout::Infinite,
            private_data: &[],
            qos: Qos::BEST_EFFORT,
            flags: ConnectFlags::empty(),
        }
    }
}

impl<'a> Connect<'a> {
    /// Sets the time-out.
    #[must_use]
    pub fn timeout(mut self, timeout: impl Into<Timeout>) -> Self {
        self.timeout = timeout.into();
        self
    }

    /// Sets the data for the remote consumer.
    #[must_use]
    pub fn private_data<'b>(self, private_data: &'b [u8]) -> Connect<'b>
    where
        'a: 'b,
    {
        Connect { private_data, ..self }
    }

    pub(super) fn request(&self, attempt: u64) -> ConnectRequest<'_> {
        let Self { address, qualifier, private_data, qos, .. } = *self;
        ConnectRequest { attempt, address, qualifier, private_data, qos }
    }
}

const CONNECT: &str = "dat_ep_connect";
const DUP: &str = "dat_ep_dup_connect";
const DISCONNECT: &str = "dat_ep_disconnect";
const RESET: &str = "dat_ep_reset";

impl Ep {
    /// Requests a connection (dat_ep_connect(3DAT)); the outcome is reported as an event.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` unless unconnected; `DAT_INVALID_PARAMETER` for a time-out of zero or
    /// too much private data; `DAT_MODEL_NOT_SUPPORTED` for a quality of service or multipathing
    /// that the provider does not support; `DAT_INVALID_ADDRESS` for an address that the transport
    /// cannot use; `DAT_INSUFFICIENT_RESOURCES` if the device has no resources left for the
    /// connection.
    pub fn connect(&self, connect: &Connect<'_>) -> Result<()> {
        self.inner.connect(connect, CONNECT)
    }

    /// Requests a connection to the destination to which another endpoint is connected
    /// (dat_ep_dup_connect(3DAT)).
    ///
    /// # Errors
    /// As [`Ep::connect`]; `DAT_INVALID_STATE` if `other` is not connected, or was the
    /// passive side of its connection; `DAT_INVALID_HANDLE` if it was freed or belongs to another
    /// adapter.
    pub fn dup_connect(
        &self,
        other: &Self,
        timeout: Timeout,
        private_data: &[u8],
        qos: Qos,
    ) -> Result<()> {
        self.inner.base.check_live(DUP)?;
        let state = other.inner.state().ok_or_else(|| other.inner.base.freed(DUP))?;
        if other.adapter() != self.adapter() {
            let error = Error::new(ReturnType::InvalidHandle, Subtype::InvalidHandleEp)
                .because(format!("{other:?} belongs to another open adapter"));
            return Err(self.inner.base.describe(error, DUP));
        }
        let remote = other.inner.control().remote().filter(|_| state.is_connected());
        let remote = remote.ok_or_else(|| {
            let error = Error::new(ReturnType::InvalidState, state.invalid_state())
                .because(format!(
                    "dup_ep_handle is {state}, or was not connected with \
                     dat_ep_connect"
                ))
                .advise("pass an endpoint that was connected with dat_ep_connect");
            other.inner.base.describe(error, DUP)
        })?;
        let connect = Connect {
            address: remote.address,
            qualifier: remote.qualifier,
            timeout,
            private_data,
            qos,
            flags: remote.flags,
        };
        self.inner.connect(&connect, DUP)
    }

    /// Requests a connection to a common service point, by its address and port
    /// (dat_ep_common_connect of DAT 2.0).
    ///
    /// # Errors
    /// As [`Ep::connect`].
    pub fn common_connect(
        &self,
        remote: SocketAddr,
        timeout: Timeout,
        private_data: &[u8],
    ) -> Result<()> {
        let qualifier = u64::from(remote.port());
        let connect = Connect { timeout, ..Connect::to(remote.ip(), qualifier) };
        self.inner.connect(&connect.private_data(private_data), "dat_ep_common_connect")
    }

    /// Ends the connection or the attempt (dat_ep_disconnect(3DAT)). The end is reported as an
    /// event.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` if there is neither. On a disconnected endpoint nothing happens.
    pub fn disconnect(&self, how: Close) -> Result<()> {
        let event = match how {
            Close::Graceful => EpEvent::DisconnectGraceful,
            Close::Abrupt => EpEvent::DisconnectAbrupt,
        };
        self.inner.base.check_process(DISCONNECT)?;
        let _call = self.inner.call.lock();
        self.inner.perform(event, DISCONNECT)?;
        self.inner.count(EpCounter::Disconnect);
        self.inner.base.ia.counter_set.count(IaCounter::CmDreqTx);
        Ok(())
    }

    /// Makes a disconnected endpoint unconnected again (dat_ep_reset(3DAT)). Attributes,
    /// dispatchers and completions not dequeued yet are kept.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` unless disconnected or unconnected.
    pub fn reset(&self) -> Result<()> {
        self.inner.base.check_process(RESET)?;
        let _call = self.inner.call.lock();
        self.inner.perform(EpEvent::Reset, RESET).map(|_| ())
    }
}

impl EpInner {
    fn connect(&self, connect: &Connect<'_>, operation: &'static str) -> Result<()> {
        self.base.check_process(operation)?;
        let mut connect = connect.clone();
        if connect.address.is_unspecified() {
            // As for sockets, it is this side; providers need not know.
            connect.address = self.base.ia.attributes.ia.address;
        }
        connect.qualifier = self.base.ia.compat.meant_qualifier(connect.qualifier);
        let connect = &connect;
        self.check_connect(connect, operation)
            .map_err(|error| self.base.describe(error, operation))?;
        let call = self.call.lock();
        let config = call.as_ref().ok_or_else(|| self.base.freed(operation))?;
        // In any other state, the state is the reason to refuse the call.
        if config.pz.is_none() && self.state() == Some(EpState::Unconnected) {
            return Err(self.without_zone(operation));
        }
        if self.is_datagram() {
            return self.resolve(connect, config, operation);
        }
        let queue_pair = self.create_queue_pair(config, operation)?;
        self.perform(EpEvent::Connect, operation)?;
        self.count(EpCounter::Connect);
        self.base.ia.counter_set.count(IaCounter::CmReqTx);
        let attempt = self.begin_attempt(connect, config);
        queue_pair.connect(&connect.request(attempt)).map_err(|error| {
            self.report(EpEvent::ConnectUndone);
            self.base.describe(error, operation)
        })
    }

    /// Accepts a request on this endpoint: the one for which the request arrived, or an unconnected
    /// one.
    pub(crate) fn accept(
        &self,
        incoming: &IncomingRequest,
        brought: bool,
        port: u64,
        private_data: &[u8],
        operation: &'static str,
    ) -> Result<()> {
        let call = self.call.lock();
        let config = call.as_ref().ok_or_else(|| self.base.freed(operation))?;
        let state = self.state().ok_or_else(|| self.base.freed(operation))?;
        if incoming.is_datagram != self.is_datagram() {
            return Err(self.wrong_service(operation));
        }
        if self.is_datagram() {
            return self.accept_datagrams(incoming, private_data, config, operation);
        }
        // An endpoint that waits for the answer to another request cannot be used.
        if (!brought && state != EpState::Unconnected) || (brought && state == EpState::Unconnected)
        {
            return Err(self.refused(state, EpEvent::Accept, operation));
        }
        if config.pz.is_none() && !state.is_unconfigured() {
            return Err(self.without_zone(operation));
        }
        let queue_pair = self.create_queue_pair(config, operation)?;
        self.perform(EpEvent::Accept, operation)?;
        let attempt = {
            let mut control = self.control();
            let other = control.other();
            other.remote = None;
            other.peer = Some(incoming.peer);
            other.local_port = port;
            self.hold_receives_back(&mut control, config);
            control.attempt
        };
        incoming.responder.accept(queue_pair, attempt, private_data).map_err(|error| {
            self.report(EpEvent::AcceptUndone);
            self.base.describe(error, operation)
        })
    }

    /// Records the destination of the attempt and starts its time-out.
    fn begin_attempt(&self, connect: &Connect<'_>, config: &Config) -> u64 {
        let mut control = self.control();
        control.other().remote = Some(Remote {
            address: connect.address,
            qualifier: connect.qualifier,
            flags: connect.flags,
        });
        let attempt = control.attempt;
        let deadline = connect.timeout.deadline();
        let key = deadline.and_then(|at| self.schedule_timeout(at, attempt));
        control.start_clock(key);
        self.hold_receives_back(&mut control, config);
        attempt
    }

    fn check_connect(&self, connect: &Connect<'_>, operation: &'static str) -> Result<()> {
        let provider = &self.base.ia.attributes.provider;
        // The other two calls have one argument in place of the address and the qualifier.
        let (timeout, private_data_size) = if operation == CONNECT {
            (Subtype::InvalidArg4, Subtype::InvalidArg5)
        } else {
            (Subtype::InvalidArg3, Subtype::InvalidArg4)
        };
        if connect.timeout.is_zero() {
            return Err(Error::new(ReturnType::InvalidParameter, timeout)
                .because("the timeout is 0")
                .advise("pass a time in microseconds, or DAT_TIMEOUT_INFINITE"));
        }
        check_private_data(connect.private_data, provider.max_private_data_size)
            .map_err(|error| error.with_subtype(private_data_size))?;
        let excess = connect.qos - provider.qos_supported;
        if !excess.is_empty() {
            return Err(Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
                .because(format!("qos: the provider does not support {excess}"))
                .advise("use DAT_QOS_BEST_EFFORT, or a value listed in the provider attributes"));
        }
        let unknown = connect.flags - ConnectFlags::all();
        if !unknown.is_empty() {
            return Err(Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg8)
                .because(format!("connect_flags {:#x} has unknown bits", connect.flags.bits())));
        }
        if connect.flags.contains(ConnectFlags::MULTIPATH_REQUIRED) && !provider.supports_multipath
        {
            return Err(Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
                .because("connect_flags: the provider does not support multipathing")
                .advise("use DAT_CONNECT_MULTIPATH_FLAG, which makes it optional"));
        }
        Ok(())
    }
}
