//! The requester of direct access: checks what the owner of memory permits, and copies. It also fetches messages that
//! the owner offers.

use std::collections::{HashMap, HashSet};

use dat_provider::triplet::RmrTriplet;
use dat_provider_kit::direct::page::{self, SlotLocation, WORDS};
use dat_provider_kit::direct::{Access, AccessResult, Direction, Extent, Offer};
use dat_provider_kit::transfer::RemoteMemory;
use dat_sync::region_table::Region;
use rustix::io::Errno;

use crate::access_words::{AccessWords, Owner, Pass, Requester};
use crate::cma::{self, Batch};

/// Maximum length of a copy in one access, in bytes: the owner waits for it when it deregisters memory.
pub(crate) const LONGEST: u64 = 16 << 20;
/// Maximum number of cached regions, and of cached chunks of the page.
const MOST_KNOWN: usize = 4096;

/// The accesses of one connection.
#[derive(Debug, Default)]
pub(crate) struct DirectRequester {
    requester: Requester,
    peer: Peer,
    /// The epoch in which the regions were read.
    epoch: u64,
    regions: HashMap<u32, Region>,
    /// The last used region; most operations use the same one.
    last: Option<(u32, Region)>,
    /// Keys of memory in this epoch that the peer permits to access but the kernel does not: secret memory, device
    /// memory, or memory that the peer has lost.
    withheld: HashSet<u32>,
    /// Addresses of chunks of the peer's page, which never change.
    chunks: HashMap<u64, u64>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Peer {
    /// The peer has not been probed.
    #[default]
    Unknown,
    /// The process of the peer, and the directory of its page.
    Reached { process: i32, directory: u64 },
    /// Its memory cannot be accessed.
    Refused,
}

impl DirectRequester {
    /// Executes an operation, if the peer and the kernel permit it.
    ///
    /// An operation that the peer does not permit is left to the peer, whose answer ends the connection on both sides.
    pub(crate) fn access(
        &mut self,
        words: &AccessWords,
        process: impl FnOnce() -> Option<i32>,
        access: &Access<'_>,
    ) -> AccessResult {
        if access.local.len() > cma::MOST_PARTS {
            return AccessResult::NotDirectly;
        }
        let Some((process, directory)) = self.reach(words, process) else {
            return AccessResult::NotDirectly;
        };
        let mut done = 0;
        while done < access.length {
            let length = (access.length - done).min(LONGEST);
            let Some(pass) = self.requester.enter(words) else { return AccessResult::NotDirectly };
            let copied = if self.permits(process, directory, pass, access) {
                let local = (access.local, done);
                let address = access.remote.address.wrapping_add(done);
                Some(cma::transfer(process, access.direction, local, address, length))
            } else {
                None
            };
            self.requester.leave(words);
            match copied {
                Some(Ok(())) => done += length,
                // The owner may be able to copy what the kernel does not. If memory is lost on either side, that side's
                // own copy reports it.
                Some(Err(Errno::FAULT)) if is_owner(process, words) => {
                    self.withheld.insert(access.remote.context);
                    return AccessResult::NotDirectly;
                }
                // This includes a process that has executed another program, which ends the connection.
                Some(Err(_)) => {
                    self.peer = Peer::Refused;
                    return AccessResult::NotDirectly;
                }
                None => return AccessResult::NotDirectly,
            }
        }
        AccessResult::Done
    }

    /// Executes operations as [`access`](Self::access) does, several with one system call, up to the first one that it
    /// does not execute. Returns how many are executed.
    pub(crate) fn access_all(
        &mut self,
        words: &AccessWords,
        process: impl Fn() -> Option<i32>,
        accesses: &[Access<'_>],
    ) -> usize {
        let mut done = 0;
        while let Some(next) = accesses.get(done..).filter(|left| !left.is_empty()) {
            match self.access_some(words, &process, next) {
                // The first one fails, or takes more than one call.
                0 if self.access(words, &process, &next[0]) == AccessResult::Done => done += 1,
                0 => break,
                count => done += count,
            }
        }
        done
    }

    /// Executes the first ones of these operations with one system call. Returns how many.
    #[inline(never)]
    fn access_some(
        &mut self,
        words: &AccessWords,
        process: impl FnOnce() -> Option<i32>,
        accesses: &[Access<'_>],
    ) -> usize {
        let [first, _, ..] = accesses else { return 0 };
        let Some((process, directory)) = self.reach(words, process) else { return 0 };
        let Some(pass) = self.requester.enter(words) else { return 0 };
        let mut batch = Batch::new(first.direction);
        let mut left = LONGEST;
        let is_next = |access: &&Access<'_>| {
            let fits = access.direction == first.direction && access.length <= left;
            let is_pushed = fits
                && self.permits(process, directory, pass, access)
                && batch.push((access.local, 0), access.remote.address, access.length).is_ok();
            left -= if is_pushed { access.length } else { 0 };
            is_pushed
        };
        let count = accesses.iter().take_while(is_next).count();
        // The cause of a failure is found by another attempt.
        let mut copied = if count == 0 { 0 } else { batch.copy(process).unwrap_or(0) };
        self.requester.leave(words);
        let is_whole = |access: &&Access<'_>| {
            let rest = copied.checked_sub(access.length);
            copied = rest.unwrap_or(0);
            rest.is_some()
        };
        accesses.iter().take(count).take_while(is_whole).count()
    }

    /// Fetches a message that the peer has offered, unless its memory has changed since.
    pub(crate) fn fetch(
        &mut self,
        words: &AccessWords,
        process: impl FnOnce() -> Option<i32>,
        offer: &Offer<'_>,
    ) -> AccessResult {
        if offer.local.len() > cma::MOST_PARTS {
            return AccessResult::NotDirectly;
        }
        let Some((process, _)) = self.reach(words, process) else {
            return AccessResult::NotDirectly;
        };
        let Some(pass) = self.requester.enter(words) else { return AccessResult::NotDirectly };
        let copied = (pass.epoch == offer.epoch).then(|| copy_extents(process, offer));
        self.requester.leave(words);
        match copied {
            Some(Ok(())) => return AccessResult::Done,
            None | Some(Err(Errno::FAULT)) => {}
            Some(Err(_)) => self.peer = Peer::Refused,
        }
        AccessResult::NotDirectly
    }

    /// Returns the peer's process and the directory of its page, if its memory is accessible.
    fn reach(
        &mut self,
        words: &AccessWords,
        process: impl FnOnce() -> Option<i32>,
    ) -> Option<(i32, u64)> {
        if matches!(self.peer, Peer::Unknown) {
            let owner = words.owner()?;
            self.peer =
                process().and_then(|process| probe(process, owner)).unwrap_or(Peer::Refused);
        }
        match self.peer {
            Peer::Reached { process, directory } => Some((process, directory)),
            _ => None,
        }
    }

    /// Returns true if the regions of the peer permit the access.
    #[inline(always)]
    fn permits(&mut self, process: i32, directory: u64, pass: Pass, access: &Access<'_>) -> bool {
        if self.epoch != pass.epoch || self.regions.len() > MOST_KNOWN {
            self.regions.clear();
            self.withheld.clear();
            self.last = None;
            self.epoch = pass.epoch;
        }
        if pass.denied & access.direction.remote_privilege().bits() != 0 {
            return false;
        }
        let (address, context) = (access.remote.address, access.remote.context);
        if !self.withheld.is_empty() && self.withheld.contains(&context) {
            return false;
        }
        let triplet = RmrTriplet { address, length: access.length, context };
        let Pass { domain, queue_pair, .. } = pass;
        let remote = RemoteMemory { triplet: &triplet, domain, queue_pair };
        let (regions, chunks, last) = (&mut self.regions, &mut self.chunks, &mut self.last);
        let lookup = |key| {
            if let Some((_, region)) = last.filter(|(known, _)| *known == key) {
                return Some(region);
            }
            let region = regions.get(&key).copied().or_else(|| {
                let region = read_region(process, directory, chunks, key)?;
                regions.insert(key, region);
                Some(region)
            })?;
            *last = Some((key, region));
            Some(region)
        };
        remote.is_permitted_by(lookup, access.direction.remote_privilege())
    }
}

/// Copies an offered message from the memory of a process.
fn copy_extents(process: i32, offer: &Offer<'_>) -> rustix::io::Result<()> {
    let mut done = 0;
    for &Extent { address, length } in offer.extents {
        cma::transfer(process, Direction::Read, (offer.local, done), address, length)?;
        done += length;
    }
    Ok(())
}

/// Reads a region from the page of a process.
fn read_region(
    process: i32,
    directory: u64,
    chunks: &mut HashMap<u64, u64>,
    key: u32,
) -> Option<Region> {
    let place = SlotLocation::of(key)?;
    let chunk = match chunks.get(&place.in_directory) {
        Some(&chunk) => chunk,
        None => {
            let at = directory.wrapping_add(place.in_directory);
            let [chunk] = cma::read::<1>(process, at).ok().filter(|[chunk]| *chunk != 0)?;
            chunks.insert(place.in_directory, chunk);
            chunk
        }
    };
    let words = cma::read::<WORDS>(process, chunk.wrapping_add(place.in_chunk)).ok()?;
    page::decode(key, &words)
}

/// Returns true if a process is still the owner.
fn is_owner(process: i32, words: &AccessWords) -> bool {
    words.owner().is_some_and(|owner| probe(process, owner).is_some())
}

/// Returns the peer if a process is the owner and the kernel permits access to its memory.
fn probe(process: i32, owner: Owner) -> Option<Peer> {
    let found = cma::read::<1>(process, owner.nonce_address);
    let directory = owner.directory;
    (found == Ok([owner.nonce])).then_some(Peer::Reached { process, directory })
}
