//! The view of a queue pair for operators. It is derived from the state that posts and polls keep anyway.

use dat_provider::{Activity, Service, Traffic, WaitCause};
use dat_sync::SlabArc;

use super::connection_state::ConnectionState;
use super::qp::LoopbackQp;

impl LoopbackQp {
    /// The activity of the queue pair at the moment. Its locks and those of its peer are taken one after the other.
    pub(super) fn activity(&self) -> Activity {
        let send_queue = self.send_queue.lock();
        let peer = match &send_queue.state {
            ConnectionState::Connected(connection) => Some(SlabArc::clone(&connection.peer)),
            _ => None,
        };
        let requests = send_queue.waiting_requests();
        let posted = send_queue.credits.posted();
        let is_datagram = send_queue.service == Service::Datagram;
        let completed = send_queue.credits.in_use().saturating_sub(requests);
        let is_full = send_queue.context.target.queue().is_full();
        let is_connecting = matches!(send_queue.state, ConnectionState::Connecting { .. });
        drop(send_queue);
        let (receives, consumed) = self.receives();
        let completions = completed.saturating_add(consumed);
        let waits_for = if requests > 0 {
            Some(WaitCause::NoReceive)
        } else if is_connecting {
            Some(WaitCause::Answer)
        } else if completions == 0 {
            None
        } else if is_full {
            Some(WaitCause::CompletionQueueFull)
        } else {
            Some(WaitCause::Consumer)
        };
        let received = peer.as_ref().map_or(0, |peer| peer.executed());
        let (written, read) = self.bytes();
        let (peer_written, peer_read) = peer.as_ref().map_or((0, 0), |peer| peer.bytes());
        Activity {
            transport: "loopback",
            requests,
            receives,
            credits: peer.filter(|_| !is_datagram).map(|peer| peer.receives().0),
            completions,
            sent: Traffic { requests: posted, bytes: Some(peer_written + read) },
            received: Traffic { requests: received, bytes: Some(written + peer_read) },
            // Only completions that were taken, or requests that were executed, change this.
            progress: posted.wrapping_sub(if requests > 0 { requests } else { completed }),
            waits_for,
            ..Activity::default()
        }
    }

    /// Number of posted receives, and of those whose completions were not taken.
    fn receives(&self) -> (u32, u32) {
        let in_use = self.poster.state.lock().credits.in_use();
        let posted = self.posted_receives();
        (posted, in_use.saturating_sub(posted))
    }

    /// Number of bytes that were written to memory of this side, and that its peer has read from it.
    fn bytes(&self) -> (u64, u64) {
        let responder = self.responder.lock_for_fast_path();
        (responder.receives.bytes_in, responder.receives.bytes_out)
    }

    /// Number of requests that were executed at the peer.
    fn executed(&self) -> u32 {
        let send_queue = self.send_queue.lock();
        let waiting = send_queue.waiting_requests();
        send_queue.credits.posted().wrapping_sub(waiting)
    }
}
