//! What turns calls into counts.

use std::sync::Arc;

use super::counters::{Count, Counters};
use crate::error::Error;
use crate::provider::decorate::call::{Call, Object, length};
use crate::provider::decorate::hooks::{Hooks, Queues};
use crate::provider::{CompletionPoller, ConnectionUpcall};
use crate::status::Operation;

pub(super) struct CountHooks(pub(super) Arc<Counters>);

impl Hooks for CountHooks {
    type Queue = ();
    type Pair = ();
    type End = ();

    #[inline]
    fn done(&self, _object: Object, call: &Call<'_>, error: Option<&Error>) {
        if error.is_some() {
            return self.failed(call);
        }
        let counters = &*self.0;
        match call {
            Call::PostReceive(receive) => counters.posted(Operation::Receive, length(receive)),
            Call::PostRequest(request) => {
                counters.posted(request.work.operation(), request.length);
            }
            Call::PostDatagram { request, .. } => {
                counters.posted(Operation::SendDatagram, request.length);
            }
            Call::PostBind { length, .. } => counters.posted(Operation::Bind, *length),
            Call::Poll { found } => {
                counters.add(Count::Polls, 1);
                counters.add(Count::EmptyPolls, u64::from(found.is_empty()));
                found.iter().for_each(|one| counters.completed(one.status));
            }
            Call::Register { bytes, .. } => {
                counters.add(Count::Registrations, 1);
                counters.add(Count::RegisteredBytes, *bytes);
            }
            call => {
                if let Some(count) = plain(call) {
                    counters.add(count, 1);
                }
            }
        }
    }

    fn queue(
        &self,
        poller: Box<dyn CompletionPoller>,
        _depth: usize,
    ) -> ((), Box<dyn CompletionPoller>) {
        ((), poller)
    }

    fn pair(&self, _tag: u64, _queues: Queues<()>) {}

    fn end(&self, _pair: &()) {}
}

impl CountHooks {
    #[cold]
    fn failed(&self, call: &Call<'_>) {
        self.0.add(Count::Failures, 1);
        if call.is_post() {
            self.0.add(Count::RefusedPosts, 1);
        }
    }
}

/// The count of what is only counted.
const fn plain(call: &Call<'_>) -> Option<Count> {
    Some(match call {
        Call::Open { .. } => Count::Opens,
        Call::CreateDomain => Count::Domains,
        Call::CreateCompletionQueue { .. } => Count::CompletionQueues,
        Call::CreateQueuePair { .. } => Count::QueuePairs,
        Call::CreateSharedReceives { .. } => Count::SharedReceiveQueues,
        Call::Listen { .. } => Count::Listeners,
        Call::CreateWindow { .. } => Count::Windows,
        Call::Deregister => Count::Deregistrations,
        Call::Connect(_) => Count::Connects,
        Call::Accept { .. } => Count::Accepts,
        Call::Reject { .. } => Count::Rejects,
        Call::Disconnect { .. } => Count::Disconnects,
        Call::Reset => Count::Resets,
        Call::Modify { .. } => Count::Modifies,
        Call::Retire => Count::Retires,
        Call::Notify { .. } | Call::Watch => Count::Notifies,
        Call::Resize { .. } => Count::Resizes,
        Call::ArmLowWatermark { .. } => Count::WatermarksArmed,
        Call::CompletionReady => Count::ReadyUpcalls,
        Call::CompletionOverflow => Count::Overflows,
        Call::LowWatermark => Count::WatermarksReached,
        Call::ConnectionRequest { .. } => Count::Requests,
        Call::ConnectionEvent { event, .. } => match event {
            ConnectionUpcall::Established { .. } => Count::Established,
            ConnectionUpcall::Resolved { .. } => Count::Resolved,
            ConnectionUpcall::Disconnected => Count::Disconnected,
            ConnectionUpcall::Broken => Count::Broken,
            _ => Count::FailedAttempts,
        },
        Call::AsyncEvent(_) => Count::AsyncEvents,
        Call::PostReceive(_)
        | Call::PostRequest(_)
        | Call::PostDatagram { .. }
        | Call::PostBind { .. }
        | Call::Poll { .. }
        | Call::Register { .. } => return None,
    })
}
