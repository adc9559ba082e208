//! Service points: public, reserved and common.

use std::collections::HashMap;
use std::mem;
use std::net::SocketAddr;
use std::ptr::null_mut;
use std::sync::LazyLock;

use parking_lot::Mutex;
use real::error::Result;
use real::{Comm, EpProvision, ServicePoint};

use super::convert::number;
use super::handle_type::{Handle as _, handle};
use super::result::call;
use super::{Ep, Evd, Ia};
use crate::abi::*;
use crate::version;

handle! {
    /// A public service point (dat_psp_create(3DAT)).
    Psp = Psp
}

handle! {
    /// A reserved service point (dat_rsp_create(3DAT)).
    Rsp = Rsp
}

handle! {
    /// A common service point (dat_csp_create of DAT 2.0).
    Csp = Csp
}

/// The parameters of a public service point (dat_psp_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PspParam {
    /// The connection qualifier.
    pub qualifier: u64,
    /// The dispatcher for requests.
    pub evd: Evd,
    /// The creator of the endpoints: the consumer or the provider.
    pub ep_provision: EpProvision,
}

/// The parameters of a reserved service point (dat_rsp_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RspParam {
    /// The connection qualifier.
    pub qualifier: u64,
    /// The dispatcher for the request.
    pub evd: Evd,
    /// The reserved endpoint.
    pub ep: Ep,
}

/// The parameters of a common service point (dat_csp_query of DAT 2.0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CspParam {
    /// The communicator.
    pub comm: Comm,
    /// The address and port that it listens on.
    pub address: SocketAddr,
    /// The dispatcher for requests.
    pub evd: Evd,
}

/// The kind of service point of each handle value: the union in an event does not tell the kind,
/// and the service point may be freed before the event is dequeued.
static KINDS: LazyLock<Mutex<HashMap<usize, Kind>>> = LazyLock::new(Mutex::default);

/// Makes a service point of a kind from a handle value.
type Kind = fn(u64) -> ServicePoint;

/// The connection qualifiers by handle value: a query returns them only while the object lives.
static QUALIFIERS: LazyLock<Mutex<HashMap<usize, u64>>> = LazyLock::new(Mutex::default);

fn note(handle: DAT_HANDLE, kind: Kind, qualifier: u64) {
    KINDS.lock().insert(number(handle), kind);
    QUALIFIERS.lock().insert(number(handle), qualifier);
}

fn noted_qualifier(id: u64) -> u64 {
    QUALIFIERS.lock().get(&(id as usize)).copied().unwrap_or(0)
}

/// The service point of an event.
pub(crate) fn of_handle(handle: DAT_HANDLE) -> ServicePoint {
    let kind = KINDS.lock().get(&number(handle)).copied();
    kind.expect("requests arrive at known service points")(number(handle) as u64)
}

const fn flags(ep_provision: EpProvision) -> DAT_PSP_FLAGS {
    match ep_provision {
        EpProvision::Consumer => DAT_PSP_CONSUMER_FLAG,
        EpProvision::Provider => DAT_PSP_PROVIDER_FLAG,
    }
}

impl Ia {
    /// dat_psp_create(3DAT).
    pub fn psp_create(&self, qualifier: u64, evd: &Evd, ep_provision: EpProvision) -> Result<Psp> {
        let mut psp = null_mut();
        let (handle, flags) = (self.handle(), flags(ep_provision));
        call!(table.psp_create_func(handle, qualifier, evd.handle(), flags, &raw mut psp))?;
        note(psp, ServicePoint::Public, qualifier);
        Ok(Psp::made_of(psp, self.adapter()))
    }

    /// dat_psp_create_any(3DAT).
    pub fn psp_create_any(&self, evd: &Evd, ep_provision: EpProvision) -> Result<Psp> {
        let (mut psp, mut qualifier) = (null_mut(), 0);
        call!(table.psp_create_any_func(
            self.handle(),
            &raw mut qualifier,
            evd.handle(),
            flags(ep_provision),
            &raw mut psp,
        ))?;
        note(psp, ServicePoint::Public, qualifier);
        Ok(Psp::made_of(psp, self.adapter()))
    }

    /// dat_rsp_create(3DAT).
    pub fn rsp_create(&self, qualifier: u64, endpoint: Option<&Ep>, evd: &Evd) -> Result<Rsp> {
        let mut rsp = null_mut();
        let (handle, ep) = (self.handle(), endpoint.map_or(null_mut(), Ep::handle));
        call!(table.rsp_create_func(handle, qualifier, ep, evd.handle(), &raw mut rsp))?;
        note(rsp, ServicePoint::Reserved, qualifier);
        let rsp = Rsp::made_of(rsp, self.adapter());
        // The service point keeps its endpoint alive, whether consumer or provider created it.
        let endpoint = rsp.query()?.ep;
        rsp.object.keep(|keep| keep.endpoint = Some(endpoint.object));
        Ok(rsp)
    }

    /// dat_csp_create of DAT 2.0.
    pub fn csp_create(&self, comm: Comm, address: SocketAddr, evd: &Evd) -> Result<Csp> {
        let csp = version::csp_create(self.handle(), comm, address, evd.handle())?;
        note(csp, ServicePoint::Common, address.port().into());
        Ok(Csp::made_of(csp, self.adapter()))
    }
}

impl Psp {
    /// The connection qualifier, as the creating call returned it.
    #[must_use]
    pub fn qualifier(&self) -> u64 {
        noted_qualifier(self.id())
    }

    /// dat_psp_query(3DAT).
    pub fn query(&self) -> Result<PspParam> {
        // SAFETY: the struct holds integers and pointers, for which all zero bits are valid.
        let mut param: DAT_PSP_PARAM = unsafe { mem::zeroed() };
        call!(table.psp_query_func(self.handle(), DAT_PSP_FIELD_ALL, &raw mut param))?;
        assert_eq!(param.ia_handle, self.adapter().handle());
        Ok(PspParam {
            qualifier: param.conn_qual,
            evd: Evd::named(param.evd_handle, self.object.ia())
                .expect("every service point has one"),
            ep_provision: match param.psp_flags {
                DAT_PSP_CONSUMER_FLAG => EpProvision::Consumer,
                DAT_PSP_PROVIDER_FLAG => EpProvision::Provider,
                other => panic!("{other} is not a DAT_PSP_FLAGS"),
            },
        })
    }

    /// dat_psp_free(3DAT).
    pub fn free(&self) -> Result<()> {
        self.object.free()
    }
}

impl Rsp {
    /// The connection qualifier, as the consumer chose it.
    #[must_use]
    pub fn qualifier(&self) -> u64 {
        noted_qualifier(self.id())
    }

    /// dat_rsp_query(3DAT).
    pub fn query(&self) -> Result<RspParam> {
        // SAFETY: the struct holds integers and pointers, for which all zero bits are valid.
        let mut param: DAT_RSP_PARAM = unsafe { mem::zeroed() };
        call!(table.rsp_query_func(self.handle(), DAT_RSP_FIELD_ALL, &raw mut param))?;
        let ia = self.object.ia();
        assert_eq!(param.ia_handle, self.adapter().handle());
        Ok(RspParam {
            qualifier: param.conn_qual,
            evd: Evd::named(param.evd_handle, ia).expect("every service point has one"),
            ep: Ep::named(param.ep_handle, ia).expect("every reserved service point has one"),
        })
    }

    /// dat_rsp_free(3DAT).
    pub fn free(&self) -> Result<()> {
        self.object.free()
    }
}

impl Csp {
    /// dat_csp_query of DAT 2.0.
    pub fn query(&self) -> Result<CspParam> {
        let (ia, comm, address, evd) = version::csp_query(self.handle())?;
        assert_eq!(ia, self.adapter().handle());
        let evd = Evd::named(evd, self.object.ia()).expect("every service point has one");
        Ok(CspParam { comm, address, evd })
    }

    /// dat_csp_free of DAT 2.0.
    pub fn free(&self) -> Result<()> {
        self.object.free()
    }
}
