//! A link like TCP: what a process writes waits until the simulated network delivers it.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard};

use dat_core::provider::CompletionDescriptor;
use dat_core::provider::mem::Span;
use dat_provider_kit::bytes;
use dat_provider_kit::link::End;
use dat_provider_kit::stream_link::{Stream, halves};
use dat_sync::epoll::EventFlags;
use dat_sync::epoll::simulated::Descriptor;
use rustix::io::{Errno, Result};

use crate::network::Halves;
use crate::queue::Bytes;

/// One direction.
#[derive(Default)]
struct Lane {
    /// What the sender has written and the network has not delivered, and what the receiver has not read.
    sent: Bytes,
    arrived: Bytes,
    /// The sender has shut its side down, and the receiver reads the end.
    is_shut: bool,
    has_ended: bool,
    /// Number of bytes that the receiver has read.
    read: u64,
    /// The receiver has closed its end.
    is_deaf: bool,
}

/// Both directions: 0 leads from end 0 to end 1.
struct Pipe {
    lanes: [Lane; 2],
    capacity: usize,
    /// A machine is gone.
    is_cut: bool,
    descriptors: [Arc<Descriptor>; 2],
}

impl Pipe {
    /// Makes the descriptors ready for what is possible now.
    fn announce(&self) {
        for (end, descriptor) in self.descriptors.iter().enumerate() {
            let (out, inbound) = (&self.lanes[end], &self.lanes[1 - end]);
            let mut ready = EventFlags::empty();
            let has_ended = inbound.has_ended || self.is_cut;
            ready.set(EventFlags::IN, !inbound.arrived.is_empty() || has_ended);
            ready.set(EventFlags::RDHUP, has_ended);
            ready.set(EventFlags::HUP, has_ended && (out.is_shut || self.is_cut));
            ready.set(EventFlags::OUT, out.sent.len() < self.capacity || self.is_cut);
            descriptor.set_ready(ready);
        }
    }
}

/// The end of a process.
struct StreamEnd {
    pipe: Arc<Mutex<Pipe>>,
    end: usize,
    descriptor: Arc<Descriptor>,
}

impl StreamEnd {
    fn pipe(&self) -> MutexGuard<'_, Pipe> {
        lock(&self.pipe)
    }
}

/// A connection, as the network has it.
pub(crate) struct Carrier(Arc<Mutex<Pipe>>);

fn lock(pipe: &Mutex<Pipe>) -> MutexGuard<'_, Pipe> {
    pipe.lock().expect("one thread")
}

/// The halves of both ends of a new connection, and the network between them. Each end holds `capacity` bytes in each
/// direction.
///
/// # Errors
/// A process is out of descriptors.
pub(crate) fn connect(capacity: usize) -> Result<([Halves; 2], Carrier)> {
    let descriptors = [Arc::new(Descriptor::new()?), Arc::new(Descriptor::new()?)];
    let pipe = Pipe {
        lanes: Default::default(),
        capacity,
        is_cut: false,
        descriptors: descriptors.clone(),
    };
    pipe.announce();
    let pipe = Arc::new(Mutex::new(pipe));
    let mut number = 0..;
    let ends = descriptors.map(|descriptor| {
        let end = number.next().unwrap_or_default();
        halves(&Arc::new(StreamEnd { pipe: Arc::clone(&pipe), end, descriptor }))
    });
    Ok((ends, Carrier(pipe)))
}

impl Stream for StreamEnd {
    fn write(&self, from: &[Span]) -> std::result::Result<usize, End> {
        let mut pipe = self.pipe();
        let Pipe { lanes, capacity, is_cut, .. } = &mut *pipe;
        if *is_cut {
            return Err(End::Lost(Errno::CONNRESET.raw_os_error()));
        }
        let lane = &mut lanes[self.end];
        let count = bytes::total(from).min(*capacity - lane.sent.len());
        if count > 0 {
            lane.sent.gather(from, count)?;
            pipe.announce();
        }
        Ok(count)
    }

    fn read(&self, into: &[Span]) -> std::result::Result<Option<usize>, End> {
        let mut pipe = self.pipe();
        let is_cut = pipe.is_cut;
        let lane = &mut pipe.lanes[1 - self.end];
        if lane.arrived.is_empty() {
            return match (is_cut, lane.has_ended) {
                (true, _) => Err(End::Gone),
                (_, true) => Err(End::Closed),
                _ => Ok(None),
            };
        }
        let count = lane.arrived.scatter(into)?;
        lane.read += count as u64;
        pipe.announce();
        Ok(Some(count))
    }

    fn shut_down(&self) -> std::result::Result<(), End> {
        let mut pipe = self.pipe();
        pipe.lanes[self.end].is_shut = true;
        pipe.announce();
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.descriptor.as_fd())
    }

    fn waiter_descriptor(self: &Arc<Self>) -> Option<CompletionDescriptor> {
        let descriptor: CompletionDescriptor = Arc::clone(&self.descriptor) as _;
        Some(descriptor)
    }
}

impl Drop for StreamEnd {
    fn drop(&mut self) {
        let mut pipe = self.pipe();
        pipe.lanes[self.end].is_shut = true;
        let inbound = &mut pipe.lanes[1 - self.end];
        inbound.is_deaf = true;
        inbound.arrived.clear();
    }
}

impl Carrier {
    /// Moves up to `most` bytes in a direction. Returns whether anything moved.
    pub(crate) fn deliver(&self, direction: usize, most: usize) -> bool {
        let mut pipe = lock(&self.0);
        let Pipe { lanes, capacity, .. } = &mut *pipe;
        let lane = &mut lanes[direction];
        let space = if lane.is_deaf { usize::MAX } else { *capacity - lane.arrived.len() };
        let part = lane.sent.first(most.min(space));
        let count = part.len();
        if !lane.is_deaf {
            lane.arrived.end().extend_from_slice(part);
        }
        lane.sent.take(count);
        let ends = lane.is_shut && lane.sent.is_empty() && !lane.has_ended;
        lane.has_ended |= ends;
        if count > 0 || ends {
            pipe.announce();
        }
        count > 0 || ends
    }

    /// If the receiver of a direction has not read all that was delivered: how much it has.
    pub(crate) fn unread(&self, direction: usize) -> Option<u64> {
        let pipe = lock(&self.0);
        let lane = &pipe.lanes[direction];
        (!pipe.is_cut && !lane.is_deaf && !lane.arrived.is_empty()).then_some(lane.read)
    }

    /// The number of bytes that were read.
    pub(crate) fn read_bytes(&self) -> u64 {
        lock(&self.0).lanes.iter().map(|lane| lane.read).sum()
    }

    /// The number of bytes that were written and read, if all were.
    pub(crate) fn idle(&self) -> Option<u64> {
        let pipe = lock(&self.0);
        let is_idle = |lane: &Lane| lane.sent.is_empty() && lane.arrived.is_empty();
        let total = || pipe.lanes.iter().map(|lane| lane.read).sum();
        pipe.lanes.iter().all(is_idle).then(total)
    }

    pub(crate) fn describe(&self) -> String {
        let pipe = lock(&self.0);
        let lanes = pipe.lanes.each_ref().map(|lane| {
            let Lane { sent, arrived, is_shut, read, is_deaf, .. } = lane;
            let (sent, arrived) = (sent.len(), arrived.len());
            format!("{sent} on the way, {arrived} unread, {read} read, {is_shut}, {is_deaf}")
        });
        format!("{lanes:?}")
    }

    /// Ends both directions at once, as the loss of a machine does when it is noticed.
    pub(crate) fn cut(&self) {
        let mut pipe = lock(&self.0);
        pipe.is_cut = true;
        pipe.lanes.iter_mut().for_each(|lane| lane.sent.clear());
        pipe.announce();
    }
}
