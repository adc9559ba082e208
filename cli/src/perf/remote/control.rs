//! The control connection: one message at a time, each answered.

use std::time::Duration;

use dat_core::{CompletionFlags, DtoStatus, Event, Ia, Operation, Pz, Timeout};

use super::order::{self, LENGTH, Message, Order};
use crate::error::CliError;
use crate::session::Buffer;
use crate::side::Side;

/// A connection with a message to send and one to receive.
pub(super) struct Control {
    pub(crate) side: Side,
    out: Buffer,
    into: Buffer,
}

impl Control {
    /// The objects, with the receive of the first message posted.
    pub(super) fn create(ia: &Ia, pz: &Pz, timeout: Duration) -> Result<Self, CliError> {
        let side = Side::create(ia, pz, 1, timeout)?;
        let (out, into) = (Buffer::source(ia, pz, LENGTH)?, Buffer::target(ia, pz, LENGTH)?);
        let control = Self { side, out, into };
        control.post_receive()?;
        Ok(control)
    }

    fn post_receive(&self) -> Result<(), CliError> {
        let piece = self.into.lmr.triplet(0, LENGTH as u64)?;
        Ok(self.side.ep.post_recv(&[piece], 0, CompletionFlags::empty())?)
    }

    /// Sends a message.
    pub(super) fn send(&self, message: &Message) -> Result<(), CliError> {
        self.out.memory.write(0, &message.to_bytes())?;
        let (side, length) = (&self.side, LENGTH as u64);
        let piece = self.out.lmr.triplet(0, length)?;
        side.ep.post_send(&[piece], 0, CompletionFlags::empty())?;
        side.await_request(Operation::Send, 0, length)
    }

    /// The next message; none if the connection has ended.
    pub(super) fn receive(&self, timeout: Timeout) -> Result<Option<Message>, CliError> {
        let mut event = Event::default();
        if !self.side.recv.wait(timeout, 1, &mut event)?.is_event() {
            return Err(CliError::timed_out("message of the peer", self.side.timeout));
        }
        match event {
            Event::Dto(done) if done.status == DtoStatus::Success => {}
            Event::Dto(done) if done.status == DtoStatus::Flushed => return Ok(None),
            Event::Dto(done) => return Err(CliError::completion("receive", done.status)),
            other => {
                return Err(CliError::unexpected(format!("expected a message, got {other:?}")));
            }
        }
        let bytes = self.into.memory.to_vec(0, LENGTH)?;
        self.post_receive()?;
        Ok(Some(Message::from_bytes(&bytes)))
    }

    /// Gives an order and returns the words of the answer.
    pub(super) fn ask(&self, order: Order) -> Result<[u64; 4], CliError> {
        self.send(&order.to_message())?;
        let answer = self.receive(Timeout::After(self.side.timeout))?;
        let lost = || CliError::disconnected().caused_by(self.side.failure());
        order::answered(answer.ok_or_else(lost)?)
    }

    /// Frees all objects; continues after a failure.
    pub(super) fn free(&self) -> Result<(), CliError> {
        let mut done = self.side.free().to_vec();
        done.extend([self.out.lmr.free(), self.into.lmr.free()]);
        Ok(done.into_iter().collect::<dat_core::Result<()>>()?)
    }
}
