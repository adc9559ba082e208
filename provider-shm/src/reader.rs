//! The reading half of a link.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use dat_provider::SleepTarget;
use dat_provider_kit::doorbell::Doorbell;
use dat_provider_kit::frame::{AckHead, MessageHead};
use dat_provider_kit::link::{
    Armed, Budget, Destinations, End, FrameSink, Progress, Reader, Refused,
};
use dat_sync::futex;

use crate::bell::Heard;
use crate::copy_cost::CopyCost;
use crate::link::Link;
use crate::ring::Consumer;
use crate::ring_word::RingWord;
use crate::segment::RING;
use crate::sync::Ordering;

/// Length of an acknowledgement in the ring, in bytes.
const ACK: usize = 8 + AckHead::LEN;
/// A poller checks the socket for the peer's end once in this many polls that find nothing.
const SELDOM: u32 = 256;
/// The same while the descriptor or the word is armed: a waiter may have woken up for the end.
const SOON: u32 = 2;

/// Reads frames from a ring.
#[derive(Debug)]
pub(crate) struct RingReader {
    /// `None` until the segment arrives.
    consumer: Option<Consumer>,
    /// The event that this side awaits.
    armed: Armed,
    /// The word of the last sleep on it, and its value then.
    word: Option<Arc<RingWord>>,
    seen: u32,
    /// True once the peer has sent its doorbell, or is known to have none.
    has_met: bool,
    /// True while the descriptor is readable.
    is_readable: bool,
    /// Consecutive polls that found nothing.
    idle: u32,
    /// Bytes read since the peer's end; at most one ring can be left.
    late: usize,
    places: Destinations,
    ended: Option<End>,
    /// Dropped last, because it keeps the segment if nothing else uses it.
    link: Arc<Link>,
}

impl RingReader {
    pub(crate) fn new(link: Arc<Link>) -> Self {
        let (places, ended) = (Destinations::new(), None);
        let mut reader = Self {
            consumer: None,
            armed: Armed::Descriptor,
            word: None,
            seen: 0,
            has_met: false,
            is_readable: true,
            idle: 0,
            late: 0,
            places,
            ended,
            link,
        };
        if let Some(segment) = reader.link.segment() {
            let mut consumer = Consumer::new(segment, 1 - reader.link.writes);
            consumer.arm(reader.armed);
            reader.consumer = Some(consumer);
        }
        reader
    }

    /// Makes each later read return this end.
    #[cold]
    fn end_with(&mut self, end: &End) {
        self.places.clear();
        self.ended.get_or_insert_with(|| end.clone());
        self.has_met = false;
    }

    /// Takes the segment of the passive side. Returns true if it has arrived.
    fn open(&mut self) -> Result<bool, End> {
        let Some(segment) = self.link.receive()? else { return Ok(false) };
        let mut consumer = Consumer::new(segment, 1 - self.link.writes);
        consumer.arm(self.armed);
        self.consumer = Some(consumer);
        Ok(true)
    }

    fn has_frame(&self) -> bool {
        self.consumer.as_ref().is_some_and(|consumer| !consumer.is_empty())
    }

    /// Takes the rings that have arrived. After a ring, the peer rings for the next frame.
    fn hear(&mut self) {
        match self.link.hear() {
            Heard::Nothing => {}
            Heard::Rung => {
                let is_armed = self.armed == Armed::Descriptor;
                if let Some(consumer) = self.consumer.as_mut().filter(|_| is_armed) {
                    consumer.arm(self.armed);
                }
            }
            Heard::End => self.link.end(),
            Heard::Lost(errno) => self.link.lose(errno),
        }
    }

    /// Returns true if the next read only has to read the ring.
    #[inline(always)]
    fn is_settled(&self) -> bool {
        self.has_met
            && !self.is_readable
            && self.armed == Armed::Nothing
            && self.idle < SELDOM
            && self.link.check().is_ok()
    }

    /// Takes the segment and the rings, if they have arrived. Returns true if there is a ring to read.
    ///
    /// # Errors
    /// The link has ended.
    #[inline(never)]
    fn prepare(&mut self) -> Result<bool, End> {
        if let Some(end) = &self.ended {
            return Err(end.clone());
        }
        self.link.check()?;
        if self.consumer.is_none() && !self.open()? {
            return Ok(false);
        }
        let is_readable = std::mem::take(&mut self.is_readable);
        let must_hear = match self.armed {
            Armed::Nothing | Armed::Doorbell => self.idle >= SELDOM,
            Armed::Descriptor => self.idle >= SOON || self.has_frame(),
            Armed::Word => self.idle >= SOON && !self.has_frame(),
        };
        if is_readable || must_hear {
            self.idle = 0;
            self.hear();
        }
        if let Some(consumer) = self.consumer.as_mut().filter(|_| !self.has_met) {
            if consumer.is_empty() && !self.link.has_ended() {
                self.idle += 1;
                return Ok(false);
            }
            self.has_met = true;
            if self.link.meet() {
                consumer.arm(self.armed);
            }
        }
        Ok(true)
    }

    #[inline(always)]
    fn run(&mut self, sink: &mut dyn FrameSink, budget: Budget) -> Result<Progress, End> {
        if !self.is_settled() && !self.prepare()? {
            return Ok(Progress::Drained(false));
        }
        let Some(consumer) = &mut self.consumer else { return Ok(Progress::Drained(false)) };
        let (mut frames, mut bytes) = (0, 0);
        while let Some(total) = consumer.next() {
            let length = match read_plain(consumer, total, sink)? {
                Some(length) => length,
                None => read_frame(consumer, total, sink, (&mut self.places, &self.link.cost_out))?,
            };
            if consumer.pass(length) {
                // A failure ends the link, which is checked below.
                let _ = self.link.ring_bell();
            }
            (frames, bytes) = (frames + 1, bytes + length);
            if frames >= budget.frames || bytes >= budget.bytes {
                break;
            }
        }
        if frames > 0 {
            self.link.look_at(consumer.place());
        }
        self.idle = if frames == 0 { self.idle + 1 } else { 0 };
        let has_more = frames >= budget.frames || bytes >= budget.bytes;
        if self.link.has_ended() {
            self.late += bytes;
            if frames == 0 || self.late > RING {
                return Err(self.link.ended(End::Closed));
            }
            return Ok(Progress::More);
        }
        Ok(if has_more { Progress::More } else { Progress::Drained(frames > 0) })
    }
}

/// Passes on the frame at the head of the ring, which has this first word, if it is an acknowledgement or a message to
/// a single destination. Returns the length of the frame in the ring, in bytes.
#[inline(always)]
fn read_plain(
    consumer: &Consumer,
    total: u64,
    sink: &mut dyn FrameSink,
) -> Result<Option<usize>, Refused> {
    let words = consumer.head();
    if let Some(head) = MessageHead::of(words) {
        let Some((payload, length)) = consumer.payload(total, &head) else { return Ok(None) };
        return Ok(sink.message(&head, payload)?.then_some(length));
    }
    match AckHead::of(words) {
        Some(head) if total == ACK as u64 => Ok(sink.ack(&head)?.then_some(ACK)),
        _ => Ok(None),
    }
}

/// As [`read_plain`], for any frame.
#[inline(never)]
fn read_frame(
    consumer: &Consumer,
    total: u64,
    sink: &mut dyn FrameSink,
    (places, cost): (&mut Destinations, &CopyCost),
) -> Result<usize, End> {
    let found = consumer.frame(total).map_err(End::Malformed)?;
    sink.begin(&found.frame)?;
    if found.payload() > 0 {
        places.clear();
        sink.destinations(0, places);
        let begin = cost.begin(found.payload() as u64);
        match consumer.take(&found, places) {
            Ok(()) => cost.end(begin),
            Err(_) => sink.lose_memory(),
        }
        places.clear();
    }
    sink.end()?;
    Ok(found.length())
}

impl Reader for RingReader {
    fn read(&mut self, sink: &mut dyn FrameSink, budget: Budget) -> Result<Progress, End> {
        let result = self.run(sink, budget);
        if let Err(end) = &result {
            self.end_with(end);
        }
        result
    }

    fn note_readable(&mut self) {
        self.is_readable = true;
    }

    fn discard(&mut self) -> Result<(), End> {
        self.link.check()?;
        // The peer finds the frames in the memory, even after this process has ended.
        if self.link.is_shut() {
            return Err(self.link.ended(End::Closed));
        }
        self.hear();
        if self.link.has_ended() {
            return Err(self.link.ended(End::Closed));
        }
        let Some(consumer) = &mut self.consumer else { return Ok(()) };
        // Data that is not a frame ends the connection for the peer too; its socket reports when.
        while let Ok(Some(found)) = consumer.next_frame() {
            if consumer.pass(found.length()) {
                self.link.ring_bell()?;
            }
        }
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.link.bell.as_fd())
    }

    fn begin_sleep(&mut self) -> Option<(SleepTarget, bool)> {
        let segment = self.link.segment().filter(|_| futex::is_available());
        let (Some(consumer), Some(segment)) = (&mut self.consumer, segment) else {
            return Some((SleepTarget::Descriptor(Arc::clone(&self.link) as _), false));
        };
        let seen = consumer.wake_ups().load(Ordering::Relaxed);
        let mut has_frame = false;
        // Unless the peer has woken a thread, it will wake this one, too.
        if self.armed != Armed::Word || self.seen != seen {
            (self.armed, self.seen, self.idle) = (Armed::Word, seen, 0);
            has_frame = consumer.arm(Armed::Word);
        }
        let word = self.word.get_or_insert_with(|| Arc::new(RingWord::new(segment, &self.link)));
        Some((SleepTarget::Word { word: Arc::clone(word) as _, seen }, has_frame))
    }

    fn doorbell(&self) -> Option<Arc<Doorbell>> {
        self.link.doorbell()
    }

    fn arm(&mut self, armed: Armed) -> bool {
        if std::mem::replace(&mut self.armed, armed) == armed || self.link.check().is_err() {
            return false;
        }
        let is_there = self.consumer.as_mut().is_some_and(|consumer| consumer.arm(armed));
        is_there && armed != Armed::Nothing
    }

    fn is_readable_for_room(&self) -> bool {
        true
    }

    fn bytes_read(&self) -> Option<u64> {
        Some(self.consumer.as_ref().map_or(0, Consumer::bytes_read))
    }
}

impl Drop for RingReader {
    fn drop(&mut self) {
        if self.consumer.as_ref().is_some_and(|consumer| !consumer.is_near()) {
            self.link.set_spread();
        }
    }
}
