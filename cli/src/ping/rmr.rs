//! The steps that bind a remote memory region.

use dat_core::{
    Bind, CompletionFlags, DtoStatus, EvdFlags, Event, Privileges, Rmr, RmrBindCompletion,
};

use super::local::Local;
use super::pieces::Piece;
use super::runner::Done;
use super::transfer::Way;
use crate::error::CliError;
use crate::session::{Buffer, DISPATCHERS, Pair};
use crate::units;

/// A bound remote memory region.
#[derive(Debug)]
pub(super) struct RmrSteps {
    pub(super) rmr: Rmr,
    context: u32,
    piece: Piece,
}

/// The offset of the bound memory.
const START: u64 = 512;

/// Binds a part of the passive side's memory and waits for the completion.
fn bind(rmr: &Rmr, pair: &Pair, into: &Buffer, piece: Piece, cookie: u64) -> Result<u32, CliError> {
    let (start, length) = piece;
    let context = rmr.bind(
        &pair.passive.ep,
        &Bind {
            lmr: &into.lmr,
            triplet: into.lmr.triplet(start, length)?,
            privileges: Privileges::REMOTE_WRITE,
            cookie,
            flags: CompletionFlags::empty(),
        },
    )?;
    let mut event = Event::default();
    pair.passive.await_event(&pair.passive.request, "bind completion", &mut event)?;
    let status = DtoStatus::Success;
    let expected = RmrBindCompletion { ep: pair.passive.ep.id(), rmr: rmr.id(), cookie, status };
    match event {
        Event::RmrBind(found) if found == expected => Ok(context),
        Event::RmrBind(found) if found.status != status => {
            Err(CliError::completion("bind", found.status))
        }
        other => Err(CliError::unexpected(format!("expected {expected:?}, got {other:?}"))),
    }
}

impl Local {
    /// Creates a remote region and binds it to the passive side's memory.
    pub(super) fn bind(&mut self) -> Result<Done, CliError> {
        let ia = self.ia()?;
        if !ia.provider_attributes().rmr_supported || ia.attributes().max_rmrs == 0 {
            return Ok(Done::LeftOut(
                "the adapter does not support remote memory \
                 regions"
                    .to_owned(),
            ));
        }
        if !self.pair()?.active.request.query()?.flags.contains(EvdFlags::RMR_BIND) {
            return Ok(Done::LeftOut(
                "no dispatcher can receive binds and other requests together".to_owned(),
            ));
        }
        let length = ia.attributes().max_rdma_size.min(4096);
        let piece = (START, length);
        let rmr = ia.rmr_create(self.pz()?)?;
        let context = bind(&rmr, self.pair()?, &self.buffers()?.passive_into, piece, 5001)?;
        self.rmr = Some(RmrSteps { rmr, context, piece });
        Ok(Done::Passed(format!("{} for remote writes", units::bytes(length))))
    }

    /// Writes through the bind.
    pub(super) fn use_rmr(&self) -> Result<Done, CliError> {
        let Some(RmrSteps { context, piece, .. }) = &self.rmr else {
            return Err(CliError::unexpected("no remote memory region was created".to_owned()));
        };
        let way = Way::there(self.pair()?, self.buffers()?);
        way.write(5101, &[(7, piece.1)], *piece, *context)?;
        Ok(Done::Passed(format!("RDMA write of {}", units::bytes(piece.1))))
    }

    /// Binds a region again and uses the stale context, which must be refused and break the
    /// connection. It uses a connection of its own.
    pub(super) fn rebind(&self) -> Result<Done, CliError> {
        let (ia, buffers) = (self.ia()?, self.buffers()?);
        let limits = ia.attributes();
        for (name, limit, needed) in [
            ("max_eps", limits.max_eps, 4),
            ("max_evds", limits.max_evds, 1 + 2 * DISPATCHERS as u32),
            ("max_rmrs", limits.max_rmrs, 2),
        ] {
            if limit < needed {
                return Ok(Done::LeftOut(format!("{name} is {limit}, but {needed} are required")));
            }
        }
        let mut pair = Pair::create(ia, self.pz()?, 4, self.timeout())?;
        pair.listen()?;
        pair.connect(&[], &[])?;
        let piece = (START, limits.max_rdma_size.min(1024));
        let from = [(3, piece.1)];
        let rmr = ia.rmr_create(self.pz()?)?;
        let first = bind(&rmr, &pair, &buffers.passive_into, piece, 5201)?;
        let way = Way::there(&pair, buffers);
        way.write(5202, &from, piece, first)?;
        let second = bind(&rmr, &pair, &buffers.passive_into, piece, 5203)?;
        way.write(5204, &from, piece, second)?;
        way.prepare(5205)?;
        way.post_write(5205, &from, piece, first)?;
        let mut event = Event::default();
        pair.active.await_event(&pair.active.request, "RDMA write completion", &mut event)?;
        let status = match event {
            Event::Dto(completion) if completion.cookie == 5205 => completion.status,
            other => {
                return Err(CliError::unexpected(format!(
                    "expected the write's completion, got \
                 {other:?}"
                )));
            }
        };
        if status == DtoStatus::Success {
            return Err(CliError::unexpected(
                "a write through the context of a previous bind succeeded".to_owned(),
            ));
        }
        way.check("the memory targeted by the refused write", 5205, &[], &[])?;
        rmr.free()?;
        pair.free()?;
        Ok(Done::Passed(format!("{status}, memory unchanged")))
    }
}
