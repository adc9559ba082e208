//! Compares what a run did with the oracle.

use dat_provider::Completion;
use dat_provider::flags::CompletionFlags;
use dat_provider::status::{DtoStatus, Operation};

use super::oracle::{self, Direction, Fate};
use super::script::Scenario;
use super::side::Side;
use super::world::World;
use crate::protocol::inbound::{Announced, CurrentFrame};
use crate::protocol::outbound::Rendezvous;

/// The oracle of a scenario, for all of its runs.
pub(super) struct Oracle {
    /// The requests of each side.
    directions: [Direction; 2],
    /// The memory of both sides, if the outcome does not depend on the order.
    memory: [Vec<u8>; 2],
}

/// Checks completions, which are in order, against fates. Returns how many had their fate; the others are flushed, and
/// the rest of the fates has no completion.
fn check(what: &str, found: &[Completion], fates: &[(Fate, CompletionFlags)]) -> usize {
    let mut found = found.iter().peekable();
    let mut reached = 0;
    let mut is_flushed = false;
    for (number, (fate, flags)) in fates.iter().enumerate() {
        let is_silent =
            flags.contains(CompletionFlags::SUPPRESS) && fate.status() == DtoStatus::Success;
        let Some(one) = found.next_if(|one| one.cookie == number as u64) else {
            assert!(is_silent && !is_flushed, "{what} {number} is missing: {found:?}");
            reached += 1;
            continue;
        };
        if one.status == DtoStatus::Flushed {
            is_flushed = true;
            continue;
        }
        assert!(!is_flushed, "{what} {number} completes after one that is flushed: {one:?}");
        assert_eq!(one.status, fate.status(), "{what} {number}: {one:?}");
        if let Fate::Success(length, operation, extra) = *fate {
            assert!(!is_silent, "{what} {number} is suppressed: {one:?}");
            assert_eq!((one.length, one.operation), (length, operation), "{what} {number}");
            let is_key = operation == Operation::ReceiveWithInvalidate;
            assert!(is_key || one.extra == extra, "{what} {number}: {one:?}");
        }
        reached += 1;
    }
    assert_eq!(found.next(), None, "another completion of {what}");
    reached
}

impl Oracle {
    pub(super) fn new(world: &World<'_>) -> Self {
        let scenario = world.scenario;
        let directions = [0, 1].map(|side| Direction::new(scenario, side));
        let counts = [0, 1].map(|side| directions[side].successes());
        let places = world.sides.each_ref().map(|side| &*side.place);
        let memory = oracle::memory(scenario, places, counts);
        Self { directions, memory }
    }

    /// Returns true if all requests of a side end as the oracle says, whatever the order: nothing ends the connection
    /// before.
    fn is_certain(&self, scenario: &Scenario, side: usize) -> bool {
        !scenario.disconnects() && !self.directions[1 - side].fails()
    }

    /// Returns true if the connection ends by itself.
    fn ends(&self, scenario: &Scenario) -> bool {
        scenario.disconnects() || self.directions.iter().any(Direction::fails)
    }

    /// Checks a run in which nothing is left to do, before its connection is ended.
    pub(super) fn check_rest(&self, world: &World<'_>) {
        let ends = self.ends(world.scenario);
        let over = world.sides.each_ref().map(|side| side.is_over);
        assert_eq!(over, [ends; 2], "the end of the connection");
        if ends {
            return;
        }
        for (number, side) in world.sides.iter().enumerate() {
            let direction = &self.directions[number];
            let left = direction.requests.len() - direction.successes();
            let (inbound, outbound) = (&side.protocol.inbound, &side.protocol.outbound);
            assert_eq!(outbound.sends.len(), left, "requests that are left");
            assert_eq!(outbound.sends.unanswered, 0);
            assert!(inbound.answers.is_empty() && inbound.offer_answer.is_none());
            assert!(inbound.arriving.is_none() && inbound.failure.is_none());
            assert!(matches!(inbound.current, CurrentFrame::Empty));
            assert!(!side.protocol.owes_acknowledgement(), "an acknowledgement is left");
            assert!(side.out.unanswered.is_empty());
            if left == 0 {
                assert!(outbound.unacked_eager.is_empty());
                assert_eq!(outbound.rendezvous, Rendezvous::None);
                let peer = &world.sides[1 - number].protocol.inbound;
                assert!(peer.unexpected.is_empty());
                assert!(matches!(peer.announced, Announced::Nothing));
            }
            let peer = &world.sides[1 - number];
            if peer.srq.is_none() {
                let used = outbound.peer_receives_used;
                assert_eq!(used, peer.protocol.counts.taken, "receives that messages have taken");
            }
        }
    }

    /// Checks a run whose connection has ended.
    pub(super) fn check_end(&self, world: &mut World<'_>) {
        let mut reached = [0; 2];
        let scenario = world.scenario;
        for (number, reached) in reached.iter_mut().enumerate() {
            let Direction { requests, receives, .. } = &self.directions[number];
            let side = &world.sides[number];
            assert!(side.is_over, "side {number} goes on");
            let count = check("request", &side.done[0], requests);
            let is_certain = self.is_certain(scenario, number);
            let successes = self.directions[number].successes();
            let all = successes + usize::from(self.directions[number].fails());
            assert!(!is_certain || count == all, "only {count} of {all} requests have ended");
            *reached = count.min(successes);

            let peer = &world.sides[1 - number];
            let mut fates: Vec<_> =
                receives.iter().map(|fate| (*fate, CompletionFlags::empty())).collect();
            if peer.srq.is_some() {
                // The others stay in the queue.
                fates.truncate(peer.done[1].len());
            }
            let received = check("receive", &peer.done[1], &fates);
            let takes = |fate: &&Fate| !matches!(fate, Fate::Never);
            let expected = receives.iter().filter(takes).count();
            assert!(!is_certain || received == expected, "{received} of {expected} receives");
            let consumed = self.consumed(scenario, number, count);
            assert!(received >= consumed, "{received} receives for {consumed} messages");
            if peer.srq.is_some() {
                let flushed = peer.done[1].len() - received;
                assert!(flushed <= 1, "{flushed} receives of the shared queue are flushed");
            }
        }
        world.sides.iter_mut().for_each(Side::check_credits);
        self.check_memory(world, reached);
    }

    /// Number of receives that the first `count` requests of a side consume.
    fn consumed(&self, scenario: &Scenario, side: usize, count: usize) -> usize {
        use super::script::Step;
        let takes = |step: &Step| {
            matches!(
                step,
                Step::Send(_)
                    | Step::SendImmediate { .. }
                    | Step::SendInvalidate(_)
                    | Step::WriteImmediate { .. }
            )
        };
        let fates = &self.directions[side].requests;
        let all = scenario.requests(side).zip(fates).take(count);
        all.filter(|((step, _), (fate, _))| takes(step) && matches!(fate, Fate::Success(..)))
            .count()
    }

    /// Compares the memory. Requests that were flushed may be executed, also in part.
    fn check_memory(&self, world: &World<'_>, reached: [usize; 2]) {
        let scenario = world.scenario;
        let found = world
            .sides
            .each_ref()
            .map(|side| side.place.memory.to_vec(0, side.place.memory.len()).expect("in range"));
        if found == self.memory {
            return;
        }
        let places = world.sides.each_ref().map(|side| &*side.place);
        let mut possible = Vec::new();
        for one in reached[0]..=self.directions[0].successes() {
            for other in reached[1]..=self.directions[1].successes() {
                possible.push(oracle::memory(scenario, places, [one, other]));
            }
        }
        for side in 0..2 {
            for (at, byte) in found[side].iter().enumerate() {
                let is_possible = possible.iter().any(|memory| memory[side][at] == *byte);
                assert!(is_possible, "byte {at} of side {side}, after {reached:?} requests");
            }
        }
    }
}
