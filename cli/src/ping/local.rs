//! The state of the steps within one process, and the steps that create and free it.

use std::time::Duration;

use dat_core::{AsyncErrorKind, Close, DtoStatus, EpAttributes, Event, Failure, Ia, Pz, Registry};

use super::pieces::Stopwatch;
use super::rmr::RmrSteps;
use super::runner::{Done, Subject};
use crate::error::CliError;
use crate::session::{Buffer, DISPATCHERS, Exchanged, Pair};
use crate::{pattern, units};

/// The longest transfer.
pub(super) const LONGEST: u64 = 64 << 10;

/// The length of the buffers: the longest transfer and the bytes around it.
pub(super) const AREA: u64 = LONGEST + (4 << 10);

/// Operations that a side can have outstanding: no step needs more.
const DEPTH: u32 = 8;

/// The state that the steps share.
pub(super) struct Local {
    registry: Registry,
    name: String,
    timeout: Duration,
    pub(super) ia: Option<Ia>,
    pz: Option<Pz>,
    pair: Option<Pair>,
    buffers: Option<Buffers>,
    exchanged: Option<Exchanged>,
    pub(super) rmr: Option<RmrSteps>,
}

/// The memory of both sides.
#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) checking: Stopwatch,
    pub(super) active_out: Buffer,
    pub(super) active_into: Buffer,
    pub(super) passive_out: Buffer,
    pub(super) passive_into: Buffer,
}

impl Local {
    /// The state before the first step.
    pub(super) fn new(registry: Registry, name: String, timeout: Duration) -> Self {
        Self {
            registry,
            name,
            timeout,
            ia: None,
            pz: None,
            pair: None,
            buffers: None,
            exchanged: None,
            rmr: None,
        }
    }

    pub(super) fn ia(&self) -> Result<&Ia, CliError> {
        there(self.ia.as_ref())
    }

    pub(super) fn pz(&self) -> Result<&Pz, CliError> {
        there(self.pz.as_ref())
    }

    pub(super) fn pair(&self) -> Result<&Pair, CliError> {
        there(self.pair.as_ref())
    }

    pub(super) fn buffers(&self) -> Result<&Buffers, CliError> {
        there(self.buffers.as_ref())
    }

    /// The attributes of both endpoints.
    pub(super) fn endpoint(&self) -> Result<EpAttributes, CliError> {
        Ok(self.pair()?.active.ep.query()?.attributes)
    }

    /// The timeout of each wait.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(super) fn open(&mut self) -> Result<Done, CliError> {
        let ia = self.registry.open(&self.name)?;
        let (major, minor) = ia.provider_attributes().provider_version;
        let detail = format!(
            "{} {major}.{minor}, address {}",
            ia.provider_attributes().provider_name,
            ia.attributes().address
        );
        self.ia = Some(ia);
        Ok(Done::Passed(detail))
    }

    pub(super) fn make_objects(&mut self) -> Result<Done, CliError> {
        let pz = self.ia()?.pz_create()?;
        let pair = Pair::create(self.ia()?, &pz, DEPTH, self.timeout)?;
        self.pz = Some(pz);
        self.pair = Some(pair);
        Ok(Done::Passed(format!("1 protection zone, {DISPATCHERS} event dispatchers, 2 endpoints")))
    }

    pub(super) fn register(&mut self) -> Result<Done, CliError> {
        let (ia, pz) = (self.ia()?, self.pz()?);
        let length = AREA.min(ia.attributes().max_lmr_block_size) as usize;
        let buffers = Buffers {
            checking: Stopwatch::default(),
            active_out: Buffer::source(ia, pz, length)?,
            active_into: Buffer::target(ia, pz, length)?,
            passive_out: Buffer::source(ia, pz, length)?,
            passive_into: Buffer::target(ia, pz, length)?,
        };
        self.buffers = Some(buffers);
        Ok(Done::Passed(format!("4 regions of {}", units::bytes(length as u64))))
    }

    pub(super) fn listen(&mut self) -> Result<Done, CliError> {
        let qualifier = there(self.pair.as_mut())?.listen()?;
        Ok(Done::Passed(format!("on connection qualifier {qualifier}")))
    }

    pub(super) fn connect(&mut self) -> Result<Done, CliError> {
        let (asked, answered) = self.private_data()?;
        self.exchanged = Some(self.pair()?.connect(&asked, &answered)?);
        Ok(Done::Passed(String::new()))
    }

    /// The private data of the request and of the acceptance, with different lengths.
    fn private_data(&self) -> Result<(Vec<u8>, Vec<u8>), CliError> {
        let most = self.ia()?.provider_attributes().max_private_data_size.min(4096) as usize;
        Ok((pattern::bytes(101, 0, most), pattern::bytes(102, 0, most - most / 4)))
    }

    pub(super) fn check_private_data(&mut self) -> Result<Done, CliError> {
        let (asked, answered) = self.private_data()?;
        if asked.is_empty() {
            return Ok(Done::LeftOut("max_private_data_size is 0".to_owned()));
        }
        let exchanged = there(self.exchanged.as_ref())?;
        let arrived = pattern::unpadded(&exchanged.by_passive, asked.len());
        pattern::compare("private data in the request", &asked, arrived)?;
        let arrived = pattern::unpadded(&exchanged.by_active, answered.len());
        pattern::compare("private data in the acceptance", &answered, arrived)?;
        Ok(Done::Passed(format!(
            "{} in the request, {} in the reply",
            units::bytes(asked.len() as u64),
            units::bytes(answered.len() as u64)
        )))
    }

    /// Disconnects; a pending receive on either side must be flushed.
    pub(super) fn disconnect(&mut self) -> Result<Done, CliError> {
        let (pair, buffers) = (self.pair()?, self.buffers()?);
        let sides = [(&pair.active, &buffers.active_into), (&pair.passive, &buffers.passive_into)];
        for (cookie, (side, into)) in (1..).zip(sides) {
            let flags = dat_core::CompletionFlags::empty();
            side.ep.post_recv(&[into.lmr.triplet(0, 64)?], cookie, flags)?;
        }
        pair.disconnect()?;
        for (cookie, (side, _)) in (1..).zip(sides) {
            side.await_receive(cookie, 0, DtoStatus::Flushed)?;
        }
        Ok(Done::Passed("reported on both sides, pending receives flushed".to_owned()))
    }

    /// Frees all objects, users before the objects that they use.
    pub(super) fn close(&mut self) -> Result<Done, CliError> {
        let result = |freed: dat_core::Result<()>| freed.map_err(CliError::from);
        let mut done: Vec<Result<(), CliError>> = Vec::new();
        done.extend(self.rmr.take().map(|rmr| result(rmr.rmr.free())));
        done.extend(self.pair.take().map(Pair::free));
        if let Some(buffers) = self.buffers.take() {
            let Buffers { active_out, active_into, passive_out, passive_into, .. } = buffers;
            let all = [active_out, active_into, passive_out, passive_into];
            done.extend(all.map(|buffer| result(buffer.lmr.free())));
        }
        done.extend(self.pz.take().map(|pz| result(pz.free())));
        if let Some(ia) = self.ia.take() {
            done.extend([asynchronous_error(&ia), result(ia.close(Close::Graceful))]);
        }
        done.into_iter().collect::<Result<(), CliError>>()?;
        Ok(Done::Passed("gracefully, no objects left".to_owned()))
    }
}

impl Subject for Local {
    fn take_checking(&self) -> Duration {
        self.buffers.as_ref().map(|buffers| buffers.checking.take()).unwrap_or_default()
    }

    fn failure(&self) -> Option<Failure> {
        let pair = self.pair.as_ref()?;
        pair.active.failure().or_else(|| pair.passive.failure())
    }
}

/// The object that an earlier step created.
pub(super) fn there<T>(made: Option<T>) -> Result<T, CliError> {
    made.ok_or_else(|| CliError::unexpected("a required earlier step failed".to_owned()))
}

/// An asynchronous error that concerns the whole adapter, if there was one.
pub(super) fn asynchronous_error(ia: &Ia) -> Result<(), CliError> {
    let Some(evd) = ia.async_evd() else { return Ok(()) };
    let mut event = Event::default();
    while evd.dequeue(&mut event)? {
        let Event::Async(error) = &event else { continue };
        // One step breaks a connection on purpose.
        if error.kind != AsyncErrorKind::EpBroken {
            return Err(CliError::asynchronous(error.kind));
        }
    }
    Ok(())
}
