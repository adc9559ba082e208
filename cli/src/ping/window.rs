//! The steps that open a piece of memory to the peer by a bind.

use dat_core::{
    Bind, CompletionFlags, DtoStatus, EvdFlags, Event, Privileges, Rmr, RmrBindCompletion,
};

use super::bench::Bench;
use super::pieces::Piece;
use super::runner::Done;
use super::transfer::Way;
use crate::fault::Fault;
use crate::session::{Buffer, DISPATCHERS, Pair};
use crate::units;

/// A remote memory region, bound.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) rmr: Rmr,
    context: u32,
    piece: Piece,
}

/// Where the piece that is opened starts.
const START: u64 = 512;

/// Binds a piece of the passive side's memory and waits until that is done.
fn bind(rmr: &Rmr, pair: &Pair, into: &Buffer, piece: Piece, cookie: u64) -> Result<u32, Fault> {
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
    pair.await_event(&pair.passive.request, "completion of the bind", &mut event)?;
    let status = DtoStatus::Success;
    let expected = RmrBindCompletion { ep: pair.passive.ep.id(), rmr: rmr.id(), cookie, status };
    match event {
        Event::RmrBind(found) if found == expected => Ok(context),
        Event::RmrBind(found) if found.status != status => {
            Err(Fault::completion("bind", found.status))
        }
        other => Err(Fault::unexpected(format!("{other:?} came instead of {expected:?}"))),
    }
}

impl Bench {
    /// Opens a piece of the passive side's memory.
    pub(super) fn bind(&mut self) -> Result<Done, Fault> {
        let ia = self.ia()?;
        if !ia.provider_attributes().rmr_supported || ia.attributes().max_rmrs == 0 {
            return Ok(Done::LeftOut("the adapter has no remote memory regions".to_owned()));
        }
        if !self.pair()?.active.request.query()?.flags.contains(EvdFlags::RMR_BIND) {
            return Ok(Done::LeftOut(
                "no dispatcher takes binds and other requests together".to_owned(),
            ));
        }
        let length = ia.attributes().max_rdma_size.min(4096);
        let piece = (START, length);
        let rmr = ia.rmr_create(self.pz()?)?;
        let context = bind(&rmr, self.pair()?, &self.buffers()?.passive_into, piece, 5001)?;
        self.window = Some(Window { rmr, context, piece });
        Ok(Done::Passed(format!("{} for remote writes", units::bytes(length))))
    }

    /// Writes through the bind.
    pub(super) fn use_window(&self) -> Result<Done, Fault> {
        let Some(Window { context, piece, .. }) = &self.window else {
            return Err(Fault::unexpected("there is no window".to_owned()));
        };
        let way = Way::there(self.pair()?, self.buffers()?);
        way.write(5101, &[(7, piece.1)], *piece, *context)?;
        Ok(Done::Passed(format!("RDMA write of {}", units::bytes(piece.1))))
    }

    /// Binds a region twice and uses the first context, which must be refused and break the
    /// connection: therefore another one.
    pub(super) fn rebind(&self) -> Result<Done, Fault> {
        let (ia, buffers) = (self.ia()?, self.buffers()?);
        let limits = ia.attributes();
        for (name, limit, needed) in [
            ("max_eps", limits.max_eps, 4),
            ("max_evds", limits.max_evds, 1 + 2 * DISPATCHERS as u32),
            ("max_rmrs", limits.max_rmrs, 2),
        ] {
            if limit < needed {
                return Ok(Done::LeftOut(format!("{name} is {limit}, needed are {needed}")));
            }
        }
        let mut pair = Pair::create(ia, self.pz()?, 4, self.patience())?;
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
        pair.await_event(&pair.active.request, "completion of the RDMA write", &mut event)?;
        let status = match event {
            Event::Dto(completion) if completion.cookie == 5205 => completion.status,
            other => return Err(Fault::unexpected(format!("{other:?} came for the write"))),
        };
        if status == DtoStatus::Success {
            return Err(Fault::unexpected(
                "a write by the context of the former bind succeeded".to_owned(),
            ));
        }
        way.check("memory that a refused write named", 5205, &[], &[])?;
        rmr.free()?;
        pair.free()?;
        Ok(Done::Passed(format!("{status}, memory unchanged")))
    }
}
