//! The layout of a page: a header of words, and a slot of words for each adapter and connection.
//!
//! A page is written by one thread. The generation is odd while it writes. A reader must expect any words in a page:
//! [`Record::decode`] accepts all of them.

use crate::counters::SizedOperation;
use crate::ep::EpState;
use crate::provider::WaitCause;

/// The name of the memory file of a page.
pub(super) const NAME: &str = "dat-monitor";
/// The first word; it changes with the layout.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"datmon\x02\0");

/// Number of words of the header.
pub(super) const HEADER: usize = 16;
/// Number of words of a slot.
pub(super) const SLOT: usize = 32;
/// Maximum number of adapters and connections of a page. A page uses memory only for those that exist.
pub(super) const MAX_SLOTS: usize = 16 << 10;
/// Length of a page, in bytes.
pub(super) const LENGTH: usize = (HEADER + SLOT * MAX_SLOTS) * size_of::<u64>();

/// The words of the header.
#[derive(Clone, Copy)]
#[repr(usize)]
pub(super) enum Word {
    Magic,
    /// The process that writes the page, as its own name space of processes numbers it.
    Process,
    /// Odd while the thread writes, and higher with each sample.
    Generation,
    /// Written by readers: a new number makes the thread sample at once. The low half is a futex(2).
    Request,
    /// The last request that was answered.
    Answer,
    /// The time of the sample, in nanoseconds since 1970.
    Time,
    /// Number of slots in use.
    Slots,
    /// Number of rows without a slot.
    Omitted,
    /// 1 while no thread samples, because the page has everything that there is to see.
    IsComplete,
}

/// One slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    Adapter(AdapterRecord),
    Connection(ConnectionRecord),
    Counters(CountersRecord),
}

/// An open adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AdapterRecord {
    pub(super) ia: u64,
    pub(super) name: String,
    pub(super) endpoints: u64,
    /// A fault, as a clause; usually empty.
    pub(super) trouble: String,
}

/// An endpoint that is connected, or connecting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConnectionRecord {
    pub(super) ia: u64,
    pub(super) ep: u64,
    pub(super) state: Option<EpState>,
    pub(super) transport: String,
    pub(super) reader: String,
    pub(super) peer: String,
    pub(super) requests: u32,
    pub(super) receives: u32,
    pub(super) credits: Option<u32>,
    pub(super) completions: u32,
    pub(super) sent: Totals,
    pub(super) received: Totals,
    /// Nanoseconds since which the oldest operation has made no progress, at the time of the sample.
    pub(super) age: u64,
    pub(super) waits_for: Option<WaitCause>,
}

/// A part of the counters of an object, which are started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CountersRecord {
    pub(super) ia: u64,
    pub(super) counted: Counted,
    /// The number of the first value.
    pub(super) first: usize,
    /// In the order of the numbers of the counters; [`VALUES`] or fewer.
    pub(super) values: Vec<u64>,
}

/// An object that has counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Counted {
    /// The adapter.
    Ia,
    /// An endpoint, by its number.
    Ep(u64),
    /// A dispatcher, by its number.
    Evd(u64),
    /// The sizes of operations of an endpoint.
    Sizes(u64, SizedOperation),
}

impl Counted {
    /// The words that denote it: the kind and the number of the object.
    const fn words(self) -> (u64, u64) {
        match self {
            Self::Ia => (0, 0),
            Self::Ep(ep) => (1, ep),
            Self::Evd(evd) => (2, evd),
            Self::Sizes(ep, operation) => (3 + operation as u64, ep),
        }
    }

    fn from_words(kind: u64, object: u64) -> Option<Self> {
        match kind {
            0 => Some(Self::Ia),
            1 => Some(Self::Ep(object)),
            2 => Some(Self::Evd(object)),
            kind => {
                let operation = usize::try_from(kind - 3).ok()?;
                SizedOperation::ALL.get(operation).map(|it| Self::Sizes(object, *it))
            }
        }
    }
}

/// Number of counters in a slot.
pub(super) const VALUES: usize = SLOT - 5;

impl CountersRecord {
    /// The rows of all counters of an object, without those that are 0.
    pub(super) fn rows(ia: u64, counted: Counted, all: &[u64]) -> impl Iterator<Item = Self> {
        let parts = all.chunks(VALUES).enumerate();
        let parts = parts.filter(|(_, values)| values.iter().any(|value| *value != 0));
        parts.map(move |(part, values)| Self {
            ia,
            counted,
            first: part * VALUES,
            values: values.to_vec(),
        })
    }

    fn encode(&self) -> [u64; SLOT] {
        let mut slot = Encoder::new(COUNTERS);
        slot.word(self.ia);
        let (kind, object) = self.counted.words();
        slot.word(kind);
        slot.word(object);
        slot.word(self.first as u64);
        self.values.iter().for_each(|value| slot.word(*value));
        slot.words
    }
}

/// The traffic since the first sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) requests: u64,
    pub(super) bytes: Option<u64>,
}

const ADAPTER: u64 = 1;
const CONNECTION: u64 = 2;
const COUNTERS: u64 = 3;
/// The word for what is unknown.
const UNKNOWN: u64 = u64::MAX;

/// Writes the words of a slot, in order.
struct Encoder {
    words: [u64; SLOT],
    next: usize,
}

impl Encoder {
    fn new(kind: u64) -> Self {
        let mut words = [0; SLOT];
        words[0] = kind;
        Self { words, next: 1 }
    }

    fn word(&mut self, word: u64) {
        if let Some(place) = self.words.get_mut(self.next) {
            *place = word;
            self.next += 1;
        }
    }

    /// A text, which is cut if it is longer than that many words.
    fn text(&mut self, text: &str, words: usize) {
        let mut bytes = text.bytes();
        for _ in 0..words {
            let word = std::array::from_fn(|_| bytes.next().unwrap_or(0));
            self.word(u64::from_ne_bytes(word));
        }
    }

    fn totals(&mut self, totals: Totals) {
        self.word(totals.requests);
        self.word(totals.bytes.unwrap_or(UNKNOWN));
    }
}

/// Reads the words of a slot, in order.
struct Decoder<'a>(&'a [u64]);

impl Decoder<'_> {
    fn word(&mut self) -> u64 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> u32 {
        u32::try_from(self.word()).unwrap_or(u32::MAX)
    }

    fn known(&mut self) -> Option<u64> {
        Some(self.word()).filter(|word| *word != UNKNOWN)
    }

    /// A text, without control characters.
    fn text(&mut self, words: usize) -> String {
        let bytes: Vec<u8> = (0..words).flat_map(|_| self.word().to_ne_bytes()).collect();
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        let shown = |c: char| if c.is_control() { '?' } else { c };
        String::from_utf8_lossy(text).chars().map(shown).collect()
    }

    fn totals(&mut self) -> Totals {
        Totals { requests: self.word(), bytes: self.known() }
    }
}

/// Number of words of the texts.
const NAME_WORDS: usize = 8;
const TROUBLE_WORDS: usize = 20;
const SHORT_WORDS: usize = 2;
const PEER_WORDS: usize = 8;

impl Record {
    /// The number of the adapter.
    pub(super) const fn ia(&self) -> u64 {
        match self {
            Self::Adapter(AdapterRecord { ia, .. })
            | Self::Connection(ConnectionRecord { ia, .. })
            | Self::Counters(CountersRecord { ia, .. }) => *ia,
        }
    }

    pub(super) fn encode(&self) -> [u64; SLOT] {
        match self {
            Self::Adapter(AdapterRecord { ia, name, endpoints, trouble }) => {
                let mut slot = Encoder::new(ADAPTER);
                slot.word(*ia);
                slot.word(*endpoints);
                slot.text(name, NAME_WORDS);
                slot.text(trouble, TROUBLE_WORDS);
                slot.words
            }
            Self::Connection(connection) => connection.encode(),
            Self::Counters(counters) => counters.encode(),
        }
    }

    /// The record in the words of a slot; `None` if the kind is unknown.
    pub(super) fn decode(words: &[u64]) -> Option<Self> {
        let mut slot = Decoder(words);
        match slot.word() {
            ADAPTER => {
                let (ia, endpoints) = (slot.word(), slot.word());
                let (name, trouble) = (slot.text(NAME_WORDS), slot.text(TROUBLE_WORDS));
                Some(Self::Adapter(AdapterRecord { ia, endpoints, name, trouble }))
            }
            CONNECTION => Some(Self::Connection(ConnectionRecord {
                ia: slot.word(),
                ep: slot.word(),
                state: u8::try_from(slot.word()).ok().and_then(EpState::from_value),
                waits_for: u8::try_from(slot.word()).ok().and_then(WaitCause::from_number),
                age: slot.word(),
                requests: slot.number(),
                receives: slot.number(),
                credits: slot.known().map(|word| u32::try_from(word).unwrap_or(u32::MAX)),
                completions: slot.number(),
                sent: slot.totals(),
                received: slot.totals(),
                transport: slot.text(SHORT_WORDS),
                reader: slot.text(SHORT_WORDS),
                peer: slot.text(PEER_WORDS),
            })),
            COUNTERS => {
                let ia = slot.word();
                let counted = Counted::from_words(slot.word(), slot.word())?;
                let first = usize::try_from(slot.word()).unwrap_or(usize::MAX);
                let values = (0..VALUES).map(|_| slot.word()).collect();
                Some(Self::Counters(CountersRecord { ia, counted, first, values }))
            }
            _ => None,
        }
    }
}

impl ConnectionRecord {
    fn encode(&self) -> [u64; SLOT] {
        let mut slot = Encoder::new(CONNECTION);
        slot.word(self.ia);
        slot.word(self.ep);
        slot.word(self.state.map_or(UNKNOWN, |state| state.value().into()));
        slot.word(self.waits_for.map_or(0, |cause| cause.number().into()));
        slot.word(self.age);
        slot.word(self.requests.into());
        slot.word(self.receives.into());
        slot.word(self.credits.map_or(UNKNOWN, u64::from));
        slot.word(self.completions.into());
        slot.totals(self.sent);
        slot.totals(self.received);
        slot.text(&self.transport, SHORT_WORDS);
        slot.text(&self.reader, SHORT_WORDS);
        slot.text(&self.peer, PEER_WORDS);
        slot.words
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::RngCore;
    use proptest::test_runner::{RngAlgorithm, TestRng};

    use super::*;

    fn connection() -> ConnectionRecord {
        ConnectionRecord {
            ia: 1,
            ep: 2,
            state: Some(EpState::Connected),
            transport: "loopback".to_owned(),
            reader: "EveryPoll".to_owned(),
            peer: "127.0.0.1 port 47".to_owned(),
            requests: 3,
            receives: 4,
            credits: None,
            completions: 6,
            sent: Totals { requests: 7, bytes: Some(8) },
            received: Totals { requests: 9, bytes: None },
            age: 10,
            waits_for: Some(WaitCause::NoReceive),
        }
    }

    #[test]
    fn a_record_is_what_was_written() {
        let (name, trouble) = ("tcp-eth0".to_owned(), "cannot write".to_owned());
        let adapter = AdapterRecord { ia: 3, name, endpoints: 5, trouble };
        for record in [Record::Adapter(adapter), Record::Connection(connection())] {
            assert_eq!(Record::decode(&record.encode()), Some(record));
        }
        let sizes = SizedOperation::ALL.iter().map(|operation| Counted::Sizes(4, *operation));
        for counted in [Counted::Ia, Counted::Ep(4), Counted::Evd(5)].into_iter().chain(sizes) {
            let all: Vec<u64> = (0..2 * VALUES as u64).collect();
            for row in CountersRecord::rows(3, counted, &all) {
                let record = Record::Counters(row);
                assert_eq!(Record::decode(&record.encode()), Some(record));
            }
        }
    }

    #[test]
    fn counters_that_are_0_have_no_row() {
        let mut all = [0; 3 * VALUES];
        assert_eq!(CountersRecord::rows(1, Counted::Ia, &all).count(), 0);
        (all[0], all[2 * VALUES]) = (1, 2);
        let rows: Vec<_> = CountersRecord::rows(1, Counted::Ia, &all).collect();
        assert_eq!(rows.iter().map(|row| row.first).collect::<Vec<_>>(), [0, 2 * VALUES]);
    }

    #[test]
    fn the_longest_texts_fit_and_longer_ones_are_cut() {
        let peer = "x".repeat(PEER_WORDS * 8);
        let record = ConnectionRecord { peer: peer.clone(), ..connection() };
        let Some(Record::Connection(read)) = Record::decode(&record.encode()) else { panic!() };
        assert_eq!(read.peer, peer);
        let record = ConnectionRecord { peer: format!("{peer}yz"), ..connection() };
        let Some(Record::Connection(read)) = Record::decode(&record.encode()) else { panic!() };
        assert_eq!(read.peer, peer);
    }

    #[test]
    fn any_words_are_accepted() {
        let mut generator = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut random = || generator.next_u64();
        for round in 0..10_000 {
            let mut words: [u64; SLOT] = std::array::from_fn(|_| random());
            words[0] = round % 5;
            let length = random() as usize % (SLOT + 1);
            if let Some(Record::Connection(read)) = Record::decode(&words[..length]) {
                let texts = [&read.transport, &read.reader, &read.peer];
                assert!(texts.iter().all(|text| !text.contains(char::is_control)));
            }
        }
    }
}
