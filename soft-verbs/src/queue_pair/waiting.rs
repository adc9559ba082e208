//! Requests that are posted while they cannot be executed.

use std::sync::atomic::Ordering;

use dat_provider::flags::CompletionFlags;

use super::held::Held;
use super::link::Phase;
use super::{QueuePair, QueuePairState, QueuePairType};
use crate::completion_queue::failed;
use crate::error::{Error, Result};
use crate::request::{SendOperation, SendRequest};
use crate::work_completion::{WcOpcode, WcStatus, WorkCompletion};

impl QueuePair {
    /// Posts a request while the connection is not established, or in another state than RTS.
    #[cold]
    pub(super) fn post_waiting(&self, request: &SendRequest<'_>) -> Result<()> {
        let mut posting = self.posting.lock();
        if self.is_open.load(Ordering::Acquire) {
            drop(posting);
            return self.post_now(request);
        }
        let control = self.control.lock();
        let (state, phase) = (control.state, control.link.phase);
        drop(control);
        match state {
            QueuePairState::Reset | QueuePairState::Init | QueuePairState::Rtr => {
                return Err(Error::invalid(format!(
                    "cannot post a request in the state {state:?}"
                )));
            }
            QueuePairState::Err | QueuePairState::Sqe => {
                let status = WcStatus::WR_FLUSH_ERR;
                self.init.send_queue.push(failed(request.wr_id, self.number, status));
                return Ok(());
            }
            QueuePairState::Rts if phase == Phase::Lost => {
                drop(posting);
                self.fail_lost(request);
                return Ok(());
            }
            QueuePairState::Rts | QueuePairState::Sqd => {}
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
        if is_first && state == QueuePairState::Rts && phase != Phase::Up {
            self.limit_wait();
        }
        // The connection may have been established meanwhile.
        self.pass_held();
        Ok(())
    }

    /// A request to a peer that is gone. A reliable one fails, an unreliable one is lost.
    pub(super) fn fail_lost(&self, request: &SendRequest<'_>) {
        let status = WcStatus::RETRY_EXC_ERR;
        if self.kind() == QueuePairType::Rc {
            self.init.send_queue.push(failed(request.wr_id, self.number, status));
            return self.enter_error();
        }
        if !self.flags(request.flags).contains(CompletionFlags::SUPPRESS) {
            let opcode = match request.operation {
                SendOperation::Write(_) | SendOperation::WriteWithImmediate(..) => {
                    WcOpcode::RDMA_WRITE
                }
                _ => WcOpcode::SEND,
            };
            let (wr_id, qp_num) = (request.wr_id, self.number);
            let done = WorkCompletion { wr_id, qp_num, opcode, ..WorkCompletion::default() };
            self.init.send_queue.push(done);
        }
    }

    /// Passes the requests that wait to the engine, if the connection is established and the state is RTS.
    pub(super) fn pass_held(&self) {
        loop {
            let mut posting = self.posting.lock();
            let control = self.control.lock();
            let is_draining = control.state == QueuePairState::Sqd && posting.to_drain != 0;
            let may_pass = (control.state == QueuePairState::Rts || is_draining)
                && control.link.phase == Phase::Up;
            drop(control);
            if !may_pass || posting.is_passing {
                return;
            }
            let Some(request) = posting.held.pop_front() else {
                self.is_open.store(true, Ordering::Release);
                return;
            };
            posting.is_passing = true;
            posting.to_drain = posting.to_drain.saturating_sub(1);
            drop(posting);
            let posted = request.post(|request| self.post_now(request));
            self.posting.lock().is_passing = false;
            if posted.is_err() {
                let status = WcStatus::LOC_QP_OP_ERR;
                self.init.send_queue.push(failed(request.wr_id, self.number, status));
                return self.enter_error();
            }
        }
    }
}
