//! What a connection of verbs must do: the oracle.

use std::collections::VecDeque;

use dat_core::provider::Completion;
use dat_core::{DtoStatus, Operation};

use crate::model;
use crate::world::Outcome;

/// What a request does. Numbers are those of slots in the memory of the side that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A message, with immediate data, or with the key of a window of the peer that it invalidates.
    Send {
        immediate: Option<u32>,
        invalidates: Option<u32>,
    },
    /// To a slot of the peer, through a window or not.
    Write {
        slot: usize,
    },
    WriteImmediate {
        immediate: u32,
    },
    /// From a slot of the peer to one of this side.
    Read {
        slot: usize,
    },
    FetchAdd,
    /// Binds the window of this side with a key of its choice.
    Bind {
        key: u32,
    },
    /// A write with a key that is not valid any more.
    Stale,
}

/// A request that was posted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    pub(super) cookie: u64,
    pub(super) kind: Kind,
    pub(super) length: usize,
}

impl Posted {
    pub(super) fn takes_receive(&self) -> bool {
        matches!(self.kind, Kind::Send { .. } | Kind::WriteImmediate { .. })
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        model::bytes(self.cookie, self.length)
    }

    /// What the peer's receive must report.
    fn arrives_as(&self) -> (Operation, Option<u64>) {
        match self.kind {
            Kind::Send { immediate: Some(immediate), .. } => {
                (Operation::ReceiveSendImmediate, Some(immediate.into()))
            }
            Kind::Send { invalidates: Some(key), .. } => {
                (Operation::ReceiveWithInvalidate, Some(key.into()))
            }
            Kind::WriteImmediate { immediate } => {
                (Operation::ReceiveImmediate, Some(immediate.into()))
            }
            _ => (Operation::Receive, None),
        }
    }
}

/// How far the connection of a side is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Unconnected,
    Connecting,
    Up,
    /// It has ended, and this side has not disconnected: receives stay posted.
    Lost,
    /// This side has disconnected: everything is flushed.
    Disconnected,
}

/// What a side has posted, and how far it is.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) is_unreliable: bool,
    pub(super) phase: Phase,
    /// Requests and receives that are not complete; receives are cookies and slots.
    pub(super) requests: VecDeque<Posted>,
    pub(super) receives: VecDeque<(u64, usize)>,
    /// Messages of the peer that were not received.
    pub(super) inbound: VecDeque<Posted>,
    /// The first ones of them, which are of an earlier connection: they have arrived, or never do.
    pub(super) earlier: usize,
    /// A request of this connection has failed: later ones are flushed.
    pub(super) is_flushing: bool,
    /// Something may end the connection.
    pub(super) may_end: bool,
    /// The peer has posted a request that this side must refuse, which ends its own requests without a failed one.
    pub(super) may_refuse: bool,
    /// Number of messages that this side has dropped, which must be the one that the adapter counts.
    pub(super) dropped: u64,
    /// The peer may send more messages than there are receives, or a fault has happened: messages may be dropped.
    pub(super) may_drop: bool,
    /// Number of additions of this side to the word of the peer: that were posted, and that have succeeded.
    pub(super) added: (u64, u64),
}

impl Account {
    /// A request completes. Returns it.
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn complete_request(&mut self, done: &Completion) -> Result<Posted, String> {
        let cookie = done.cookie;
        let Some(posted) = self.requests.pop_front() else {
            return Err(format!("request {cookie:#x} completes twice or was not posted"));
        };
        if posted.cookie != cookie {
            return Err(format!("request {cookie:#x} completes before {:#x}", posted.cookie));
        }
        let has_disconnected = self.phase == Phase::Disconnected;
        match done.status {
            DtoStatus::Success if self.is_flushing => {
                Err(format!("request {cookie:#x} succeeds after one that failed"))
            }
            DtoStatus::Success if posted.kind == Kind::Stale && !self.is_unreliable => {
                Err(format!("request {cookie:#x} with a key that is not valid succeeds"))
            }
            DtoStatus::Success => {
                self.added.1 += u64::from(posted.kind == Kind::FetchAdd);
                Ok(posted)
            }
            status if self.is_unreliable && !has_disconnected => {
                Err(format!("request {cookie:#x} of an unreliable connection ends with {status:?}"))
            }
            status if !self.may_end && !has_disconnected => {
                Err(format!("request {cookie:#x} ends with {status:?} without a cause"))
            }
            status if self.is_flushing && status != DtoStatus::Flushed => {
                Err(format!("request {cookie:#x} ends with {status:?} after a failure"))
            }
            // The first one after a loss has its status.
            DtoStatus::Flushed if !self.is_flushing && !has_disconnected && !self.may_refuse => {
                Err(format!("request {cookie:#x} is flushed before one has failed"))
            }
            _ => {
                self.is_flushing = true;
                Ok(posted)
            }
        }
    }

    /// A receive completes, whose memory has these bytes.
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn complete_receive(&mut self, done: &Completion, bytes: &[u8]) -> Outcome {
        let cookie = done.cookie;
        let Some((expected, _)) = self.receives.pop_front() else {
            return Err(format!("receive {cookie:#x} completes twice or was not posted"));
        };
        if expected != cookie {
            return Err(format!("receive {cookie:#x} completes before {expected:#x}"));
        }
        if done.status != DtoStatus::Success {
            let is_right = self.phase == Phase::Disconnected && done.status == DtoStatus::Flushed;
            return if is_right {
                Ok(())
            } else {
                Err(format!("receive {cookie:#x} ends with {:?} while it is posted", done.status))
            };
        }
        loop {
            let Some(message) = self.inbound.pop_front() else {
                return Err(format!("receive {cookie:#x} has no message, or one that came before"));
            };
            let is_earlier = self.earlier > 0;
            self.earlier -= usize::from(is_earlier);
            match check(&message, done, bytes) {
                Ok(()) => return Ok(()),
                Err(_) if is_earlier => {}
                // A message that was sent before it was dropped.
                Err(_) if self.may_drop => self.dropped += 1,
                Err(why) => return Err(format!("receive {cookie:#x}: {why}")),
            }
        }
    }

    /// Number of messages of this connection that were not received.
    pub(super) fn awaited(&self) -> usize {
        self.inbound.len() - self.earlier
    }

    /// The connection has begun again.
    pub(super) fn begin(&mut self) {
        self.phase = Phase::Connecting;
        (self.is_flushing, self.may_end, self.may_refuse) = (false, false, false);
        self.earlier = self.inbound.len();
    }
}

/// Checks a receive against its message.
fn check(message: &Posted, done: &Completion, bytes: &[u8]) -> Outcome {
    let (operation, extra) = message.arrives_as();
    let name = message.cookie;
    if done.operation != operation {
        return Err(format!("{:?} in place of {operation:?} of message {name:#x}", done.operation));
    }
    if done.length != message.length as u64 {
        return Err(format!("{} bytes of message {name:#x}, not {}", done.length, message.length));
    }
    if let Some(extra) = extra.filter(|extra| done.extra as u32 != *extra as u32) {
        return Err(format!("{:#x} comes with message {name:#x}, not {extra:#x}", done.extra));
    }
    let in_receive = matches!(message.kind, Kind::Send { .. });
    if in_receive && bytes != message.bytes() {
        return Err(format!("the bytes are not those of message {name:#x}"));
    }
    Ok(())
}
