//! Several threads that wait on dispatchers of one adapter. One of them makes the progress of its
//! connections; the others depend on it, and on the thread of the adapter once it has left.

use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use dat_conformance::{
    Background, Node, expect_connections, expect_dto, fixture::free_all, link, until,
    wait::expect_completion,
};
use dat_core::{
    Close, ConnectionEventKind, DtoStatus, Ep, Evd, EvdFlags, EvdOptions, Event, Timeout,
    WaitResult,
};

use crate::completions::NONE;

/// A connection whose receiving side has a dispatcher of its own.
struct Line {
    client: Ep,
    server: Ep,
    received: Evd,
}

impl Line {
    fn new(near: &Node, far: &Node, options: &EvdOptions) -> Self {
        let received = far.ia.evd_create(options).expect("a dispatcher");
        let (client, spec) = (near.ep(), far.spec().recv_evd(&received));
        let server = far.ia.ep_create(&spec).expect("an endpoint");
        link(near, &client, far, &server);
        Self { client, server, received }
    }

    /// Sends a message of one byte and takes the completion of the send.
    fn send(&self, near: &Node, cookie: u64) {
        let buffer = near.buffer(1);
        self.client.post_send(&[buffer.piece(0, 1)], cookie, NONE).expect("connected");
        expect_completion(&near.request, &[&self.client], cookie, DtoStatus::Success);
        buffer.lmr.free().expect("unused");
    }

    fn finish(self, near: &Node, far: &Node) {
        self.client.disconnect(Close::Graceful).expect("connected");
        expect_connections(&near.connect, &[&self.client], ConnectionEventKind::Disconnected);
        expect_connections(&far.connect, &[&self.server], ConnectionEventKind::Disconnected);
        free_all(&[&self.client, &self.server, &self.received]);
    }
}

fn dto() -> EvdOptions {
    EvdOptions::new(16, EvdFlags::DTO)
}

/// Four threads wait for messages of four connections, which arrive one at a time in changing order:
/// each time another waiter is woken, and leaves.
///
/// # Panics
/// If a message does not reach its waiter.
pub fn each_waiter_gets_its_messages(open: fn(&str) -> Node) {
    const LINES: usize = 4;
    const MESSAGES: usize = 50;
    let (near, far) = (open(""), open(""));
    let target = far.buffer(1);
    let lines: Vec<Line> = (0..LINES).map(|_| Line::new(&near, &far, &dto())).collect();
    let waiters: Vec<Background<()>> = lines
        .iter()
        .map(|line| {
            let (server, received, piece) =
                (line.server.clone(), line.received.clone(), target.piece(0, 1));
            server.post_recv(&[piece], 0, NONE).expect("connected");
            Background::run(move || {
                for cookie in 0..MESSAGES as u64 {
                    let done = expect_dto(&received, &[&server]);
                    assert_eq!((done.cookie, done.status), (cookie, DtoStatus::Success));
                    server.post_recv(&[piece], cookie + 1, NONE).expect("connected");
                }
            })
        })
        .collect();
    for message in 0..MESSAGES {
        waiters[message % LINES].until_asleep();
        for line in 0..LINES {
            lines[(line * 3 + message) % LINES].send(&near, message as u64);
        }
    }
    waiters.into_iter().for_each(Background::join);
    for line in &lines {
        line.server.disconnect(Close::Abrupt).expect("connected");
        let flushed = expect_dto(&line.received, &[&line.server]);
        assert_eq!(flushed.status, DtoStatus::Flushed);
    }
    for line in lines {
        expect_connections(&near.connect, &[&line.client], ConnectionEventKind::Disconnected);
        expect_connections(&far.connect, &[&line.server], ConnectionEventKind::Disconnected);
        free_all(&[&line.client, &line.server, &line.received]);
    }
    target.lmr.free().expect("unused");
    near.finish();
    far.finish();
}

/// A wait that times out leaves the progress to the thread of the adapter, and to the next waiter.
///
/// # Panics
/// If a message is lost, or a wait lasts beyond its time-out.
pub fn a_wait_that_times_out_loses_nothing(open: fn(&str) -> Node) {
    let (near, far) = (open(""), open(""));
    let target = far.buffer(1);
    let line = Line::new(&near, &far, &dto());
    let mut event = Event::default();
    for cookie in 0..20 {
        line.server.post_recv(&[target.piece(0, 1)], cookie, NONE).expect("connected");
        let waited = line.received.wait(Timeout::After(Duration::from_millis(2)), 1, &mut event);
        assert_eq!(waited.expect("no other waiter"), WaitResult::TimedOut { queued: 0 });
        line.send(&near, cookie);
        if cookie % 2 == 0 {
            // The thread of the adapter reads the message.
            thread::sleep(Duration::from_millis(1));
        }
        expect_completion(&line.received, &[&line.server], cookie, DtoStatus::Success);
    }
    line.finish(&near, &far);
    target.lmr.free().expect("unused");
    near.finish();
    far.finish();
}

/// A proxy agent may need what the waiter holds, so that it must not be called by a waiter of another
/// dispatcher.
///
/// # Panics
/// If the agent is called by the waiter, or not at all.
pub fn a_waiter_calls_no_agent(open: fn(&str) -> Node) {
    let (near, far) = (open(""), open(""));
    let target = far.buffer(1);
    let callers: Arc<Mutex<Vec<ThreadId>>> = Arc::default();
    let agent = {
        let callers = Arc::clone(&callers);
        Arc::new(move |_| callers.lock().expect("no panic").push(thread::current().id()))
    };
    let cno = far.ia.cno_create(Some(agent)).expect("a notification object");
    let told = Line::new(&near, &far, &dto().with_cno(&cno));
    let waited = Line::new(&near, &far, &dto());
    for server in [&told.server, &waited.server] {
        server.post_recv(&[target.piece(0, 1)], 7, NONE).expect("connected");
    }
    let waiter = Background::with(&waited.received, |received| {
        let mut event = Event::default();
        received.wait(Timeout::Infinite, 1, &mut event).expect("an event");
        thread::current().id()
    });
    waiter.until_asleep();
    told.send(&near, 1);
    until("the agent is called", || !callers.lock().expect("no panic").is_empty());
    waited.send(&near, 2);
    let waiter = waiter.join();
    assert!(!callers.lock().expect("no panic").contains(&waiter));
    expect_completion(&told.received, &[&told.server], 7, DtoStatus::Success);
    told.finish(&near, &far);
    waited.finish(&near, &far);
    target.lmr.free().expect("unused");
    cno.free().expect("unused");
    near.finish();
    far.finish();
}
