//! Posting requests.

use std::time::Duration;

use dat_provider::error::{Error, Result};
use dat_provider::flags::CompletionFlags;
use dat_provider::status::DtoStatus;
use dat_sync::clock;

use super::{Phase, QpState, SoftQp};
use crate::errors::no_credit;
use crate::protocol::PostedRequest;

/// Maximum time for which a call waits for acknowledgements of the peer.
const ACK_WAIT: Duration = Duration::from_millis(2);

/// The result of trying to post a request.
enum PostOutcome {
    Done(Result<()>),
    /// No credit is left.
    Full {
        /// True if suppressed requests hold credits.
        is_suppressed: bool,
    },
}

impl QpState {
    /// Returns true if suppressed requests hold credits, which polls of the consumer do not return.
    pub(super) fn has_suppressed(&self) -> bool {
        let mut flags = self.conn.iter().flat_map(|conn| conn.protocol.outbound.sends.flags());
        flags.any(|flags| flags.contains(CompletionFlags::SUPPRESS))
    }
}

impl QpState {
    /// The status of a request that is posted after the end of a connection; `None` if it stays.
    fn status_without_connection(&self) -> Option<DtoStatus> {
        match self.phase {
            // An unreliable connection does not report that its peer is lost.
            Phase::Lost { .. } if self.queues.is_unreliable => Some(DtoStatus::Success),
            Phase::Lost { keeps: true } => None,
            _ => Some(DtoStatus::Flushed),
        }
    }
}

impl SoftQp {
    /// Posts the request that `make` builds.
    pub(super) fn post(&self, make: impl Fn(&QpState) -> Result<PostedRequest>) -> Result<()> {
        self.core.owner_process.check()?;
        match self.try_post(&make) {
            PostOutcome::Done(result) => return result,
            PostOutcome::Full { is_suppressed: false } => {}
            // Polling would not return those credits; only acknowledgements do.
            PostOutcome::Full { .. } => {
                self.read_until(|state| state.queues.credits.is_available())
            }
        }
        match self.try_post(&make) {
            PostOutcome::Done(result) => result,
            PostOutcome::Full { .. } => Err(no_credit()),
        }
    }

    fn try_post(&self, make: impl Fn(&QpState) -> Result<PostedRequest>) -> PostOutcome {
        self.with_state(|state, upcalls| {
            match state.phase {
                Phase::Connected if !state.is_closing && !state.is_retired => {}
                Phase::Lost { .. } | Phase::Disconnected => {}
                _ => return PostOutcome::Done(Err(state.state_error())),
            }
            if !state.queues.credits.try_take() {
                // An acknowledgement of the peer may return credits.
                if let Some(conn) = state.conn.as_mut().filter(|conn| !conn.is_ending()) {
                    conn.read(&mut state.queues, upcalls);
                }
                return PostOutcome::Full { is_suppressed: state.has_suppressed() };
            }
            let request = match make(state) {
                Ok(request) => request,
                Err(error) => {
                    state.queues.credits.give_back();
                    return PostOutcome::Done(Err(error));
                }
            };
            let status = match &state.conn {
                Some(conn) if !conn.is_ending() => None,
                _ => state.status_without_connection(),
            };
            if let Some(status) = status {
                let extra = request.extra();
                state.queues.complete_request(&request.in_flight(), extra, status, upcalls);
                return PostOutcome::Done(Ok(()));
            }
            let waiting = match &mut state.conn {
                Some(conn) => &mut conn.protocol.outbound.sends.waiting,
                None => &mut state.kept.waiting,
            };
            if waiting.try_reserve(1).is_err() {
                state.queues.credits.give_back();
                let what = "the requests of the endpoint";
                return PostOutcome::Done(Err(Error::no_memory(what)));
            }
            waiting.push_back(request);
            if let Some(conn) = &mut state.conn {
                conn.progress(&mut state.queues, upcalls);
                if !conn.is_ending() && conn.protocol.waits_for_credit() {
                    conn.read(&mut state.queues, upcalls);
                }
            }
            PostOutcome::Done(Ok(()))
        })
    }

    /// Reads the link until a condition holds, for at most [`ACK_WAIT`], within which a peer that executes requests at
    /// once has acknowledged them. The lock is released between reads.
    pub(super) fn read_until(&self, condition: impl Fn(&mut QpState) -> bool) {
        let deadline = clock::now() + ACK_WAIT;
        loop {
            let is_done = self.with_state(|state, upcalls| {
                if state.conn.is_none() || condition(state) {
                    return true;
                }
                let QpState { conn: Some(conn), queues, .. } = state else { return true };
                if !conn.is_ending() {
                    conn.read(queues, upcalls);
                }
                false
            });
            if is_done || clock::now() >= deadline {
                return;
            }
            clock::pause();
        }
    }
}
