//! The work queues of a queue pair, which outlive its connections.

mod receive_queue;
mod segments;
mod settings;

use std::sync::Arc;

use dat_provider::flags::{CompletionFlags, Privileges};
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::triplet::RmrTriplet;
use dat_provider::verbs::LossPolicy;
use dat_provider::{Completion, CompletionFeatures};

use crate::completion_queue::Cq;
use crate::completion_target::CompletionTarget;
use crate::credits::QueueCredits;
use crate::frame::Extra;
use crate::handshake;
use crate::receive_ring::PostedReceive;
use crate::ring::Ring;
use crate::transfer::RemoteMemory;
use crate::upcalls::Upcalls;
use crate::window;

pub(crate) use receive_queue::{ReceiveQueue, TakenReceive};
pub(crate) use segments::Segments;
use settings::Memberships;
pub(crate) use settings::ReplacedQueues;

/// A request that is completely written to the link, with the data for its completion.
#[derive(Clone, Copy, Default)]
pub(crate) struct InFlight {
    pub(crate) cookie: u64,
    /// Length in bytes that the completion reports; no transfer is longer than 2^31.
    pub(crate) length: u32,
    pub(crate) operation: Operation,
    pub(crate) flags: CompletionFlags,
    /// True if the peer's answer carries data.
    pub(crate) expects_answer: bool,
}

/// Both work queues: credits, receives and completion targets.
pub(crate) struct WorkQueues {
    /// Where requests complete.
    pub(crate) requests: CompletionTarget,
    /// The credits of requests.
    pub(crate) credits: QueueCredits,
    pub(crate) receives: ReceiveQueue,
    /// The protection domain; 0 while there is none.
    pub(crate) domain: u32,
    /// Identifies the queue pair to memory windows.
    pub(crate) number: u32,
    /// True if its connections are unreliable.
    pub(crate) is_unreliable: bool,
    /// The fate of the receives when a connection is lost.
    pub(crate) losses: LossPolicy,
    /// The operations that the peer may do, if the memory permits them too.
    pub(crate) peer_privileges: Privileges,
    /// Requests wait for a receive of the peer for a limited time.
    pub(crate) limits_receive_wait: bool,
    /// Maximum number of reads and atomics in flight: inbound and outbound.
    pub(crate) max_reads: (u32, u32),
    memberships: Memberships,
}

impl WorkQueues {
    /// The work queues of a queue pair without settings.
    pub(crate) fn unconfigured(number: u32) -> Self {
        Self {
            requests: CompletionTarget::discarding(),
            credits: QueueCredits::new(0),
            receives: ReceiveQueue {
                ring: Ring::new(0, 0),
                credits: QueueCredits::new(0),
                target: CompletionTarget::discarding(),
                shared: None,
                interrupted: Vec::new(),
                domain: 0,
                epochs: Arc::default(),
            },
            domain: 0,
            number,
            is_unreliable: false,
            losses: LossPolicy::Flush,
            peer_privileges: Privileges::REMOTE,
            limits_receive_wait: false,
            max_reads: (0, 0),
            memberships: [None, None],
        }
    }

    /// Both completion queues, or the one that both work queues share.
    pub(crate) fn completion_queues(&self) -> impl Iterator<Item = &Arc<Cq>> {
        let (requests, receives) = (self.requests.queue(), self.receives.target.queue());
        let other = (!Arc::ptr_eq(requests, receives)).then_some(receives);
        std::iter::once(requests).chain(other)
    }

    /// Poll count of the completion queues, modulo 2^64.
    pub(crate) fn polls(&self) -> u64 {
        self.completion_queues().fold(0, |sum, queue| sum.wrapping_add(queue.links.polls()))
    }

    /// The parameters of this side that the handshake sends to the peer.
    pub(crate) fn connection_parameters(
        &self,
        private_data: Vec<u8>,
    ) -> handshake::ConnectionParameters {
        let is_shared = self.receives.shared.is_some();
        let posted = self.receives.ring.count();
        let reads = self.max_reads.0;
        handshake::ConnectionParameters {
            posted,
            is_shared,
            is_unreliable: self.is_unreliable,
            reads,
            datagrams: None,
            private_data,
        }
    }

    /// The remote operations that the peer may not do.
    pub(crate) fn denied(&self) -> Privileges {
        Privileges::REMOTE - self.peer_privileges
    }

    /// Local memory that a request of the peer names.
    pub(crate) fn remote<'a>(&self, place: &'a RmrTriplet) -> RemoteMemory<'a> {
        RemoteMemory { triplet: place, domain: self.domain, queue_pair: self.number }
    }

    /// Completes a receive with a message, after invalidating the window that the message names, if it names one.
    pub(crate) fn complete_message(
        &mut self,
        posted: PostedReceive,
        length: u64,
        extra: Extra,
        solicited: bool,
        upcalls: &mut Upcalls,
    ) {
        let (operation, extra) = match extra {
            Extra::None => (Operation::Receive, 0),
            Extra::Invalidate(key) => {
                window::invalidate(key, self.domain, self.number);
                (Operation::ReceiveWithInvalidate, key)
            }
            Extra::Immediate(data) => (Operation::ReceiveSendImmediate, data),
        };
        let extra = u64::from(extra);
        let (outcome, arrival) = ((length, DtoStatus::Success), (operation, extra, solicited));
        self.receives.complete(posted, outcome, arrival, upcalls);
    }

    /// Completes a request that succeeded, without `extra`, and is not a bind.
    #[inline(always)]
    pub(crate) fn succeed_request(&mut self, request: &InFlight, upcalls: &mut Upcalls) {
        let &InFlight { cookie, operation, flags, length, .. } = request;
        if flags.contains(CompletionFlags::SUPPRESS) {
            return self.credits.give_back();
        }
        let unsignalled = flags.contains(CompletionFlags::UNSIGNALLED);
        let features = CompletionFeatures { unsignalled, solicited: false, failed: false };
        self.requests.succeed((cookie, u64::from(length), operation), features, upcalls);
    }

    /// Completes a request; `extra` is stored in its completion.
    pub(crate) fn complete_request(
        &mut self,
        request: &InFlight,
        extra: u64,
        status: DtoStatus,
        upcalls: &mut Upcalls,
    ) {
        let failed = status != DtoStatus::Success;
        if !failed && request.operation != Operation::Bind && extra == 0 {
            return self.succeed_request(request, upcalls);
        }
        if !failed && request.flags.contains(CompletionFlags::SUPPRESS) {
            return self.credits.give_back();
        }
        let unsignalled = request.flags.contains(CompletionFlags::UNSIGNALLED);
        let features = CompletionFeatures { unsignalled, solicited: false, failed };
        let InFlight { cookie, operation, .. } = *request;
        let length = if failed { 0 } else { u64::from(request.length) };
        let completion = Completion { tag: 0, cookie, length, extra, operation, status };
        self.requests.complete(completion, features, upcalls);
    }
}
