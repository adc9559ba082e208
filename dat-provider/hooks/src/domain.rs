//! The layer's protection domains, regions and windows.

use std::marker::PhantomData;
use std::sync::Arc;

use super::call::Call;
use super::hooks::{Hooks, Layer};
use super::object::{Kind, Object};
use dat_provider::error::Result;
use dat_provider::flags::Privileges;
use dat_provider::mem::Span;
use dat_provider::verbs::{VerbsDomain, VerbsRegion, VerbsWindow};
use dat_provider::{MemoryRegion, MemoryWindow, ProtectionDomain, Registration, WindowScope};

pub(super) struct Domain<H> {
    pub(super) layer: Arc<Layer<H>>,
    pub(super) inner: Arc<dyn ProtectionDomain>,
}

impl<H: Hooks> ProtectionDomain for Domain<H> {
    fn register(&self, span: Span, privileges: Privileges) -> Result<Registration> {
        self.registered(span, privileges, || self.inner.register(span, privileges))
    }

    fn for_verbs(&self) -> &dyn VerbsDomain {
        self
    }

    fn create_window(&self, tag: u64, scope: WindowScope) -> Result<Arc<dyn MemoryWindow>> {
        let object = Object { kind: Kind::Window, number: tag };
        let create = || self.inner.create_window(tag, scope);
        let inner = self.layer.call(object, &Call::CreateWindow { scope }, create)?;
        Ok(Arc::new(Window::<H> { inner, _layer: PhantomData }))
    }
}

impl<H: Hooks> VerbsDomain for Domain<H> {
    fn register_at(
        &self,
        span: Span,
        address: u64,
        privileges: Privileges,
    ) -> Result<Registration> {
        self.registered(span, privileges, || {
            self.inner.for_verbs().register_at(span, address, privileges)
        })
    }
}

impl<H: Hooks> Domain<H> {
    fn registered(
        &self,
        span: Span,
        privileges: Privileges,
        register: impl FnOnce() -> Result<Registration>,
    ) -> Result<Registration> {
        let object = self.layer.number(Kind::Region);
        let call = Call::Register { bytes: span.len() as u64, privileges };
        let registered = self.layer.call(object, &call, register)?;
        let layer = Arc::clone(&self.layer);
        let region = Box::new(Region { inner: registered.region, layer, object });
        Ok(Registration { region, ..registered })
    }
}

pub(super) struct Region<H> {
    inner: Box<dyn MemoryRegion>,
    layer: Arc<Layer<H>>,
    object: Object,
}

impl<H: Hooks> Region<H> {
    pub(super) fn below(region: &dyn MemoryRegion) -> &dyn MemoryRegion {
        region.as_any().downcast_ref::<Self>().map_or(region, |own| &*own.inner)
    }
}

impl<H: Hooks> MemoryRegion for Region<H> {
    fn deregister(&self) -> Result<()> {
        self.layer.call(self.object, &Call::Deregister, || self.inner.deregister())
    }

    fn for_verbs(&self) -> &dyn VerbsRegion {
        self
    }
}

impl<H: Hooks> VerbsRegion for Region<H> {
    fn reregister(
        &self,
        domain: &dyn ProtectionDomain,
        span: Span,
        address: u64,
        privileges: Privileges,
    ) -> Result<Registration> {
        let below = domain.as_any().downcast_ref::<Domain<H>>().map_or(domain, |own| &*own.inner);
        let call = Call::Register { bytes: span.len() as u64, privileges };
        let reregister = || self.inner.for_verbs().reregister(below, span, address, privileges);
        let registered = self.layer.call(self.object, &call, reregister)?;
        let (layer, object) = (Arc::clone(&self.layer), self.object);
        let region = Box::new(Self { inner: registered.region, layer, object });
        Ok(Registration { region, ..registered })
    }
}

pub(super) struct Window<H> {
    inner: Arc<dyn MemoryWindow>,
    /// Makes regions of this kind of layer a type of their own.
    _layer: PhantomData<H>,
}

impl<H: Hooks> Window<H> {
    pub(super) fn below(window: &dyn MemoryWindow) -> &dyn MemoryWindow {
        window.as_any().downcast_ref::<Self>().map_or(window, |own| &*own.inner)
    }
}

impl<H: Hooks> MemoryWindow for Window<H> {
    fn for_verbs(&self) -> &dyn VerbsWindow {
        self.inner.for_verbs()
    }
}
