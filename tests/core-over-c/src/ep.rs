//! Endpoints. The posts are in `post`.

use std::mem;
use std::net::SocketAddr;
use std::ptr::{null, null_mut};

use real::error::Result;
use real::{
    Address, Close, Connect, EpAttributes, EpState, EpStatus, Failure, Qos, RecvStatus, Timeout,
};

use super::address::{self, SocketAddress};
use super::attributes::{self, EndpointAttributes};
use super::convert::{count, micros, to_count, to_private_data};
use super::ep_spec::{EpSpec, EpUpdate};
use super::handle_type::{Handle as _, handle};
use super::result::call;
use super::result::missing;
use super::{Evd, Ia, Pz, Srq};
use crate::abi::*;
use crate::version;

handle! {
    /// An endpoint (dat_ep_create(3DAT)).
    Ep = Ep
}

/// The parameters of an endpoint (dat_ep_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpParam {
    /// The state.
    pub state: EpState,
    /// The address of the local adapter.
    pub local_address: Address,
    /// The local port qualifier; 0 if there is none.
    pub local_port: u64,
    /// The address of the remote adapter; `None` if unconnected.
    pub remote_address: Option<Address>,
    /// The remote port or connection qualifier; `None` if unconnected.
    pub remote_port: Option<u64>,
    /// The protection zone.
    pub pz: Option<Pz>,
    /// The dispatcher for completions of receives.
    pub recv_evd: Option<Evd>,
    /// The dispatcher for completions of requests.
    pub request_evd: Option<Evd>,
    /// The dispatcher for connection events.
    pub connect_evd: Option<Evd>,
    /// The shared receive queue.
    pub srq: Option<Srq>,
    /// The attributes.
    pub attributes: EpAttributes,
}

/// The handle of a dispatcher for a call; NULL for none.
fn of(evd: Option<&Evd>) -> DAT_EVD_HANDLE {
    evd.map_or(null_mut(), Evd::handle)
}

/// Converts a state that the library returned.
fn state(value: DAT_EP_STATE) -> EpState {
    let state = EpState::ALL.into_iter().find(|state| state.value() == value);
    state.unwrap_or_else(|| panic!("{value} is not a DAT_EP_STATE"))
}

/// Endpoint parameters with all bits zero.
fn nothing() -> DAT_EP_PARAM {
    // SAFETY: the struct holds integers and pointers, for which all zero bits are valid.
    unsafe { mem::zeroed() }
}

impl Ia {
    /// dat_ep_create(3DAT), or dat_ep_create_with_srq(3DAT) if the specification has a shared queue.
    pub fn ep_create(&self, spec: &EpSpec) -> Result<Ep> {
        let mut ep = null_mut();
        let wanted = spec.attributes.as_ref().map(EndpointAttributes::new);
        let attributes = wanted.as_ref().map_or(null(), |it| &raw const *it.get());
        let (ia, pz) = (self.handle(), spec.pz.as_ref().map_or(null_mut(), Pz::handle));
        let recv = of(spec.recv_evd.as_ref());
        let request = of(spec.request_evd.as_ref());
        let connect = of(spec.connect_evd.as_ref());
        let place = &raw mut ep;
        match &spec.srq {
            None => {
                call!(table.ep_create_func(ia, pz, recv, request, connect, attributes, place))?;
            }
            Some(srq) => {
                let srq = srq.handle();
                call!(table.ep_create_with_srq_func(
                    ia, pz, recv, request, connect, srq, attributes, place
                ))?;
            }
        }
        Ok(Ep::made_of(ep, self.adapter()))
    }
}

impl Ep {
    /// The C API has no such call; dat_error_detail() has the failure as text.
    ///
    /// # Errors
    /// Always.
    pub fn failure(&self) -> Result<Option<Failure>> {
        Err(missing("Ep::failure"))
    }

    /// dat_ep_get_status(3DAT).
    pub fn status(&self) -> Result<EpStatus> {
        let (mut state, mut recv_idle, mut request_idle) = (0, 0, 0);
        call!(table.ep_get_status_func(
            self.handle(),
            &raw mut state,
            &raw mut recv_idle,
            &raw mut request_idle,
        ))?;
        Ok(EpStatus {
            state: self::state(state),
            recv_idle: recv_idle != DAT_FALSE,
            request_idle: request_idle != DAT_FALSE,
        })
    }

    /// dat_ep_query(3DAT).
    pub fn query(&self) -> Result<EpParam> {
        let mut param = nothing();
        call!(table.ep_query_func(self.handle(), DAT_EP_FIELD_ALL, &raw mut param))?;
        let ia = self.object.ia();
        assert_eq!(param.ia_handle, ia.handle());
        let remote = address::read_adapter(param.remote_ia_address_ptr);
        let local = address::read_adapter(param.local_ia_address_ptr)
            .expect("every endpoint has a local address");
        Ok(EpParam {
            state: state(param.ep_state),
            local_address: local,
            local_port: param.local_port_qual,
            remote_address: remote,
            remote_port: remote.map(|_| param.remote_port_qual),
            pz: Pz::named(param.pz_handle, ia),
            recv_evd: Evd::named(param.recv_evd_handle, ia),
            request_evd: Evd::named(param.request_evd_handle, ia),
            connect_evd: Evd::named(param.connect_evd_handle, ia),
            srq: Srq::named(param.srq_handle, ia),
            attributes: attributes::endpoint(&param.ep_attr),
        })
    }

    /// dat_ep_modify(3DAT).
    pub fn modify(&self, update: &EpUpdate) -> Result<()> {
        let (mut param, mut mask) = (nothing(), 0);
        if let Some(pz) = &update.pz {
            mask |= DAT_EP_FIELD_PZ_HANDLE;
            param.pz_handle = pz.handle();
        }
        for (evd, place, field) in [
            (&update.recv_evd, &mut param.recv_evd_handle, DAT_EP_FIELD_RECV_EVD_HANDLE),
            (&update.request_evd, &mut param.request_evd_handle, DAT_EP_FIELD_REQUEST_EVD_HANDLE),
            (&update.connect_evd, &mut param.connect_evd_handle, DAT_EP_FIELD_CONNECT_EVD_HANDLE),
        ] {
            if let Some(evd) = evd {
                mask |= field;
                *place = of(evd.as_ref());
            }
        }
        let wanted = update.attributes.as_ref().map(EndpointAttributes::new);
        if let Some(wanted) = &wanted {
            mask |= DAT_EP_FIELD_EP_ATTR_ALL;
            param.ep_attr = *wanted.get();
        }
        call!(table.ep_modify_func(self.handle(), mask, &raw const param))
    }

    /// dat_ep_connect(3DAT).
    pub fn connect(&self, connect: &Connect<'_>) -> Result<()> {
        let mut remote = SocketAddress::of(connect.address);
        let (size, data) = to_private_data(connect.private_data);
        call!(table.ep_connect_func(
            self.handle(),
            remote.pointer(),
            connect.qualifier,
            micros(connect.timeout),
            size,
            data,
            connect.qos.bits(),
            connect.flags.bits(),
        ))
    }

    /// dat_ep_dup_connect(3DAT).
    pub fn dup_connect(
        &self,
        other: &Self,
        timeout: Timeout,
        private_data: &[u8],
        qos: Qos,
    ) -> Result<()> {
        let (size, data) = to_private_data(private_data);
        let (handle, other, timeout) = (self.handle(), other.handle(), micros(timeout));
        call!(table.ep_dup_connect_func(handle, other, timeout, size, data, qos.bits()))
    }

    /// dat_ep_common_connect of DAT 2.0.
    pub fn common_connect(
        &self,
        remote: SocketAddr,
        timeout: Timeout,
        private_data: &[u8],
    ) -> Result<()> {
        version::common_connect(self.handle(), remote, micros(timeout), private_data)
    }

    /// dat_ep_disconnect(3DAT).
    pub fn disconnect(&self, how: Close) -> Result<()> {
        let flags = match how {
            Close::Abrupt => DAT_CLOSE_ABRUPT_FLAG,
            Close::Graceful => DAT_CLOSE_GRACEFUL_FLAG,
        };
        call!(table.ep_disconnect_func(self.handle(), flags))
    }

    /// dat_ep_reset(3DAT).
    pub fn reset(&self) -> Result<()> {
        call!(table.ep_reset_func(self.handle()))
    }

    /// dat_ep_recv_query(3DAT).
    pub fn recv_query(&self) -> Result<RecvStatus> {
        let (mut allocated, mut span) = (0, 0);
        let handle = self.handle();
        call!(table.ep_recv_query_func(handle, &raw mut allocated, &raw mut span))?;
        Ok(RecvStatus { allocated: count(allocated), span: count(span) })
    }

    /// dat_ep_set_watermark(3DAT).
    pub fn set_watermark(&self, soft: Option<u32>, hard: Option<u32>) -> Result<()> {
        let of = |mark: Option<u32>| mark.map_or(DAT_WATERMARK_INFINITE, to_count);
        call!(table.ep_set_watermark_func(self.handle(), of(soft), of(hard)))
    }

    /// dat_ep_free(3DAT).
    pub fn free(&self) -> Result<()> {
        self.object.free()
    }
}
