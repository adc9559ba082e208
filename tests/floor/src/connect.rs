//! Rows of connections that are set up and torn down.

use std::time::Instant;

use dat_core::{
    Close, Connect, ConnectionEventKind, Endpoint, EpProvision, EpSpec, EvdFlags, EvdOptions,
    Event, EventDispatcher, Psp,
};

use super::bench::{Bench, Samples};
use super::report::{Row, Unit};
use dat_cli::error::CliError;
use dat_cli::perf::fixture::Fixture;
use dat_cli::session::poll;

/// A service point through which one thread connects endpoints of an adapter to each other.
pub(super) struct Meeting<'a> {
    fixture: &'a Fixture,
    arrivals: EventDispatcher,
    pub(super) connection: EventDispatcher,
    psp: Psp,
}

impl<'a> Meeting<'a> {
    pub(super) fn new(fixture: &'a Fixture) -> Result<Self, CliError> {
        let evd = |flags| fixture.ia.evd_create(&EvdOptions::new(64, flags));
        let arrivals = evd(EvdFlags::CONNECTION_REQUEST)?;
        let connection = evd(EvdFlags::CONNECTION)?;
        let psp = fixture.ia.psp_create_any(&arrivals, EpProvision::Consumer)?;
        Ok(Self { fixture, arrivals, connection, psp })
    }

    pub(super) fn connect(&self, one: &Endpoint, other: &Endpoint) -> Result<(), CliError> {
        let address = self.fixture.ia.attributes().address;
        one.connect(&Connect::to(address, self.psp.qualifier()))?;
        let mut event = Event::default();
        poll(&self.arrivals, &mut event, self.fixture.pair.timeout)?;
        let Event::ConnectionRequest(arrival) = &event else {
            return Err(CliError::unexpected(format!("{event:?} came for a request")));
        };
        arrival.request.accept(Some(other), &[])?;
        self.await_connection(ConnectionEventKind::Established)
    }

    /// Waits until both sides have received the connection event.
    fn await_connection(&self, kind: ConnectionEventKind) -> Result<(), CliError> {
        let mut event = Event::default();
        for _ in 0..2 {
            poll(&self.connection, &mut event, self.fixture.pair.timeout)?;
            match &event {
                Event::Connection(event) if event.kind == kind => {}
                Event::Connection(event) => {
                    return Err(CliError::connection(event));
                }
                other => {
                    return Err(CliError::unexpected(format!(
                        "expected a connection event, got \
                         {other:?}"
                    )));
                }
            }
        }
        Ok(())
    }

    fn disconnect(&self, one: &Endpoint, other: &Endpoint) -> Result<(), CliError> {
        one.disconnect(Close::Graceful)?;
        self.await_connection(ConnectionEventKind::Disconnected)?;
        one.reset()?;
        Ok(other.reset()?)
    }
}

pub(super) fn rows(bench: &Bench<'_>, rows: &mut Vec<Row>) -> Result<(), CliError> {
    let fixture = Fixture::new(bench.name, bench.timeout)?;
    let meeting = Meeting::new(&fixture)?;
    let evd = fixture.ia.evd_create(&EvdOptions::new(64, EvdFlags::DTO))?;
    let spec =
        EpSpec::new(&fixture.pz).recv_evd(&evd).request_evd(&evd).connect_evd(&meeting.connection);
    let (one, other) = (fixture.ia.ep_create(&spec)?, fixture.ia.ep_create(&spec)?);
    let mut rates = Vec::new();
    for _ in 0..super::bench::ROUNDS {
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
    fixture.end()
}
