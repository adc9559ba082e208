//! Binds and invalidations of memory windows.

use std::sync::Arc;

use dat_provider::BindRequest;
use dat_provider::flags::CompletionFlags;

use super::QueuePair;
use super::failure::{Special, SpecialKind};
use crate::access::Access;
use crate::error::{Error, Result};
use crate::region::Region;
use crate::request::{Data, SendFlags, SendOperation, SendRequest, WindowBind};
use crate::window::{Window, WindowType};

fn may_bind(region: &Region) -> bool {
    region.access().contains(Access::MW_BIND)
}

impl QueuePair {
    /// Binds a window of type 1 (ibv_bind_mw(3)). Returns its new remote key.
    ///
    /// # Errors
    /// `EINVAL` for a window of type 2, for a region that permits no windows, and as [`post_send`](Self::post_send).
    pub fn bind_window(
        &self,
        window: &Arc<Window>,
        wr_id: u64,
        flags: SendFlags,
        bind: &WindowBind<'_>,
    ) -> Result<u32> {
        if window.kind() != WindowType::One || bind.region.is_some_and(|region| !may_bind(region)) {
            return Err(Error::invalid(
                "cannot bind the window by ibv_bind_mw: it must be of type 1, and the region permit windows (IBV_ACCESS_MW_BIND)",
            ));
        }
        let key = window.next_key();
        let operation = SendOperation::Bind { window, key, bind: *bind };
        let data = Data::Segments(&[]);
        self.post_send(&SendRequest { wr_id, operation, flags, data, destination: None })?;
        Ok(key)
    }

    /// Posts a bind or an invalidation of a window: from now on the window has the key.
    #[cold]
    pub(super) fn post_window(&self, request: &SendRequest<'_>) -> Result<()> {
        match request.operation {
            SendOperation::Bind { window, key, .. } => {
                let before = window.set_key(key)?;
                let posted = self.post_checked(request);
                posted.inspect_err(|_| drop(window.set_key(before)))
            }
            SendOperation::LocalInvalidate(key) => {
                let window = Window::find(&self.domain, key);
                if window.is_some_and(|it| it.kind() == WindowType::Two && it.remote_key() == key) {
                    return self.post_checked(request);
                }
                Err(Error::invalid(format!(
                    "cannot invalidate the key {key:#x}: no window of type 2 has it"
                )))
            }
            _ => self.post_checked(request),
        }
    }

    /// Passes a bind to the engine.
    pub(super) fn post_bind(
        &self,
        (window, key): (&Window, u32),
        bind: &WindowBind<'_>,
        request: &SendRequest<'_>,
    ) -> Result<()> {
        let region = bind.region.filter(|_| bind.length != 0);
        let used = region.map(|region| region.add_window()).transpose()?;
        let bind = WindowBind { region, ..*bind };
        self.post_special(window, Some(key), &bind, (request, SpecialKind::Bind))?;
        window.note_bound(used);
        Ok(())
    }

    /// Passes the invalidation of a window of type 2 to the engine.
    pub(super) fn post_invalidate(&self, key: u32, request: &SendRequest<'_>) -> Result<()> {
        let window = Window::find(&self.domain, key);
        let window = window.ok_or_else(|| Error::invalid("the window is deallocated"))?;
        let nothing = WindowBind { region: None, address: 0, length: 0, access: Access::empty() };
        self.post_special(&window, None, &nothing, (request, SpecialKind::LocalInvalidate))?;
        window.note_bound(None);
        Ok(())
    }

    fn post_special(
        &self,
        window: &Window,
        key: Option<u32>,
        bind: &WindowBind<'_>,
        (request, kind): (&SendRequest<'_>, SpecialKind),
    ) -> Result<()> {
        let handle = window.kit.lock().clone();
        let handle = handle.ok_or_else(|| Error::invalid("the window is deallocated"))?;
        let flags = self.flags(request.flags);
        // A range outside of the region lets the bind fail, as one of a region that permits no windows must.
        let permitted = bind.region.filter(|region| may_bind(region));
        let is_zero_based = bind.access.contains(Access::ZERO_BASED);
        let posted = BindRequest {
            window: &*handle,
            region: bind.region.map(|region| &*region.kit),
            address: permitted.map_or(u64::MAX / 2, |region| region.memory_at(bind.address)),
            remote_address: if is_zero_based { 0 } else { bind.address },
            length: bind.length,
            privileges: bind.access.privileges(),
            key,
            cookie: request.wr_id,
            // The completion says what kind it was.
            flags: flags - CompletionFlags::SUPPRESS,
        };
        let is_reported = !flags.contains(CompletionFlags::SUPPRESS);
        self.control.lock().special.push_back(Special { kind, is_reported });
        if let Err(error) = self.kit.post_bind(&posted) {
            self.control.lock().special.pop_back();
            return Err(error.into());
        }
        Ok(())
    }
}
