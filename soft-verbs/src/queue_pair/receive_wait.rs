//! How long a request waits for a receive of the peer: as often as `rnr_retry` says, for the time that the peer asks for
//! (`min_rnr_timer`).

use std::time::Duration;

use super::{Control, QueuePair, QueuePairAttributes};

/// The number of retries that has no end.
const FOR_EVER: u8 = 7;

/// The times of `min_rnr_timer`, in units of 10 µs (InfiniBand, table of the RNR NAK timer field).
const TIMES: [u16; 32] = [
    65_535, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
    2048, 3072, 4096, 6144, 8192, 12_288, 16_384, 24_576, 32_768, 49_152,
];

/// The time between two attempts to send to a peer that has no receive.
fn interval(timer: u8) -> Duration {
    let time = TIMES.get(usize::from(timer)).copied().unwrap_or_default();
    Duration::from_micros(10) * u32::from(time)
}

/// How long all retries of a request take.
fn retry_time(control: &Control) -> Duration {
    interval(control.link.peer_timer) * u32::from(control.attributes.rnr_retry)
}

impl QueuePair {
    /// The attributes limit the wait for a receive, or not.
    pub(super) fn apply_retries(&self, attributes: &QueuePairAttributes) -> crate::Result<()> {
        let is_limited = attributes.rnr_retry != FOR_EVER;
        if let Some(twin) = self.twin() {
            twin.for_verbs().limit_receive_wait(is_limited)?;
        }
        Ok(self.kit.for_verbs().limit_receive_wait(is_limited)?)
    }

    /// A request waits for a receive of the peer.
    pub(super) fn note_receive_wait(&self, attempt: u64) {
        let control = self.control.lock();
        let is_this = control.link.is_attempt(attempt);
        let time = retry_time(&control);
        drop(control);
        if !is_this {
            return;
        }
        if time.is_zero() {
            return self.kit.for_verbs().end_receive_wait();
        }
        self.later(time, move |queue_pair| {
            let is_this = queue_pair.control.lock().link.is_attempt(attempt);
            if is_this {
                queue_pair.kit.for_verbs().end_receive_wait();
            }
        });
    }

    /// A request to the queue pair itself waits for a receive.
    pub(super) fn note_receive_wait_of_twin(&self) {
        let time = retry_time(&self.control.lock());
        let Some(twin) = self.twin() else { return };
        if time.is_zero() {
            return twin.for_verbs().end_receive_wait();
        }
        self.later(time, move |_| twin.for_verbs().end_receive_wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_are_those_of_the_table() {
        // Pairs of a code and milliseconds, of the table.
        let some = [(0, 655.36), (1, 0.01), (4, 0.04), (12, 0.64), (20, 10.24), (31, 491.52)];
        for (timer, expected) in some {
            let found = interval(timer).as_secs_f64() * 1000.0;
            assert!((found - expected).abs() < 0.011, "{timer}: {found}");
        }
        assert!(TIMES[1..].is_sorted());
    }
}
