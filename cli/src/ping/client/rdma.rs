//! RDMA writes to and reads from the memory that the other side offers.

use dat_core::{CompletionFlags, Operation, RmrTriplet};

use super::super::handshake;
use super::super::local::there;
use super::super::pieces::{Piece, SEGMENTED, pieces, triplets};
use super::super::plan::sizes;
use super::super::runner::Done;
use super::{Buffers, Client};
use crate::error::CliError;
use crate::session::Buffer;
use crate::units;

impl Client {
    /// A part of the memory that the other side offers: of the first half, which may be written,
    /// or of the second half, which has a pattern.
    fn remote(&self, second: bool, (start, length): Piece) -> Result<RmrTriplet, CliError> {
        let area = there(self.area)?;
        let half = area.length / 2;
        if start + length > half {
            let (offered, needed) = (units::bytes(half), units::bytes(start + length));
            let reason = format!("the peer offers {offered}, but {needed} are required");
            return Err(CliError::unexpected(reason));
        }
        let start = if second { half + start } else { start };
        Ok(RmrTriplet { address: area.address.wrapping_add(start), length, ..area })
    }

    fn write(&self, from: &Buffer, pieces: &[Piece], to: Piece, seed: u64) -> Result<(), CliError> {
        let (remote, flags) = (self.remote(false, to)?, CompletionFlags::empty());
        self.side()?.ep.post_rdma_write(&triplets(from, pieces)?, seed, remote, flags)?;
        self.side()?.await_request(Operation::RdmaWrite, seed, to.1)
    }

    fn read(&self, second: bool, from: Piece, to: &[Piece], seed: u64) -> Result<(), CliError> {
        let (remote, flags) = (self.remote(second, from)?, CompletionFlags::empty());
        let local = triplets(&self.buffers()?.into, to)?;
        self.side()?.ep.post_rdma_read(&local, seed, remote, flags)?;
        self.side()?.await_request(Operation::RdmaRead, seed, from.1)
    }

    /// Writes in all sizes and from several segments. Each time, all remote memory is read
    /// back, and must contain nothing else.
    pub(super) fn rdma_writes(&self) -> Result<Done, CliError> {
        if let Some(reason) = self.cannot_read()? {
            return Ok(Done::LeftOut(format!("cannot read back: {reason}")));
        }
        let Buffers { out, into } = self.buffers()?;
        let length = into.memory.len() as u64;
        let most = self.ia()?.attributes().max_rdma_size.min(length);
        let parts: Vec<Piece> = (0..length)
            .step_by(most as usize)
            .map(|start| (start, most.min(length - start)))
            .collect();
        let segments = self.side()?.ep.query()?.attributes.max_rdma_write_iov;
        self.rdma(3000, segments, |seed, pieces, whole| {
            self.checking.prepare(out, into, seed)?;
            for &part in &parts {
                self.write(into, &[part], part, seed)?;
            }
            self.write(out, pieces, whole, seed)?;
            into.memory.write(0, &vec![0; length as usize])?;
            for &part in &parts {
                self.read(false, part, &[part], seed)?;
            }
            self.checking.check("the written data", into, seed, pieces, &[whole])
        })
    }

    /// Reads in all sizes and into several segments.
    pub(super) fn rdma_reads(&self) -> Result<Done, CliError> {
        if let Some(reason) = self.cannot_read()? {
            return Ok(Done::LeftOut(reason));
        }
        let Buffers { out, into } = self.buffers()?;
        let segments = self.side()?.ep.query()?.attributes.max_rdma_read_iov;
        self.rdma(4000, segments, |seed, pieces, whole| {
            self.checking.prepare(out, into, handshake::OFFERED)?;
            self.read(true, whole, pieces, seed)?;
            self.checking.check("the data read", into, handshake::OFFERED, &[whole], pieces)
        })
    }

    fn cannot_read(&self) -> Result<Option<String>, CliError> {
        let out = self.side()?.ep.query()?.attributes.max_rdma_read_out;
        Ok((out == 0).then(|| "max_rdma_read_out is 0".to_owned()))
    }

    /// Performs an RDMA operation in all sizes and with several segments.
    fn rdma(
        &self,
        first_seed: u64,
        segments: u32,
        act: impl Fn(u64, &[Piece], Piece) -> Result<(), CliError>,
    ) -> Result<Done, CliError> {
        let limit = self.ia()?.attributes().max_rdma_size;
        let sizes: Vec<u64> =
            sizes(limit).into_iter().filter(|size| (1..=limit).contains(size)).collect();
        for &size in &sizes {
            act(first_seed + size, &[(256, size)], (32, size))?;
        }
        let mut detail: Vec<String> = sizes.iter().map(|size| units::bytes(*size)).collect();
        let (length, segments) = (SEGMENTED.min(limit), segments.min(4));
        if segments > 1 && length >= 16 {
            act(first_seed + 500, &pieces(length, segments.into()), (99, length))?;
            detail.push(format!("{segments} segments"));
        }
        Ok(Done::Passed(detail.join(", ")))
    }
}
