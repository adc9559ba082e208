//! What the two programs of the tutorial share.

use dat_core::{
    ConnectionEventKind, DtoStatus, Ep, EpSpec, Evd, EvdFlags, EvdOptions, Event, Ia, Lmr, Memory,
    MemorySource, Privileges, Registry, Result, RmrTriplet, Timeout,
};

/// The connection qualifier on which the server listens.
pub const PORT: u64 = 7190;
/// Number of connection requests that can wait for the server; further ones are refused.
pub const BACKLOG: u32 = 4096;
/// Bytes of memory that each side registers.
pub const SIZE: usize = 4096;

/// The objects of one side.
#[derive(Debug)]
pub struct Side {
    /// The adapter.
    pub ia: Ia,
    /// The dispatcher of all events.
    pub evd: Evd,
    /// The endpoint.
    pub ep: Ep,
    /// The memory, and its registration.
    pub memory: Memory,
    /// The region.
    pub lmr: Lmr,
}

impl Side {
    /// Opens the adapter and creates one object of each kind.
    ///
    /// # Errors
    /// The errors of the calls.
    pub fn open(name: &str) -> Result<Self> {
        let registry = Registry::from_environment();
        registry.add_provider(dat_provider_tcp::provider())?;
        let ia = registry.open(name)?;
        let pz = ia.pz_create()?;
        let flags = EvdFlags::CONNECTION_REQUEST | EvdFlags::CONNECTION | EvdFlags::DTO;
        let evd = ia.evd_create(&EvdOptions::new(BACKLOG, flags))?;
        let spec = EpSpec::new(&pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd);
        let ep = ia.ep_create(&spec)?;
        let memory = Memory::copy_of(&[0; SIZE])?;
        let lmr = ia.lmr_create(MemorySource::Memory(&memory), &pz, Privileges::ALL)?;
        Ok(Self { ia, evd, ep, memory, lmr })
    }

    /// The next event.
    ///
    /// # Errors
    /// The errors of the wait.
    ///
    /// # Panics
    /// If nothing happens within ten seconds.
    pub fn next(&self) -> Result<Event> {
        let mut event = Event::default();
        let waited = self.evd.wait(Timeout::from_micros(10_000_000), 1, &mut event)?;
        assert!(waited.is_event(), "nothing happened for ten seconds");
        Ok(event)
    }

    /// Waits for the completion of an operation, which must have succeeded.
    ///
    /// # Errors
    /// The errors of the wait.
    ///
    /// # Panics
    /// If something else happened.
    pub fn completed(&self) -> Result<()> {
        match self.next()? {
            Event::Dto(done) if done.status == DtoStatus::Success => Ok(()),
            other => panic!("{other:?} instead of a completion"),
        }
    }

    /// Waits for a connection event; returns its private data.
    ///
    /// # Errors
    /// The errors of the wait.
    ///
    /// # Panics
    /// If something else happened.
    pub fn connection(&self, kind: ConnectionEventKind) -> Result<Vec<u8>> {
        match self.next()? {
            Event::Connection(event) if event.kind == kind => Ok(event.private_data.to_vec()),
            other => panic!("{other:?} instead of {kind:?}"),
        }
    }
}

/// Where the client may write: sent as private data, in network byte order.
#[must_use]
pub fn to_bytes(place: RmrTriplet) -> Vec<u8> {
    let mut bytes = place.address.to_be_bytes().to_vec();
    bytes.extend(place.context.to_be_bytes());
    bytes.extend((place.length as u32).to_be_bytes());
    bytes
}

/// The reverse of [`to_bytes`]; `None` for fewer bytes.
#[must_use]
pub fn from_bytes(bytes: &[u8]) -> Option<RmrTriplet> {
    let address = u64::from_be_bytes(bytes.get(..8)?.try_into().ok()?);
    let context = u32::from_be_bytes(bytes.get(8..12)?.try_into().ok()?);
    let length = u32::from_be_bytes(bytes.get(12..16)?.try_into().ok()?).into();
    Some(RmrTriplet { address, length, context })
}
