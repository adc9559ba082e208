//! The kinds of arguments, and random values for them.

use crate::pool::{ARENA, Kind, PARAM, Pool};
use fastrand::Rng;

/// An argument of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Argument {
    Handle(Kind),
    /// A handle that the call takes, or `DAT_HANDLE_NULL`.
    OptionalHandle(Kind),
    /// The address of a handle that the call returns.
    OutHandle(Kind),
    /// The address of another output.
    Out,
    /// A struct of small numbers.
    In,
    /// A struct, or NULL for defaults.
    OptionalIn,
    /// An array of local segments. The previous argument is its length.
    Iov,
    /// A remote segment.
    Remote,
    /// Bytes. The previous argument is their number.
    Bytes,
    /// Memory to register, and its length: two arguments.
    Region,
    /// A socket address.
    Address,
    /// The name of an adapter.
    Name,
    /// An array of addresses of provider descriptions.
    List,
    /// A small number.
    Small,
    /// The length of a queue: seldom 0.
    Size,
    /// One of a few values, usually the first.
    Type,
    /// The streams of an event dispatcher.
    Streams,
    /// Flags.
    Flags,
    /// A connection qualifier.
    Qualifier,
    /// A short time-out, in microseconds.
    Timeout,
    /// A time-out in microseconds for a call that does not block.
    Patience,
    /// A version of the API.
    Version,
    /// A return code.
    Code,
    /// The communicator of a common service point.
    Comm,
    /// The mask and the values of endpoint parameters to change: two arguments.
    Change,
    /// A mask of the members of a struct.
    Mask,
    /// A random word.
    Any,
    /// A proxy agent: two arguments.
    Agent,
}

/// Words of the memory that an argument can point to: more than in any struct of the API.
const WORDS: usize = 128;

/// The capacity for provider descriptions: usually more than a call asks for.
const LISTED: usize = 10;

/// Memory for an argument, which may be unaligned.
pub(crate) type Room = Box<[u64; WORDS + 1]>;

/// The layout of a local segment: its width, and the offsets of its context and length, each in
/// 64-bit words.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layout {
    /// DAT 1.2.
    One,
    /// DAT 2.0.
    Two,
}

impl Layout {
    /// A segment of the arena.
    fn segment(self, to: &mut Vec<u64>, pool: &Pool, random: &mut Rng) {
        let context = pool.handle(Kind::Context, random) & 0xffff_ffff;
        let length = random.u64(..64);
        let address = match random.u64(..100) < 90 {
            true => pool.arena() + random.u64(..ARENA as u64),
            false => random.u64(..),
        };
        match self {
            Self::One => to.extend([context, address, length]),
            Self::Two => to.extend([address, context << 32 | length]),
        }
    }
}

/// The agent of notification objects, which checks its data.
extern "C" fn agent(data: *mut libc::c_void, _evd: *mut libc::c_void) {
    assert_eq!(data.addr(), AGENT_DATA as usize, "the agent's data");
}

const AGENT_DATA: u64 = 0x5eed;

impl Argument {
    /// Appends a random value for the argument to a call, and the memory that it points to.
    pub(crate) fn make(
        self,
        pool: &Pool,
        layout: Layout,
        random: &mut Rng,
        values: &mut Vec<u64>,
        rooms: &mut Vec<Room>,
    ) {
        match self {
            Self::Handle(kind) => values.push(pool.handle(kind, random)),
            Self::OptionalHandle(kind) => {
                let is_given = random.u64(..100) < 70;
                values.push(if is_given { pool.handle(kind, random) } else { 0 });
            }
            Self::Out | Self::OutHandle(_) => pointer(values, rooms, random, &[]),
            Self::OptionalIn if random.u64(..100) < 60 => values.push(0),
            Self::In | Self::OptionalIn => {
                let mut words: Vec<u64> = (0..WORDS).map(|_| small_words(random)).collect();
                if random.u64(..100) < 30 {
                    // The number of a software event.
                    words[0] = 0x1_0001;
                }
                pointer(values, rooms, random, &words);
            }
            Self::Iov => {
                let mut words = Vec::with_capacity(WORDS);
                for _ in 0..40 {
                    layout.segment(&mut words, pool, random);
                }
                pointer(values, rooms, random, &words);
            }
            Self::Remote => {
                let mut words = Vec::with_capacity(WORDS);
                layout.segment(&mut words, pool, random);
                pointer(values, rooms, random, &words);
            }
            Self::Bytes => {
                let words: Vec<u64> = (0..WORDS).map(|_| random.u64(..)).collect();
                pointer(values, rooms, random, &words);
            }
            Self::Region => {
                let start = random.u64(..ARENA as u64);
                let address = match random.u64(..100) {
                    0..90 => pool.arena() + start,
                    90..93 => 0,
                    93..97 => random.u64(..) & 0x7fff_ffff_ffff,
                    _ => random.u64(..),
                };
                values.extend([address, 0]);
                values.push(match random.u64(..100) < 90 {
                    true => random.u64(..ARENA as u64 - start + 1),
                    false => random.u64(..),
                });
            }
            Self::Address => {
                let family = [2_u64, 2, 2, 2, 10, 0, 77][random.usize(..7)];
                let address = if random.u64(..100) < 80 { 0x0100_007f_u64 } else { random.u64(..) };
                let words = [family | address << 32, random.u64(..2), 0, 0];
                pointer(values, rooms, random, &words);
            }
            Self::Name => {
                let names: [&[u8]; 7] = [
                    b"loopback\0",
                    b"loopback\0",
                    b"loopback\0",
                    b"loopback?delay=1\0",
                    b"\0",
                    b"nothing of that name\0",
                    b"\xff\xfe\x01\0",
                ];
                let name = names[random.usize(..names.len())];
                let mut words = [0_u64; WORDS];
                for (at, byte) in name.iter().enumerate() {
                    words[at / 8] |= u64::from(*byte) << (at % 8 * 8);
                }
                pointer(values, rooms, random, &words);
            }
            Self::List => {
                let mut addresses = Vec::with_capacity(LISTED);
                for _ in 0..LISTED {
                    pointer(&mut addresses, rooms, random, &[]);
                }
                pointer(values, rooms, random, &addresses);
            }
            Self::Small => values.push(match random.u64(..20) {
                0 => u64::from(u32::MAX),
                1 => random.u64(..) & 0xffff_ffff,
                _ => random.u64(..10),
            }),
            Self::Size => values.push(match random.u64(..20) {
                0 => 0,
                1 => random.u64(..) & 0xffff_ffff,
                _ => 1 + random.u64(..40),
            }),
            Self::Type => values.push(match random.u64(..10) {
                0 => random.u64(..) & 0xffff_ffff,
                1..4 => 1 + random.u64(..3),
                _ => u64::from(random.u64(..100) < 50),
            }),
            Self::Streams => values.push(match random.u64(..10) {
                0 => random.u64(..) & 0xffff_ffff,
                1..3 => random.u64(..512),
                _ => 0x1f0,
            }),
            Self::Flags => values.push(match random.u64(..10) {
                0 => random.u64(..) & 0xffff_ffff,
                1..3 => random.u64(..512),
                3..5 => 0x1f0,
                5..8 => 0x33,
                _ => 0,
            }),
            Self::Qualifier => values.push(match random.u64(..20) {
                0 => random.u64(..),
                _ => 1000 + random.u64(..3),
            }),
            Self::Patience => values.push(match random.u64(..4) {
                0 => random.u64(..200),
                1 => u64::from(u32::MAX),
                _ => 1_000_000,
            }),
            Self::Timeout => values.push(random.u64(..200)),
            Self::Version => values.push(match (random.u64(..100) < 5, layout, values.len()) {
                (true, ..) => random.u64(..3),
                (false, Layout::One, 4) => 1,
                (false, Layout::Two, 5) => 0,
                (false, ..) => 2,
            }),
            Self::Code => values.push(match random.u64(..3) {
                0 => 0,
                1 => 1 << 31 | random.u64(..64) << 16 | random.u64(..256),
                _ => random.u64(..) & 0xffff_ffff,
            }),
            Self::Comm => {
                let kind = |random: &mut Rng, usual| match random.u64(..100) < 80 {
                    true => usual,
                    false => random.u64(..12),
                };
                // The type and the protocol of a communicator.
                let words = [kind(random, 2) | kind(random, 1) << 32, 0];
                pointer(values, rooms, random, &words);
            }
            Self::Change => {
                // Usually changes one attribute.
                values.push(match random.u64(..10) {
                    0 => random.u64(..),
                    1 => random.u64(..) & random.u64(..) & 0x7fff_f000,
                    _ => 0x1000 << random.u64(..19),
                });
                let mut words = pool.param();
                for _ in 0..random.u64(..3) {
                    words[random.u64(..PARAM as u64) as usize] = small_words(random);
                }
                pointer(values, rooms, random, &words);
            }
            Self::Mask => values.push(match random.u64(..10) {
                0 => random.u64(..),
                1 => 1 << random.u64(..64),
                _ => random.u64(..8),
            }),
            Self::Any => values.push(random.u64(..)),
            Self::Agent => match random.u64(..100) < 50 {
                true => values.extend([AGENT_DATA, agent as *const () as usize as u64]),
                false => values.extend([0, 0]),
            },
        }
    }
}

/// A word of a struct: small numbers, which cannot be mapped addresses.
fn small_words(random: &mut Rng) -> u64 {
    let mut half = || match random.u64(..4) {
        0 => 0,
        1 => random.u64(..8),
        2 => random.u64(..1 << 11),
        _ => 1,
    };
    // Seldom two halves, since most structs contain a pointer. The highest bit is in no address of a program.
    let low = half();
    if low == 1 { low | half() << 32 & 0x7_0000_0000 | 1 << 63 } else { low }
}

/// Usually the address of memory with these words, which is sometimes unaligned; otherwise a
/// detectably invalid one.
fn pointer(values: &mut Vec<u64>, rooms: &mut Vec<Room>, random: &mut Rng, words: &[u64]) {
    let offset = if random.u64(..20) == 0 { random.u64(1..8) } else { 0 };
    let mut room: Room = Box::new([0; WORDS + 1]);
    for (at, word) in words.iter().enumerate() {
        let bits = offset as u32 * 8;
        room[at] |= word << bits;
        room[at + 1] |= word.checked_shr(u64::BITS - bits).unwrap_or(0);
    }
    let address = room.as_mut_ptr().expose_provenance() as u64 + offset;
    rooms.push(room);
    values.push(match random.u64(..40) {
        0 => 0,
        1 => random.u64(..4096),
        2 => random.u64(..) | 1 << 63,
        _ => address,
    });
}

impl Argument {
    /// The number of words that the argument takes.
    pub(crate) const fn words(self) -> usize {
        match self {
            Self::Region => 3,
            Self::Agent | Self::Change => 2,
            _ => 1,
        }
    }
}
