//! Connection requests.

use std::mem;
use std::ptr::null_mut;
use std::sync::Arc;

use real::Address;
use real::error::Result;

use super::adapter::Adapter;
use super::convert::{private_data, to_private_data};
use super::handle_type::{Handle as _, handle};
use super::result::call;
use super::{Ep, address};
use crate::abi::*;
use crate::version;

handle! {
    /// A connection request. Dropping the last handle of an unanswered request rejects it.
    Cr = Cr
}

/// The parameters of a request (dat_cr_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrParam {
    /// The address of the requesting adapter.
    pub remote_address: Address,
    /// The port qualifier of the requesting endpoint.
    pub remote_port: u64,
    /// The private data of the request.
    pub private_data: Arc<[u8]>,
    /// The endpoint to accept on, if the service point supplies it.
    pub local_ep: Option<Ep>,
}

impl Cr {
    /// A request that just arrived. It keeps its endpoint alive.
    pub(crate) fn arrived(handle: DAT_CR_HANDLE, ia: &Arc<Adapter>) -> Self {
        let request = Self::made_of(handle, ia);
        if let Ok(Some(endpoint)) = request.query().map(|param| param.local_ep) {
            request.object.keep(|keep| keep.endpoint = Some(endpoint.object));
        }
        request
    }

    /// dat_cr_query(3DAT).
    pub fn query(&self) -> Result<CrParam> {
        // SAFETY: the struct holds integers and pointers, for which all zero bits are valid.
        let mut param: DAT_CR_PARAM = unsafe { mem::zeroed() };
        call!(table.cr_query_func(self.handle(), DAT_CR_FIELD_ALL, &raw mut param))?;
        Ok(CrParam {
            remote_address: address::read_adapter(param.remote_ia_address_ptr)
                .expect("every request has a remote address"),
            remote_port: param.remote_port_qual,
            private_data: private_data(param.private_data_size, param.private_data),
            local_ep: Ep::named(param.local_ep_handle, self.object.ia()),
        })
    }

    /// dat_cr_accept(3DAT).
    pub fn accept(&self, endpoint: Option<&Ep>, private_data: &[u8]) -> Result<()> {
        let ep = endpoint.map_or(null_mut(), Ep::handle);
        let (size, data) = to_private_data(private_data);
        self.object.end(|handle| call!(table.cr_accept_func(handle, ep, size, data)))
    }

    /// dat_cr_reject(3DAT).
    pub fn reject(&self, private_data: &[u8]) -> Result<()> {
        self.object.end(|handle| version::reject(handle, private_data))
    }

    /// dat_cr_handoff(3DAT).
    pub fn handoff(&self, qualifier: u64) -> Result<()> {
        self.object.end(|handle| call!(table.cr_handoff_func(handle, qualifier)))
    }
}
