//! Two sides of a connection, and the order in which they act.

use std::rc::Rc;

use dat_provider::Completion;
use dat_provider::status::{DtoStatus, Operation};

use super::choices::Choices;
use super::place::Place;
use super::script::{Acks, Post, Scenario, Step};
use super::side::Side;
use crate::handshake::{
    Active, ConnectionParameters, Hello, Message, Passive, Step as HandshakeStep,
};
use crate::link::End;
use crate::protocol::{EndCause, Stage};

/// A run of a small scenario that makes progress has far fewer actions.
const MAX_ACTIONS: usize = 1000;

/// What a side does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Its consumer posts.
    Post(usize),
    /// It reads a frame, or the end of the link.
    Read(usize),
    /// It makes progress after reads.
    Advance(usize),
    /// Its link has space again.
    Space(usize),
    /// It sends an acknowledgement or credits that could wait.
    Acknowledge(usize),
}

impl Action {
    const fn side(self) -> usize {
        match self {
            Self::Post(side)
            | Self::Read(side)
            | Self::Advance(side)
            | Self::Space(side)
            | Self::Acknowledge(side) => side,
        }
    }
}

/// Both sides.
pub(super) struct World<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) sides: [Side; 2],
    pub(super) choices: Choices,
    /// Number of steps that each side has done.
    next: [usize; 2],
    /// The keys of the windows.
    windows: [u32; 2],
    /// The last action, and whether the other side could read before it.
    last: Option<(Action, bool)>,
    trace: Vec<Action>,
}

impl<'a> World<'a> {
    /// Both sides, connected unless the run is to deliver the frames of the handshake.
    pub(super) fn new(scenario: &'a Scenario, places: &[Rc<Place>; 2], choices: &Choices) -> Self {
        let side = |number: usize, stage| {
            let both = [&places[number], &places[1 - number]];
            both[0].memory.write(0, &both[0].initial).expect("in range");
            Side::new(scenario, both, scenario.shared[number], stage, choices)
        };
        let mut sides = [side(0, Stage::AwaitAnswer), side(1, Stage::AwaitReady)];
        for (number, side) in sides.iter_mut().enumerate() {
            for (step, _) in &scenario.steps[number][..scenario.before[number]] {
                side.post_before(*step);
            }
        }
        let mut world = Self {
            scenario,
            sides,
            choices: choices.clone(),
            next: scenario.before,
            windows: [0; 2],
            last: None,
            trace: Vec::new(),
        };
        world.shake_hands();
        world
    }

    fn shake_hands(&mut self) {
        let infos = [0, 1].map(|side| ConnectionParameters {
            posted: self.sides[side].protocol.counts.posted,
            is_shared: self.scenario.shared[side],
            is_unreliable: self.scenario.is_unreliable,
            reads: self.scenario.reads,
            datagrams: None,
            private_data: Vec::new(),
        });
        let [one, other] = &mut self.sides;
        let [info, other_info] = infos;
        let hello = Hello { qualifier: 1, port: 0, side: info };
        let (active, hello) = Active::new(&hello, None).expect("it needs no random numbers");
        one.protocol.begin_handshake(active, &hello, &mut one.out);
        let (frame, payload) = one.out.sent.pop_front().expect("a request");
        let step = Passive::new(1, None).receive(&frame, &payload);
        let HandshakeStep::Incoming(hello) = step else { panic!("{step:?}") };
        other.protocol.outbound.apply_peer_info(&hello.side);
        other.protocol.send_handshake(&Message::acceptance(&other_info), &mut other.out);
        if !self.scenario.has_handshake {
            self.act(Action::Read(0));
            self.act(Action::Read(1));
            self.sides.iter_mut().for_each(Side::advance);
            (self.last, self.trace) = (None, Vec::new());
            for side in &mut self.sides {
                side.out.refusals = self.scenario.refusals;
            }
        }
        for side in &mut self.sides {
            side.out.holds = self.scenario.holds;
        }
    }

    fn next_post(&self, side: usize) -> Option<Post> {
        let post = self.scenario.steps[side].get(self.next[side]).copied()?;
        let it = &self.sides[side];
        let may_post = match post.0 {
            _ if it.is_over => true,
            Step::After(count) => it.done[1].len() >= count,
            Step::Receive(_) => true,
            _ => it.protocol.is_open(),
        };
        may_post.then_some(post)
    }

    fn can_read(&self, side: usize) -> bool {
        let peer = &self.sides[1 - side].out;
        self.sides[side].reads() && (!peer.sent.is_empty() || peer.is_closed)
    }

    /// What a side can do now.
    fn enabled(&self, side: usize, into: &mut Vec<Action>) {
        let it = &self.sides[side];
        if it.has_read {
            into.push(Action::Advance(side));
            if self.can_read(side) && it.protocol.ending.is_none() {
                into.push(Action::Read(side));
            }
            return;
        }
        if self.next_post(side).is_some() {
            into.push(Action::Post(side));
        }
        if self.can_read(side) {
            into.push(Action::Read(side));
        }
        if it.out.is_full && !it.is_over {
            into.push(Action::Space(side));
        }
        let may_owe = self.scenario.acks == Acks::Later || it.is_fast;
        if may_owe && it.owes() {
            into.push(Action::Acknowledge(side));
        }
    }

    /// Returns true if an action need not be tried now, because a run exists that differs only in the order of
    /// this action and the last one. Actions of different sides have the same effect in either order, unless one
    /// reads what the other has just written. Of both orders, the one in which side 0 acts first is run.
    fn is_redundant(&self, action: Action) -> bool {
        match self.last {
            Some((last, could_read)) if last.side() == 1 && action.side() == 0 => {
                action != Action::Read(0) || could_read
            }
            _ => false,
        }
    }

    /// Does one thing. Returns whether there was any left, or nothing if the rest of the run is redundant.
    pub(super) fn step(&mut self) -> Option<bool> {
        let mut actions = Vec::new();
        self.enabled(0, &mut actions);
        self.enabled(1, &mut actions);
        if actions.is_empty() {
            return Some(false);
        }
        actions.retain(|action| !self.is_redundant(*action));
        if actions.is_empty() {
            return None;
        }
        let chosen = actions[self.choices.choose(actions.len())];
        self.act(chosen);
        Some(true)
    }

    /// Ends the connection by side 0, and does everything that is left.
    pub(super) fn finish(&mut self) {
        if !self.sides[0].is_over {
            self.sides[0].protocol.end(EndCause::Disconnected, None);
            self.sides[0].advance();
        }
        loop {
            let mut actions = Vec::new();
            self.enabled(0, &mut actions);
            self.enabled(1, &mut actions);
            let Some(action) = actions.first() else { break };
            self.act(*action);
        }
    }

    /// Does this.
    pub(super) fn act(&mut self, action: Action) {
        let side = action.side();
        self.trace.push(action);
        assert!(self.trace.len() < MAX_ACTIONS, "the run does not end");
        self.last = Some((action, self.can_read(1 - side)));
        match action {
            Action::Post(_) => {
                let peer = Rc::clone(&self.sides[1 - side].place);
                let post = self.scenario.steps[side][self.next[side]];
                self.next[side] += 1;
                let mut windows = [self.windows[side], self.windows[1 - side]];
                self.sides[side].post(post, &peer, &mut windows);
                self.windows[side] = windows[0];
            }
            Action::Read(_) => {
                match self.sides[1 - side].out.sent.pop_front() {
                    Some(packet) => self.sides[side].read(packet),
                    None => self.sides[side].read_end(&End::Closed),
                }
                if !self.scenario.reads_several {
                    self.sides[side].advance();
                }
            }
            Action::Advance(_) => self.sides[side].advance(),
            Action::Space(_) => {
                self.sides[side].out.is_full = false;
                self.sides[side].advance();
            }
            Action::Acknowledge(_) => self.sides[side].advance_and_acknowledge(false),
        }
        self.sides.iter_mut().for_each(Side::collect);
        self.check_successes();
    }

    /// No request has succeeded before the peer has executed it.
    fn check_successes(&self) {
        if self.scenario.accesses {
            return;
        }
        for (side, peer) in self.sides.iter().zip(self.sides.iter().rev()) {
            let is_executed = |one: &&Completion| {
                one.status == DtoStatus::Success && one.operation != Operation::Bind
            };
            let count = side.done[0].iter().filter(is_executed).count();
            let executed = peer.protocol.inbound.executed.wrapping_sub(self.scenario.first);
            assert!(count <= executed as usize, "{count} succeed, {executed} are executed");
        }
    }
}

impl Drop for World<'_> {
    /// Prints what a failed run did.
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("scenario {}: {:?}", self.scenario.name, self.scenario);
            println!("actions: {:?}", self.trace);
            println!("choices: {:?}", self.choices.list());
        }
    }
}
