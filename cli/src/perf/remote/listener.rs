//! `dat perf --listen`: carries out the orders of one client after another.

use std::collections::VecDeque;
use std::time::Duration;

use dat_core::{
    Close, ConnectionEventKind, Cr, EpProvision, EpState, Evd, Event, Ia, Psp, Pz, Registry,
    Timeout,
};
use serde::Serialize;

use super::control::Control;
use super::order::{self, CONTROL, DATA, Order};
use super::responder::Responder;
use crate::error::CliError;
use crate::output::{Output, Paint};
use crate::perf::plan::Limits;
use crate::side;

/// The record of one client.
#[derive(Debug, Serialize)]
pub(in crate::perf) struct Call {
    /// The client's address.
    from: String,
    /// The number of connections that were served for measurements.
    connections: u64,
    #[serde(rename = "fault", skip_serializing_if = "Option::is_none")]
    error: Option<CliError>,
}

/// An open adapter that listens.
struct Listener {
    ia: Ia,
    pz: Pz,
    arrivals: Evd,
    psp: Psp,
    timeout: Duration,
    /// Clients that asked while another one was served.
    waiting: VecDeque<Cr>,
}

/// The adapter to listen on, and the time limit for a peer.
#[derive(Clone, Copy, Debug)]
pub(in crate::perf) struct Place<'a> {
    pub(crate) name: &'a str,
    pub(crate) port: u64,
    pub(crate) timeout: Duration,
}

/// The report of a listener.
pub(in crate::perf) enum Served<'a> {
    /// A line that says where clients find it.
    Listening(&'a str),
    /// A client that has gone.
    Client(&'a Call),
}

/// Serves clients; `report` says whether to go on.
pub(in crate::perf) fn listen(
    registry: &Registry,
    place: Place<'_>,
    mut report: impl FnMut(Served<'_>) -> bool,
) -> Result<(), CliError> {
    let Place { name, port, timeout } = place;
    let ia = registry.open(name)?;
    let pz = ia.pz_create()?;
    let arrivals = side::arrivals(&ia)?;
    let psp = ia.psp_create(port, &arrivals, EpProvision::Consumer)?;
    let mut listener = Listener { ia, pz, arrivals, psp, timeout, waiting: VecDeque::new() };
    let (address, port) = (listener.ia.attributes().address, listener.psp.qualifier());
    report(Served::Listening(&format!("{name}: listening at {address}, port {port}")));
    while report(Served::Client(&listener.next()?)) {}
    listener.end()
}

impl Listener {
    /// Waits for a client and serves it.
    fn next(&mut self) -> Result<Call, CliError> {
        let request = match self.waiting.pop_front() {
            Some(request) => request,
            None => self.arrival(Timeout::Infinite)?,
        };
        let from = request.query()?.remote_address.to_string();
        let mut connections = 0;
        let error = self.serve(&request, &mut connections).err();
        Ok(Call { from, connections, error })
    }

    fn arrival(&self, timeout: Timeout) -> Result<Cr, CliError> {
        let mut event = Event::default();
        loop {
            if !self.arrivals.wait(timeout, 1, &mut event)?.is_event() {
                return Err(CliError::timed_out("connection request", self.timeout));
            }
            if let Event::ConnectionRequest(arrival) = event {
                return Ok(arrival.request);
            }
        }
    }

    fn serve(&mut self, request: &Cr, connections: &mut u64) -> Result<(), CliError> {
        if !request.query()?.private_data.starts_with(&CONTROL) {
            request.reject(&[])?;
            return Err(order::other_version("private data in the request"));
        }
        let control = Control::create(&self.ia, &self.pz, self.timeout)?;
        let done = request.accept(Some(&control.side.ep), &[]).map_err(CliError::from);
        let done = done
            .and_then(|()| control.side.await_connection(ConnectionEventKind::Established))
            .and_then(|_| self.obey(&control, connections))
            .map_err(|error| error.caused_by(control.side.failure()));
        if control.side.ep.status()?.state == EpState::Connected {
            control.side.ep.disconnect(Close::Abrupt)?;
        }
        done.and(control.free())
    }

    /// Carries out orders until the client disconnects.
    fn obey(&mut self, control: &Control, connections: &mut u64) -> Result<(), CliError> {
        let mut memory = None;
        while let Some(message) = control.receive(Timeout::Infinite)? {
            let order = Order::from_message(&message);
            let done = match order {
                Err(error) => Err(error),
                Ok(Order::Limits) => Ok(order::limits(&Limits::of(&self.ia))),
                Ok(Order::Prepare { op, slots, stride, seed }) => {
                    // The old memory goes before the new one comes.
                    memory = None;
                    Responder::prepare(&self.ia, &self.pz, (op, slots, stride, seed)).map(|new| {
                        let words = new.place();
                        memory = Some(new);
                        words
                    })
                }
                Ok(Order::Digest) => there(&memory).and_then(Responder::digest),
                Ok(Order::Serve(mode)) => {
                    let lane = there(&memory)
                        .and_then(|memory| memory.lane(&self.ia, &self.pz, mode, self.timeout));
                    let lane = match lane {
                        Ok(lane) => lane,
                        Err(error) => {
                            control.send(&order::answer(&Err(error)))?;
                            continue;
                        }
                    };
                    control.send(&order::answer(&Ok(lane.posted())))?;
                    let request = self.data_request()?;
                    *connections += 1;
                    lane.serve(&request)?;
                    continue;
                }
            };
            control.send(&order::answer(&done))?;
            done?;
        }
        Ok(())
    }

    /// The request for the connection of a measurement. Other clients wait.
    fn data_request(&mut self) -> Result<Cr, CliError> {
        loop {
            let request = self.arrival(Timeout::After(self.timeout))?;
            let data = request.query()?.private_data;
            if data.starts_with(&DATA) {
                return Ok(request);
            } else if data.starts_with(&CONTROL) {
                self.waiting.push_back(request);
            } else {
                request.reject(&[])?;
            }
        }
    }

    /// Stops listening and closes the adapter.
    fn end(self) -> Result<(), CliError> {
        self.psp.free()?;
        self.arrivals.free()?;
        self.pz.free()?;
        Ok(self.ia.close(Close::Graceful)?)
    }
}

fn there(memory: &Option<Responder>) -> Result<&Responder, CliError> {
    memory.as_ref().ok_or_else(|| order::other_version("an order without memory"))
}

impl Call {
    pub(in crate::perf) fn is_well(&self) -> bool {
        self.error.is_none()
    }

    pub(in crate::perf) fn print(&self, output: &mut Output) {
        let Self { from, connections, error } = self;
        let (paint, word) = match error {
            None => (Paint::Good, "disconnected"),
            Some(_) => (Paint::Bad, "FAILED"),
        };
        let word = output.paint(paint, word);
        output.line(format!("{from}: served {connections} connections, {word}"));
        if let Some(error) = error {
            error.print("    ", output);
        }
    }
}

#[cfg(test)]
mod tests {

    use dat_core::Connect;

    use super::super::order::Mode;
    use super::*;
    use crate::perf::op::Op;
    use crate::providers;

    const PLACE: Place<'_> =
        Place { name: "loopback", port: 27_290, timeout: Duration::from_secs(20) };

    #[test]
    fn a_client_waits_while_another_one_connects_for_a_measurement() {
        let (listens, listening) = crossbeam_channel::unbounded();
        let listener = std::thread::spawn(move || {
            let mut calls = 0;
            listen(&providers::registry(), PLACE, |event| {
                match event {
                    Served::Listening(_) => listens.send(()).expect("the test waits"),
                    Served::Client(call) => {
                        assert!(call.is_well(), "{call:?}");
                        calls += 1;
                    }
                }
                calls < 2
            })
        });
        listening.recv().expect("it listens");
        let ia = providers::registry().open(PLACE.name).expect("an adapter");
        let pz = ia.pz_create().expect("a zone");
        let address = ia.attributes().address;
        let client = || Control::create(&ia, &pz, PLACE.timeout).expect("a client");

        let first = client();
        first.side.connect(address, PLACE.port, &CONTROL).expect("the listener accepts");
        let prepare = Order::Prepare { op: Op::Write, slots: 1, stride: 64, seed: 1 };
        first.ask(prepare).expect("memory");
        first.ask(Order::Serve(Mode::Idle)).expect("an endpoint");
        // The listener waits for the connection of the first client now.
        let second = client();
        let request = Connect::to(address, PLACE.port).timeout(PLACE.timeout);
        second.side.ep.connect(&request.private_data(&CONTROL)).expect("an attempt");
        let data = Control::create(&ia, &pz, PLACE.timeout).expect("an endpoint");
        data.side.connect(address, PLACE.port, &DATA).expect("the listener accepts");
        end(&data);
        end(&first);

        let established = second.side.await_connection(ConnectionEventKind::Established);
        established.expect("the second client is served after the first one");
        second.ask(Order::Limits).expect("limits");
        end(&second);
        listener.join().expect("no panic").expect("it serves both");
    }

    fn end(control: &Control) {
        control.side.ep.disconnect(Close::Graceful).expect("a connection");
        let ended = control.side.await_connection(ConnectionEventKind::Disconnected);
        ended.expect("the end of the connection");
        control.free().expect("nothing uses it");
    }
}
