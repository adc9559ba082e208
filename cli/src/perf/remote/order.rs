//! The messages of the control connection.

use crate::error::CliError;
use crate::perf::op::Op;
use crate::perf::plan::Limits;

/// The first bytes of the private data, with the version of the protocol.
const HEAD: [u8; 12] = *b"dat-perf\x01\0\0\0";

/// The private data of a request for a control connection.
pub(super) const CONTROL: [u8; 16] = head(1);
/// The private data of a request for the connection of a measurement.
pub(super) const DATA: [u8; 16] = head(2);

const fn head(kind: u8) -> [u8; 16] {
    let mut head = [0; 16];
    let mut index = 0;
    while index < HEAD.len() {
        head[index] = HEAD[index];
        index += 1;
    }
    head[HEAD.len()] = kind;
    head
}

/// The length of every message.
pub(super) const LENGTH: usize = 256;

/// The number of words in a message; a text follows.
const WORDS: usize = 5;

/// The contents of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) words: [u64; WORDS],
    /// At most as long as fits; what is longer is cut.
    pub(crate) text: String,
}

impl Message {
    /// A message of words only.
    pub(super) fn of(words: [u64; WORDS]) -> Self {
        Self { words, text: String::new() }
    }

    /// The bytes to send.
    pub(crate) fn to_bytes(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        for (to, word) in bytes.chunks_exact_mut(8).zip(self.words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let room = &mut bytes[WORDS * 8..];
        let length = self.text.floor_boundary(room.len());
        room[..length].copy_from_slice(&self.text.as_bytes()[..length]);
        bytes
    }

    /// The message in received bytes, whatever they are.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let mut words = [0; WORDS];
        for (word, from) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = from.try_into().map_or(0, u64::from_le_bytes);
        }
        let text = bytes.get(WORDS * 8..).unwrap_or_default();
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        Self { words, text: String::from_utf8_lossy(text).into_owned() }
    }
}

trait Boundary {
    /// The greatest length up to `most` at which the text can be cut.
    fn floor_boundary(&self, most: usize) -> usize;
}

impl Boundary for str {
    fn floor_boundary(&self, most: usize) -> usize {
        (0..=most.min(self.len())).rev().find(|at| self.is_char_boundary(*at)).unwrap_or(0)
    }
}

/// How the listener serves the connection of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It takes messages, and reports each posted batch of receives with a message.
    Sink,
    /// It sends each message back.
    Echo,
    /// It does nothing: RDMA needs no more.
    Idle,
    /// It finds writes of this length in memory, and writes each one to this address and context.
    Mirror { address: u64, context: u32, size: u64 },
}

/// The order of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Reports the limits of the adapter.
    Limits,
    /// Prepares memory for an operation: slots with a stride, and a pattern of a seed in what is to
    /// be read. The answer has the address and the context of the memory.
    Prepare { op: Op, slots: u64, stride: u64, seed: u64 },
    /// Serves the next connection until it ends. The answer has the number of posted receives and
    /// that of receives in a report, before the connection is accepted.
    Serve(Mode),
    /// Reports the digest of the memory.
    Digest,
}

/// The modes without parameters.
const MODES: [Mode; 3] = [Mode::Sink, Mode::Echo, Mode::Idle];

/// The number of a value in a list of all values.
fn number<T: PartialEq>(all: &[T], value: &T) -> u64 {
    all.iter().position(|one| one == value).unwrap_or(0) as u64
}

impl Order {
    pub(crate) fn to_message(self) -> Message {
        Message::of(match self {
            Self::Limits => [1, 0, 0, 0, 0],
            Self::Prepare { op, slots, stride, seed } => {
                [2, number(&Op::ALL, &op), slots, stride, seed]
            }
            Self::Serve(Mode::Mirror { address, context, size }) => {
                [5, address, context.into(), size, 0]
            }
            Self::Serve(mode) => [3, number(&MODES, &mode), 0, 0, 0],
            Self::Digest => [4, 0, 0, 0, 0],
        })
    }

    pub(crate) fn from_message(message: &Message) -> Result<Self, CliError> {
        let [kind, a, slots, stride, seed] = message.words;
        let index = usize::try_from(a).unwrap_or(usize::MAX);
        let order = match (kind, Op::ALL.get(index), MODES.get(index)) {
            (1, ..) => Some(Self::Limits),
            (2, Some(&op), _) => Some(Self::Prepare { op, slots, stride, seed }),
            (3, _, Some(&mode)) => Some(Self::Serve(mode)),
            (4, ..) => Some(Self::Digest),
            (5, ..) => u32::try_from(slots)
                .ok()
                .map(|context| Self::Serve(Mode::Mirror { address: a, context, size: stride })),
            _ => None,
        };
        order.ok_or_else(|| other_version(&format!("order {kind}")))
    }
}

/// An answer: words, or why the order could not be carried out.
pub(super) fn answer(done: &Result<[u64; 4], CliError>) -> Message {
    match done {
        Ok([a, b, c, d]) => Message::of([0, *a, *b, *c, *d]),
        Err(error) => Message { words: [1, 0, 0, 0, 0], text: error.to_string() },
    }
}

/// The words of an answer.
pub(crate) fn answered(message: Message) -> Result<[u64; 4], CliError> {
    match message.words {
        [0, a, b, c, d] => Ok([a, b, c, d]),
        _ => {
            let mut error = CliError::unexpected(format!("the peer reports: {}", message.text));
            error.advice = "see what dat perf --listen printed there".to_owned();
            Err(error)
        }
    }
}

/// The limits in an answer.
pub(super) fn limits(limits: &Limits) -> [u64; 4] {
    [limits.message, limits.rdma, limits.region, limits.reads]
}

/// The limits of an answer.
pub(super) fn limits_of([message, rdma, region, reads]: [u64; 4]) -> Limits {
    Limits { message, rdma, region, reads }
}

/// Something that another version of the command may have sent.
pub(super) fn other_version(what: &str) -> CliError {
    let mut error = CliError::unexpected(format!("{what} comes from another program"));
    error.advice = "run the same version of dat perf on both machines".to_owned();
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_arrive_as_they_were_sent() {
        let prepare = Order::Prepare { op: Op::Read, slots: 7, stride: 4096, seed: u64::MAX };
        let mirror = Mode::Mirror { address: u64::MAX, context: 7, size: 4096 };
        let serves = MODES.into_iter().chain([mirror]).map(Order::Serve);
        for order in [Order::Limits, prepare, Order::Digest].into_iter().chain(serves) {
            let message = Message::from_bytes(&order.to_message().to_bytes());
            assert_eq!(Order::from_message(&message).expect("an order"), order);
        }
    }

    #[test]
    fn answers_carry_words_or_the_reason() {
        let message = answer(&Ok([1, 2, 3, u64::MAX]));
        assert_eq!(answered(message).expect("words"), [1, 2, 3, u64::MAX]);
        let failed = answer(&Err(CliError::data("\u{e4}".repeat(400))));
        let back = Message::from_bytes(&failed.to_bytes());
        let error = answered(back).expect_err("it failed");
        assert!(error.reason.contains("\u{e4}\u{e4}"), "{}", error.reason);
    }

    #[test]
    fn no_message_of_a_stranger_is_an_order() {
        for bytes in [&[][..], &[0; 3], &[0xff; LENGTH], b"GET / HTTP/1.1\r\n\r\n", &[0; 4096]] {
            assert!(Order::from_message(&Message::from_bytes(bytes)).is_err());
        }
        let mut wrong = Order::Serve(Mode::Idle).to_message();
        wrong.words[1] = 77;
        assert!(Order::from_message(&wrong).is_err());
    }
}
