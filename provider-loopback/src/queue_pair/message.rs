//! Messages: copying one into a receive.

use dat_provider::flags::Privileges;
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::{DATAGRAM_PREFIX, Segment};
use dat_provider_kit::receive_ring::PostedReceive;
use dat_provider_kit::transfer::{self, AccessError, LocalMemory};
use dat_provider_kit::upcalls::Upcalls;

use super::receive_queue::{Arrival, ReceiveQueue};
use super::request::WorkRequest;

/// Why a receive was not filled.
pub(super) enum FillError {
    /// The message is longer than the receive.
    TooLong,
    /// Memory of one side must not be accessed.
    Access(AccessError),
}

/// A receive that was taken, and whether it was filled.
type Taken = (PostedReceive, Result<(), FillError>);

/// Copies a message into the next receive and completes that. Returns the sender's status; `None` if
/// there is no receive. An error on the sender's side consumes no receive. `then` runs after the copy,
/// before the receive completes.
#[inline]
pub(super) fn send_message(
    request: &WorkRequest<'_>,
    source: LocalMemory<'_>,
    arrival: Arrival,
    receives: &mut ReceiveQueue,
    upcalls: &mut Upcalls,
    then: impl FnOnce(&ReceiveQueue),
) -> Option<DtoStatus> {
    if !receives.has_receive() {
        return None;
    }
    // A receive that was taken cannot be put back, so the sender's side is checked first.
    if request.length > 0 && !source.permits(Privileges::LOCAL_READ) {
        return Some(DtoStatus::LocalProtection);
    }
    let put = |capacity, target: LocalMemory<'_>| {
        if request.length > capacity {
            return Err(FillError::TooLong);
        }
        transfer::copy_message(source, target, request.length).map_err(FillError::Access)
    };
    let (posted, outcome) = receives.fill(upcalls, put)?;
    let (received, sent) = match outcome {
        Ok(()) => (DtoStatus::Success, DtoStatus::Success),
        Err(FillError::TooLong) => (DtoStatus::LocalLength, DtoStatus::RemoteResponder),
        // The sender's memory was freed after that check, or is not readable; the receive is lost.
        Err(FillError::Access(AccessError::Source)) => {
            (DtoStatus::Flushed, DtoStatus::LocalProtection)
        }
        Err(FillError::Access(AccessError::Target)) => {
            (DtoStatus::LocalProtection, DtoStatus::RemoteResponder)
        }
    };
    let arrival = if received == DtoStatus::Success {
        then(receives);
        arrival
    } else {
        Arrival { operation: Operation::Receive, extra: 0, ..arrival }
    };
    receives.complete(posted, (request.length, received), arrival, upcalls);
    Some(sent)
}

impl ReceiveQueue {
    /// Takes the next receive and runs `put` on its capacity and memory.
    #[inline]
    fn fill(
        &mut self,
        upcalls: &mut Upcalls,
        put: impl FnOnce(u64, LocalMemory<'_>) -> Result<(), FillError>,
    ) -> Option<Taken> {
        let domain = self.domain;
        if self.shared.is_some() {
            let (posted, count) = self.take(upcalls)?;
            let domain = self.shared.as_ref()?.domain();
            let target = LocalMemory { segments: &self.segments[..count], domain };
            return Some((posted, put(posted.length, target)));
        }
        let (posted, count, first) = self.ring.get(self.head)?;
        let outcome = if count == 1 {
            put(posted.length, LocalMemory { segments: &[first], domain })
        } else {
            put(posted.length, LocalMemory { segments: self.collect(count), domain })
        };
        self.head += 1;
        Some((posted, outcome))
    }

    /// Copies the segments of the next receive to the buffer.
    fn collect(&mut self, count: usize) -> &[Segment] {
        self.segments.clear();
        self.ring.copy_segments(self.head, count, &mut self.segments);
        &self.segments
    }

    /// Takes the next receive and copies a datagram into it, after the prefix.
    pub(super) fn fill_datagram(
        &mut self,
        source: LocalMemory<'_>,
        length: u64,
        upcalls: &mut Upcalls,
    ) -> Option<Taken> {
        let prefix = DATAGRAM_PREFIX;
        let put = |capacity: u64, target: LocalMemory<'_>| {
            if length.saturating_add(prefix) > capacity {
                return Err(FillError::TooLong);
            }
            transfer::copy_datagram(source, target, prefix, length).map_err(FillError::Access)
        };
        self.fill(upcalls, put)
    }
}
