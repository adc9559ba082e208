//! Messages, which the other side echoes.

use dat_core::{CompletionFlags, DtoStatus, Operation};

use super::super::pieces::{Piece, Scattered, total, triplets};
use super::super::runner::Done;
use super::{Buffers, Client};
use crate::error::CliError;

impl Client {
    pub(super) fn send_whole(&self, size: u64) -> Result<Done, CliError> {
        let piece = (64, size);
        let pieces = if size == 0 { &[][..] } else { &[piece][..] };
        self.send(1000 + size, pieces, pieces)?;
        Ok(Done::Passed("echoed".to_owned()))
    }

    pub(super) fn send_in_segments(&mut self) -> Result<Done, CliError> {
        let longest = self.ia()?.attributes().max_message_size;
        let message = match Scattered::new(&self.side()?.ep.query()?.attributes, longest) {
            Ok(message) => message,
            Err(why) => return Ok(Done::LeftOut(why)),
        };
        self.send(2001, &message.from, &message.into)?;
        Ok(Done::Passed(format!(
            "{} segments out, {} back",
            message.from.len(),
            message.into.len()
        )))
    }

    /// Sends a message and verifies the echo.
    fn send(&self, seed: u64, from: &[Piece], to: &[Piece]) -> Result<(), CliError> {
        let (side, Buffers { out, into }) = (self.side()?, self.buffers()?);
        self.checking.prepare(out, into, seed)?;
        let (length, flags) = (total(from), CompletionFlags::empty());
        side.ep.post_recv(&triplets(into, to)?, seed + 1, flags)?;
        side.ep.post_send(&triplets(out, from)?, seed, flags)?;
        side.await_request(Operation::Send, seed, length)?;
        side.await_receive(seed + 1, length, DtoStatus::Success)?;
        self.checking.check("the echoed message", into, seed, from, to)
    }
}
