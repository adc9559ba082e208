//! A process that ends at a random moment, in the middle of operations of each kind and length.

use std::collections::HashMap;
use std::io::Write;
use std::process::Child;
use std::time::{Duration, Instant};

use dat_conformance::{Buffer, Node, drain, expect_connection, until};
use dat_core::{Connect, ConnectionEventKind, DtoStatus, Ep, Event, RmrTriplet};

use crate::completions::{NONE, each_once, posts};
use crate::process::{MOST_KEPT, descriptors, mapped_files, start};
use crate::traffic::{self, DEPTH, LONGEST, Load};

/// Connections to the process that ends.
const CONNECTIONS: usize = 7;

/// The number of rounds: `LOST_ROUNDS`, or a few dozen.
fn moments() -> u64 {
    std::env::var("LOST_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(36)
}

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// `kill -9`.
    Kill,
    /// It executes another program, which keeps running.
    Exec,
}

/// The connections to a process, and their outstanding operations: a cookie, and whether it is a
/// receive.
struct Loaded<'a> {
    node: &'a Node,
    buffer: &'a Buffer,
    eps: Vec<(Ep, Load, RmrTriplet)>,
    outstanding: HashMap<u64, (usize, bool)>,
    next_cookie: u64,
}

impl<'a> Loaded<'a> {
    /// Connects with different loads.
    fn new(node: &'a Node, buffer: &'a Buffer, port: u64, round: u64) -> Self {
        let (eps, outstanding) = (Vec::new(), HashMap::new());
        let mut all = Self { node, buffer, eps, outstanding, next_cookie: 0 };
        for index in 0..CONNECTIONS {
            let ep = node.ep();
            let load = Load::number(index * 4 + round as usize);
            let private_data = load.private_data(buffer.remote(0, LONGEST));
            let connect = Connect::to(node.address(), port);
            ep.connect(&connect.private_data(&private_data)).expect("an attempt");
            let event = expect_connection(&node.connect, &ep, ConnectionEventKind::Established);
            let (_, theirs) = Load::parse(&event.private_data);
            all.eps.push((ep, load, theirs));
            for number in 0..2 * DEPTH {
                all.post(index, number < DEPTH);
            }
        }
        all
    }

    /// Posts a receive or a request with a cookie that was not used before.
    fn post(&mut self, index: usize, is_receive: bool) {
        let (ep, load, theirs) = &self.eps[index];
        let cookie = self.next_cookie;
        if is_receive {
            ep.post_recv(&[self.buffer.piece(0, LONGEST)], cookie, NONE)
        } else {
            load.post(ep, self.buffer, *theirs, cookie)
        }
        .expect("connected");
        self.outstanding.insert(cookie, (index, is_receive));
        self.next_cookie += 1;
    }

    /// Posts another operation for each one that has completed, for some time.
    fn go_on(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            for event in drain(&self.node.recv).into_iter().chain(drain(&self.node.request)) {
                let Event::Dto(done) = event else { panic!("{event:?}") };
                assert_eq!(done.status, DtoStatus::Success, "{done:?}");
                let posted = self.outstanding.remove(&done.cookie);
                let (index, is_receive) = posted.expect("posted, and not completed before");
                self.post(index, is_receive);
            }
        }
    }

    /// Takes the final event of each connection, and each outstanding cookie once: the operation
    /// was executed or flushed. Returns how many were flushed.
    fn end(self) -> usize {
        for (ep, ..) in &self.eps {
            expect_connection(&self.node.connect, ep, ConnectionEventKind::Disconnected);
        }
        let cookies: Vec<u64> = self.outstanding.into_keys().collect();
        let done = each_once(&[&self.node.recv, &self.node.request], &cookies);
        let is_known =
            |status: &DtoStatus| matches!(status, DtoStatus::Success | DtoStatus::Flushed);
        assert!(done.values().all(is_known), "{done:?}");
        self.eps.into_iter().for_each(|(ep, ..)| ep.free().expect("disconnected"));
        done.values().filter(|status| **status == DtoStatus::Flushed).count()
    }
}

fn end(child: &mut Child, way: Way) {
    match way {
        Way::Kill => child.kill().expect("a child"),
        Way::Exec => child.stdin.take().expect("piped").write_all(b"x").expect("it reads"),
    }
}

/// The surviving process: it has seven connections to a process that ends and one to another
/// process. Afterwards nothing remains of the former.
///
/// # Panics
/// If a cookie is lost or arrives twice, a connection ends with the wrong event, the other
/// connection is disturbed, or resources leak.
pub fn survivor(open: fn(&str) -> Node, way: Way) {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let node = open("");
    let buffer = traffic::buffer(&node);
    let (mut bystander, port) = start("lost::peer");
    let steady = node.ep();
    steady.connect(&Connect::to(node.address(), port)).expect("an attempt");
    expect_connection(&node.connect, &steady, ConnectionEventKind::Established);
    let (mut operations, mut flushed) = (0, 0);
    let mut before = None;
    let rounds = if way == Way::Kill { moments() } else { moments().min(12) };
    for round in 0..rounds {
        let (mut child, port) = start("killed::peer");
        let mut loaded = Loaded::new(&node, &buffer, port, round);
        loaded.go_on(Duration::from_micros(random.u64(0..4000)));
        operations += loaded.next_cookie;
        end(&mut child, way);
        flushed += loaded.end();
        if way == Way::Exec {
            assert!(child.try_wait().expect("a child").is_none(), "the other program runs");
            child.kill().expect("a child");
        }
        child.wait().expect("a child");
        drop(child);
        // The peer answers each message that it receives.
        let cookies = posts(&steady, &buffer, 4, 4);
        let done = each_once(&[&node.recv, &node.request], &cookies);
        assert!(done.values().all(|status| *status == DtoStatus::Success), "{done:?}");
        // After the first round, no round leaves anything behind.
        let (most, mapped) = *before.get_or_insert_with(|| (descriptors(), mapped_files()));
        until("no descriptor is left", || descriptors() <= most);
        until("no memory is left", || mapped_files() <= mapped + MOST_KEPT);
    }
    assert!(flushed > 0, "the process ended in the middle");
    println!("{rounds} moments, {operations} operations, {flushed} of them flushed");
    bystander.kill().expect("a child");
    bystander.wait().expect("a child");
}
