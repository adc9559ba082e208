//! Handing a connection request over to another service point.

use super::Cr;
use crate::error::{Error, Result, ReturnType, Subtype};

impl Cr {
    /// Hands the request over to another service point of the adapter (dat_cr_handoff(3DAT)), as if
    /// it had arrived there. This request ends; its endpoint, if it arrived for one, is treated as
    /// after a rejection.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if nothing listens on the qualifier; `DAT_QUEUE_FULL` if the
    /// dispatcher there is full; `DAT_INVALID_HANDLE` for a request that was answered before. After
    /// the first two the request is unchanged.
    pub fn handoff(&self, qualifier: u64) -> Result<()> {
        const HANDOFF: &str = "dat_cr_handoff";
        let inner = &*self.inner;
        let base = &inner.base;
        base.check_live(HANDOFF)?;
        let target = base.ia.service_point(qualifier).ok_or_else(|| {
            let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg2)
                .because(format!("no service point on this adapter listens on {qualifier}"))
                .advise("create the service point first");
            base.describe(error, HANDOFF)
        })?;
        let mut place = inner.incoming.lock();
        let incoming = place.take().ok_or_else(|| base.freed(HANDOFF))?;
        if let Err(incoming) = target.arrived(incoming) {
            *place = Some(incoming);
            let error = Error::new(ReturnType::QueueFull, Subtype::NoSubtype)
                .because(format!("the service point on {qualifier} cannot accept a request now"))
                .advise("dequeue its pending requests first");
            return Err(base.describe(error, HANDOFF));
        }
        drop(place);
        inner.release_endpoint();
        inner.end();
        Ok(())
    }
}
