//! The parameters with which an endpoint is created and changed.
//!
//! tests/core-over-c compiles this file too, with the handles of the C libraries in place of those of
//! this crate.

use crate::{EpAttributes, Evd, Pz, Srq};

/// The parameters of a new endpoint (dat_ep_create(3DAT), dat_ep_create_with_srq(3DAT)).
///
/// ```
/// use dat_core::{EpSpec, EvdFlags, EvdOptions};
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// # let pz = ia.pz_create()?;
/// let evd = ia.evd_create(&EvdOptions::new(64, EvdFlags::DEFAULT))?;
/// let mut attributes = ia.default_ep_attributes().clone();
/// attributes.max_recv_iov = 2;
/// let spec = EpSpec::new(&pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd);
/// let ep = ia.ep_create(&spec.attributes(&attributes))?;
/// assert!(ep.query()?.attributes.max_recv_iov >= 2);
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct EpSpec {
    pub(crate) pz: Option<Pz>,
    pub(crate) recv_evd: Option<Evd>,
    pub(crate) request_evd: Option<Evd>,
    pub(crate) connect_evd: Option<Evd>,
    pub(crate) srq: Option<Srq>,
    pub(crate) attributes: Option<EpAttributes>,
}

impl EpSpec {
    /// An endpoint in a zone, with no dispatchers and the provider's default attributes.
    #[must_use]
    pub fn new(pz: &Pz) -> Self {
        Self { pz: Some(pz.clone()), ..Self::without_zone() }
    }

    /// An endpoint whose zone is set later.
    pub(crate) const fn without_zone() -> Self {
        Self {
            pz: None,
            recv_evd: None,
            request_evd: None,
            connect_evd: None,
            srq: None,
            attributes: None,
        }
    }

    /// Sets the dispatcher that receives complete into. Without it their completions are discarded.
    #[must_use]
    pub fn recv_evd(mut self, evd: &Evd) -> Self {
        self.recv_evd = Some(evd.clone());
        self
    }

    /// Sets the dispatcher that requests complete into. Without it their completions are discarded.
    #[must_use]
    pub fn request_evd(mut self, evd: &Evd) -> Self {
        self.request_evd = Some(evd.clone());
        self
    }

    /// Sets the dispatcher of connection events. Without it they are discarded.
    #[must_use]
    pub fn connect_evd(mut self, evd: &Evd) -> Self {
        self.connect_evd = Some(evd.clone());
        self
    }

    /// Takes receives from a shared queue (dat_ep_create_with_srq(3DAT)).
    #[must_use]
    pub fn srq(mut self, srq: &Srq) -> Self {
        self.srq = Some(srq.clone());
        self
    }

    /// Requests attributes, instead of the provider's defaults.
    #[must_use]
    pub fn attributes(mut self, attributes: &EpAttributes) -> Self {
        self.attributes = Some(attributes.clone());
        self
    }
}

/// The changes of an endpoint (dat_ep_modify(3DAT)); anything else is kept.
///
/// ```
/// use dat_core::{EpUpdate, EpSpec, EvdFlags, EvdOptions};
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// # let pz = ia.pz_create()?;
/// let ep = ia.ep_create(&EpSpec::new(&pz))?;
/// let evd = ia.evd_create(&EvdOptions::new(64, EvdFlags::DTO))?;
/// ep.modify(&EpUpdate::new().recv_evd(Some(&evd)))?;
/// assert_eq!(ep.query()?.recv_evd, Some(evd));
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct EpUpdate {
    pub(crate) pz: Option<Pz>,
    pub(crate) recv_evd: Option<Option<Evd>>,
    pub(crate) request_evd: Option<Option<Evd>>,
    pub(crate) connect_evd: Option<Option<Evd>>,
    pub(crate) attributes: Option<EpAttributes>,
}

impl EpUpdate {
    /// Changes nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets another zone.
    #[must_use]
    pub fn pz(mut self, pz: &Pz) -> Self {
        self.pz = Some(pz.clone());
        self
    }

    /// Sets another dispatcher for receives, or none.
    #[must_use]
    pub fn recv_evd(mut self, evd: Option<&Evd>) -> Self {
        self.recv_evd = Some(evd.cloned());
        self
    }

    /// Sets another dispatcher for requests, or none.
    #[must_use]
    pub fn request_evd(mut self, evd: Option<&Evd>) -> Self {
        self.request_evd = Some(evd.cloned());
        self
    }

    /// Sets another dispatcher for connection events, or none.
    #[must_use]
    pub fn connect_evd(mut self, evd: Option<&Evd>) -> Self {
        self.connect_evd = Some(evd.cloned());
        self
    }

    /// Sets all attributes; start from a copy of those that the query returns.
    #[must_use]
    pub fn attributes(mut self, attributes: &EpAttributes) -> Self {
        self.attributes = Some(attributes.clone());
        self
    }
}
