//! Addresses, routes and connections of identifiers.

use std::net::SocketAddr;
use std::ptr::null_mut;
use std::time::Duration;

use super::CmId;
use super::address::CAddress;
use crate::sys::rdma_cma::rdma_conn_param;
use crate::sys::verbs::ibv_qp_attr;
use crate::verbs::{QueuePairEvent, library};
use crate::{Error, Result};

/// The parameters with which a connection is requested or accepted (rdma_connect(3),
/// rdma_accept(3)).
#[derive(Clone, Copy, Debug)]
pub struct ConnectParameters<'a> {
    /// The private data for the peer, at most 255 bytes; the transport may allow fewer (56 in a
    /// request over TCP port numbers).
    pub private_data: &'a [u8],
    /// Number of the peer's RDMA reads and atomics that this side serves at a time.
    pub responder_resources: u8,
    /// Number of RDMA reads and atomics that this side may have in flight.
    pub initiator_depth: u8,
    /// True if this side has hardware flow control.
    pub flow_control: bool,
    /// Number of retries without an acknowledgement, up to 7. Ignored when accepting.
    pub retry_count: u8,
    /// Number of retries while the peer has no receive; 7 for no limit.
    pub rnr_retry_count: u8,
    /// For a queue pair that the identifier did not create: its number, and whether it takes its
    /// receives from a shared queue.
    pub queue_pair: Option<(u32, bool)>,
}

impl Default for ConnectParameters<'_> {
    fn default() -> Self {
        Self {
            private_data: &[],
            responder_resources: 1,
            initiator_depth: 1,
            flow_control: true,
            retry_count: 7,
            rnr_retry_count: 7,
            queue_pair: None,
        }
    }
}

impl ConnectParameters<'_> {
    fn to_c(self, call: &'static str) -> Result<rdma_conn_param> {
        let (qp_num, shared) = self.queue_pair.unwrap_or_default();
        let length = self.private_data.len();
        Ok(rdma_conn_param {
            private_data: self.private_data.as_ptr().cast(),
            private_data_len: u8::try_from(length).map_err(|_| Error::new(call, libc::EINVAL))?,
            responder_resources: self.responder_resources,
            initiator_depth: self.initiator_depth,
            flow_control: u8::from(self.flow_control),
            retry_count: self.retry_count,
            rnr_retry_count: self.rnr_retry_count,
            srq: u8::from(shared),
            qp_num,
        })
    }
}

impl CmId {
    /// Binds to a local address, and so to a device unless the address is a wildcard
    /// (rdma_bind_addr(3)).
    ///
    /// # Errors
    /// `EADDRINUSE`: the port number is taken; `ENODEV`, `EADDRNOTAVAIL`: no RDMA device has the
    /// address.
    pub fn bind(&self, address: SocketAddr) -> Result<()> {
        let mut address = CAddress::new(address);
        let _operation = self.operation();
        // SAFETY: the identifier is alive and the address valid over the call.
        let code = unsafe { (library!(cm).rdma_bind_addr)(self.raw(), address.as_ptr()) };
        self.check("rdma_bind_addr", code)
    }

    /// Resolves the peer's address to a local device and the next hop (rdma_resolve_addr(3)).
    ///
    /// # Errors
    /// `ENODEV`: no RDMA device leads to the address. For a synchronous identifier also
    /// `ETIMEDOUT`: the address was not resolved in time.
    pub fn resolve_address(
        &self,
        from: Option<SocketAddr>,
        to: SocketAddr,
        timeout: Duration,
    ) -> Result<()> {
        let mut from = from.map(CAddress::new);
        let mut to = CAddress::new(to);
        let source = from.as_mut().map_or(null_mut(), CAddress::as_ptr);
        let _operation = self.operation();
        // SAFETY: the identifier is alive and the addresses valid over the call.
        let code = unsafe {
            let call = library!(cm).rdma_resolve_addr;
            call(self.raw(), source, to.as_ptr(), milliseconds(timeout))
        };
        self.check("rdma_resolve_addr", code)
    }

    /// Resolves the route to the address that was resolved (rdma_resolve_route(3)).
    ///
    /// # Errors
    /// `EINVAL`: no address was resolved. For a synchronous identifier also `ETIMEDOUT`: the route
    /// was not resolved in time.
    pub fn resolve_route(&self, timeout: Duration) -> Result<()> {
        self.check_bound("rdma_resolve_route")?;
        let _operation = self.operation();
        // SAFETY: the identifier is alive.
        let code = unsafe { (library!(cm).rdma_resolve_route)(self.raw(), milliseconds(timeout)) };
        self.check("rdma_resolve_route", code)
    }

    /// Listens for requests, of which at most `backlog` wait to be taken (rdma_listen(3)).
    ///
    /// # Errors
    /// `EADDRINUSE`: the port number is taken.
    pub fn listen(&self, backlog: i32) -> Result<()> {
        let _operation = self.operation();
        // SAFETY: the identifier is alive.
        self.check("rdma_listen", unsafe { (library!(cm).rdma_listen)(self.raw(), backlog) })
    }

    /// Requests a connection; for datagrams, requests the address at which the peer receives them
    /// (rdma_connect(3)).
    ///
    /// # Errors
    /// `EINVAL`: no route was resolved, or the private data is too long. For a synchronous
    /// identifier also `ECONNREFUSED`: no program listens there, or it rejected the request;
    /// `ETIMEDOUT`: the peer did not answer in time.
    pub fn connect(&self, parameters: &ConnectParameters<'_>) -> Result<()> {
        const CALL: &str = "rdma_connect";
        self.check_bound(CALL)?;
        let mut parameters = parameters.to_c(CALL)?;
        let _operation = self.operation();
        // SAFETY: the identifier is alive; the library copies the private data.
        let code = unsafe { (library!(cm).rdma_connect)(self.raw(), &raw mut parameters) };
        self.check(CALL, code)
    }

    /// Completes a connection after the peer's response, if the identifier has no queue pair of its
    /// own (rdma_establish(3)).
    ///
    /// # Errors
    /// `EINVAL`: it has a queue pair, or there was no response.
    pub fn establish(&self) -> Result<()> {
        let _operation = self.operation();
        // SAFETY: the identifier is alive.
        self.check("rdma_establish", unsafe { (library!(cm).rdma_establish)(self.raw()) })
    }

    /// Accepts the request that the identifier came from (rdma_accept(3)).
    ///
    /// # Errors
    /// `EINVAL`: it did not come from a request, or the request was answered before.
    pub fn accept(&self, parameters: &ConnectParameters<'_>) -> Result<()> {
        const CALL: &str = "rdma_accept";
        self.check_bound(CALL)?;
        let mut parameters = parameters.to_c(CALL)?;
        let operation = self.operation();
        // SAFETY: the identifier is alive; the library copies the private data.
        let code = unsafe { (library!(cm).rdma_accept)(self.raw(), &raw mut parameters) };
        self.check(CALL, code)?;
        drop(operation);
        // The event of the request has been acknowledged.
        let listener = self.inner.listener.lock().take();
        drop(listener);
        Ok(())
    }

    /// Rejects the request that the identifier came from (rdma_reject(3)).
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub fn reject(&self, private_data: &[u8]) -> Result<()> {
        self.reject_by("rdma_reject", private_data, library!(cm).rdma_reject)
    }

    /// Rejects a request because its [ECE options](Self::set_local_ece) are not suitable.
    ///
    /// # Errors
    /// As [`accept`](Self::accept); `EOPNOTSUPP`: librdmacm is too old.
    pub fn reject_ece(&self, private_data: &[u8]) -> Result<()> {
        const CALL: &str = "rdma_reject_ece";
        let missing = self.refused(CALL, libc::EOPNOTSUPP);
        self.reject_by(CALL, private_data, library!(cm).rdma_reject_ece.ok_or(missing)?)
    }

    fn reject_by(
        &self,
        name: &'static str,
        private_data: &[u8],
        call: unsafe extern "C" fn(
            *mut crate::sys::rdma_cma::rdma_cm_id,
            *const std::ffi::c_void,
            u8,
        ) -> i32,
    ) -> Result<()> {
        let length = private_data.len();
        let length = u8::try_from(length).map_err(|_| self.refused(name, libc::EINVAL))?;
        let _operation = self.operation();
        // SAFETY: the identifier is alive; the library copies the data.
        let code = unsafe { call(self.raw(), private_data.as_ptr().cast(), length) };
        self.check(name, code)
    }

    /// Ends a connection, or acknowledges that the peer ended it (rdma_disconnect(3)). The queue
    /// pair of the identifier moves to the error state.
    ///
    /// # Errors
    /// `EINVAL`: there is no connection.
    pub fn disconnect(&self) -> Result<()> {
        let _operation = self.operation();
        // SAFETY: the identifier is alive.
        self.check("rdma_disconnect", unsafe { (library!(cm).rdma_disconnect)(self.raw()) })
    }

    /// Reports an event of the queue pair that concerns the connection (rdma_notify(3)):
    /// [`QueuePairEvent::CommunicationEstablished`].
    ///
    /// # Errors
    /// `EINVAL`: the event does not concern the connection manager.
    pub fn notify(&self, event: QueuePairEvent) -> Result<()> {
        let _operation = self.operation();
        // SAFETY: the identifier is alive.
        let code = unsafe { (library!(cm).rdma_notify)(self.raw(), event.value()) };
        self.check("rdma_notify", code)
    }

    /// Returns the attributes, and their mask, that move a queue pair which the program created to
    /// `state`, one of `IBV_QPS_…` (rdma_init_qp_attr(3)).
    ///
    /// # Errors
    /// `EINVAL`: the state of the identifier does not allow it.
    pub fn queue_pair_attributes_raw(&self, state: u32) -> Result<(ibv_qp_attr, i32)> {
        let mut attributes = ibv_qp_attr { qp_state: state, ..ibv_qp_attr::default() };
        let mut mask = 0;
        let _operation = self.operation();
        // SAFETY: the identifier is alive and the pointers valid.
        let code = unsafe {
            (library!(cm).rdma_init_qp_attr)(self.raw(), &raw mut attributes, &raw mut mask)
        };
        self.check("rdma_init_qp_attr", code)?;
        Ok((attributes, mask))
    }
}

fn milliseconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}
