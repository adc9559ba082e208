//! The handles and contexts that calls returned, by kind, including freed ones.

use std::sync::Mutex;

use fastrand::Rng;

/// The kind of an object. Contexts of memory regions are kept like handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ia,
    Pz,
    Lmr,
    Rmr,
    Evd,
    Cno,
    Ep,
    Psp,
    Rsp,
    Csp,
    Cr,
    Srq,
    /// A context of a memory region, for triplets.
    Context,
}

const KINDS: usize = Kind::Context as usize + 1;

/// How many handles of a kind are remembered, the most recent ones.
const REMEMBERED: usize = 32;

/// Size of the memory that calls may register, read and write.
pub(crate) const ARENA: usize = 1 << 16;

/// At least the number of words in the parameters of an endpoint.
pub(crate) const PARAM: usize = 64;

pub(crate) struct Pool {
    known: Mutex<[Vec<u64>; KINDS]>,
    arena: Box<[u64]>,
    /// The parameters of an endpoint from a query, for modifications that change a few words.
    param: Mutex<[u64; PARAM]>,
}

impl Pool {
    pub(crate) fn new() -> Self {
        Self {
            known: Mutex::default(),
            arena: vec![0; ARENA / 8].into_boxed_slice(),
            param: Mutex::new([0; PARAM]),
        }
    }

    /// The address of the arena. The library may write to it from any thread; nothing here reads
    /// it.
    pub(crate) fn arena(&self) -> u64 {
        self.arena.as_ptr().expose_provenance() as u64
    }

    pub(crate) fn set_param(&self, words: [u64; PARAM]) {
        *self.param.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = words;
    }

    pub(crate) fn param(&self) -> [u64; PARAM] {
        *self.param.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn learn(&self, kind: Kind, handle: u64) {
        let mut known = self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let list = &mut known[kind as usize];
        if list.len() == REMEMBERED {
            list.remove(0);
        }
        list.push(handle);
    }

    /// The newest handle of a kind, or 0.
    pub(crate) fn newest(&self, kind: Kind) -> u64 {
        let known = self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        known[kind as usize].last().copied().unwrap_or(0)
    }

    /// Usually a handle of this kind, live or freed; otherwise any value.
    pub(crate) fn handle(&self, kind: Kind, random: &mut Rng) -> u64 {
        let known = self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let list = &known[kind as usize];
        match random.u64(..100) {
            // Usually one of the newest, since related objects are live, too.
            0..60 if !list.is_empty() => {
                list[list.len() - 1 - random.u64(..4).min(list.len() as u64 - 1) as usize]
            }
            60..85 if !list.is_empty() => list[random.usize(..list.len())],
            0..90 => {
                let other = &known[random.usize(..KINDS)];
                if other.is_empty() { 0 } else { other[random.usize(..other.len())] }
            }
            90..93 => 0,
            // Off by some bytes, into the same cell or the next one.
            93..95 => list.last().map_or(1, |last| last.wrapping_add(random.u64(..64))),
            95..97 => random.u64(..16),
            97..98 => self.arena() + random.u64(..ARENA as u64),
            98..99 => random.u64(..) & 0x7fff_ffff_fff8,
            _ => random.u64(..),
        }
    }
}
