//! Two endpoints of one adapter and the connection between them.

use std::hint::spin_loop;
use std::sync::Arc;
use std::thread::yield_now;
use std::time::{Duration, Instant};

use dat_core::{
    Close, Connect, ConnectionEventKind, EpProvision, Evd, Event, Ia, Lmr, Memory, MemorySource,
    Privileges, Psp, Pz, Timeout,
};

use crate::error::CliError;
use crate::side::{self, Side};

/// Two endpoints of an adapter, to be connected to each other.
#[derive(Debug)]
pub(crate) struct Pair {
    ia: Ia,
    /// The side that connects.
    pub(crate) active: Side,
    /// The side that accepts.
    pub(crate) passive: Side,
    /// The maximum number of outstanding operations per side and direction.
    pub(crate) depth: u32,
    arrivals: Evd,
    psp: Option<Psp>,
    /// The timeout of each wait.
    pub(crate) timeout: Duration,
}

/// The private data that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Exchanged {
    /// With the request.
    pub(crate) by_passive: Arc<[u8]>,
    /// With the acceptance.
    pub(crate) by_active: Arc<[u8]>,
}

/// The number of event dispatchers of a pair.
pub(crate) const DISPATCHERS: usize = 7;

impl Pair {
    /// Creates the objects for at most `depth` operations, or fewer if the adapter supports fewer.
    pub(crate) fn create(
        ia: &Ia,
        pz: &Pz,
        depth: u32,
        timeout: Duration,
    ) -> Result<Self, CliError> {
        let arrivals = side::arrivals(ia)?;
        let active = Side::create(ia, pz, depth, timeout)?;
        let passive = Side::create(ia, pz, depth, timeout)?;
        let depth = active.depth;
        let ia = ia.clone();
        Ok(Self { ia, active, passive, depth, arrivals, psp: None, timeout })
    }

    /// Listens on a qualifier chosen by the adapter, and returns it.
    pub(crate) fn listen(&mut self) -> Result<u64, CliError> {
        let psp = self.ia.psp_create_any(&self.arrivals, EpProvision::Consumer)?;
        Ok(self.psp.insert(psp).qualifier())
    }

    /// Connects the two endpoints, with private data both ways.
    pub(crate) fn connect(&self, asked: &[u8], answered: &[u8]) -> Result<Exchanged, CliError> {
        let qualifier = self.psp.as_ref().map_or(0, Psp::qualifier);
        let connect = Connect::to(self.ia.attributes().address, qualifier)
            .timeout(self.timeout)
            .private_data(asked);
        self.active.ep.connect(&connect)?;
        let request = self.arrival()?;
        let by_passive = request.query()?.private_data;
        request.accept(Some(&self.passive.ep), answered)?;
        let by_active = self.active.await_connection(ConnectionEventKind::Established)?;
        self.passive.await_connection(ConnectionEventKind::Established)?;
        Ok(Exchanged { by_passive, by_active })
    }

    /// The connection request at the passive side, unless the attempt fails first.
    fn arrival(&self) -> Result<dat_core::Cr, CliError> {
        let deadline = Instant::now() + self.timeout;
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
                    return Err(CliError::connection(event));
                }
            }
            if left.is_zero() {
                return Err(CliError::timed_out("connection request", self.timeout));
            }
        }
    }

    /// Disconnects gracefully and waits for the event on both sides.
    pub(crate) fn disconnect(&self) -> Result<(), CliError> {
        self.active.ep.disconnect(Close::Graceful)?;
        for side in [&self.active, &self.passive] {
            side.await_connection(ConnectionEventKind::Disconnected)?;
        }
        Ok(())
    }

    /// Frees all objects; continues after a failure and returns the first one.
    pub(crate) fn free(self) -> Result<(), CliError> {
        let mut done = vec![self.psp.as_ref().map_or(Ok(()), Psp::free)];
        done.extend(self.active.free());
        done.extend(self.passive.free());
        done.push(self.arrivals.free());
        Ok(done.into_iter().collect::<dat_core::Result<()>>()?)
    }
}

/// Waits for an event, spinning.
#[inline]
pub(crate) fn poll(evd: &Evd, event: &mut Event, timeout: Duration) -> Result<(), CliError> {
    if evd.dequeue(event)? { Ok(()) } else { poll_longer(evd, event, timeout) }
}

#[cold]
fn poll_longer(evd: &Evd, event: &mut Event, timeout: Duration) -> Result<(), CliError> {
    let start = Instant::now();
    for turn in 0_u32.. {
        if evd.dequeue(event)? {
            return Ok(());
        }
        if turn % 256 == 255 {
            if start.elapsed() > timeout {
                break;
            }
            // A provider may need the processor to make progress.
            yield_now();
        }
        spin_loop();
    }
    Err(CliError::timed_out("completion", timeout))
}

/// Registered memory.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) memory: Memory,
    pub(crate) lmr: Lmr,
}

impl Buffer {
    /// Allocates and registers memory.
    pub(crate) fn new(
        ia: &Ia,
        pz: &Pz,
        length: usize,
        privileges: Privileges,
    ) -> Result<Self, CliError> {
        let memory = Memory::zeroed(length)?;
        let lmr = ia.lmr_create(MemorySource::Memory(&memory), pz, privileges)?;
        Ok(Self { memory, lmr })
    }

    /// A source buffer: readable locally and by the peer.
    pub(crate) fn source(ia: &Ia, pz: &Pz, length: usize) -> Result<Self, CliError> {
        Self::new(ia, pz, length, Privileges::LOCAL_READ | Privileges::REMOTE_READ)
    }

    /// A target buffer: writable locally and by the peer.
    pub(crate) fn target(ia: &Ia, pz: &Pz, length: usize) -> Result<Self, CliError> {
        Self::new(ia, pz, length, Privileges::ALL)
    }
}
