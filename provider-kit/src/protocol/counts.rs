//! The counts that each frame carries: which the peer has got, and which it should get.

/// The receives of this side, and the counts that were sent last.
#[derive(Debug)]
pub(crate) struct Counts {
    /// Number of receives that were posted.
    pub(crate) posted: u32,
    /// Number of receives that messages of the peer have consumed.
    pub(crate) taken: u32,
    /// The last number of executed requests that was sent.
    pub(crate) reported_executed: u32,
    /// The last value of `posted` that was sent.
    pub(crate) reported_posted: u32,
}

impl Counts {
    pub(super) const fn new(posted: u32) -> Self {
        Self { posted, taken: 0, reported_executed: 0, reported_posted: posted }
    }

    /// A receive is posted.
    #[inline]
    pub(crate) const fn note_posted(&mut self) {
        self.posted = self.posted.wrapping_add(1);
    }

    /// A message of the peer consumes a receive.
    #[inline]
    pub(super) const fn note_taken(&mut self) {
        self.taken = self.taken.wrapping_add(1);
    }

    /// Returns true if the peer has credits left.
    #[inline]
    pub(crate) const fn peer_has_credits(&self) -> bool {
        self.reported_posted != self.taken
    }

    /// Returns true if receives were posted that the peer should get credits for: it has none left, or fewer than
    /// the unreported ones, so that it need not stop.
    #[inline]
    pub(crate) const fn owes_credits(&self) -> bool {
        let unreported = self.posted.wrapping_sub(self.reported_posted);
        let known = self.reported_posted.wrapping_sub(self.taken);
        unreported > 0 && (known == 0 || unreported > 1 && unreported >= known)
    }
}
