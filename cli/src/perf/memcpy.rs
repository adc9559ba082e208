//! What the processor itself copies, to compare with.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Two blocks of memory with places, laid out as those of a measurement.
#[derive(Debug)]
pub(super) struct Copier {
    from: Vec<u8>,
    to: Vec<u8>,
    size: usize,
    stride: usize,
    places: usize,
}

/// Transfers start at pages, so copies must too.
const PAGE: usize = 4096;

impl Copier {
    /// Memory for so many places, all of it touched.
    pub(super) fn new(size: u64, stride: u64, places: u64) -> Self {
        let (size, stride, places) = (size as usize, stride as usize, places as usize);
        let length = stride * places + PAGE;
        Self { from: vec![0x5a; length], to: vec![0xa5; length], size, stride, places }
    }

    /// Copies place by place for about as long as the budget says: bytes in a second.
    pub(super) fn round(&mut self, budget: Duration) -> f64 {
        let skip = |block: &[u8]| block.as_ptr().align_offset(PAGE).min(PAGE);
        let from = &self.from[skip(&self.from)..];
        let skipped = skip(&self.to);
        let to = &mut self.to[skipped..];
        // The clock is read once for so many copies that it takes next to no time.
        let copies = ((64 << 10) / self.size).clamp(1, 4096);
        let (mut place, mut count) = (0, 0);
        let start = Instant::now();
        loop {
            for _ in 0..copies {
                let piece = place * self.stride..place * self.stride + self.size;
                to[piece.clone()].copy_from_slice(black_box(&from[piece]));
                black_box(&mut *to);
                place = (place + 1) % self.places;
            }
            count += copies;
            let time = start.elapsed();
            if time >= budget {
                return (count * self.size) as f64 / time.as_secs_f64();
            }
        }
    }
}
