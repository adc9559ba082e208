//! Requests that are executed by direct access to the memory of the peer.

use dat_provider::Work;
use dat_provider::status::DtoStatus;

use super::connection::Connection;
use super::request::Task;
use super::work_queues::WorkQueues;
use crate::direct::{Access, Accessed, Direction};
use crate::frame::Remote;
use crate::transfer::{self, LocalMemory};

impl Connection {
    /// Executes the oldest request, if all before it are complete and the link can do it without the
    /// peer. Returns whether it ended.
    ///
    /// A request that would pass an earlier one is written to the link instead: the peer executes the
    /// requests in the link in order.
    pub(super) fn access_directly(&mut self, queues: &WorkQueues) -> bool {
        if self.sends.has_in_flight() || self.is_write_closed {
            return false;
        }
        let Some(request) = self.sends.waiting.front_mut() else { return false };
        if request.is_begun || request.local_status.is_some() {
            return false;
        }
        let (direction, remote, length) = match &request.task {
            Task::Work(Work::RdmaWrite { remote }) => (Direction::Write, remote, request.length),
            Task::Work(Work::RdmaRead { remote }) => (Direction::Read, remote, remote.length),
            _ => return false,
        };
        if length == 0 {
            return false;
        }
        let remote = Remote { context: remote.context, address: remote.address };
        let local = LocalMemory { segments: &request.segments, domain: queues.domain };
        self.spans.clear();
        let privilege = direction.local_privilege();
        if !transfer::local_spans(local, privilege, (0, length), &mut self.spans) {
            return false;
        }
        let access = Access { direction, remote, length, local: &self.spans };
        request.local_status = match self.writer.access(&access) {
            Accessed::Done => Some(DtoStatus::Success),
            Accessed::Failed(status) => Some(status),
            Accessed::NotDirectly => None,
        };
        request.local_status.is_some()
    }
}
