//! Two endpoints of one adapter and the connection between them.

use std::hint::spin_loop;
use std::sync::Arc;
use std::thread::yield_now;
use std::time::{Duration, Instant};

use dat_core::{
    Close, Connect, ConnectionEventKind, DtoCompletion, Event, EventDispatcher, InterfaceAdapter,
    Lmr, Memory, MemorySource, Privileges, ProtectionZone, Psp, PspMaker, Timeout,
};

use crate::fault::Fault;
use crate::side::{self, Side};

/// Two endpoints of an adapter, to be connected to each other.
#[derive(Debug)]
pub(crate) struct Pair {
    ia: InterfaceAdapter,
    /// The one that asks for the connection.
    pub(crate) active: Side,
    /// The one on which the request is accepted.
    pub(crate) passive: Side,
    /// How many operations a side can have outstanding in each direction.
    pub(crate) depth: u32,
    arrivals: EventDispatcher,
    psp: Option<Psp>,
    /// How long each wait may take.
    pub(crate) patience: Duration,
}

/// Private data as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Exchanged {
    /// With the request.
    pub(crate) by_passive: Arc<[u8]>,
    /// With the acceptance.
    pub(crate) by_active: Arc<[u8]>,
}

/// How many event dispatchers a pair has.
pub(crate) const DISPATCHERS: usize = 7;

impl Pair {
    /// Makes the objects, for at most `depth` operations, fewer where the adapter has less.
    pub(crate) fn create(
        ia: &InterfaceAdapter,
        pz: &ProtectionZone,
        depth: u32,
        patience: Duration,
    ) -> Result<Self, Fault> {
        let arrivals = side::arrivals(ia)?;
        let active = Side::create(ia, pz, depth, patience)?;
        let passive = Side::create(ia, pz, depth, patience)?;
        let depth = active.depth;
        let ia = ia.clone();
        Ok(Self { ia, active, passive, depth, arrivals, psp: None, patience })
    }

    /// Listens on a qualifier of the adapter's choice, which is returned.
    pub(crate) fn listen(&mut self) -> Result<u64, Fault> {
        let psp = self.ia.psp_create_any(&self.arrivals, PspMaker::Consumer)?;
        Ok(self.psp.insert(psp).qualifier())
    }

    /// Connects the two endpoints, with private data both ways.
    pub(crate) fn connect(&self, asked: &[u8], answered: &[u8]) -> Result<Exchanged, Fault> {
        let qualifier = self.psp.as_ref().map_or(0, Psp::qualifier);
        let connect = Connect::to(self.ia.attributes().address, qualifier)
            .timeout(self.patience)
            .private_data(asked);
        self.active.ep.connect(&connect)?;
        let request = self.arrival()?;
        let by_passive = request.query()?.private_data;
        request.accept(Some(&self.passive.ep), answered)?;
        let by_active = self.active.told(ConnectionEventKind::Established)?;
        self.passive.told(ConnectionEventKind::Established)?;
        Ok(Exchanged { by_passive, by_active })
    }

    /// The request that the passive side gets, unless the attempt fails first.
    fn arrival(&self) -> Result<dat_core::ConnectionRequest, Fault> {
        let deadline = Instant::now() + self.patience;
        let mut event = Event::default();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let step = Timeout::After(left.min(Duration::from_millis(20)));
            if self.arrivals.wait(step, 1, &mut event)?.is_event() {
                if let Event::ConnectionRequest(arrival) = event {
                    return Ok(arrival.request);
                }
            }
            if self.active.connection.dequeue(&mut event)? {
                if let Event::Connection(event) = &event {
                    return Err(Fault::connection(event.kind));
                }
            }
            if left.is_zero() {
                return Err(Fault::timed_out("request for the connection", self.patience));
            }
        }
    }

    /// Disconnects gracefully and waits until both sides know.
    pub(crate) fn disconnect(&self) -> Result<(), Fault> {
        self.active.ep.disconnect(Close::Graceful)?;
        for side in [&self.active, &self.passive] {
            side.told(ConnectionEventKind::Disconnected)?;
        }
        Ok(())
    }

    /// Frees everything; goes on after a failure and returns the first.
    pub(crate) fn free(self) -> Result<(), Fault> {
        let mut done = vec![self.psp.as_ref().map_or(Ok(()), Psp::free)];
        done.extend(self.active.free());
        done.extend(self.passive.free());
        done.push(self.arrivals.free());
        Ok(done.into_iter().collect::<dat_core::Result<()>>()?)
    }

    /// Waits for an event, asleep.
    pub(crate) fn await_event(
        &self,
        evd: &EventDispatcher,
        what: &str,
        event: &mut Event,
    ) -> Result<(), Fault> {
        side::await_event(evd, what, self.patience, event)
    }

    /// Waits, asleep, for the completion of one operation and checks all of it.
    pub(crate) fn await_completion(
        &self,
        evd: &EventDispatcher,
        expected: &DtoCompletion,
    ) -> Result<(), Fault> {
        side::await_completion(evd, expected, self.patience)
    }
}

/// Waits for an event, awake.
#[inline]
pub(crate) fn poll(
    evd: &EventDispatcher,
    event: &mut Event,
    patience: Duration,
) -> Result<(), Fault> {
    if evd.dequeue(event)? { Ok(()) } else { poll_longer(evd, event, patience) }
}

#[cold]
fn poll_longer(evd: &EventDispatcher, event: &mut Event, patience: Duration) -> Result<(), Fault> {
    let start = Instant::now();
    for turn in 0_u32.. {
        if evd.dequeue(event)? {
            return Ok(());
        }
        if turn % 256 == 255 {
            if start.elapsed() > patience {
                break;
            }
            // A provider may need the processor to get on.
            yield_now();
        }
        spin_loop();
    }
    Err(Fault::timed_out("completion", patience))
}

/// Memory with its registration.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) memory: Memory,
    pub(crate) lmr: Lmr,
}

impl Buffer {
    /// New memory, registered.
    pub(crate) fn new(
        ia: &InterfaceAdapter,
        pz: &ProtectionZone,
        length: usize,
        privileges: Privileges,
    ) -> Result<Self, Fault> {
        let memory = Memory::zeroed(length)?;
        let lmr = ia.lmr_create(MemorySource::Memory(&memory), pz, privileges)?;
        Ok(Self { memory, lmr })
    }

    /// What a side sends from: local reads and those of the peer.
    pub(crate) fn source(
        ia: &InterfaceAdapter,
        pz: &ProtectionZone,
        length: usize,
    ) -> Result<Self, Fault> {
        Self::new(ia, pz, length, Privileges::LOCAL_READ | Privileges::REMOTE_READ)
    }

    /// What a side receives into: local operations and those of the peer may write.
    pub(crate) fn target(
        ia: &InterfaceAdapter,
        pz: &ProtectionZone,
        length: usize,
    ) -> Result<Self, Fault> {
        Self::new(ia, pz, length, Privileges::ALL)
    }
}
