//! What of a queue pair outlives its connections.

use dat_provider::flags::CompletionFlags;
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::triplet::RmrTriplet;
use dat_provider::{Completion, CompletionFeatures};

use super::receives::Receives;
use super::work::Item;
use crate::completion_target::CompletionTarget;
use crate::credits::QueueCredits;
use crate::handshake;
use crate::receive_ring::PostedReceive;
use crate::transfer::RemoteMemory;
use crate::upcalls::Upcalls;
use crate::window;

/// What of a queue pair outlives its connections.
pub(super) struct Side {
    pub(super) requests: CompletionTarget,
    pub(super) room: QueueCredits,
    pub(super) receives: Receives,
    /// 0 while there is none.
    pub(super) domain: u32,
    /// What windows know the queue pair by.
    pub(super) number: u32,
    /// The most reads and atomics of the peer, and to the peer, at a time.
    pub(super) reads: (u32, u32),
}

impl Side {
    /// The description of this side for the peer.
    pub(super) fn introduce(&self, private_data: Vec<u8>) -> handshake::SideInfo {
        let is_shared = self.receives.shared.is_some();
        let posted = self.receives.ring.count();
        handshake::SideInfo { posted, is_shared, reads: self.reads.0, private_data }
    }

    /// Own memory that a remote key names.
    pub(super) fn remote<'a>(&self, place: &'a RmrTriplet) -> RemoteMemory<'a> {
        RemoteMemory { triplet: place, domain: self.domain, queue_pair: self.number }
    }

    /// Reports a message of the peer, after invalidating the window that it names.
    pub(super) fn receive(
        &mut self,
        posted: PostedReceive,
        length: u64,
        invalidate: Option<u32>,
        solicited: bool,
        upcalls: &mut Upcalls,
    ) {
        let (operation, extra) = match invalidate {
            Some(key) => {
                window::invalidate(key, self.domain, self.number);
                (Operation::ReceiveWithInvalidate, u64::from(key))
            }
            None => (Operation::Receive, 0),
        };
        let (outcome, told) = ((length, DtoStatus::Success), (operation, extra, solicited));
        self.receives.finish(posted, outcome, told, upcalls);
    }

    /// Reports a request that ended.
    pub(super) fn finish(&self, item: &Item, status: DtoStatus, upcalls: &mut Upcalls) {
        let failed = status != DtoStatus::Success;
        if !failed && item.flags.contains(CompletionFlags::SUPPRESS) {
            return self.requests.suppress();
        }
        let unsignalled = item.flags.contains(CompletionFlags::UNSIGNALLED);
        let features = CompletionFeatures { unsignalled, solicited: false, failed };
        let (cookie, operation, extra) = (item.cookie, item.operation(), item.extra());
        let length = if failed { 0 } else { item.reported() };
        if !failed && operation != Operation::Bind && extra == 0 {
            return self.requests.succeed((cookie, length, operation), features, upcalls);
        }
        let completion = Completion { tag: 0, cookie, length, extra, operation, status };
        self.requests.complete(completion, features, upcalls);
    }
}
