//! `dat ping --listen`: sends the messages of others back, and lends them memory.

use std::time::Duration;

use dat_core::{
    Close, CompletionFlags, ConnectionEventKind, ConnectionRequest, DtoCompletion, DtoStatus,
    EpState, Event, EventDispatcher, InterfaceAdapter, Operation, ProtectionZone, Psp, PspMaker,
    Registry, Timeout,
};
use serde::Serialize;

use super::bench::{AREA, LONGEST};
use super::greeting;
use crate::fault::Fault;
use crate::output::{Output, Paint};
use crate::pattern;
use crate::session::Buffer;
use crate::side::{self, Side};

/// Messages that may be there before the first is sent back.
const SLOTS: u64 = 4;

/// An open adapter that listens.
pub(super) struct Service {
    name: String,
    patience: Duration,
    ia: InterfaceAdapter,
    pz: ProtectionZone,
    /// A half to be written, and one to be read.
    area: Buffer,
    arrivals: EventDispatcher,
    psp: Psp,
}

/// What one client was here for.
#[derive(Debug, Serialize)]
pub(super) struct Call {
    /// The address that it connected from.
    from: String,
    /// How many messages were sent back.
    messages: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<Fault>,
}

impl Service {
    /// Opens the adapter and listens.
    pub(super) fn new(
        registry: &Registry,
        name: &str,
        port: u64,
        patience: Duration,
    ) -> Result<Self, Fault> {
        let ia = registry.open(name)?;
        let pz = ia.pz_create()?;
        let half = AREA.min(ia.attributes().max_lmr_block_size / 2) as usize;
        let area = Buffer::target(&ia, &pz, 2 * half)?;
        area.memory.write(half, &pattern::bytes(greeting::OFFERED, 0, half))?;
        let arrivals = side::arrivals(&ia)?;
        let psp = ia.psp_create(port, &arrivals, PspMaker::Consumer)?;
        Ok(Self { name: name.to_owned(), patience, ia, pz, area, arrivals, psp })
    }

    /// Says where clients find it.
    pub(super) fn print_address(&self, output: &mut Output) {
        let (name, address) = (&self.name, self.ia.attributes().address);
        let port = self.psp.qualifier();
        output.line(format!("{name}: listening at {address}, port {port}"));
    }

    /// Waits for a client and does what it is for.
    pub(super) fn next(&self) -> Result<Call, Fault> {
        let mut event = Event::default();
        let request = loop {
            self.arrivals.wait(Timeout::Infinite, 1, &mut event)?;
            if let Event::ConnectionRequest(arrival) = event {
                break arrival.request;
            }
        };
        let from = request.query()?.remote_address.to_string();
        let mut messages = 0;
        let fault = self.answer(&request, &mut messages).err();
        Ok(Call { from, messages, fault })
    }

    fn answer(&self, request: &ConnectionRequest, messages: &mut u64) -> Result<(), Fault> {
        if let Err(fault) = greeting::check_request(&request.query()?.private_data) {
            request.reject(&[])?;
            return Err(fault);
        }
        let side = Side::create(&self.ia, &self.pz, SLOTS as u32, self.patience)?;
        let done = self.accept(request, &side).and_then(|slots| {
            let done = slots.send_back(&side, messages);
            finish(done, slots.buffer.lmr.free())
        });
        let done = done.map_err(|fault| fault.caused_by(side.failure()));
        if side.ep.status()?.state == EpState::Connected {
            side.ep.disconnect(Close::Abrupt)?;
        }
        side.free().into_iter().fold(done, finish)
    }

    fn accept(&self, request: &ConnectionRequest, side: &Side) -> Result<Slots, Fault> {
        let size = LONGEST.min(self.ia.attributes().max_message_size);
        let slots =
            Slots { buffer: Buffer::target(&self.ia, &self.pz, (SLOTS * size) as usize)?, size };
        for slot in 0..SLOTS.min(side.depth.into()) {
            slots.receive(side, slot)?;
        }
        let area = self.area.lmr.remote_triplet(0, self.area.memory.len() as u64)?;
        request.accept(Some(&side.ep), &greeting::answer(area))?;
        side.told(ConnectionEventKind::Established)?;
        Ok(slots)
    }

    /// Listens no more and closes.
    pub(super) fn end(self) -> Result<(), Fault> {
        self.psp.free()?;
        self.arrivals.free()?;
        self.area.lmr.free()?;
        self.pz.free()?;
        Ok(self.ia.close(Close::Graceful)?)
    }
}

/// The first failure of two.
fn finish(done: Result<(), Fault>, last: dat_core::Result<()>) -> Result<(), Fault> {
    done.and(last.map_err(Fault::from))
}

/// Where messages are received, and sent back from.
struct Slots {
    buffer: Buffer,
    size: u64,
}

impl Slots {
    fn receive(&self, side: &Side, slot: u64) -> Result<(), Fault> {
        let piece = self.buffer.lmr.triplet(slot * self.size, self.size)?;
        Ok(side.ep.post_recv(&[piece], slot, CompletionFlags::empty())?)
    }

    /// Sends back what comes, until the other side disconnects.
    fn send_back(&self, side: &Side, messages: &mut u64) -> Result<(), Fault> {
        let mut event = Event::default();
        loop {
            side::await_event(&side.recv, "message", side.patience, &mut event)?;
            let Event::Dto(message) = &event else {
                return Err(Fault::unexpected(format!("{event:?} came for a message")));
            };
            match message.status {
                DtoStatus::Success => {}
                // The end of a connection, which says more than this does.
                DtoStatus::Flushed => {
                    side.told(ConnectionEventKind::Disconnected)?;
                    return Ok(());
                }
                status => return Err(Fault::completion("receive", status)),
            }
            let (slot, length) = (message.cookie, message.length);
            let piece = self.buffer.lmr.triplet(slot * self.size, length)?;
            let pieces = if length == 0 { &[][..] } else { &[piece][..] };
            side.ep.post_send(pieces, slot, CompletionFlags::empty())?;
            let sent = DtoCompletion {
                ep: side.ep.id(),
                cookie: slot,
                length,
                operation: Operation::Send,
                ..DtoCompletion::default()
            };
            side::await_completion(&side.request, &sent, side.patience)?;
            self.receive(side, slot)?;
            *messages += 1;
        }
    }
}

impl Call {
    pub(super) fn is_well(&self) -> bool {
        self.fault.is_none()
    }

    pub(super) fn print(&self, output: &mut Output) {
        let Self { from, messages, fault } = self;
        let (paint, word) = match fault {
            None => (Paint::Good, "disconnected"),
            Some(_) => (Paint::Bad, "FAILED"),
        };
        let word = output.paint(paint, word);
        output.line(format!("{from}: {messages} messages sent back, {word}"));
        if let Some(fault) = fault {
            fault.print("    ", output);
        }
    }
}
