//! Flow control: the packets that a queue pair has sent to a peer, and how many more the peer has space for.
//!
//! The system drops a packet for which the socket of the receiver has no space. A sender therefore requests an
//! acknowledgement with some packets, and waits while its packets in flight take as much memory as its window permits. The
//! acknowledgement states the free space of the socket, of which the window is an eighth. So eight senders never exceed
//! the space; more of them find less space and have smaller windows, as with the dynamic thresholds of a switch. The
//! receiver needs no state.
//!
//! A peer that acknowledges nothing delays its sender for up to [`PATIENCE`], and then no more.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use dat_sync::clock;

use crate::protocol::datagram::{Ack, AckRequest};

/// The window before the first acknowledgement, in bytes.
const FIRST_WINDOW: u32 = 32 << 10;
const MIN_WINDOW: u32 = 4 << 10;
const MAX_WINDOW: u32 = 1 << 20;
/// A window is the free space of the peer divided by this number.
const SHARE: u32 = 8;
/// Number of acknowledgements that are requested while a full window is sent.
const REQUESTS: u32 = 2;
/// A sender waits so long for an acknowledgement before it takes what it has sent for lost. Each further wait is twice as
/// long.
const FIRST_WAIT: Duration = Duration::from_millis(10);
/// A peer that has acknowledged nothing for so long delays its sender no more.
const PATIENCE: Duration = Duration::from_secs(1);
/// The memory that the system takes for a packet, besides twice its length.
const OVERHEAD: usize = 1 << 10;
/// Maximum number of flows. One more makes all others begin again.
const MAX_FLOWS: usize = 4096;

/// The flows of a queue pair.
#[derive(Default)]
pub(super) struct Flows {
    by_destination: HashMap<(SocketAddr, u64), usize>,
    all: Vec<Flow>,
    /// The flow of the last packet.
    last: usize,
}

/// The packets for one destination. Positions count the memory that packets take, modulo 2^32.
struct Flow {
    to: SocketAddr,
    key: u64,
    sent: u32,
    acknowledged: u32,
    /// The position of the last packet that requests an acknowledgement.
    requested: u32,
    window: u32,
    stall: Option<Stall>,
}

/// The window is full, and no acknowledgement has arrived since.
#[derive(Clone, Copy)]
struct Stall {
    since: Instant,
    /// What was sent counts as lost then.
    until: Instant,
}

/// The answer to a packet that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It may be sent, with this request.
    Send(Option<AckRequest>),
    /// It must wait for an acknowledgement, or until this time.
    Wait(Instant),
}

/// About the memory that the system takes for a packet of this length.
fn charge(length: usize) -> u32 {
    (OVERHEAD + 2 * length) as u32
}

impl Flows {
    /// The flow to a destination. Nothing if there is no memory for it: its packets are sent at once.
    pub(super) fn find(&mut self, to: SocketAddr, key: u64) -> Option<usize> {
        let is_last = |last: &Flow| (last.to, last.key) == (to, key);
        if !self.all.get(self.last).is_some_and(is_last) {
            self.last = self.find_or_add(to, key)?;
        }
        Some(self.last)
    }

    fn find_or_add(&mut self, to: SocketAddr, key: u64) -> Option<usize> {
        if let Some(index) = self.by_destination.get(&(to, key)) {
            return Some(*index);
        }
        if self.all.len() == MAX_FLOWS {
            *self = Self::default();
        }
        self.by_destination.try_reserve(1).ok()?;
        self.all.try_reserve(1).ok()?;
        self.by_destination.insert((to, key), self.all.len());
        self.all.push(Flow::new(to, key));
        Some(self.all.len() - 1)
    }

    /// Decides about the next packet of a flow. `port` receives the acknowledgements.
    pub(super) fn admit(&mut self, flow: usize, length: usize, port: u16) -> Admission {
        match self.all[flow].admit(charge(length), clock::now) {
            Err(until) => Admission::Wait(until),
            Ok(position) => Admission::Send(position.map(|position| AckRequest {
                port,
                flow: flow as u32,
                position,
            })),
        }
    }

    /// A packet was sent as [`admit`](Self::admit) has decided.
    pub(super) fn sent(&mut self, flow: usize, length: usize, request: Option<AckRequest>) {
        self.all[flow].sent(charge(length), request.is_some());
    }

    /// An acknowledgement has arrived, perhaps from a stranger.
    pub(super) fn acknowledge(&mut self, ack: &Ack) {
        let flow = self.all.get_mut(ack.flow as usize);
        if let Some(flow) = flow.filter(|flow| flow.key == ack.key) {
            flow.acknowledge(ack.position, ack.space);
        }
    }
}

impl Flow {
    const fn new(to: SocketAddr, key: u64) -> Self {
        let window = FIRST_WINDOW;
        Self { to, key, sent: 0, acknowledged: 0, requested: 0, window, stall: None }
    }

    /// The position at which an acknowledgement is requested, if one is.
    ///
    /// # Errors
    /// The end of the wait.
    fn admit(
        &mut self,
        charge: u32,
        now: impl FnOnce() -> Instant,
    ) -> Result<Option<u32>, Instant> {
        let in_flight = self.sent.wrapping_sub(self.acknowledged);
        let is_full = in_flight > 0 && in_flight + charge > self.window;
        // A window that has shrunk may be full of packets that request nothing.
        let requested = self.requested.wrapping_sub(self.acknowledged);
        if is_full && (1..=in_flight).contains(&requested) {
            self.wait(now())?;
        }
        let position = self.sent.wrapping_add(charge);
        let is_due = position.wrapping_sub(self.requested) >= self.window / REQUESTS;
        Ok(is_due.then_some(position))
    }

    /// The window is full.
    ///
    /// # Errors
    /// The end of the wait, if it is not over.
    fn wait(&mut self, now: Instant) -> Result<(), Instant> {
        let stall = *self.stall.get_or_insert(Stall { since: now, until: now + FIRST_WAIT });
        if now < stall.until {
            return Err(stall.until);
        }
        let silence = now - stall.since;
        let next = if silence < PATIENCE { silence } else { Duration::ZERO };
        self.stall = Some(Stall { until: now + next, ..stall });
        (self.acknowledged, self.requested) = (self.sent, self.sent);
        self.window = self.window.min(FIRST_WINDOW);
        Ok(())
    }

    fn sent(&mut self, charge: u32, has_requested: bool) {
        self.sent = self.sent.wrapping_add(charge);
        if has_requested {
            self.requested = self.sent;
        }
    }

    fn acknowledge(&mut self, position: u32, space: u32) {
        self.stall = None;
        self.window = (space / SHARE).clamp(MIN_WINDOW, MAX_WINDOW);
        // One that comes late, or was made up, acknowledges nothing.
        let in_flight = self.sent.wrapping_sub(self.acknowledged);
        if position.wrapping_sub(self.acknowledged) <= in_flight {
            self.acknowledged = position;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::VecDeque;

    use fastrand::Rng;
    use proptest::prelude::*;

    use super::*;

    /// A small packet.
    const LENGTH: usize = 100;

    fn new() -> Flow {
        Flow::new(SocketAddr::from(([127, 0, 0, 1], 1)), 0)
    }

    /// Sends until a packet must wait, at most `limit` packets. Returns their number and the position of the last request.
    fn send(flow: &mut Flow, limit: u32, now: Instant) -> (u32, Option<u32>) {
        let (mut count, mut last) = (0, None);
        while count < limit {
            let Ok(position) = flow.admit(charge(LENGTH), || now) else { break };
            flow.sent(charge(LENGTH), position.is_some());
            (count, last) = (count + 1, position.or(last));
        }
        (count, last)
    }

    #[test]
    fn a_sender_waits_for_acknowledgements() {
        let (mut flow, now) = (new(), Instant::now());
        let (count, last) = send(&mut flow, 1000, now);
        assert_eq!(count, FIRST_WINDOW / charge(LENGTH));
        flow.acknowledge(last.expect("one is requested"), 800 << 10);
        send(&mut flow, 1000, now);
        let in_flight = flow.sent - flow.acknowledged;
        assert!((90 << 10..=100 << 10).contains(&in_flight), "the window is an eighth");
    }

    #[test]
    fn a_window_that_has_shrunk_requests_another_acknowledgement() {
        let (mut flow, now) = (new(), Instant::now());
        send(&mut flow, 1, now);
        flow.acknowledge(flow.sent, 800 << 10);
        // Too few for a request, and more than the next window.
        assert_eq!(send(&mut flow, 10, now), (10, None));
        flow.acknowledge(flow.acknowledged, 0);
        let (count, last) = send(&mut flow, 1000, now);
        assert_eq!((count, last), (1, Some(flow.sent)));
    }

    #[test]
    fn a_silent_peer_delays_its_sender_for_a_limited_time() {
        let (mut flow, begun) = (new(), Instant::now());
        let (mut now, mut waits) = (begun, 0);
        for _ in 0..100_000 {
            while let Err(until) = flow.admit(charge(LENGTH), || now) {
                (now, waits) = (until, waits + 1);
            }
            flow.sent(charge(LENGTH), true);
        }
        assert!(now - begun >= PATIENCE && now - begun < 2 * PATIENCE, "{:?}", now - begun);
        assert!(waits < 10, "{waits}");
        // It is there again.
        flow.acknowledge(flow.sent, 0);
        assert!(send(&mut flow, 1000, now).0 < 1000);
    }

    /// Lost packets and acknowledgements do not stop a sender.
    #[test]
    fn lost_packets_and_acknowledgements_delay_their_sender() {
        for seed in 0..20 {
            let (mut random, begun) = (Rng::with_seed(seed), Instant::now());
            let (mut flow, mut now, mut sent) = (new(), begun, 0);
            while sent < 10_000 {
                match flow.admit(charge(LENGTH), || now) {
                    Err(until) => now = until,
                    Ok(position) => {
                        flow.sent(charge(LENGTH), position.is_some());
                        sent += 1;
                        let has_arrived = random.u8(0..2) == 0;
                        if let Some(position) = position.filter(|_| has_arrived) {
                            flow.acknowledge(position, 400 << 10);
                        }
                    }
                }
            }
            assert!(now - begun < 10 * PATIENCE, "seed {seed}: {:?}", now - begun);
        }
    }

    /// Senders that send as fast as they may to one receiver, which is slower.
    #[test]
    fn the_windows_of_all_senders_stay_below_the_space_of_the_receiver() {
        const SPACE: u32 = 2 * 212_992;
        for (seed, senders) in [1, 2, 4, 8].into_iter().cycle().take(40).enumerate() {
            let (mut random, now) = (Rng::with_seed(seed as u64), Instant::now());
            let mut flows: Vec<Flow> = (0..senders).map(|_| new()).collect();
            let (mut queue, mut waiting, mut most) = (VecDeque::new(), 0, 0);
            let charge = charge(random.usize(0..4000));
            let mut received = 0;
            while received < 20_000 {
                let sender = random.usize(0..senders);
                for _ in 0..random.u8(..) {
                    let Ok(position) = flows[sender].admit(charge, || now) else { break };
                    flows[sender].sent(charge, position.is_some());
                    queue.push_back((sender, position));
                    waiting += charge;
                }
                most = most.max(waiting);
                assert!(most <= SPACE, "seed {seed}: {senders} senders");
                for _ in 0..random.u8(0..10) {
                    let Some((sender, position)) = queue.pop_front() else { break };
                    (waiting, received) = (waiting - charge, received + 1);
                    if let Some(position) = position {
                        flows[sender].acknowledge(position, SPACE - waiting);
                    }
                }
            }
            assert!(most > SPACE / 16, "seed {seed}: the space is hardly used");
        }
    }

    #[test]
    fn flows_are_found_by_address_and_key() {
        let mut flows = Flows::default();
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let found = [(1, 7), (1, 8), (2, 7), (1, 7)].map(|(port, key)| flows.find(at(port), key));
        assert_eq!(found, [Some(0), Some(1), Some(2), Some(0)]);
        for port in 0..2 * MAX_FLOWS {
            assert!(flows.find(at(port as u16), 9).is_some());
        }
        assert!(flows.all.len() <= MAX_FLOWS);
    }

    proptest! {
        #[test]
        fn any_acknowledgement_is_harmless(acks in proptest::collection::vec(any::<(u32, u32, u32)>(), 0..64)) {
            let (mut flows, mut now) = (Flows::default(), Instant::now());
            flows.find(SocketAddr::from(([127, 0, 0, 1], 1)), 7);
            for (flow, position, space) in acks {
                flows.acknowledge(&Ack { key: 7, flow: flow % 2, position, space });
                let flow = &mut flows.all[0];
                send(flow, 100, now);
                prop_assert!(flow.sent.wrapping_sub(flow.acknowledged) <= 2 * MAX_WINDOW);
                now += Duration::from_millis(7);
            }
        }
    }
}
