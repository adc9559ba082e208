//! Requests that are posted while they cannot be executed.

use std::sync::atomic::Ordering;

use super::held::Held;
use super::link::Phase;
use super::{QueuePair, QueuePairState, QueuePairType};
use crate::completion_queue::failed;
use crate::error::{Error, Result};
use crate::request::SendRequest;
use crate::work_completion::WcStatus;

impl QueuePair {
    /// Posts a request while the connection is not established, or in another state than RTS.
    #[cold]
    pub(super) fn post_waiting(&self, request: &SendRequest<'_>) -> Result<()> {
        let mut posting = self.posting.lock();
        if self.is_open.load(Ordering::Acquire) {
            drop(posting);
            return self.post_open(request);
        }
        let control = self.control.lock();
        let (state, phase) = (control.state, control.link.phase);
        drop(control);
        let is_flushed = match state {
            QueuePairState::Reset | QueuePairState::Init | QueuePairState::Rtr => {
                return Err(Error::invalid(format!(
                    "cannot post a request in the state {state:?}"
                )));
            }
            QueuePairState::Rts | QueuePairState::Sqd => false,
            QueuePairState::Sqe => true,
            // The engine would send a datagram.
            QueuePairState::Err => self.kind() == QueuePairType::Ud,
        };
        if is_flushed {
            self.push_flushed(request.wr_id);
            return Ok(());
        }
        if posting.held.len() >= self.init.capacity.max_send_wr as usize {
            return Err(Error::plain(
                libc::ENOMEM,
                "the send queue is full; poll completions first",
            ));
        }
        let is_first = posting.held.is_empty();
        posting.held.push_back(Held::new(request));
        drop(posting);
        if is_first && state == QueuePairState::Rts && !phase.was_up() {
            self.limit_wait();
        }
        // The connection may have been established meanwhile.
        self.pass_held();
        Ok(())
    }

    /// A request is flushed that the engine does not get.
    pub(super) fn push_flushed(&self, wr_id: u64) {
        self.init.send_queue.push(failed(wr_id, self.number, WcStatus::WR_FLUSH_ERR));
    }

    /// Passes the requests that wait to the engine, if the connection was established and the state is RTS. In the state
    /// ERR, they follow what the engine has flushed.
    pub(super) fn pass_held(&self) {
        loop {
            let mut posting = self.posting.lock();
            let control = self.control.lock();
            let is_draining = control.state == QueuePairState::Sqd && posting.to_drain != 0;
            let phase = control.link.phase;
            let may_pass = match control.state {
                QueuePairState::Err => posting.is_flushed,
                QueuePairState::Rts => phase.was_up() || phase == Phase::Failed,
                _ => is_draining && phase.was_up(),
            };
            let is_err = control.state == QueuePairState::Err;
            // A lost connection checks each request.
            let opens = is_err || phase == Phase::Up;
            drop(control);
            if !may_pass || posting.is_passing {
                return;
            }
            let Some(request) = posting.held.pop_front() else {
                // Requests to itself go another way.
                let opens = opens && self.twin.lock().is_none();
                self.is_open.store(opens, Ordering::Release);
                drop(posting);
                if phase == Phase::Lost {
                    self.limit_repetition();
                }
                return;
            };
            posting.is_passing = true;
            posting.to_drain = posting.to_drain.saturating_sub(1);
            drop(posting);
            let twin = self.twin();
            let kit = twin.as_deref().unwrap_or(&*self.kit);
            let posted = request.post(|request| self.post_by(kit, request));
            self.posting.lock().is_passing = false;
            if posted.is_err() {
                let status = if is_err { WcStatus::WR_FLUSH_ERR } else { WcStatus::LOC_QP_OP_ERR };
                self.init.send_queue.push(failed(request.wr_id, self.number, status));
                return self.enter_error();
            }
        }
    }
}
