use dat_provider::mem::Memory;
use proptest::prelude::*;

use super::*;
use crate::frame::{Body, Extra, Frame, FrameError, MAX_PIECE};
use crate::link::{Budget, Destinations, FrameSink, Progress, Refused, WriteResult};
use crate::memory_link::{MemoryLinkConfig, links, pair};

/// Keeps what came.
#[derive(Default)]
struct Kept {
    frames: Vec<(Frame, Option<Memory>)>,
    ends: usize,
    /// Payloads get no place.
    drops: bool,
    refuses: bool,
}

impl FrameSink for Kept {
    fn begin(&mut self, frame: &Frame) -> Result<(), Refused> {
        if self.refuses {
            return Err(Refused);
        }
        let memory = Memory::zeroed(frame.payload() as usize).ok();
        self.frames.push((*frame, memory));
        Ok(())
    }

    fn destinations(&mut self, offset: u64, places: &mut Destinations) {
        let Some((_, Some(memory))) = self.frames.last() else { return };
        if !self.drops {
            let (offset, half) = (offset as usize, memory.len() / 2);
            // In two places, of which the second is all that is left of the memory.
            let parts = [offset..half.max(offset), half.max(offset)..memory.len()];
            places.extend(parts.into_iter().filter_map(|part| memory.part(part)));
        }
    }

    fn end(&mut self) -> Result<(), Refused> {
        self.ends += 1;
        Ok(())
    }
}

fn pattern(length: usize, salt: u8) -> Memory {
    let bytes: Vec<u8> = (0..length.max(1)).map(|at| (at as u8).wrapping_mul(31) ^ salt).collect();
    Memory::copy_of(&bytes).expect("memory")
}

/// A message, or the next piece of one if it is too long for the first frame.
fn message(length: u64) -> Frame {
    Frame::new(if length > MAX_PIECE {
        Body::More { length, last: true }
    } else {
        Body::Send { length, solicited: false, extra: Extra::None }
    })
}

fn spans(memory: &Memory, length: usize) -> Vec<Span> {
    let middle = length / 3;
    [0..middle, middle..length].into_iter().filter_map(|part| memory.part(part)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn frames_arrive_as_written_however_the_stream_splits_them(
        seed in 1_u64.., capacity in 1_usize..200_000,
        lengths in proptest::collection::vec(
            prop_oneof![0..=100_u64, 0..=20_000_u64, 0..=3 * MAX_PIECE],
            1..24,
        ),
        holds in proptest::collection::vec(any::<bool>(), 24),
    ) {
        let [(_, mut writer), (mut reader, _)] = links(MemoryLinkConfig { capacity, seed });
        let mut kept = Kept::default();
        let sources: Vec<_> = (0..).zip(&lengths).map(|(i, &n)| pattern(n as usize, i)).collect();
        let mut next = 0;
        let mut rounds = 0;
        while kept.ends < lengths.len() {
            if let Some(&length) = lengths.get(next) {
                let payload = spans(&sources[next], length as usize);
                let written = if holds[next] {
                    writer.hold(&message(length), &payload, 4096)
                } else {
                    writer.write(&message(length), &payload)
                };
                // Memory belongs to its owner again as soon as the frame is taken.
                next += usize::from(written.expect("the link is alive") != WriteResult::Full);
            }
            if next == lengths.len() || !holds[next] {
                writer.flush().expect("the link is alive");
            }
            reader.read(&mut kept, Budget { frames: 3, bytes: 1000 }).expect("the link is alive");
            rounds += 1;
            prop_assert!(rounds < 3_000_000, "no progress");
        }
        for ((frame, memory), (source, &length)) in kept.frames.iter().zip(sources.iter().zip(&lengths)) {
            prop_assert_eq!(*frame, message(length));
            let (own, got) = (source.to_vec(0, length as usize), memory.as_ref());
            let got = got.map_or(Ok(Vec::new()), |memory| memory.to_vec(0, length as usize));
            prop_assert!(own == got, "frame of {} bytes", length);
        }
    }
}

#[test]
fn bytes_without_a_place_are_dropped_and_the_next_frame_is_found() {
    let [(_, mut writer), (mut reader, _)] = links(MemoryLinkConfig::default());
    let source = pattern(40_000, 0);
    let mut kept = Kept { drops: true, ..Kept::default() };
    let written = writer.write(&message(40_000), &spans(&source, 40_000));
    assert_eq!(written, Ok(WriteResult::Taken));
    assert_eq!(writer.write(&Frame::new(Body::Ack), &[]), Ok(WriteResult::Taken));
    assert_eq!(reader.read(&mut kept, Budget::default()), Ok(Progress::Drained(true)));
    assert_eq!((kept.ends, kept.frames[1].0.body), (2, Body::Ack));
}

/// A program that finds the first bytes of a write may wait for the last ones without a call.
#[test]
fn a_short_payload_is_stored_when_it_has_arrived_whole() {
    const LENGTH: usize = 8192;
    let [(_, mut writer), (mut reader, _)] = links(MemoryLinkConfig { capacity: 5000, seed: 0 });
    let (source, mut kept) = (pattern(LENGTH, 1), Kept::default());
    let written = writer.write(&message(LENGTH as u64), &spans(&source, LENGTH));
    assert_eq!(written, Ok(WriteResult::Buffered), "only a part of it");
    let stored = |kept: &Kept| {
        let (_, memory) = kept.frames.first().expect("the head has arrived");
        memory.as_ref().and_then(|memory| memory.to_vec(0, LENGTH).ok()).expect("memory")
    };
    reader.read(&mut kept, Budget::default()).expect("the link is alive");
    assert_eq!((stored(&kept), kept.ends), (vec![0; LENGTH], 0));
    writer.flush().expect("the link is alive");
    reader.read(&mut kept, Budget::default()).expect("the link is alive");
    assert_eq!(kept.ends, 1);
    assert_eq!(stored(&kept), source.to_vec(0, LENGTH).expect("memory"));
}

#[test]
fn held_frames_are_sent_together_with_the_next_one_or_by_a_flush() {
    let [(_, mut writer), (mut reader, _)] = links(MemoryLinkConfig::default());
    let (source, mut kept) = (pattern(64, 0), Kept::default());
    let mut read = |kept: &mut Kept| {
        reader.read(kept, Budget::default()).expect("the link is alive");
        kept.ends
    };
    let payload = spans(&source, 64);
    assert_eq!(writer.hold(&message(64), &payload, 4096), Ok(WriteResult::Held));
    assert_eq!(writer.hold(&message(64), &payload, 4096), Ok(WriteResult::Held));
    assert_eq!(read(&mut kept), 0);
    assert_eq!(writer.write(&Frame::new(Body::Ack), &[]), Ok(WriteResult::Taken));
    assert_eq!(read(&mut kept), 3);
    assert_eq!(kept.frames[2].0.body, Body::Ack);
    assert_eq!(writer.hold(&message(64), &payload, 4096), Ok(WriteResult::Held));
    assert_eq!(writer.flush(), Ok(false));
    assert_eq!(read(&mut kept), 4);
    let held =
        (0..100).take_while(|_| writer.hold(&message(64), &payload, 4096) == Ok(WriteResult::Held));
    let count = held.count();
    assert!((2..99).contains(&count), "{count} frames were held");
    assert_eq!(read(&mut kept), 4 + count + 1);
}

#[test]
fn frames_that_a_budget_left_in_the_buffer_arrive_in_the_next_read() {
    let [(_, mut writer), (mut reader, _)] = links(MemoryLinkConfig::default());
    for _ in 0..2 {
        assert_eq!(writer.write(&Frame::new(Body::Ack), &[]), Ok(WriteResult::Taken));
    }
    let mut kept = Kept::default();
    let one = Budget { frames: 1, ..Budget::default() };
    assert_eq!(reader.read(&mut kept, one), Ok(Progress::More));
    assert_eq!(reader.read(&mut kept, Budget::default()), Ok(Progress::Drained(true)));
    assert_eq!(kept.ends, 2);
    assert_eq!(reader.read(&mut kept, Budget::default()), Ok(Progress::Drained(false)));
}

#[test]
fn a_full_stream_takes_small_frames_together_and_then_no_more() {
    let [(_, mut writer), _] = links(MemoryLinkConfig { capacity: 24, seed: 0 });
    let ack = Frame::new(Body::Ack);
    let written: Vec<_> = (0..10_000)
        .map(|_| writer.write(&ack, &[]))
        .take_while(|written| *written != Ok(WriteResult::Full))
        .collect();
    assert!((100..1000).contains(&written.len()), "{}", written.len());
    assert_eq!(written.last(), Some(&Ok(WriteResult::Buffered)), "its bytes wait for a flush");
    assert_eq!(writer.write(&ack, &[]), Ok(WriteResult::Full), "nothing of it is taken");
}

#[test]
fn an_end_between_frames_is_a_close_and_one_inside_is_a_loss() {
    let [(_, mut writer), (mut reader, _)] = links(MemoryLinkConfig::default());
    writer.write(&Frame::new(Body::Ack), &[]).map(drop).expect("alive");
    writer.shut_down().expect("alive");
    let mut kept = Kept::default();
    assert_eq!(reader.read(&mut kept, Budget::default()), Ok(Progress::Drained(true)));
    assert_eq!(kept.ends, 1, "what came before the end is handed over");
    assert_eq!(reader.read(&mut kept, Budget::default()), Err(End::Closed));
    assert_eq!(reader.read(&mut kept, Budget::default()), Err(End::Closed));

    let (one, other) = pair(MemoryLinkConfig::default());
    let (mut reader, _) = halves(&other);
    let head = message(10).encode();
    assert_eq!(one.write(&[crate::bytes::source(&head)]), Ok(24));
    one.shut_down().expect("alive");
    let mut kept = Kept::default();
    assert_eq!(reader.read(&mut kept, Budget::default()), Ok(Progress::Drained(true)));
    assert_eq!(reader.read(&mut kept, Budget::default()), Err(End::Gone));
}

#[test]
fn garbage_and_refused_frames_end_the_link() {
    let (one, other) = pair(MemoryLinkConfig::default());
    let (mut reader, _) = halves(&other);
    one.write(&[crate::bytes::source(b"GET / HTTP/1.1\r\n")]).expect("alive");
    let end = reader.read(&mut Kept::default(), Budget::default());
    assert_eq!(end, Err(End::Malformed(FrameError::Kind(b'G'))));

    let [(_, mut writer), (mut reader, _)] = links(MemoryLinkConfig::default());
    assert_eq!(writer.write(&Frame::new(Body::Ack), &[]), Ok(WriteResult::Taken));
    let mut kept = Kept { refuses: true, ..Kept::default() };
    assert_eq!(reader.read(&mut kept, Budget::default()), Err(End::Refused));
}

/// A stream that takes some bytes, and then finds memory that is not accessible.
struct Faulty {
    takes: usize,
    is_shut: std::sync::atomic::AtomicBool,
}

impl Stream for Faulty {
    fn write(&self, _: &[Span]) -> Result<usize, End> {
        if self.takes == 0 { Err(End::Inaccessible) } else { Ok(self.takes) }
    }

    fn read(&self, _: &[Span]) -> Result<Option<usize>, End> {
        Ok(None)
    }

    fn shut_down(&self) -> Result<(), End> {
        self.is_shut.store(true, std::sync::atomic::Ordering::Relaxed);
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// A span of addresses that are never mapped.
#[cfg(not(miri))]
fn unreadable(length: usize) -> Span {
    let base = std::ptr::NonNull::new(std::ptr::without_provenance_mut(4096)).expect("not 0");
    #[allow(unsafe_code, reason = "a span of memory that does not exist")]
    // SAFETY: the span is only passed to a writer, which reports that it is not readable.
    unsafe {
        Span::new(base, length)
    }
}

#[test]
#[cfg(not(miri))]
fn a_frame_that_is_not_readable_is_not_taken() {
    crate::fault::Faults::Status.apply();
    for (takes, length) in [(0, 5000), (usize::MAX, 100)] {
        let stream = Arc::new(Faulty { takes, is_shut: false.into() });
        let mut writer = StreamWriter::new(Arc::clone(&stream));
        let payload = [unreadable(length)];
        let written = writer.write(&message(length as u64), &payload);
        assert_eq!(written, Ok(WriteResult::Unreadable), "{length}");
        let written = writer.hold(&message(100), &[unreadable(100)], 4096);
        assert_eq!(written, Ok(WriteResult::Unreadable));
        assert_eq!(writer.flush(), Ok(false), "nothing is left");
    }
}

#[test]
#[cfg(not(miri))]
fn after_a_part_of_such_a_frame_the_link_can_only_be_shut_down() {
    crate::fault::Faults::Status.apply();
    let stream = Arc::new(Faulty { takes: 100, is_shut: false.into() });
    let mut writer = StreamWriter::new(Arc::clone(&stream));
    let written = writer.write(&message(5000), &[unreadable(5000)]);
    assert_eq!(written, Ok(WriteResult::Unreadable));
    assert_eq!(writer.write(&message(0), &[]), Ok(WriteResult::Unreadable));
    assert_eq!(writer.hold(&message(0), &[], 4096), Ok(WriteResult::Unreadable));
    assert_eq!(writer.flush(), Ok(false));
    writer.shut_down().expect("the stream is there");
    assert!(stream.is_shut.load(std::sync::atomic::Ordering::Relaxed));
}
