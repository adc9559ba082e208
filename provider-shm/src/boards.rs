//! The doorbells of an adapter, and those of its peers' adapters.
//!
//! The doorbells of the adapter are in one memory file. Each peer of the same user receives it with each connection and
//! maps it once. If a peer sets or clears bits arbitrarily, links of this adapter are read too often or late; nothing
//! else is affected.
#![allow(unsafe_code, reason = "a mapping is memory by address")]

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

use dat_provider_kit::doorbell::{self, Board, Doorbell};
use dat_provider_kit::fork::Private;
use dat_sync::Mutex;
use rustix::io::Result;

use crate::mapping::Mapping;

/// Size of the file, in bytes; a page becomes resident when one of its doorbells is used.
const LENGTH: usize = 64 << 10;
/// Number of doorbells.
const DOORBELLS: u32 = LENGTH as u32 * 8;

type Memory = Mapping<LENGTH>;

fn words(memory: &Memory) -> &[AtomicU64] {
    // SAFETY: the whole mapping, which lives as long as `memory` and begins at a page; all bit patterns
    // are valid, and atomics may be written by other processes.
    unsafe { std::slice::from_raw_parts(memory.base().cast(), LENGTH / size_of::<u64>()) }
}

/// The boards that an adapter uses.
#[derive(Debug)]
pub(crate) struct Boards {
    /// `None` if it could not be created: peers then write to the sockets instead.
    own: Option<Arc<OwnBoard>>,
    peers: Mutex<PeerBoards>,
}

/// The boards of peers.
#[derive(Debug, Default)]
struct PeerBoards {
    /// The boards in use, by device and inode of the file.
    used: HashMap<(u64, u64), Weak<Memory>>,
    /// The last board stays mapped, so that a peer that connects repeatedly needs one mapping.
    last: Option<Arc<Memory>>,
}

#[derive(Debug)]
struct OwnBoard {
    memory: Memory,
    file: Private<OwnedFd>,
    numbers: Mutex<Numbers>,
}

/// Free doorbells: released ones, and all from `next` on.
#[derive(Debug, Default)]
struct Numbers {
    freed: Vec<u32>,
    next: u32,
}

impl Board for OwnBoard {
    fn words(&self) -> &[AtomicU64] {
        words(&self.memory)
    }

    fn free(&self, number: u32) {
        self.numbers.lock().freed.push(number);
    }
}

/// A doorbell of this adapter, which the peer of one connection rings.
#[derive(Debug)]
pub(crate) struct OwnDoorbell {
    pub(crate) doorbell: Arc<Doorbell>,
    board: Arc<OwnBoard>,
}

impl OwnDoorbell {
    /// The file that the peer maps; `None` if the program has closed it, because its number may now denote another
    /// file, which the peer must not receive.
    pub(crate) fn file(&self) -> Option<BorrowedFd<'_>> {
        self.board.file.is_there().then(|| self.board.file.as_fd())
    }
}

/// The peer's doorbell for this connection.
#[derive(Clone, Debug)]
pub(crate) struct PeerDoorbell {
    memory: Arc<Memory>,
    number: u32,
}

impl PeerDoorbell {
    /// Makes the peer read its link, in which a frame was stored.
    pub(crate) fn ring(&self) {
        doorbell::ring(self.words(), self.number);
    }

    /// All doorbells of the peer.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        words(&self.memory)
    }
}

impl Boards {
    pub(crate) fn new() -> Self {
        Self { own: OwnBoard::create().ok(), peers: Mutex::default() }
    }

    /// Returns a doorbell for a new connection; `None` if all are in use.
    pub(crate) fn doorbell(&self) -> Option<OwnDoorbell> {
        let board = self.own.as_ref()?;
        let number = board.numbers.lock().take()?;
        let doorbell = Arc::new(Doorbell::new(Arc::clone(board) as _, number));
        Some(OwnDoorbell { doorbell, board: Arc::clone(board) })
    }

    /// Returns a doorbell of a peer, in a file that the peer has sent.
    ///
    /// # Errors
    /// The file is not a board.
    pub(crate) fn of_peer(&self, file: BorrowedFd<'_>, number: u32) -> Result<PeerDoorbell> {
        let status = rustix::fs::fstat(file)?;
        let mut peers = self.peers.lock();
        // While the mapping exists, no other file has the same device and inode.
        let known = peers.used.get(&(status.st_dev, status.st_ino)).and_then(Weak::upgrade);
        if let Some(memory) = known {
            return Ok(PeerDoorbell { memory, number });
        }
        let memory = Arc::new(Memory::open(file)?);
        peers.last = Some(Arc::clone(&memory));
        peers.used.retain(|_, one| one.strong_count() > 0);
        peers.used.insert((status.st_dev, status.st_ino), Arc::downgrade(&memory));
        Ok(PeerDoorbell { memory, number })
    }
}

impl OwnBoard {
    fn create() -> Result<Arc<Self>> {
        let (memory, file) = Memory::create("dat-doorbells")?;
        Ok(Arc::new(Self { memory, file, numbers: Mutex::default() }))
    }
}

impl Numbers {
    fn take(&mut self) -> Option<u32> {
        self.freed.pop().or_else(|| {
            let next = self.next;
            (next < DOORBELLS).then(|| self.next += 1).map(|()| next)
        })
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn peers_ring_by_the_number_of_their_doorbell() {
        let (near, far) = (Boards::new(), Boards::new());
        let own = near.doorbell().expect("memory");
        let peer = far.of_peer(own.file().expect("open"), own.doorbell.number()).expect("a board");
        let again = far.of_peer(own.file().expect("open"), 70).expect("the same board");
        assert!(Arc::ptr_eq(&peer.memory, &again.memory), "it is mapped once");
        peer.ring();
        again.ring();
        let set: Vec<u64> =
            own.board.words().iter().map(|word| word.load(Ordering::Relaxed)).take(2).collect();
        assert_eq!(set, [1, 1 << 6]);
        PeerDoorbell { number: u32::MAX, ..peer }.ring();
    }

    #[test]
    fn doorbells_are_used_again_and_end() {
        let boards = Boards::new();
        let first = boards.doorbell().expect("memory");
        let other = boards.doorbell().expect("memory");
        assert_eq!([&first, &other].map(|one| one.doorbell.number()), [0, 1]);
        drop(first);
        assert_eq!(boards.doorbell().expect("it was freed").doorbell.number(), 0);
        other.board.numbers.lock().next = DOORBELLS;
        let last = boards.doorbell().expect("number 0 is free again");
        assert!(boards.doorbell().is_none());
        drop(last);
    }

    #[test]
    fn other_files_are_refused() {
        let null = std::fs::File::open("/dev/null").expect("every Linux has it");
        assert!(Boards::new().of_peer(null.as_fd(), 0).is_err());
    }
}
