//! Decoding of heads. The bytes are not trusted.

use dat_provider::status::DtoStatus;

use super::encode::{
    ABRUPT, ACCEPTED, BROKEN, COMPARE_SWAP, FETCH_ADD, GRACEFUL, LAST, MAGIC, QUIET, REFUSED,
    REJECTED, SOLICITED, kind,
};
use super::{
    Body, ConnectReply, Extra, Frame, FrameError, MAX_EXTENTS, MAX_HANDSHAKE, MAX_NEXT_PIECE,
    MAX_TRANSFER, MessageHead, Reason, Refusal, Remote,
};

/// Decodes the head at the start of `bytes`. Returns the frame and the length of its head, or
/// nothing if the head is incomplete.
///
/// # Errors
/// The bytes cannot become a valid frame.
#[inline]
pub fn decode(bytes: &[u8]) -> Result<Option<(Frame, usize)>, FrameError> {
    // The fast path.
    if let Some(head) = bytes.first_chunk::<{ MessageHead::LEN }>() {
        let words = [0, 8, 16].map(|at| u64::from_ne_bytes(bytes_at(head, at)));
        if let Some(message) = MessageHead::of(words) {
            let number = u16::from_le_bytes(bytes_at(head, 2));
            return Ok(Some((Frame { number, ..message.frame() }, MessageHead::LEN)));
        }
    }
    decode_any(bytes)
}

fn decode_any(bytes: &[u8]) -> Result<Option<(Frame, usize)>, FrameError> {
    let Some(&kind) = bytes.first() else { return Ok(None) };
    let Some(length) = head_length(kind) else { return Err(FrameError::Kind(kind)) };
    let Some(head) = bytes.get(..length) else { return Ok(None) };
    let fields = Fields::of(head);
    let body = fields.body()?;
    let Fields { number, done, posted, flags, .. } = fields;
    let quiet = flags & QUIET != 0;
    Ok(Some((Frame { body, number, done, posted, quiet }, length)))
}

const fn head_length(kind: u8) -> Option<usize> {
    match kind {
        kind::WRITE | kind::WRITE_IMMEDIATE | kind::READ | kind::OFFER => Some(40),
        kind::ATOMIC => Some(56),
        kind::HELLO
        | kind::CHALLENGE
        | kind::PROOF
        | kind::ANSWER
        | kind::READY
        | kind::SEND
        | kind::SEND_INVALIDATE
        | kind::SEND_IMMEDIATE
        | kind::DATA
        | kind::MORE
        | kind::RTS
        | kind::CTS
        | kind::NO_RECEIVE
        | kind::WITHDRAW
        | kind::ACK
        | kind::END => Some(24),
        _ => None,
    }
}

struct Fields {
    kind: u8,
    flags: u8,
    number: u16,
    done: u32,
    posted: u32,
    word: u32,
    length: u64,
    remote: Remote,
    operation: u32,
    operands: (u64, u64),
}

/// The bytes at an offset; zeros beyond the end of the head.
#[inline(always)]
fn bytes_at<const N: usize>(head: &[u8], at: usize) -> [u8; N] {
    head.get(at..).and_then(|rest| rest.first_chunk::<N>()).copied().unwrap_or([0; N])
}

impl Fields {
    fn of(head: &[u8]) -> Self {
        let u32_at = |at| u32::from_le_bytes(bytes_at(head, at));
        let u64_at = |at| u64::from_le_bytes(bytes_at(head, at));
        let [kind, flags] = bytes_at(head, 0);
        Self {
            kind,
            flags,
            number: u16::from_le_bytes(bytes_at(head, 2)),
            done: u32_at(4),
            posted: u32_at(8),
            word: u32_at(12),
            length: u64_at(16),
            remote: Remote { context: u32_at(24), address: u64_at(32) },
            operation: u32_at(28),
            operands: (u64_at(40), u64_at(48)),
        }
    }

    fn body(&self) -> Result<Body, FrameError> {
        let &Self { word, length, remote, .. } = self;
        let solicited = self.flags & SOLICITED != 0;
        let last = self.flags & LAST != 0;
        self.check()?;
        Ok(match self.kind {
            kind::HELLO if word & !0xff != MAGIC => return Err(FrameError::Magic),
            kind::HELLO => Body::Hello { version: word as u8, length },
            kind::CHALLENGE => Body::Challenge { length },
            kind::PROOF => Body::Proof { length },
            kind::ANSWER => Body::Answer { reply: self.reply()?, length },
            kind::READY => Body::Ready,
            kind::SEND => Body::Send { length, solicited, extra: Extra::None },
            kind::SEND_INVALIDATE => {
                Body::Send { length, solicited, extra: Extra::Invalidate(word) }
            }
            kind::SEND_IMMEDIATE => Body::Send { length, solicited, extra: Extra::Immediate(word) },
            kind::WRITE => Body::Write { length, remote },
            kind::WRITE_IMMEDIATE => {
                Body::WriteImmediate { length, remote, immediate: word, solicited }
            }
            kind::READ => Body::Read { length, remote },
            kind::ATOMIC => self.atomic()?,
            kind::DATA => Body::Data { length, last },
            kind::MORE => Body::More { length, last },
            kind::RTS => Body::Rts { length },
            kind::CTS => Body::Cts,
            kind::NO_RECEIVE => Body::NoReceive,
            kind::WITHDRAW => Body::Withdraw { request: length as u32 },
            kind::OFFER => self.offer()?,
            kind::ACK => Body::Ack,
            kind::END => Body::End { reason: self.reason()? },
            other => return Err(FrameError::Kind(other)),
        })
    }

    /// Checks flags, word and length against those that the kind allows.
    fn check(&self) -> Result<(), FrameError> {
        let flags = match self.kind {
            kind::SEND | kind::SEND_INVALIDATE | kind::SEND_IMMEDIATE | kind::WRITE_IMMEDIATE => {
                SOLICITED | QUIET
            }
            kind::WRITE => QUIET,
            kind::OFFER => SOLICITED,
            kind::DATA | kind::MORE => LAST,
            _ => 0,
        };
        let has_word = matches!(
            self.kind,
            kind::HELLO
                | kind::ANSWER
                | kind::SEND_INVALIDATE
                | kind::SEND_IMMEDIATE
                | kind::WRITE_IMMEDIATE
                | kind::END
        );
        let has_operation = self.kind == kind::ATOMIC;
        let is_clean = self.flags & !flags == 0
            && (has_word || self.word == 0)
            && (has_operation || self.operation == 0);
        if !is_clean {
            return Err(FrameError::Field(self.kind));
        }
        let lengths = match self.kind {
            kind::HELLO | kind::CHALLENGE | kind::PROOF | kind::ANSWER => 0..=MAX_HANDSHAKE,
            kind::SEND
            | kind::SEND_INVALIDATE
            | kind::SEND_IMMEDIATE
            | kind::WRITE
            | kind::WRITE_IMMEDIATE
            | kind::READ
            | kind::RTS => 0..=MAX_TRANSFER,
            kind::OFFER => 1..=MAX_TRANSFER,
            kind::ATOMIC => 8..=8,
            kind::DATA if self.flags & LAST != 0 => 0..=MAX_NEXT_PIECE,
            kind::DATA => 1..=MAX_NEXT_PIECE,
            kind::MORE => 1..=MAX_NEXT_PIECE,
            kind::WITHDRAW | kind::END => 0..=u64::from(u32::MAX),
            _ => 0..=0,
        };
        if lengths.contains(&self.length) { Ok(()) } else { Err(FrameError::Length(self.kind)) }
    }

    fn reply(&self) -> Result<ConnectReply, FrameError> {
        Ok(match self.word {
            ACCEPTED => ConnectReply::Accepted,
            REJECTED => ConnectReply::Rejected,
            word => {
                let all =
                    [Refusal::NoListener, Refusal::Version, Refusal::Secret, Refusal::Malformed];
                let mut all = all.into_iter();
                let refusal = all.find(|refusal| REFUSED | refusal.value() << 8 == word);
                ConnectReply::Refused(refusal.ok_or(FrameError::Field(self.kind))?)
            }
        })
    }

    fn offer(&self) -> Result<Body, FrameError> {
        let &Self { length, remote: Remote { context: extents, address: epoch }, .. } = self;
        if !(1..=MAX_EXTENTS).contains(&extents) {
            return Err(FrameError::Field(self.kind));
        }
        Ok(Body::Offer { length, solicited: self.flags & SOLICITED != 0, extents, epoch })
    }

    fn atomic(&self) -> Result<Body, FrameError> {
        let &Self { remote, operands: (first, second), .. } = self;
        match self.operation {
            FETCH_ADD if second == 0 => Ok(Body::FetchAdd { remote, add: first }),
            COMPARE_SWAP => Ok(Body::CompareSwap { remote, compare: first, swap: second }),
            _ => Err(FrameError::Field(self.kind)),
        }
    }

    fn reason(&self) -> Result<Reason, FrameError> {
        match (self.word, self.length) {
            (GRACEFUL, 0) => Ok(Reason::Graceful),
            (ABRUPT, 0) => Ok(Reason::Abrupt),
            (word, request) => {
                let mut all = DtoStatus::all().filter(|status| *status != DtoStatus::Success);
                let status = all.find(|status| BROKEN | status.value() << 8 == word);
                let status = status.ok_or(FrameError::Field(self.kind))?;
                let request = u32::try_from(request).map_err(|_| FrameError::Length(self.kind))?;
                Ok(Reason::Broken { request, status })
            }
        }
    }
}
