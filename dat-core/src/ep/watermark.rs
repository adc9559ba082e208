//! Receives at an endpoint: how many there are, and how many are too many.

use super::table::EpEvent;
use super::{Endpoint, EpInner};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::event::AsyncErrorKind;

/// The receives at an endpoint (dat_ep_recv_query(3DAT)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvBuffers {
    /// Receives that are at the endpoint and have not completed.
    pub allocated: u32,
    /// How many completions may come of the messages that arrive now, in their order.
    pub span: u32,
}

const QUERY: &str = "dat_ep_recv_query";
const SET: &str = "dat_ep_set_watermark";

impl Endpoint {
    /// How many receives are at the endpoint (dat_ep_recv_query(3DAT)). Those on a shared queue
    /// are not at any endpoint yet.
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn recv_query(&self) -> Result<RecvBuffers> {
        self.inner.base.check_live(QUERY)?;
        let allocated = self.inner.queue_pair.outstanding().receives;
        // Receives complete in order, so none is allocated ahead of another.
        Ok(RecvBuffers { allocated, span: allocated })
    }

    /// Sets how many receives may be at the endpoint (dat_ep_set_watermark(3DAT)), in any state:
    /// beyond `soft` an asynchronous event is raised, once for each setting; beyond `hard` the
    /// connection breaks. `None` is no watermark.
    ///
    /// # Errors
    /// `DAT_MODEL_NOT_SUPPORTED` where the provider has no watermarks; `DAT_INVALID_PARAMETER`
    /// for more than the endpoint can have; `DAT_INVALID_HANDLE` when it was freed.
    pub fn set_watermark(&self, soft: Option<u32>, hard: Option<u32>) -> Result<()> {
        let inner = &*self.inner;
        inner.base.check_live(SET)?;
        let ia = &inner.base.ia.attributes;
        let fail = |error: Error| Err(inner.base.describe(error, SET));
        if !ia.provider.srq_watermarks_supported {
            return fail(
                Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
                    .because("the provider does not support high watermarks on endpoints"),
            );
        }
        for (name, value, argument) in [
            ("soft_high_watermark", soft, Subtype::InvalidArg2),
            ("hard_high_watermark", hard, Subtype::InvalidArg3),
        ] {
            if let Some(value) = value.filter(|value| *value > ia.ia.max_dto_per_ep) {
                return fail(
                    Error::new(ReturnType::InvalidParameter, argument)
                        .because(format!(
                            "{name} {value} exceeds the {} receives of an endpoint",
                            ia.ia.max_dto_per_ep
                        ))
                        .advise("omit the watermark, or set one within that limit"),
                );
            }
        }
        inner.post_checks.set_watermarks(soft, hard);
        inner.check_watermarks();
        Ok(())
    }
}

impl EpInner {
    /// Compares the receives at the endpoint with its watermarks. A break that would have to
    /// wait for a control call, which may be this thread's own, is left to the timer thread.
    #[cold]
    pub(super) fn check_watermarks(&self) {
        if !self.is_above_hard_watermark() {
            return;
        }
        match self.call.try_lock() {
            Some(_call) => self.break_on_watermark(),
            None => self.look_at_watermarks(),
        }
    }

    /// As [`check_watermarks`](Self::check_watermarks), waiting for control calls.
    pub(crate) fn check_watermarks_patiently(&self) {
        if self.is_above_hard_watermark() {
            let _call = self.call.lock();
            self.break_on_watermark();
        }
    }

    /// An endpoint that was freed or disconnected meanwhile has nothing to break.
    fn break_on_watermark(&self) {
        let _ = self.perform(EpEvent::HardWatermark, SET);
    }

    /// Raises what the soft watermark asks for; whether the connection is to break.
    fn is_above_hard_watermark(&self) -> bool {
        let watermarks = &self.post_checks.watermarks;
        let receives = self.queue_pair.outstanding().receives;
        let (soft, hard) = watermarks.get();
        if receives > soft && watermarks.take_soft(soft) {
            self.base.ia.raise_async(AsyncErrorKind::EpSoftHighWatermark, self.base.id);
        }
        receives > hard && self.state().is_some_and(|state| state.is_connected())
    }
}
