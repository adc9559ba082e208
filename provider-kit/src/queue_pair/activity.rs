//! The view of a queue pair for operators. It is derived from the state that posts and polls keep anyway.

use dat_provider::{Activity, Traffic, WaitCause};

use super::connection::Connection;
use super::{Phase, QpState, SoftQp};
use crate::completion_queue::Cq;
use crate::link::LinkReport;
use crate::protocol::OldestRequest;
use crate::work_queues::WorkQueues;

impl SoftQp {
    /// The activity of the queue pair at the moment; none in a child of `fork`.
    pub(super) fn activity(&self) -> Activity {
        if self.core.owner_process.check().is_err() {
            return Activity::default();
        }
        let (mut activity, peer_process) = self.state.lock().activity();
        let waits_for_peer = !matches!(activity.waits_for, None | Some(WaitCause::Consumer));
        // Without the lock, because this reads a file.
        if waits_for_peer && peer_process.is_some_and(dat_sync::process::is_stopped) {
            activity.waits_for = Some(WaitCause::PeerStopped);
        }
        activity
    }
}

impl QpState {
    fn activity(&self) -> (Activity, Option<i32>) {
        let Self { conn, queues, .. } = self;
        let mut activity = Activity { receives: queues.unused_receives(), ..Activity::default() };
        let Some(conn) = conn else {
            activity.completions = queues.untaken_completions(0);
            if self.phase == Phase::Connecting {
                activity.waits_for = Some(WaitCause::Answer);
            }
            activity.progress = self.attempt as u32;
            return (activity, None);
        };
        let report = conn.link.report();
        conn.describe(queues, report, &mut activity);
        (activity, report.peer_process)
    }
}

impl Connection {
    fn describe(&self, queues: &WorkQueues, report: LinkReport, activity: &mut Activity) {
        let protocol = &self.protocol;
        let requests = protocol.outbound.sends.len() as u32;
        activity.transport = report.transport;
        activity.reader = self.attention.reader();
        activity.requests = requests;
        activity.receives += u32::from(protocol.inbound.holds_receive());
        activity.credits = protocol.outbound.credits();
        activity.completions = queues.untaken_completions(requests);
        activity.sent = Traffic { requests: queues.credits.posted(), bytes: report.written };
        let read =
            report.read.or_else(|| self.reader.bytes_read()).map(|read| read + report.pulled);
        activity.received = Traffic { requests: protocol.inbound.executed, bytes: read };
        let oldest = protocol.oldest_request(queues);
        activity.progress = match oldest {
            Some(_) => protocol.outbound.sends.progress(),
            None => queues.credits.posted().wrapping_sub(queues.credits.in_use()),
        };
        activity.waits_for = match oldest {
            _ if !protocol.is_open() => Some(WaitCause::Answer),
            Some(OldestRequest::NoReceive) => Some(WaitCause::NoReceive),
            Some(OldestRequest::BehindReads) => Some(WaitCause::EarlierReads),
            Some(_) if report.is_unread => Some(WaitCause::LinkFull),
            Some(OldestRequest::Begun | OldestRequest::Unanswered) => Some(WaitCause::Peer),
            None => queues.waiting_completion(activity.completions),
        };
    }
}

impl WorkQueues {
    /// Number of receives that no message has consumed.
    fn unused_receives(&self) -> u32 {
        self.receives.ring.count() + self.receives.interrupted.len() as u32
    }

    /// Number of completions that the consumer has not taken, while `requests` are not complete.
    fn untaken_completions(&self, requests: u32) -> u32 {
        let receives = match self.receives.shared {
            Some(_) => 0,
            None => self.receives.credits.in_use().saturating_sub(self.unused_receives()),
        };
        self.credits.in_use().saturating_sub(requests).saturating_add(receives)
    }

    /// The cause of the wait of the oldest completion, if there are any.
    fn waiting_completion(&self, completions: u32) -> Option<WaitCause> {
        let is_full = || self.completion_queues().any(|queue| Cq::is_full(queue));
        match completions {
            0 => None,
            _ if is_full() => Some(WaitCause::CompletionQueueFull),
            _ => Some(WaitCause::Consumer),
        }
    }
}
