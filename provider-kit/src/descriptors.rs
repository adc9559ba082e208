//! The numbers of connections that the descriptor limit of the process allows.

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// Maximum number of endpoints of an adapter.
const MAX_ENDPOINTS: rlim_t = 65_536;

/// Bounds of the maximum number of links in the handshake, from a few descriptors to many.
const HANDSHAKES: (rlim_t, rlim_t) = (256, 4096);

/// Raises the soft limit of descriptors to the hard limit. Returns the number of endpoints that fit: each
/// connection has a socket, and half of the descriptors are left to the program.
#[must_use]
pub fn endpoints() -> u32 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 512 };
    let is_raised = soft >= hard || setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok();
    let descriptors = if is_raised { hard } else { soft };
    u32::try_from((descriptors / 2).clamp(1, MAX_ENDPOINTS)).unwrap_or(u32::MAX)
}

/// Maximum number of accepted links whose handshake is not complete, of an adapter: a job connects thousands at
/// once. Three quarters of the descriptors are left to others, because any stranger can take these.
#[must_use]
pub fn handshakes() -> usize {
    let (least, most) = HANDSHAKES;
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or_default();
    (soft / 4).clamp(least, most) as usize
}
