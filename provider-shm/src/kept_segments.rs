//! Segments of connections that have ended. The next connections between the same two processes use them.
//!
//! A new segment costs both processes together about 20 µs, for its file, two mappings and the first accesses to its page.
//! So each side keeps its mapping, but not the file. The passive side announces in the segment that it has kept it; the
//! active side then claims it for a connection, and names it in the [greeting](crate::greeting). A passive side that does
//! not know it any more says so, and the active side [replaces](Segment::replace) the file.
//!
//! A segment is only used again with the process with which it was used before, which has had access to it already. A
//! process that goes on writing after it has released a segment therefore disturbs its own connections alone. A
//! segment is only kept if nothing but the page of the words was written; the active side clears that page.

use std::collections::VecDeque;
use std::sync::Arc;

use dat_sync::Mutex;

use crate::greeting::PeerProcess;
use crate::segment::Segment;

/// Maximum number of segments that an adapter keeps of those that it has created, and of those of its peers.
const MOST: usize = 4;

/// A segment that this side has created.
#[derive(Debug)]
pub(crate) struct OwnSegment {
    pub(crate) segment: Segment,
    /// The process with which it was used.
    pub(crate) peer: PeerProcess,
    /// The qualifier of the listener.
    pub(crate) qualifier: u64,
}

/// A segment that this side has claimed. It is kept again when this is dropped without having been used.
#[derive(Debug)]
pub(crate) struct ClaimedSegment {
    segment: Option<OwnSegment>,
    kept: Arc<KeptSegments>,
}

impl ClaimedSegment {
    /// The segment, for a connection with the process of the listener, or to be dropped if that is another one.
    pub(crate) fn into_own(mut self) -> Option<OwnSegment> {
        self.segment.take()
    }
}

impl Drop for ClaimedSegment {
    fn drop(&mut self) {
        if let Some(own) = self.segment.take() {
            own.segment.announce_kept();
            self.kept.keep_own(own);
        }
    }
}

/// The segments that an adapter keeps, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct KeptSegments {
    own: Mutex<VecDeque<OwnSegment>>,
    of_peers: Mutex<VecDeque<(PeerProcess, Segment)>>,
}

impl KeptSegments {
    /// Claims a segment that was used with a listener of a qualifier, and that the passive side has kept. The caller must
    /// check that the process of the listener is still the same.
    pub(crate) fn claim(self: &Arc<Self>, qualifier: u64) -> Option<ClaimedSegment> {
        let mut own = self.own.lock();
        let claim = |kept: &OwnSegment| kept.qualifier == qualifier && kept.segment.claim();
        let index = own.iter().position(claim)?;
        let found = own.remove(index)?;
        drop(own);
        let segment = OwnSegment { segment: found.segment.renewed(), ..found };
        Some(ClaimedSegment { segment: Some(segment), kept: Arc::clone(self) })
    }

    /// Keeps a segment that this side does not use any more.
    pub(crate) fn keep_own(&self, segment: OwnSegment) {
        let mut own = self.own.lock();
        own.push_back(segment);
        let oldest = if own.len() > MOST { own.pop_front() } else { None };
        drop(own);
        drop(oldest);
    }

    /// Takes the segment of a peer that the peer has claimed.
    pub(crate) fn take(&self, peer: PeerProcess, id: u64) -> Option<Segment> {
        let mut of_peers = self.of_peers.lock();
        let index = of_peers.iter().position(|(of, segment)| *of == peer && segment.id() == id)?;
        of_peers.remove(index).map(|(_, segment)| segment)
    }

    /// Keeps the segment of a peer, which this side does not use any more.
    pub(crate) fn keep(&self, peer: PeerProcess, segment: Segment) {
        segment.announce_kept();
        let mut of_peers = self.of_peers.lock();
        of_peers.push_back((peer, segment));
        let dropped = if of_peers.len() > MOST {
            // Not one that a peer has just claimed, unless peers have claimed all of them.
            let free = of_peers.iter().position(|(_, segment)| segment.withdraw());
            of_peers.remove(free.unwrap_or(0))
        } else {
            None
        };
        drop(of_peers);
        drop(dropped);
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    const QUALIFIER: u64 = 7;
    const NEAR: PeerProcess = PeerProcess { process: 1, user: 2, is_of_same_user: true };
    const FAR: PeerProcess = PeerProcess { process: 3, user: 2, is_of_same_user: true };

    /// The base of a mapping, which identifies it.
    fn base(segment: &Segment) -> usize {
        segment.all().0 as usize
    }

    /// The memory that both sides keep.
    fn sides() -> (Arc<KeptSegments>, KeptSegments) {
        (Arc::default(), KeptSegments::default())
    }

    /// Claims a segment and uses it.
    fn take_own(near: &Arc<KeptSegments>, qualifier: u64) -> Option<OwnSegment> {
        near.claim(qualifier).and_then(ClaimedSegment::into_own)
    }

    /// A segment and the mapping of the other side.
    fn pair() -> (OwnSegment, Segment) {
        let (segment, file) = Segment::create().expect("memory");
        let other = Segment::open(file.as_fd(), segment.id()).expect("a segment");
        (OwnSegment { segment, peer: FAR, qualifier: QUALIFIER }, other)
    }

    #[test]
    fn a_segment_is_used_again_when_both_sides_have_left_it() {
        let (near, far) = sides();
        let (own, other) = pair();
        let (id, bases) = (own.segment.id(), (base(&own.segment), base(&other)));
        near.keep_own(own);
        assert!(take_own(&near, QUALIFIER).is_none(), "the other side uses it");
        far.keep(NEAR, other);
        assert!(take_own(&near, 8).is_none(), "it was used with another listener");
        let again = take_own(&near, QUALIFIER).expect("both have left it");
        assert_eq!((again.peer, again.segment.id()), (FAR, id));
        assert!(far.take(FAR, id).is_none(), "it is of another process");
        let other = far.take(NEAR, id).expect("it was kept");
        assert_eq!((base(&again.segment), base(&other)), bases, "neither was mapped again");
        assert!(take_own(&near, QUALIFIER).is_none() && far.take(NEAR, id).is_none());
    }

    /// A connection finds no bytes of an earlier one.
    #[test]
    #[allow(unsafe_code, reason = "the memory is compared with that of a new segment")]
    fn a_segment_that_is_used_again_is_as_a_new_one() {
        let bytes = |segment: &Segment| {
            let (base, length) = segment.all();
            // SAFETY: no other thread writes the memory, all of which is mapped.
            unsafe { std::slice::from_raw_parts(base, length) }.to_vec()
        };
        let (near, far) = sides();
        let (own, other) = pair();
        for direction in [0, 1] {
            let first = Segment::first_unit(direction);
            let count = (first..).take_while(|at| Segment::is_near(direction, *at)).count();
            let begin = own.segment.ring(direction);
            let begin = begin.wrapping_add(first as usize * crate::segment::UNIT);
            // SAFETY: these units are inside of the mapping.
            unsafe { begin.write_bytes(0xff, count * crate::segment::UNIT) };
            own.segment.access(direction).set_gate(7);
        }
        near.keep_own(own);
        far.keep(NEAR, other);
        let again = take_own(&near, QUALIFIER).expect("both have left it");
        assert_eq!(bytes(&again.segment), bytes(&Segment::for_test()));
    }

    #[test]
    fn only_the_latest_are_kept_and_none_that_is_claimed_is_dropped_for_them() {
        let (near, far) = sides();
        let (own, other) = pair();
        let id = own.segment.id();
        near.keep_own(own);
        far.keep(NEAR, other);
        let claimed = take_own(&near, QUALIFIER).expect("both have left it");
        for _ in 0..3 * MOST {
            let (own, other) = pair();
            near.keep_own(own);
            far.keep(NEAR, other);
        }
        assert_eq!((near.own.lock().len(), far.of_peers.lock().len()), (MOST, MOST));
        assert!(far.take(NEAR, id).is_some());
        drop(claimed);
        // The other side has withdrawn one, to keep the claimed one.
        assert_eq!(std::iter::from_fn(|| take_own(&near, QUALIFIER)).count(), MOST - 1);
        let (_, other) = pair();
        far.keep(NEAR, other);
        let (_, other) = pair();
        far.keep(NEAR, other);
        assert_eq!(far.of_peers.lock().len(), MOST, "peers have claimed all of the others");
    }

    #[test]
    fn a_replaced_segment_has_the_same_bytes_in_another_file() {
        let (own, other) = pair();
        own.segment.signals(0).begin(9);
        let file = own.segment.replace().expect("memory");
        let again = Segment::open(file.as_fd(), own.segment.id()).expect("a segment");
        assert_eq!([&own.segment, &again].map(|one| one.signals(0).head()), [9, 9]);
        own.segment.signals(0).begin(10);
        assert_eq!([&other, &again].map(|one| one.signals(0).head()), [9, 10]);
    }
}
