//! A link like shared memory: the bytes arrive at once, and the receiver is signalled only as it has armed the link.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use dat_core::provider::SleepTarget;
use dat_core::provider::mem::Span;
use dat_provider_kit::bytes;
use dat_provider_kit::direct::{Access, AccessResult, Gate, Offer};
use dat_provider_kit::doorbell::{Board, Doorbell};
use dat_provider_kit::frame::Frame;
use dat_provider_kit::link::{
    Armed, Budget, End, FrameSink, MIN_OFFER, Progress, Reader, WriteResult, Writer,
};
use dat_provider_kit::stream_link::{Stream, StreamReader, StreamWriter};

use dat_sync::clock;
use dat_sync::epoll::EventFlags;
use dat_sync::epoll::simulated::Descriptor;
use fastrand::Rng;
use rustix::io::Result as OsResult;

use crate::direct::{OwnGate, Requester, SharedRights};
use crate::network::{Habits, Halves};
use crate::queue::Bytes;

/// The doorbells of a process. Its links never run out of them.
#[derive(Debug)]
pub(crate) struct Bells {
    words: Vec<AtomicU64>,
    free: Mutex<Vec<u32>>,
}

impl Bells {
    pub(crate) fn new() -> Arc<Self> {
        let words = (0..4).map(|_| AtomicU64::new(0)).collect();
        Arc::new(Self { words, free: Mutex::new((0..256).rev().collect()) })
    }

    fn take(self: &Arc<Self>) -> Option<Arc<Doorbell>> {
        let number = self.free.lock().expect("one thread").pop()?;
        Some(Arc::new(Doorbell::new(Arc::clone(self) as _, number)))
    }
}

impl Board for Bells {
    fn words(&self) -> &[AtomicU64] {
        &self.words
    }

    fn free(&self, number: u32) {
        self.free.lock().expect("one thread").push(number);
    }
}

/// One direction.
struct Lane {
    bytes: Bytes,
    capacity: usize,
    /// Number of bytes that were read.
    taken: u64,
    is_shut: bool,
    /// The reader is gone, or the machine.
    is_cut: bool,
    armed: Armed,
    doorbell: Option<Arc<Doorbell>>,
    /// Readable while the reader has been signalled.
    signal: Arc<Descriptor>,
    /// The writer was refused, and is to be signalled when there is space.
    wants_room: bool,
    /// The signal of the writer.
    room: Arc<Descriptor>,
    /// The reader has not mapped its memory before this time.
    mapped_at: Instant,
    is_mapped: bool,
}

type Shared = Arc<Mutex<Lane>>;

fn lock(lane: &Shared) -> MutexGuard<'_, Lane> {
    lane.lock().expect("one thread")
}

/// Tells a writer that there is space.
fn signal(descriptor: &Descriptor) {
    descriptor.add_ready(EventFlags::IN);
}

impl Lane {
    /// Signals that data has arrived, as the reader has armed the lane.
    fn announce(&self) {
        if self.mapped_at > clock::now() {
            return;
        }
        match (self.armed, &self.doorbell) {
            (Armed::Nothing, _) => {}
            (Armed::Doorbell, Some(doorbell)) => doorbell.ring(),
            _ => self.wake(),
        }
    }

    /// Signals the reader, and whether the link has ended.
    fn wake(&self) {
        let end = match (self.is_cut, self.is_shut) {
            (true, _) => EventFlags::RDHUP | EventFlags::HUP,
            (_, true) => EventFlags::RDHUP,
            _ => EventFlags::empty(),
        };
        self.signal.add_ready(EventFlags::IN | end);
    }

    fn has_news(&self) -> bool {
        self.mapped_at <= clock::now() && (!self.bytes.is_empty() || self.is_shut || self.is_cut)
    }
}

/// The end of a process.
struct RingEnd {
    out: Shared,
    inbound: Shared,
    signal: Arc<Descriptor>,
    /// A read has found the end. Before, the writer does not know that the peer reads no more.
    has_ended: AtomicBool,
}

impl Drop for RingEnd {
    fn drop(&mut self) {
        for lane in [&self.out, &self.inbound] {
            let mut lane = lock(lane);
            lane.is_cut = true;
            lane.wake();
            signal(&lane.room);
        }
    }
}

impl Stream for RingEnd {
    fn write(&self, from: &[Span]) -> Result<usize, End> {
        let mut out = lock(&self.out);
        if out.is_shut || self.has_ended.load(Ordering::Relaxed) {
            return Err(End::Gone);
        }
        let length = bytes::total(from);
        let count = length.min(out.capacity - out.bytes.len());
        out.bytes.gather(from, count)?;
        out.wants_room |= count < length;
        if count > 0 {
            out.announce();
        }
        Ok(count)
    }

    fn read(&self, into: &[Span]) -> Result<Option<usize>, End> {
        let mut inbound = lock(&self.inbound);
        if inbound.mapped_at > clock::now() {
            return Ok(None);
        }
        if inbound.bytes.is_empty() {
            let has_ended = inbound.is_shut || inbound.is_cut;
            self.has_ended.store(has_ended, Ordering::Relaxed);
            return match (inbound.is_shut, inbound.is_cut) {
                (true, _) => Err(End::Closed),
                (_, true) => Err(End::Gone),
                _ => Ok(None),
            };
        }
        let count = inbound.bytes.scatter(into)?;
        inbound.taken += count as u64;
        if std::mem::take(&mut inbound.wants_room) {
            signal(&inbound.room);
        }
        Ok(Some(count))
    }

    fn shut_down(&self) -> Result<(), End> {
        let mut out = lock(&self.out);
        out.is_shut = true;
        out.wake();
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.signal.as_fd())
    }
}

/// The reading half: that of a stream, with signals.
struct RingReader {
    inner: StreamReader<RingEnd>,
    end: Arc<RingEnd>,
    doorbell: Option<Arc<Doorbell>>,
}

impl RingReader {
    fn take_signal(&self) {
        self.end.signal.set_ready(EventFlags::empty());
        // The end stays readable.
        let inbound = lock(&self.end.inbound);
        if inbound.is_shut || inbound.is_cut {
            inbound.wake();
        }
    }
}

impl Reader for RingReader {
    fn read(&mut self, sink: &mut dyn FrameSink, budget: Budget) -> Result<Progress, End> {
        // A waiter that has slept on the signal reads without a note.
        let is_armed = lock(&self.end.inbound).armed == Armed::Descriptor;
        if is_armed {
            self.take_signal();
        }
        self.inner.read(sink, budget)
    }

    fn note_readable(&mut self) {
        self.take_signal();
        self.inner.note_readable();
    }

    fn discard(&mut self) -> Result<(), End> {
        self.inner.discard()?;
        let inbound = lock(&self.end.inbound);
        if inbound.has_news() {
            inbound.wake();
        }
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.end.signal.as_fd())
    }

    fn begin_sleep(&mut self) -> Option<(SleepTarget, bool)> {
        Some((SleepTarget::Descriptor(Arc::clone(&self.end.signal) as _), false))
    }

    fn doorbell(&self) -> Option<Arc<Doorbell>> {
        self.doorbell.clone()
    }

    fn arm(&mut self, armed: Armed) -> bool {
        let mut inbound = lock(&self.end.inbound);
        inbound.armed = armed;
        inbound.has_news()
    }

    fn is_readable_for_room(&self) -> bool {
        true
    }
}

/// The writing half. It writes small pieces to a stream, and in some networks accesses the memory of the peer directly.
struct RingWriter {
    inner: StreamWriter<RingEnd>,
    direct: Option<Requester>,
}

/// The answers to reads, and the rest of long requests, come in pieces of this many bytes.
const PIECE: u64 = 10_000;

impl Writer for RingWriter {
    fn write(&mut self, frame: &Frame, payload: &[Span]) -> Result<WriteResult, End> {
        self.inner.write(frame, payload)
    }

    fn hold(&mut self, frame: &Frame, payload: &[Span], limit: usize) -> Result<WriteResult, End> {
        self.inner.hold(frame, payload, limit)
    }

    fn max_next_piece(&self) -> u64 {
        PIECE
    }

    fn can_hold(&self) -> bool {
        self.inner.can_hold()
    }

    fn flush(&mut self) -> Result<bool, End> {
        self.inner.flush()
    }

    fn shut_down(&mut self) -> Result<(), End> {
        self.inner.shut_down()
    }

    fn access(&mut self, access: &Access<'_>) -> AccessResult {
        self.direct.as_mut().map_or(AccessResult::NotDirectly, |direct| direct.access(access))
    }

    fn can_offer(&self) -> bool {
        self.direct.is_some()
    }

    fn offer(&mut self, length: u64, _: bool) -> Option<u64> {
        self.direct.as_ref().filter(|_| length >= MIN_OFFER)?.offer()
    }

    fn fetch(&mut self, offer: &Offer<'_>) -> AccessResult {
        self.direct.as_mut().map_or(AccessResult::NotDirectly, |direct| direct.fetch(offer))
    }

    fn gate(&mut self, domain: u32, queue_pair: u32) -> Option<Box<dyn Gate>> {
        let rights = Arc::clone(&self.direct.as_ref()?.own);
        Some(Box::new(OwnGate { rights, permits: (domain, queue_pair) }))
    }
}

/// A connection, as the world has it.
pub(crate) struct Ring {
    lanes: [Shared; 2],
    /// What each end permits the other one to access.
    rights: [SharedRights; 2],
}

impl Ring {
    /// Ends both directions at once.
    pub(crate) fn cut(&self) {
        self.rights.iter().for_each(|one| one.lock().expect("one thread").is_gone = true);
        for lane in &self.lanes {
            let mut lane = lock(lane);
            lane.is_cut = true;
            lane.announce();
            lane.wake();
            signal(&lane.room);
        }
    }

    /// Lets the readers whose memory is mapped now see what has arrived.
    pub(crate) fn map_memory(&self) {
        for lane in &self.lanes {
            let mut lane = lock(lane);
            if !lane.is_mapped && lane.mapped_at <= clock::now() {
                lane.is_mapped = true;
                if lane.has_news() {
                    lane.announce();
                }
            }
        }
    }

    /// If a direction has bytes that were not read, and that the reader can read: how many were.
    pub(crate) fn unread(&self, direction: usize) -> Option<u64> {
        let lane = lock(&self.lanes[direction]);
        (lane.is_mapped && !lane.bytes.is_empty() && !lane.is_cut).then_some(lane.taken)
    }

    /// The number of bytes that were read.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.lanes.iter().map(|lane| lock(lane).taken).sum()
    }

    /// The number of bytes that were written and read, if all were.
    pub(crate) fn idle(&self) -> Option<u64> {
        let all = self.lanes.each_ref().map(|lane| {
            let lane = lock(lane);
            lane.bytes.is_empty().then_some(lane.taken)
        });
        Some(all[0]? + all[1]?)
    }
}

/// The halves of both ends of a new connection between processes with these doorbells.
///
/// # Errors
/// A process is out of descriptors.
pub(crate) fn connect(
    Habits { capacity, is_direct, is_late, .. }: Habits,
    bells: [Option<&Arc<Bells>>; 2],
    random: &mut Rng,
) -> OsResult<([Halves; 2], Ring)> {
    let signals = [Arc::new(Descriptor::new()?), Arc::new(Descriptor::new()?)];
    let doorbells = bells.map(|bells| bells.and_then(Bells::take));
    // The lane of direction 0 leads from end 0 to end 1.
    let mut lane = |to: usize| {
        let late = if is_late { Duration::from_micros(random.u64(0..400)) } else { Duration::ZERO };
        Arc::new(Mutex::new(Lane {
            bytes: Bytes::default(),
            capacity,
            taken: 0,
            is_shut: false,
            is_cut: false,
            armed: Armed::Descriptor,
            doorbell: doorbells[to].clone(),
            signal: Arc::clone(&signals[to]),
            wants_room: false,
            room: Arc::clone(&signals[1 - to]),
            mapped_at: clock::now() + late,
            is_mapped: !is_late,
        }))
    };
    let lanes = [lane(1), lane(0)];
    let rights: [SharedRights; 2] = Default::default();
    let halves = [0, 1].map(|end| {
        let signal = Arc::clone(&signals[end]);
        let (out, inbound) = (Arc::clone(&lanes[end]), Arc::clone(&lanes[1 - end]));
        let ring = Arc::new(RingEnd { out, inbound, signal, has_ended: AtomicBool::new(false) });
        let inner = StreamReader::new(Arc::clone(&ring));
        let (out, seed) = (StreamWriter::new(Arc::clone(&ring)), random.u64(..));
        let direct = is_direct.then(|| Requester::new(&rights[1 - end], &rights[end], seed));
        let writer: Box<dyn Writer> = Box::new(RingWriter { inner: out, direct });
        let doorbell = doorbells[end].clone();
        let reader: Box<dyn Reader> = Box::new(RingReader { inner, end: ring, doorbell });
        (reader, writer)
    });
    Ok((halves, Ring { lanes, rights }))
}
