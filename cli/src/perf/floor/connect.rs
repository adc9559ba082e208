//! Rows of connections that come and go.

use std::time::Instant;

use dat_core::{
    Close, Connect, ConnectionEventKind, Endpoint, EpSpec, EvdFlags, EvdOptions, Event,
    EventDispatcher, Psp, PspMaker,
};

use super::super::rig::Rig;
use super::{Bench, Row, Samples, Unit};
use crate::fault::Fault;
use crate::session::poll;

/// A place where endpoints of an adapter are connected to each other, by one thread.
pub(super) struct Meeting<'a> {
    rig: &'a Rig,
    arrivals: EventDispatcher,
    pub(super) connection: EventDispatcher,
    psp: Psp,
}

impl<'a> Meeting<'a> {
    pub(super) fn new(rig: &'a Rig) -> Result<Self, Fault> {
        let evd = |flags| rig.ia.evd_create(&EvdOptions::new(64, flags));
        let arrivals = evd(EvdFlags::CONNECTION_REQUEST)?;
        let connection = evd(EvdFlags::CONNECTION)?;
        let psp = rig.ia.psp_create_any(&arrivals, PspMaker::Consumer)?;
        Ok(Self { rig, arrivals, connection, psp })
    }

    pub(super) fn connect(&self, one: &Endpoint, other: &Endpoint) -> Result<(), Fault> {
        let address = self.rig.ia.attributes().address;
        one.connect(&Connect::to(address, self.psp.qualifier()))?;
        let mut event = Event::default();
        poll(&self.arrivals, &mut event, self.rig.pair.patience)?;
        let Event::ConnectionRequest(arrival) = &event else {
            return Err(Fault::unexpected(format!("{event:?} came for a request")));
        };
        arrival.request.accept(Some(other), &[])?;
        self.told(ConnectionEventKind::Established)
    }

    /// Waits until both sides were told.
    fn told(&self, kind: ConnectionEventKind) -> Result<(), Fault> {
        let mut event = Event::default();
        for _ in 0..2 {
            poll(&self.connection, &mut event, self.rig.pair.patience)?;
            match &event {
                Event::Connection(event) if event.kind == kind => {}
                Event::Connection(event) => return Err(Fault::connection(event.kind)),
                other => {
                    return Err(Fault::unexpected(format!("{other:?} came for a connection")));
                }
            }
        }
        Ok(())
    }

    fn disconnect(&self, one: &Endpoint, other: &Endpoint) -> Result<(), Fault> {
        one.disconnect(Close::Graceful)?;
        self.told(ConnectionEventKind::Disconnected)?;
        one.reset()?;
        Ok(other.reset()?)
    }
}

pub(super) fn rows(bench: &Bench<'_>, rows: &mut Vec<Row>) -> Result<(), Fault> {
    let rig = Rig::new(bench.name, bench.patience)?;
    let meeting = Meeting::new(&rig)?;
    let evd = rig.ia.evd_create(&EvdOptions::new(64, EvdFlags::DTO))?;
    let spec =
        EpSpec::new(&rig.pz).recv_evd(&evd).request_evd(&evd).connect_evd(&meeting.connection);
    let (one, other) = (rig.ia.ep_create(&spec)?, rig.ia.ep_create(&spec)?);
    let mut rates = Vec::new();
    for _ in 0..super::ROUNDS {
        let (start, mut done) = (Instant::now(), 0);
        while start.elapsed() < bench.round {
            meeting.connect(&one, &other)?;
            meeting.disconnect(&one, &other)?;
            done += 1;
        }
        rates.push(f64::from(done) / start.elapsed().as_secs_f64() / 1e6);
    }
    let what = "connect, accept, disconnect, reset both";
    let aim = ("the aim", &Samples(vec![0.2]));
    rows.push(Row::new("connects", what, Unit::Millions, &Samples(rates), aim, Some(1.0)));
    rig.end()
}
