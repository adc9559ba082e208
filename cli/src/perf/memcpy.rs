//! Measures memcpy, for comparison.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Two blocks of memory with slots, laid out like those of a measurement.
#[derive(Debug)]
pub(crate) struct Copier {
    from: Vec<u8>,
    to: Vec<u8>,
    size: usize,
    stride: usize,
    slots: usize,
}

/// Transfers start at pages, so copies must too.
const PAGE: usize = 4096;

impl Copier {
    /// Memory for a number of slots; every page is touched.
    pub(crate) fn new(size: u64, stride: u64, slots: u64) -> Self {
        let (size, stride, slots) = (size as usize, stride as usize, slots as usize);
        let length = stride * slots + PAGE;
        Self { from: vec![0x5a; length], to: vec![0xa5; length], size, stride, slots }
    }

    /// Copies slot by slot for about the time of the budget. Returns bytes per second.
    pub(crate) fn round(&mut self, budget: Duration) -> f64 {
        let skip = |block: &[u8]| block.as_ptr().align_offset(PAGE).min(PAGE);
        let from = &self.from[skip(&self.from)..];
        let skipped = skip(&self.to);
        let to = &mut self.to[skipped..];
        // Many copies are made for each reading of the clock, so that its time does not matter.
        let copies = ((64 << 10) / self.size).clamp(1, 4096);
        let (mut slot, mut count) = (0, 0);
        let start = Instant::now();
        loop {
            for _ in 0..copies {
                let piece = slot * self.stride..slot * self.stride + self.size;
                to[piece.clone()].copy_from_slice(black_box(&from[piece]));
                black_box(&mut *to);
                slot = (slot + 1) % self.slots;
            }
            count += copies;
            let time = start.elapsed();
            if time >= budget {
                return (count * self.size) as f64 / time.as_secs_f64();
            }
        }
    }
}
