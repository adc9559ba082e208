//! Memory shared between processes: its identity, and the names that consumers give it
//! (`DAT_MEM_TYPE_SHARED_VIRTUAL`, `DAT_LMR_COOKIE`).

use std::collections::HashMap;
use std::sync::Arc;

use dat_sync::{Mutex, PerProcess, Process};

use crate::error::{Error, Result, ReturnType, Subtype};
use crate::mem::Span;

/// The name of shared memory: all bytes are significant.
pub(crate) type Name = [u8; 40];

/// The identity of the memory of a span, independent of where it is mapped: pieces of files or of
/// shared memory objects, in the order of their addresses.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Backing(Vec<Piece>);

#[derive(Debug, PartialEq, Eq)]
struct Piece {
    /// Device and inode, as the system prints them.
    object: String,
    offset: u64,
    length: u64,
}

impl Backing {
    /// Looks a span up in the process's memory map. `None` if the system cannot tell.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` if a part of it is not mapped as shared.
    pub(super) fn of(span: Span) -> Result<Option<Self>> {
        match std::fs::read_to_string("/proc/self/maps") {
            Ok(maps) => Self::in_maps(span.address(), span.len() as u64, &maps).map(Some),
            Err(_) => Ok(None),
        }
    }

    fn in_maps(address: u64, length: u64, maps: &str) -> Result<Self> {
        let end = address.saturating_add(length);
        let mut next = address;
        let mut pieces: Vec<Piece> = Vec::new();
        for mapping in maps.lines().filter_map(Mapping::parse).filter(|mapping| mapping.shared) {
            if next >= end || mapping.first > next || mapping.last <= next {
                continue;
            }
            let offset = mapping.offset + (next - mapping.first);
            let length = mapping.last.min(end) - next;
            next += length;
            match pieces.last_mut() {
                // One mapping that was split because a part has other permissions.
                Some(piece)
                    if piece.object == mapping.object
                        && piece.offset.checked_add(piece.length) == Some(offset) =>
                {
                    piece.length += length;
                }
                _ => pieces.push(Piece { object: mapping.object, offset, length }),
            }
        }
        if next >= end {
            return Ok(Self(pieces));
        }
        Err(Error::new(ReturnType::InvalidState, Subtype::NoSubtype)
            .because(format!("the memory at {next:#x} is not mapped shared"))
            .advise("map it with MAP_SHARED, or attach it with shmat(2)"))
    }
}

/// A line of the process's memory map.
struct Mapping {
    first: u64,
    last: u64,
    shared: bool,
    offset: u64,
    object: String,
}

impl Mapping {
    fn parse(line: &str) -> Option<Self> {
        let hexadecimal = |text| u64::from_str_radix(text, 16).ok();
        let mut words = line.split_ascii_whitespace();
        let (first, last) = words.next()?.split_once('-')?;
        let shared = words.next()?.ends_with('s');
        let offset = hexadecimal(words.next()?)?;
        let object = format!("{} {}", words.next()?, words.next()?);
        Some(Self { first: hexadecimal(first)?, last: hexadecimal(last)?, shared, offset, object })
    }
}

/// The names of shared memory that the consumers of a provider currently use. Their address identifies
/// them.
#[derive(Debug, Default)]
pub(crate) struct SharedNames;

/// The names in use, with the address of the [`SharedNames`]. A child of a fork has no registrations.
static NAMES: PerProcess<Mutex<HashMap<(usize, Name), Named>>> = PerProcess::new();

/// The memory that a name denotes, and the number of registrations that use the name.
struct Named {
    backing: Option<Backing>,
    length: u64,
    uses: usize,
}

/// A registration's use of a name; dropping the last one releases the name.
pub(super) struct NameUse {
    names: Arc<SharedNames>,
    name: Name,
    process: Process,
}

impl SharedNames {
    /// Uses a name for a piece of memory.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if the name denotes other memory; the subtype names the length or
    /// the region description.
    pub(super) fn take(
        self: &Arc<Self>,
        name: Name,
        length: u64,
        backing: Option<Backing>,
    ) -> Result<NameUse> {
        let mut names = NAMES.get().lock();
        let named =
            names.entry((self.number(), name)).or_insert(Named { backing: None, length, uses: 0 });
        if named.uses == 0 {
            named.backing = backing;
        } else if named.length != length {
            return Err(conflict(Subtype::InvalidArg4)
                .because(format!("the cookie identifies {} bytes, not {length}", named.length)));
        } else if named.backing != backing {
            return Err(conflict(Subtype::InvalidArg3)
                .because("the cookie already identifies other registered shared memory"));
        }
        named.uses += 1;
        Ok(NameUse { names: Arc::clone(self), name, process: Process::current() })
    }

    fn number(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self).addr()
    }
}

fn conflict(subtype: Subtype) -> Error {
    Error::new(ReturnType::InvalidParameter, subtype).advise(
        "use a separate cookie for each shared memory object, and register the whole \
             object under it",
    )
}

impl Drop for NameUse {
    fn drop(&mut self) {
        if !self.process.is_current() {
            return;
        }
        let mut names = NAMES.get().lock();
        let key = (self.names.number(), self.name);
        if let Some(named) = names.get_mut(&key) {
            named.uses -= 1;
            if named.uses == 0 {
                names.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
1000-2000 r--p 00000000 08:01 7 /bin/program
2000-4000 rw-s 00001000 00:01 9 /dev/zero (deleted)
4000-5000 r--s 00003000 00:01 9 /dev/zero (deleted)
5000-6000 rw-s 00000000 00:01 10 /SYSV00000000 (deleted)
8000-9000 rw-s 00002000 00:01 9 /memfd:it (deleted)
9000-a000 rw-p 00000000 00:00 0
";

    #[test]
    fn memory_is_identified_wherever_it_is_mapped() {
        let of = |address, length| Backing::in_maps(address, length, MAPS).expect("shared");
        assert_eq!(of(0x3000, 0x800), of(0x8000, 0x800));
        assert_ne!(of(0x3000, 0x800), of(0x3001, 0x800));
        assert_ne!(of(0x2000, 0x1000), of(0x5000, 0x1000));
        // Other permissions do not make it other memory; another object does.
        assert_eq!(of(0x2000, 0x3000).0.len(), 1);
        assert_eq!(of(0x4800, 0x1000).0.len(), 2);
    }

    #[test]
    fn memory_that_is_not_shared_is_refused_with_its_address() {
        for (address, length, at) in
            [(0x1000, 1, "0x1000"), (0x5000, 0x1001, "0x6000"), (0x8fff, 2, "0x9000")]
        {
            let error = Backing::in_maps(address, length, MAPS).expect_err("not all shared");
            assert!(error.is(ReturnType::InvalidState));
            assert!(error.reason().contains(at), "{error}");
        }
    }
}
