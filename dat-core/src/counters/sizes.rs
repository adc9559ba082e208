//! Histograms of the sizes of an endpoint's operations, which count together with its counters.

/// The operations whose sizes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
pub enum SizedOperation {
    /// Sends and datagrams that were posted.
    Send,
    /// RDMA writes that were posted, with and without immediate data.
    RdmaWrite,
    /// RDMA reads that were posted.
    RdmaRead,
    /// Receives whose completions were dequeued, by the size of what arrived.
    Receive,
}

impl SizedOperation {
    /// Every operation.
    pub const ALL: &'static [Self] = &[Self::Send, Self::RdmaWrite, Self::RdmaRead, Self::Receive];

    /// Its name in `dat top` and in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::RdmaWrite => "rdma_write",
            Self::RdmaRead => "rdma_read",
            Self::Receive => "receive",
        }
    }
}

/// The numbers of operations by size, at one time.
///
/// Bucket 0 counts empty messages, bucket 1 those of one byte, and bucket `n` those above `2^(n-2)` bytes and up to
/// `2^(n-1)` bytes. The last one also counts everything longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The buckets of all operations, one after the other.
    counts: Vec<u64>,
}

impl Sizes {
    /// Number of buckets of an operation: the last one has the maximum size of a message, 4 GiB, and what is longer.
    pub const BUCKETS: usize = 34;
    /// Number of buckets of all operations.
    pub(super) const ALL: usize = Self::BUCKETS * SizedOperation::ALL.len();

    pub(super) fn from_counts(counts: Vec<u64>) -> Self {
        Self { counts }
    }

    /// The place of the bucket for operations of that many bytes, among those of all operations.
    pub(super) const fn place(operation: SizedOperation, bytes: u64) -> usize {
        operation as usize * Self::BUCKETS + Self::bucket(bytes)
    }

    /// The bucket for that many bytes.
    #[must_use]
    pub const fn bucket(bytes: u64) -> usize {
        let bucket = match bytes {
            0 => 0,
            bytes => 1 + (u64::BITS - (bytes - 1).leading_zeros()) as usize,
        };
        if bucket < Self::BUCKETS { bucket } else { Self::BUCKETS - 1 }
    }

    /// The maximum size that a bucket counts, in bytes; `None` for the last one.
    #[must_use]
    pub const fn limit(bucket: usize) -> Option<u64> {
        match bucket {
            0 => Some(0),
            bucket if bucket < Self::BUCKETS - 1 => Some(1 << (bucket - 1)),
            _ => None,
        }
    }

    /// The number of operations in each bucket.
    #[must_use]
    pub fn counts(&self, operation: SizedOperation) -> &[u64] {
        let first = operation as usize * Self::BUCKETS;
        self.counts.get(first..first + Self::BUCKETS).unwrap_or_default()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_in_the_bucket_whose_limit_is_not_below_it() {
        let near = (0..64).flat_map(|bit| {
            let power = 1_u64 << bit;
            [power - 1, power, power.saturating_add(1)]
        });
        for bytes in near.chain([u64::MAX]) {
            let bucket = Sizes::bucket(bytes);
            assert!(Sizes::limit(bucket).is_none_or(|limit| bytes <= limit), "{bytes}");
            let below = bucket.checked_sub(1).and_then(Sizes::limit);
            assert!(below.is_none_or(|limit| bytes > limit), "{bytes}");
        }
        assert_eq!((Sizes::bucket(0), Sizes::bucket(1), Sizes::bucket(4096)), (0, 1, 13));
        assert_eq!(Sizes::bucket(1 << 32), Sizes::BUCKETS - 1);
        assert_eq!(Sizes::limit(Sizes::BUCKETS - 1), None);
    }
}
