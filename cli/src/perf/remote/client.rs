//! `dat perf IA HOST`: measures against `dat perf IA --listen`.

use std::time::{Duration, Instant};

use dat_core::{Address, Close, CompletionFlags, ConnectionEventKind, Event, Ia, Pz, Registry};

use super::cell::{Cell, Lane};
use super::control::Control;
use super::listener::Place;
use super::order::{self, CONTROL, Mode, Order};
use crate::error::CliError;
use crate::perf::bandwidth::{self, Bandwidth, Patience};
use crate::perf::latency::{self, Latency};
use crate::perf::plan::{Limits, Plan};
use crate::perf::report::Report;
use crate::perf::{Op, Wanted, split};
use crate::{address, interrupt};

/// An open adapter with a control connection.
pub(super) struct Client {
    pub(crate) ia: Ia,
    pub(crate) pz: Pz,
    pub(crate) control: Control,
    pub(crate) address: Address,
    pub(crate) port: u64,
    pub(crate) timeout: Duration,
    /// The limits that hold for both adapters.
    pub(crate) limits: Limits,
}

/// Makes all measurements.
pub(in crate::perf) fn measure(
    registry: &Registry,
    place: Place<'_>,
    host: &str,
    wanted: &Wanted<'_>,
) -> Result<Report, CliError> {
    let client = Client::connect(registry, place, host)?;
    let plan = Plan::within(&client.limits, wanted.ops, wanted.sizes);
    let mut report = Report::new(place.name, client.ia.provider_attributes(), &plan);
    report.host = Some(host.to_owned());
    wanted.each(&plan, &mut report, |op, size, budget| {
        let cell = Cell::create(&client, op, size)?;
        cell.verify()?;
        let (for_latency, rest) = split(op, budget);
        let latency = cell.latency(for_latency)?;
        let bandwidth = rest.map(|rest| cell.bandwidth(rest)).transpose()?;
        // The last byte of a mirrored message has changed; its echo was compared.
        if !interrupt::is_requested() && op != Op::WriteLat {
            cell.check()?;
        }
        cell.free()?;
        Ok((latency, bandwidth))
    })?;
    client.end()?;
    Ok(report.concluded())
}

impl Client {
    fn connect(registry: &Registry, place: Place<'_>, host: &str) -> Result<Self, CliError> {
        let Place { name, port, timeout } = place;
        let ia = registry.open(name)?;
        let pz = ia.pz_create()?;
        let addresses = address::resolve(host, ia.attributes().address, "dat perf")?;
        let control = Control::create(&ia, &pz, timeout)?;
        let (address, _) = control.side.connect_to_one_of(&addresses, port, &CONTROL)?;
        let theirs = order::limits_of(control.ask(Order::Limits)?);
        let limits = Limits::of(&ia).common(&theirs);
        Ok(Self { ia, pz, control, address, port, timeout, limits })
    }

    fn end(self) -> Result<(), CliError> {
        self.control.side.ep.disconnect(Close::Graceful)?;
        self.control.side.await_connection(ConnectionEventKind::Disconnected)?;
        self.control.free()?;
        self.pz.free()?;
        Ok(self.ia.close(Close::Graceful)?)
    }
}

impl Cell<'_> {
    /// Measures for about the time of the budget.
    fn latency(&self, budget: Duration) -> Result<Latency, CliError> {
        let mut lane = self.lane(match self.op {
            Op::Send => Mode::Echo,
            Op::WriteLat => self.mirror()?,
            Op::Write | Op::Read => Mode::Idle,
        })?;
        let mut event = Event::default();
        let is_answered = matches!(self.op, Op::Send | Op::WriteLat);
        let share = if is_answered { 0.5 } else { 1.0 };
        let mut turn = 0;
        let measured = latency::sample((self.op, self.size), share, budget, |count| {
            for _ in 0..count {
                match self.op {
                    Op::Send => {
                        lane.post(CompletionFlags::empty())?;
                        lane.echoed(&mut event)?;
                        lane.post_echo()?;
                        // Echoes have the bytes of the slot that was sent; the first one is compared.
                        lane.posted = 0;
                        lane.finish(&mut event)?;
                    }
                    Op::WriteLat => {
                        turn += 1;
                        lane.mark(turn)?;
                        lane.post(CompletionFlags::empty())?;
                        lane.finish(&mut event)?;
                        lane.mirrored(turn)?;
                    }
                    Op::Write | Op::Read => {
                        lane.post(CompletionFlags::empty())?;
                        lane.finish(&mut event)?;
                    }
                }
            }
            Ok(())
        });
        let measured = measured.map_err(|error| lane.caused(error))?;
        lane.end()?;
        if is_answered {
            self.check_echo()?;
        }
        Ok(measured)
    }

    /// Measures for about the time of the budget, with copies of blocks of the same size.
    fn bandwidth(&self, budget: Duration) -> Result<Bandwidth, CliError> {
        let mut lane = self.lane(if self.op == Op::Send { Mode::Sink } else { Mode::Idle })?;
        let window = self.window(lane.side.depth);
        let row = Bandwidth { op: self.op, size: self.size, window, ..Bandwidth::default() };
        let row = bandwidth::beside_copies(row, (self.stride, self.slots), budget, |budget| {
            lane.round(window, budget)
        });
        let row = row.map_err(|error| lane.caused(error))?;
        lane.end()?;
        Ok(row)
    }
}

impl Lane<'_> {
    /// Keeps the window full until the budget is used up, then drains it. Returns bytes per
    /// second. A send is posted only if the listener has a receive for it.
    fn round(&mut self, window: u64, budget: Duration) -> Result<f64, CliError> {
        let sends = self.cell.op == Op::Send;
        let flags = CompletionFlags::empty();
        let mut event = Event::default();
        let first = self.posted;
        let (mut completed, mut reports, mut over) = (first, 0_u64, false);
        let mut next_look = first + window;
        let mut patience = Patience::new(self.side.timeout);
        let start = Instant::now();
        loop {
            let may = !over && (!sends || self.posted < self.granted);
            if may && self.posted - completed < window {
                self.post(flags)?;
                continue;
            }
            let before = completed + reports;
            while self.side.request.dequeue(&mut event)? {
                crate::perf::buffers::succeeded(&event)?;
                completed += 1;
            }
            while sends && self.side.recv.dequeue(&mut event)? {
                self.reported(&event)?;
                reports += 1;
            }
            if completed >= next_look {
                next_look = completed + window;
                // Every slot is used at least once.
                over |= completed - first >= self.cell.slots && start.elapsed() >= budget;
            }
            if over && completed == self.posted {
                let bytes = (completed - first) * self.cell.size;
                return Ok(bytes as f64 / start.elapsed().as_secs_f64());
            }
            patience.spend(completed + reports == before)?;
        }
    }
}
