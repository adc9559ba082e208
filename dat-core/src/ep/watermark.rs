//! The number of receives at an endpoint, and its limits.

use super::table::EpEvent;
use super::{Ep, EpInner};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::event::AsyncErrorKind;

/// The receives at an endpoint (dat_ep_recv_query(3DAT)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvStatus {
    /// Number of receives at the endpoint that have not completed.
    pub allocated: u32,
    /// Number of completions, in order, that the next arriving messages can produce.
    pub span: u32,
}

const QUERY: &str = "dat_ep_recv_query";
const SET: &str = "dat_ep_set_watermark";

impl Ep {
    /// The number of receives at the endpoint (dat_ep_recv_query(3DAT)). Receives on a shared queue
    /// do not belong to an endpoint yet.
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn recv_query(&self) -> Result<RecvStatus> {
        self.inner.base.check_live(QUERY)?;
        let allocated = self.inner.outstanding().receives;
        // Receives complete in order, so none is allocated ahead of another.
        Ok(RecvStatus { allocated, span: allocated })
    }

    /// Limits the number of receives at the endpoint (dat_ep_set_watermark(3DAT)), in any state:
    /// above `soft` an asynchronous event is raised, once for each setting; above `hard` the
    /// connection breaks. `None` means no watermark.
    ///
    /// # Errors
    /// `DAT_MODEL_NOT_SUPPORTED` if the provider has no watermarks; `DAT_INVALID_PARAMETER` for
    /// more receives than an endpoint can have; `DAT_INVALID_HANDLE` when it was freed.
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
    /// Compares the receives at the endpoint with its watermarks. If a control call is in progress,
    /// which may be one of this thread, the break is left to the timer thread.
    #[cold]
    pub(super) fn check_watermarks(&self) {
        if !self.is_above_hard_watermark() {
            return;
        }
        match self.call.try_lock() {
            Some(_call) => self.break_on_watermark(),
            None => self.schedule_watermark_check(),
        }
    }

    /// As [`check_watermarks`](Self::check_watermarks), but waits for a control call in progress.
    pub(crate) fn check_watermarks_and_wait(&self) {
        if self.is_above_hard_watermark() {
            let _call = self.call.lock();
            self.break_on_watermark();
        }
    }

    /// Breaks the connection; no effect if the endpoint was freed or disconnected in the meantime.
    fn break_on_watermark(&self) {
        let _ = self.perform(EpEvent::HardWatermark, SET);
    }

    /// Raises the event of the soft watermark; returns whether the connection must be broken.
    fn is_above_hard_watermark(&self) -> bool {
        let watermarks = &self.post_checks.watermarks;
        let receives = self.outstanding().receives;
        let (soft, hard) = watermarks.get();
        if receives > soft && watermarks.take_soft(soft) {
            self.base.ia.raise_async(AsyncErrorKind::EpSoftHighWatermark, self.base.id);
        }
        receives > hard && self.state().is_some_and(|state| state.is_connected())
    }
}
