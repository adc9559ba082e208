//! The dispatchers that the completion streams of an endpoint feed.

use super::EvdInner;
use super::streams::{Mode, Stream};
use crate::compat::Rule;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::flags::CompletionFlags;
use crate::lifecycle::Hold;

/// The completion streams of an endpoint, each with its dispatcher. Dropping this ends them.
pub(crate) struct StreamBindings {
    ep: u64,
    evds: [Option<Hold<EvdInner>>; 2],
}

impl StreamBindings {
    /// No streams yet, for the endpoint with that number.
    pub(crate) fn new(ep: u64) -> Self {
        Self { ep, evds: [None, None] }
    }

    /// The dispatcher of a stream.
    pub(crate) fn evd(&self, stream: Stream) -> Option<&Hold<EvdInner>> {
        self.evds[stream as usize].as_ref()
    }

    /// Binds the streams to their dispatchers, the receives first.
    pub(crate) fn begin(
        &mut self,
        stream: Stream,
        evd: Option<Hold<EvdInner>>,
        flags: CompletionFlags,
    ) -> Result<()> {
        let Some(evd) = evd else { return Ok(()) };
        let key = (self.ep, stream);
        let admitted = evd.streams.lock().admit(key, flags, evd.flags(), evd.compat());
        admitted.map_err(|reason| {
            let name = match stream {
                Stream::Receive => "recv_completion_flags",
                Stream::Request => "request_completion_flags",
            };
            let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg6)
                .because(format!("{name}: {reason} ({})", evd.base.label()));
            let advice = "use another dispatcher, or the same flags as its other streams";
            Rule::MixedFlags.broken(error, advice)
        })?;
        evd.refresh_notify();
        self.evds[stream as usize] = Some(evd);
        Ok(())
    }

    /// Checks that the two streams of an endpoint may share a dispatcher.
    pub(crate) fn check_pair(
        evd: &EvdInner,
        receive: CompletionFlags,
        request: CompletionFlags,
    ) -> Result<()> {
        let of = |flags| Mode::of(flags, evd.flags(), evd.compat());
        let (receive, request) = (of(receive), of(request));
        if receive == request || evd.compat().relaxes(Rule::MixedFlags) {
            return Ok(());
        }
        let error =
            Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg6).because(format!(
                "request_completion_flags: {} conflicts with {} of the receives on the same \
                 dispatcher",
                request.name(),
                receive.name()
            ));
        let advice = "use another dispatcher for the requests, or the same flags";
        Err(Rule::MixedFlags.broken(error, advice))
    }

    /// Registers the streams again after others of the same endpoint have ended.
    pub(crate) fn renew(&self, receives: CompletionFlags, requests: CompletionFlags) {
        for (stream, flags) in [(Stream::Receive, receives), (Stream::Request, requests)] {
            if let Some(evd) = self.evd(stream) {
                let mode = Mode::of(flags, evd.flags(), evd.compat());
                evd.streams.lock().set((self.ep, stream), Some(mode));
                evd.refresh_notify();
            }
        }
    }
}

impl Drop for StreamBindings {
    fn drop(&mut self) {
        for stream in [Stream::Receive, Stream::Request] {
            if let Some(evd) = self.evd(stream) {
                evd.streams.lock().remove((self.ep, stream));
            }
        }
    }
}
