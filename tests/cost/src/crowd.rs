//! Many connected endpoints of one adapter, which are used in random order, as in `crowd.h`.

use dat_core::{Endpoint, EpSpec};

use crate::end::{End, Failure, Meeting, loopback};

/// They share dispatchers and memory, so that only the endpoints are many.
pub(crate) struct Crowd {
    pub(crate) hub: End,
    pairs: Vec<(Endpoint, Endpoint)>,
    jumps: u64,
}

impl Crowd {
    pub(crate) fn open(pairs: usize) -> Result<Self, Failure> {
        let hub = End::new(&loopback()?)?;
        let spec = EpSpec::new(&hub.pz)
            .recv_evd(&hub.recv)
            .request_evd(&hub.send)
            .connect_evd(&hub.connection);
        let meeting = Meeting::new(&hub.ia)?;
        let pairs = (0..pairs)
            .map(|_| {
                let pair = (hub.ia.ep_create(&spec)?, hub.ia.ep_create(&spec)?);
                meeting.connect(&pair.0, &pair.1)?;
                hub.wait()?;
                hub.wait()?;
                Ok(pair)
            })
            .collect::<Result<_, Failure>>()?;
        Ok(Self { hub, pairs, jumps: 0 })
    }

    /// The next pair of connected endpoints, in a reproducible random order.
    #[inline]
    pub(crate) fn any(&mut self) -> &(Endpoint, Endpoint) {
        let next = self.jumps.wrapping_mul(6_364_136_223_846_793_005);
        self.jumps = next.wrapping_add(1_442_695_040_888_963_407);
        &self.pairs[(self.jumps >> 33) as usize % self.pairs.len()]
    }
}
