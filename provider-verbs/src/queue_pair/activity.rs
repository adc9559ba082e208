//! The view of a queue pair for operators. It is derived from the completions that were taken and, once a request makes no
//! progress, from those that the device has.

use dat_provider::status::Operation;
use dat_provider::{Activity, Traffic, WaitCause};

use super::last_look::LastLook;
use super::state::{Completing, State, VerbsQp};

impl VerbsQp {
    /// The counts of completions taken so far. Requests that ask for no completion are not counted until a later
    /// one completes. If the oldest request is the same as in the last call, this takes the completions that the device
    /// has, which show whether the request waits for the peer or for the consumer.
    pub(super) fn activity(&self) -> Activity {
        let is_connecting =
            matches!(self.link.lock().state, State::Connecting(_) | State::Accepting(_));
        let (requests, marked, last) = {
            let sender = self.sender.lock();
            let requests = sender.queue.completing();
            let marked = requests.end.wrapping_sub(sender.quiet);
            (requests, marked, sender.last_look)
        };
        let receives = self.receiver.lock().queue.completing();
        let oldest = requests.work_queue.oldest_before(marked);
        let mut look = LastLook { oldest, without_receive: None };
        if oldest.is_some() && oldest == last.oldest {
            requests.queue.collect();
            look.oldest = requests.work_queue.oldest_before(marked);
            look.without_receive = self.device.counters.without_receive();
        }
        self.sender.lock().last_look = look;
        let completions = requests.untaken().saturating_add(receives.untaken());
        let is_stuck = look.oldest.is_some() && look.oldest == last.oldest;
        let waits_for = match look.oldest {
            _ if is_connecting => Some(WaitCause::Answer),
            Some(oldest) if is_stuck && requests.needs_receive(oldest) && look.is_refused(last) => {
                Some(WaitCause::NoReceive)
            }
            Some(_) => Some(WaitCause::Peer),
            None if completions > 0 && requests.queue.is_full() => {
                Some(WaitCause::CompletionQueueFull)
            }
            None if completions > 0 => Some(WaitCause::Consumer),
            None => None,
        };
        Activity {
            transport: "verbs",
            requests: requests.work_queue.pending_of_consumer(marked),
            receives: receives.work_queue.pending_of_consumer(receives.end),
            completions,
            sent: Traffic { requests: requests.end, bytes: None },
            progress: match look.oldest {
                Some(oldest) => oldest,
                None => requests.end.wrapping_sub(completions),
            },
            waits_for,
            ..Activity::default()
        }
    }
}

impl Completing {
    /// Number of completions that the consumer has not taken.
    fn untaken(&self) -> u32 {
        self.work_queue.untaken_before(self.end)
    }

    /// Returns true if an outstanding request needs a receive of the peer.
    fn needs_receive(&self, number: u32) -> bool {
        let needs =
            |operation| matches!(operation, Operation::Send | Operation::RdmaWriteImmediate);
        self.work_queue.read(number).is_some_and(|record| needs(record.operation))
    }
}
