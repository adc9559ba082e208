//! Calls in a sensible order, so that the random ones meet connected endpoints, registered
//! memory, bound regions and requests that wait for their answer.

use crate::argument::Layout;
use crate::library::Library;
use crate::pool::{ARENA, Kind, Pool};

/// Makes the calls of a scenario; what fails, because the random calls came between, fails.
pub(crate) struct Scenario<'a> {
    library: &'a Library,
    pool: &'a Pool,
}

/// The default streams, with room for software events.
const STREAMS: u64 = 0x1f1;
const ALL_PRIVILEGES: u64 = 0x33;
const CR_FIELD: usize = 5;
const REQUEST: u32 = 0x2001;

impl<'a> Scenario<'a> {
    pub(crate) fn new(library: &'a Library, pool: &'a Pool) -> Self {
        Self { library, pool }
    }

    /// Makes a call whose last argument leaves a handle.
    fn make(&self, name: &str, kind: Kind, arguments: &[u64]) -> u64 {
        let mut left = 0_u64;
        let place = (&raw mut left).expose_provenance() as u64;
        if self.library.call_by_name(name, &[arguments, &[place]].concat()) == 0 {
            self.pool.learn(kind, left);
        }
        left
    }

    /// Opens an adapter and connects two endpoints on it. One that was opened before is closed,
    /// so that there are never many.
    pub(crate) fn play(&self, qualifier: u64, close: u64) {
        self.library.call_by_name("dat_ia_close", &[close, 0]);
        let (mut evd, mut ia) = (0_u64, 0_u64);
        let evd_place = (&raw mut evd).expose_provenance() as u64;
        let ia_place = (&raw mut ia).expose_provenance() as u64;
        let name = c"loopback".as_ptr().expose_provenance() as u64;
        let (major, minor) = match self.library.layout {
            Layout::One => (1, 2),
            Layout::Two => (2, 0),
        };
        let arguments = [name, 8, evd_place, ia_place, major, minor, 0];
        if self.library.call_by_name("dat_ia_openv", &arguments) != 0 {
            return;
        }
        self.pool.learn(Kind::Ia, ia);
        let pz = self.make("dat_pz_create", Kind::Pz, &[ia]);
        let evd = self.make("dat_evd_create", Kind::Evd, &[ia, 64, 0, STREAMS]);
        let client = self.make("dat_ep_create", Kind::Ep, &[ia, pz, evd, evd, evd, 0]);
        let server = self.make("dat_ep_create", Kind::Ep, &[ia, pz, evd, evd, evd, 0]);
        self.make("dat_psp_create", Kind::Psp, &[ia, qualifier, evd, 0]);
        self.register(ia, pz);
        self.make("dat_rmr_create", Kind::Rmr, &[pz]);
        let loopback = [0x0100_007f_0000_0002_u64, 0, 0, 0];
        let address = loopback.as_ptr().expose_provenance() as u64;
        let connect = [client, address, qualifier, 1_000_000, 0, 0, 0, 0];
        self.library.call_by_name("dat_ep_connect", &connect);
        let mut event = [0_u64; 16];
        let place = event.as_mut_ptr().expose_provenance() as u64;
        self.library.call_by_name("dat_evd_dequeue", &[evd, place]);
        // SAFETY: the call wrote it, or left it as it was.
        let event = unsafe { (&raw const event).read_volatile() };
        if event[0] as u32 == REQUEST {
            self.pool.learn(Kind::Cr, event[CR_FIELD]);
            self.library.call_by_name("dat_cr_accept", &[event[CR_FIELD], server, 0, 0]);
        }
        // One more that waits for an answer.
        let other = self.make("dat_ep_create", Kind::Ep, &[ia, pz, evd, evd, evd, 0]);
        let connect = [other, address, qualifier, u64::from(u32::MAX), 0, 0, 0, 0];
        self.library.call_by_name("dat_ep_connect", &connect);
    }

    /// Registers the arena.
    fn register(&self, ia: u64, pz: u64) {
        let mut left = [0_u64; 5];
        let start = left.as_mut_ptr().expose_provenance() as u64;
        let outs: Vec<u64> = (0..5).map(|at| start + 8 * at).collect();
        let mut arguments = vec![ia, 0, self.pool.arena(), 0, ARENA as u64, pz, ALL_PRIVILEGES];
        if matches!(self.library.layout, Layout::Two) {
            arguments.push(0);
        }
        arguments.extend(outs);
        if self.library.call_by_name("dat_lmr_create", &arguments) == 0 {
            // SAFETY: the call wrote it.
            let left = unsafe { (&raw const left).read_volatile() };
            self.pool.learn(Kind::Lmr, left[0]);
            self.pool.learn(Kind::Context, left[1] & 0xffff_ffff);
            self.pool.learn(Kind::Context, left[2] & 0xffff_ffff);
        }
    }
}
