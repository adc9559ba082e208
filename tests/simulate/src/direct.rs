//! Direct access to the memory of a simulated peer: a requester that remembers regions as long as their epoch lasts,
//! and copies by a process_vm_readv(2) that fails now and then.

use std::collections::HashMap;
use std::io::{IoSlice, IoSliceMut};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use dat_core::provider::mem::Span;
use dat_core::{Privileges, RmrTriplet};
use dat_provider_kit::bytes;
use dat_provider_kit::direct::page::{self, SlotLocation, WORDS};
use dat_provider_kit::direct::{Access, AccessResult, Direction, Gate, Offer};
use dat_provider_kit::transfer::RemoteMemory;
use dat_sync::region_table::Region;
use fastrand::Rng;
use nix::errno::Errno;
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::getpid;

/// What the owner of memory says to its peer.
#[derive(Debug, Default)]
pub(crate) struct Rights {
    /// The domain and the queue pair as which the peer may access memory.
    gate: Option<(u32, u32)>,
    epoch: u64,
    /// What the peer may not do.
    denied: Privileges,
    /// The process of the owner is gone.
    pub(crate) is_gone: bool,
}

/// The rights of one direction.
pub(crate) type SharedRights = Arc<Mutex<Rights>>;

fn lock(rights: &SharedRights) -> MutexGuard<'_, Rights> {
    rights.lock().expect("one thread")
}

/// The gate of an owner.
pub(crate) struct OwnGate {
    pub(crate) rights: SharedRights,
    pub(crate) permits: (u32, u32),
}

impl Gate for OwnGate {
    fn open(&self) {
        lock(&self.rights).gate = Some(self.permits);
    }

    fn deny(&self, denied: Privileges) {
        lock(&self.rights).denied = denied;
    }

    fn close(&self) {
        lock(&self.rights).gate = None;
    }

    fn revoke(&self) {
        lock(&self.rights).epoch += 1;
    }

    fn wait(&self, _: Instant) -> bool {
        // Nothing else runs during an access.
        true
    }

    fn hang_up(&self) {}
}

/// One side of a connection, as the requester of accesses.
pub(crate) struct Requester {
    /// What the peer permits, and what this side permits its peer.
    pub(crate) peer: SharedRights,
    pub(crate) own: SharedRights,
    random: Rng,
    /// The system has refused access to the process.
    is_refused: bool,
    epoch: u64,
    regions: HashMap<u32, Region>,
}

/// Reads words of a process.
fn read<const N: usize>(address: u64) -> Option<[u64; N]> {
    let mut words = [[0; 8]; N];
    let from = RemoteIoVec { base: address as usize, len: 8 * N };
    let into = words.as_flattened_mut();
    let count = process_vm_readv(getpid(), &mut [IoSliceMut::new(into)], &[from]);
    (count == Ok(8 * N)).then(|| words.map(u64::from_ne_bytes))
}

fn read_region(key: u32) -> Option<Region> {
    let place = SlotLocation::of(key)?;
    let [chunk] = read::<1>(page::directory() + place.in_directory)?;
    let words = read::<WORDS>(chunk + place.in_chunk)?;
    page::decode(key, &words)
}

impl Requester {
    pub(crate) fn new(peer: &SharedRights, own: &SharedRights, seed: u64) -> Self {
        let (peer, own) = (Arc::clone(peer), Arc::clone(own));
        let random = Rng::with_seed(seed);
        Self { peer, own, random, is_refused: false, epoch: 0, regions: HashMap::new() }
    }

    pub(crate) fn access(&mut self, access: &Access<'_>) -> AccessResult {
        let Some((domain, queue_pair)) = self.enter() else { return AccessResult::NotDirectly };
        let &Access { direction, remote, length, local } = access;
        let triplet = RmrTriplet { address: remote.address, length, context: remote.context };
        let memory = RemoteMemory { triplet: &triplet, domain, queue_pair };
        let regions = &mut self.regions;
        let lookup = |key| {
            let known = regions.get(&key).copied().or_else(|| read_region(key))?;
            regions.insert(key, known);
            Some(known)
        };
        let needed = direction.remote_privilege();
        if lock(&self.peer).denied.intersects(needed) || !memory.is_permitted_by(lookup, needed) {
            return AccessResult::NotDirectly;
        }
        self.copy(direction, local, &[(remote.address, length)])
    }

    pub(crate) fn fetch(&mut self, offer: &Offer<'_>) -> AccessResult {
        if self.enter().is_none() || self.epoch != offer.epoch {
            return AccessResult::NotDirectly;
        }
        let extents: Vec<_> = offer.extents.iter().map(|one| (one.address, one.length)).collect();
        self.copy(Direction::Read, offer.local, &extents)
    }

    /// The epoch in which the peer may fetch a message.
    pub(crate) fn offer(&self) -> Option<u64> {
        let own = lock(&self.own);
        own.gate.map(|_| own.epoch)
    }

    /// What the peer permits now.
    fn enter(&mut self) -> Option<(u32, u32)> {
        let peer = lock(&self.peer);
        if peer.is_gone || self.is_refused {
            return None;
        }
        if self.epoch != peer.epoch {
            self.epoch = peer.epoch;
            self.regions.clear();
        }
        peer.gate
    }

    /// Copies between local memory and the memory of the peer. Now and then the system refuses the call.
    fn copy(
        &mut self,
        direction: Direction,
        local: &[Span],
        remote: &[(u64, u64)],
    ) -> AccessResult {
        let remote = remote.iter().map(|&(base, len)| (base as usize, len as usize));
        let mut remote: Vec<_> = remote.map(|(base, len)| RemoteIoVec { base, len }).collect();
        let refusal = match self.random.u8(0..40) {
            0 => Some(Errno::EFAULT),
            1 => Some(Errno::EPERM),
            2 => Some(Errno::ESRCH),
            _ => None,
        };
        match refusal {
            // The part before the page that is not accessible is copied.
            Some(Errno::EFAULT) => {
                remote.truncate(1);
                remote[0].len /= 2;
            }
            Some(_) => {
                self.is_refused = true;
                return AccessResult::NotDirectly;
            }
            None => {}
        }
        let length = remote.iter().map(|one| one.len).sum();
        let copied = match direction {
            Direction::Write => {
                let mut from = Vec::new();
                let gathered = bytes::gather(local, 0, &mut from).is_ok();
                from.truncate(length);
                gathered && process_vm_writev(getpid(), &[IoSlice::new(&from)], &remote).is_ok()
            }
            Direction::Read => {
                let mut into = vec![0; length];
                process_vm_readv(getpid(), &mut [IoSliceMut::new(&mut into)], &remote).is_ok()
                    && bytes::scatter(&into, local).is_ok()
            }
        };
        if copied && refusal.is_none() { AccessResult::Done } else { AccessResult::NotDirectly }
    }
}
