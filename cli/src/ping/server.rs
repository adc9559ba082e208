//! `dat ping --listen`: echoes the messages of clients, and offers them memory.

use std::time::Duration;

use dat_core::{
    Close, CompletionFlags, ConnectionEventKind, Cr, DtoStatus, EpProvision, EpState, Evd, Event,
    Ia, Operation, Psp, Pz, Registry, Timeout,
};
use serde::Serialize;

use super::handshake;
use super::local::{AREA, LONGEST};
use crate::error::CliError;
use crate::output::{Output, Paint};
use crate::pattern;
use crate::session::Buffer;
use crate::side::{self, Side};

/// The maximum number of messages that wait for their echo.
const SLOTS: u64 = 4;

/// An open adapter that listens.
pub(super) struct Server {
    name: String,
    timeout: Duration,
    ia: Ia,
    pz: Pz,
    /// The offered memory: one half for writes, one for reads.
    area: Buffer,
    arrivals: Evd,
    psp: Psp,
}

/// The record of one client.
#[derive(Debug, Serialize)]
pub(super) struct Call {
    /// The client's address.
    from: String,
    /// The number of echoed messages.
    messages: u64,
    #[serde(rename = "fault", skip_serializing_if = "Option::is_none")]
    error: Option<CliError>,
}

impl Server {
    /// Opens the adapter and listens.
    pub(super) fn new(
        registry: &Registry,
        name: &str,
        port: u64,
        timeout: Duration,
    ) -> Result<Self, CliError> {
        let ia = registry.open(name)?;
        let pz = ia.pz_create()?;
        let half = AREA.min(ia.attributes().max_lmr_block_size / 2) as usize;
        let area = Buffer::target(&ia, &pz, 2 * half)?;
        area.memory.write(half, &pattern::bytes(handshake::OFFERED, 0, half))?;
        let arrivals = side::arrivals(&ia)?;
        let psp = ia.psp_create(port, &arrivals, EpProvision::Consumer)?;
        Ok(Self { name: name.to_owned(), timeout, ia, pz, area, arrivals, psp })
    }

    /// Prints the address for clients.
    pub(super) fn print_address(&self, output: &mut Output) {
        let (name, address) = (&self.name, self.ia.attributes().address);
        let port = self.psp.qualifier();
        output.line(format!("{name}: listening at {address}, port {port}"));
    }

    /// Waits for a client and serves it.
    pub(super) fn next(&self) -> Result<Call, CliError> {
        let mut event = Event::default();
        let request = loop {
            self.arrivals.wait(Timeout::Infinite, 1, &mut event)?;
            if let Event::ConnectionRequest(arrival) = event {
                break arrival.request;
            }
        };
        let from = request.query()?.remote_address.to_string();
        let mut messages = 0;
        let error = self.answer(&request, &mut messages).err();
        Ok(Call { from, messages, error })
    }

    fn answer(&self, request: &Cr, messages: &mut u64) -> Result<(), CliError> {
        if let Err(error) = handshake::check_request(&request.query()?.private_data) {
            request.reject(&[])?;
            return Err(error);
        }
        let side = Side::create(&self.ia, &self.pz, SLOTS as u32, self.timeout)?;
        let done = self.accept(request, &side).and_then(|slots| {
            let done = slots.send_back(&side, messages);
            finish(done, slots.buffer.lmr.free())
        });
        let done = done.map_err(|error| error.caused_by(side.failure()));
        if side.ep.status()?.state == EpState::Connected {
            side.ep.disconnect(Close::Abrupt)?;
        }
        side.free().into_iter().fold(done, finish)
    }

    fn accept(&self, request: &Cr, side: &Side) -> Result<Slots, CliError> {
        let size = LONGEST.min(self.ia.attributes().max_message_size);
        let slots =
            Slots { buffer: Buffer::target(&self.ia, &self.pz, (SLOTS * size) as usize)?, size };
        for slot in 0..SLOTS.min(side.depth.into()) {
            slots.receive(side, slot)?;
        }
        let area = self.area.lmr.remote_triplet(0, self.area.memory.len() as u64)?;
        request.accept(Some(&side.ep), &handshake::answer(area))?;
        side.await_connection(ConnectionEventKind::Established)?;
        Ok(slots)
    }

    /// Stops listening and closes the adapter.
    pub(super) fn end(self) -> Result<(), CliError> {
        self.psp.free()?;
        self.arrivals.free()?;
        self.area.lmr.free()?;
        self.pz.free()?;
        Ok(self.ia.close(Close::Graceful)?)
    }
}

/// The first failure of two.
fn finish(done: Result<(), CliError>, last: dat_core::Result<()>) -> Result<(), CliError> {
    done.and(last.map_err(CliError::from))
}

/// The buffers for messages and their echoes.
struct Slots {
    buffer: Buffer,
    size: u64,
}

impl Slots {
    fn receive(&self, side: &Side, slot: u64) -> Result<(), CliError> {
        let piece = self.buffer.lmr.triplet(slot * self.size, self.size)?;
        Ok(side.ep.post_recv(&[piece], slot, CompletionFlags::empty())?)
    }

    /// Echoes messages until the client disconnects.
    fn send_back(&self, side: &Side, messages: &mut u64) -> Result<(), CliError> {
        let mut event = Event::default();
        loop {
            side.await_event(&side.recv, "message", &mut event)?;
            let Event::Dto(message) = &event else {
                return Err(CliError::unexpected(format!("expected a message, got {event:?}")));
            };
            match message.status {
                DtoStatus::Success => {}
                // The connection event gives a better reason than the flushed completion.
                DtoStatus::Flushed => {
                    side.await_connection(ConnectionEventKind::Disconnected)?;
                    return Ok(());
                }
                status => return Err(CliError::completion("receive", status)),
            }
            let (slot, length) = (message.cookie, message.length);
            let piece = self.buffer.lmr.triplet(slot * self.size, length)?;
            let pieces = if length == 0 { &[][..] } else { &[piece][..] };
            side.ep.post_send(pieces, slot, CompletionFlags::empty())?;
            side.await_request(Operation::Send, slot, length)?;
            self.receive(side, slot)?;
            *messages += 1;
        }
    }
}

impl Call {
    pub(super) fn is_well(&self) -> bool {
        self.error.is_none()
    }

    pub(super) fn print(&self, output: &mut Output) {
        let Self { from, messages, error } = self;
        let (paint, word) = match error {
            None => (Paint::Good, "disconnected"),
            Some(_) => (Paint::Bad, "FAILED"),
        };
        let word = output.paint(paint, word);
        output.line(format!("{from}: echoed {messages} messages, {word}"));
        if let Some(error) = error {
            error.print("    ", output);
        }
    }
}
