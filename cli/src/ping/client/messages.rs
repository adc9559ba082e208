//! Messages, which the other side echoes.

use dat_core::{CompletionFlags, DtoCompletion, Operation};

use super::super::pieces::{Piece, Scattered, total, triplets};
use super::super::runner::Done;
use super::{Buffers, Client};
use crate::error::CliError;
use crate::side::await_completion;

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
        self.finish(Operation::Send, seed, length)?;
        let received = DtoCompletion {
            ep: side.ep.id(),
            cookie: seed + 1,
            length,
            operation: Operation::Receive,
            ..DtoCompletion::default()
        };
        await_completion(&side.recv, &received, self.timeout)?;
        self.checking.check("the echoed message", into, seed, from, to)
    }

    /// Waits for the completion of a request.
    pub(super) fn finish(
        &self,
        operation: Operation,
        cookie: u64,
        length: u64,
    ) -> Result<(), CliError> {
        let side = self.side()?;
        let ep = side.ep.id();
        let expected = DtoCompletion { ep, cookie, length, operation, ..DtoCompletion::default() };
        await_completion(&side.request, &expected, self.timeout)
    }
}
