//! What each connection must do: the oracle.

use std::collections::VecDeque;

use dat_core::DtoStatus;

/// A request that was posted.
#[derive(Clone, Debug)]
pub(crate) struct Posted {
    pub(crate) cookie: u64,
    pub(crate) kind: Kind,
    pub(crate) length: usize,
    /// The seed of its bytes.
    pub(crate) pattern: u64,
    /// It completes only if it fails.
    pub(crate) is_suppressed: bool,
}

/// The kind of a request. Offsets are those in the memory of the side that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A message, which may carry immediate data after an RDMA write.
    Send,
    /// To the slot at this offset of the peer.
    Write(usize),
    WriteImmediate(usize, u32),
    /// From the slot at this offset of the peer to its own memory.
    Read(usize),
    FetchAdd,
    /// A write to a context that does not exist.
    Wrong,
    /// Binds the remote memory region of this side, which gets this context.
    Bind(u32),
}

impl Kind {
    pub(crate) fn takes_receive(self) -> bool {
        matches!(self, Self::Send | Self::WriteImmediate(..))
    }
}

/// One side of a connection.
#[derive(Debug, Default)]
pub(crate) struct Side {
    /// Requests that are not complete.
    pub(crate) requests: VecDeque<Posted>,
    /// The cookies of receives that are not complete, and their offsets.
    pub(crate) receives: VecDeque<(u64, usize)>,
    /// Messages that were posted for the peer and that it has not received.
    pub(crate) messages: VecDeque<Posted>,
    pub(crate) is_established: bool,
    /// Its process was killed.
    pub(crate) is_dead: bool,
    pub(crate) has_ended: bool,
    /// A request or receive has failed or was flushed: all later ones are.
    pub(crate) is_flushing: bool,
    /// Number of additions to the word of the peer that were posted and that succeeded.
    pub(crate) added: u64,
}

/// A connection.
#[derive(Debug, Default)]
pub(crate) struct Pair {
    pub(crate) sides: [Side; 2],
    /// A fault, an error of the workload or a disconnect may end it.
    pub(crate) may_end: bool,
    /// Its memory was deregistered, and the bytes of earlier requests are not in the new one.
    pub(crate) has_other_memory: bool,
    /// The system has refused what the active side needs, so that its cause is a local one.
    pub(crate) needs_local_cause: bool,
    /// Both sides were established when one of these happened, so both must report the end.
    pub(crate) must_end: bool,
}

/// The byte at a position of a pattern. Any eight bytes differ between two patterns.
pub(crate) fn byte(pattern: u64, at: usize) -> u8 {
    let word = pattern.wrapping_add((at as u64 / 8) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((word ^ word >> 29) >> (at % 8 * 8)) as u8
}

pub(crate) fn bytes(pattern: u64, length: usize) -> Vec<u8> {
    (0..length).map(|at| byte(pattern, at)).collect()
}

impl Pair {
    /// A request is about to complete. Returns the suppressed ones before it, which were successful.
    ///
    /// # Errors
    /// One of them was not completed although an earlier one has failed.
    pub(crate) fn take_suppressed(
        &mut self,
        side: usize,
        cookie: u64,
    ) -> Result<Vec<Posted>, String> {
        let this = &mut self.sides[side];
        let is_before = |one: &Posted| one.is_suppressed && one.cookie != cookie;
        let count = this.requests.iter().take_while(|one| is_before(one)).count();
        match this.requests.front() {
            Some(first) if count > 0 && this.is_flushing => {
                Err(format!("request {:#x} is suppressed after one that failed", first.cookie))
            }
            _ => Ok(this.requests.drain(..count).collect()),
        }
    }

    /// A request completes. Returns it.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn complete_request(
        &mut self,
        side: usize,
        cookie: u64,
        status: DtoStatus,
        length: u64,
    ) -> Result<Posted, String> {
        let may_end = self.may_end;
        let this = &mut self.sides[side];
        let Some(posted) = this.requests.pop_front() else {
            return Err(format!("request {cookie:#x} completes twice or was not posted"));
        };
        if posted.cookie != cookie {
            return Err(format!("request {cookie:#x} completes before {:#x}", posted.cookie));
        }
        match status {
            DtoStatus::Success => {
                if this.is_flushing {
                    return Err(format!("request {cookie:#x} succeeds after one that failed"));
                }
                if posted.is_suppressed {
                    return Err(format!("request {cookie:#x} completes, but was suppressed"));
                }
                if posted.kind == Kind::Wrong {
                    return Err(format!("request {cookie:#x} to no memory succeeds"));
                }
                let expected = match posted.kind {
                    Kind::FetchAdd => 8,
                    Kind::Bind(_) => 0,
                    _ => posted.length,
                };
                if length != expected as u64 {
                    return Err(format!("request {cookie:#x} has {length} bytes, not {expected}"));
                }
            }
            status if !may_end => {
                return Err(format!("request {cookie:#x} ends with {status:?} without a cause"));
            }
            status => {
                if this.is_flushing && status != DtoStatus::Flushed {
                    return Err(format!("request {cookie:#x} ends with {status:?} after a flush"));
                }
                this.is_flushing = true;
            }
        }
        Ok(posted)
    }

    /// The oldest receive of a side completes. Returns its offset.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn take_receive(&mut self, side: usize, cookie: u64) -> Result<usize, String> {
        let Some((expected, offset)) = self.sides[side].receives.pop_front() else {
            return Err(format!("receive {cookie:#x} completes twice or was not posted"));
        };
        if expected != cookie {
            return Err(format!("receive {cookie:#x} completes before {expected:#x}"));
        }
        Ok(offset)
    }

    /// A receive completes. Returns its message if it is a success.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn complete_receive(
        &mut self,
        side: usize,
        cookie: u64,
        status: DtoStatus,
        length: u64,
    ) -> Result<Option<Posted>, String> {
        if status != DtoStatus::Success {
            return if self.may_end {
                Ok(None)
            } else {
                Err(format!("receive {cookie:#x} ends with {status:?} without a cause"))
            };
        }
        let Some(message) = self.sides[1 - side].messages.pop_front() else {
            return Err(format!("receive {cookie:#x} completes without a message"));
        };
        if message.length as u64 != length {
            let sent = message.length;
            return Err(format!("receive {cookie:#x} has {length} bytes of a message of {sent}"));
        }
        Ok(Some(message))
    }

    /// Something ends it, unless it has ended.
    pub(crate) fn end(&mut self) {
        self.may_end = true;
        self.must_end |= self.sides.iter().all(|side| side.is_established && !side.has_ended);
    }

    /// The oldest request of a side, if the peer can execute it without another receive.
    pub(crate) fn executable(&self, side: usize, has_shared_receives: bool) -> Option<u64> {
        let this = &self.sides[side];
        let oldest = this.requests.front()?;
        if this.requests.iter().any(|one| one.is_suppressed) {
            return None;
        }
        if oldest.kind.takes_receive() {
            let sent = this.requests.iter().filter(|one| one.kind.takes_receive()).count();
            let before = this.messages.len().checked_sub(sent)?;
            if has_shared_receives || self.sides[1 - side].receives.len() <= before {
                return None;
            }
        }
        Some(oldest.cookie)
    }

    /// What is left although everything has come to rest.
    pub(crate) fn left(&self) -> Option<String> {
        if !self.may_end && !self.sides.iter().all(|side| side.is_established) {
            return Some("a side is not established".to_owned());
        }
        if self.must_end && !self.sides.iter().all(|side| side.has_ended || side.is_dead) {
            return Some("a side has not ended".to_owned());
        }
        let mut living = self.sides.iter().enumerate().filter(|(_, side)| !side.is_dead);
        living.find_map(|(index, side)| {
            let request = side.requests.iter().find(|one| !one.is_suppressed);
            let request = request.map(|one| format!("request {:#x}", one.cookie));
            let receive = side.receives.front().map(|one| format!("receive {:#x}", one.0));
            let receive = receive.filter(|_| side.has_ended);
            let message = side.messages.front().map(|one| format!("message {:#x}", one.cookie));
            let message = message.filter(|_| !self.may_end);
            request.or(receive).or(message).map(|what| format!("{what} of side {index} is left"))
        })
    }
}
