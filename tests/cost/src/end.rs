//! Two ends of a connection over loopback.

use std::error::Error;
use std::time::Duration;

use dat_core::{
    Connect, ConnectionEventKind, DtoStatus, Ep, EpProvision, EpSpec, Evd, EvdFlags, EvdOptions,
    Event, Ia, Lmr, Memory, MemorySource, Privileges, Registry, Timeout,
};

/// Size of a message, in bytes. An end has memory for two.
pub(crate) const SIZE: u64 = 64;
const PATIENCE: Duration = Duration::from_secs(10);

/// What went wrong.
pub(crate) type Failure = Box<dyn Error>;

/// One end of a connection.
pub(crate) struct End {
    ia: Ia,
    pub(crate) ep: Ep,
    pub(crate) recv: Evd,
    pub(crate) send: Evd,
    connection: Evd,
    pub(crate) lmr: Lmr,
}

impl End {
    pub(crate) fn new(ia: &Ia) -> Result<Self, Failure> {
        let pz = ia.pz_create()?;
        let evd = |flags| ia.evd_create(&EvdOptions::new(8, flags));
        let (recv, send) = (evd(EvdFlags::DTO)?, evd(EvdFlags::DTO)?);
        let connection = evd(EvdFlags::CONNECTION)?;
        let spec = EpSpec::new(&pz).recv_evd(&recv).request_evd(&send).connect_evd(&connection);
        let ep = ia.ep_create(&spec)?;
        let memory = Memory::zeroed(2 * SIZE as usize)?;
        let lmr = ia.lmr_create(MemorySource::Memory(&memory), &pz, Privileges::ALL)?;
        Ok(Self { ia: ia.clone(), ep, recv, send, connection, lmr })
    }

    /// Waits until its connection is established.
    fn wait(&self) -> Result<(), Failure> {
        match wait(&self.connection)? {
            Event::Connection(event) if event.kind == ConnectionEventKind::Established => Ok(()),
            other => Err(format!("expected a connection event, got {other:?}").into()),
        }
    }
}

fn wait(evd: &Evd) -> Result<Event, Failure> {
    let mut event = Event::default();
    if evd.wait(Timeout::After(PATIENCE), 1, &mut event)?.is_event() {
        return Ok(event);
    }
    Err("no event came".into())
}

/// The adapter.
pub(crate) fn loopback() -> Result<Ia, Failure> {
    let registry = Registry::new();
    registry.add_provider(dat_provider_loopback::provider())?;
    Ok(registry.open("loopback")?)
}

/// Connects two ends of one adapter to each other.
pub(crate) fn connect(from: &End, to: &End) -> Result<(), Failure> {
    let requests = from.ia.evd_create(&EvdOptions::new(8, EvdFlags::CONNECTION_REQUEST))?;
    let psp = from.ia.psp_create_any(&requests, EpProvision::Consumer)?;
    from.ep.connect(&Connect::to_psp(&psp).timeout(PATIENCE))?;
    match wait(&requests)? {
        Event::ConnectionRequest(arrival) => arrival.request.accept(Some(&to.ep), &[])?,
        other => return Err(format!("{other:?} came for a request").into()),
    }
    from.wait()?;
    to.wait()
}

/// Dequeues the completion that is already there and checks its cookie.
#[inline]
pub(crate) fn reap(evd: &Evd, cookie: u64, event: &mut Event) -> Result<(), Failure> {
    let found = evd.dequeue(event)?;
    match event {
        Event::Dto(done) if found && done.status == DtoStatus::Success && done.cookie == cookie => {
            Ok(())
        }
        other => Err(unexpected(other)),
    }
}

#[cold]
pub(crate) fn unexpected(event: &Event) -> Failure {
    format!("{event:?} came, or nothing").into()
}
