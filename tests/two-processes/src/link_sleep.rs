//! The reader of a connection, as the epoll sets of the process show it: a waiter that sleeps on its only one, and polls of a
//! dispatcher for connection events.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dat_conformance::wait::expect_completion;
use dat_conformance::{Background, Node, link, until};
use dat_core::{Close, DtoStatus, Event, Timeout};
use dat_sync::futex;

use crate::completions::NONE;

/// EPOLLIN.
const IN: u32 = 1;
const MESSAGES: u64 = 8;

/// Number of sockets whose arrivals the epoll sets of this process await (proc_pid_fdinfo(5)).
fn awaited() -> usize {
    let is_socket = |number: &str| {
        let target = fs::read_link(format!("/proc/self/fd/{number}")).unwrap_or_default();
        target.to_string_lossy().starts_with("socket:")
    };
    let entries = fs::read_dir("/proc/self/fdinfo").expect("every Linux has it");
    let texts = entries.filter_map(|entry| fs::read_to_string(entry.ok()?.path()).ok());
    let watches = texts.flat_map(|text| {
        let lines = text.lines().filter(|line| line.starts_with("tfd:"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    });
    let awaits = |line: &String| {
        let mut words = line.split_whitespace();
        let (number, events) = (words.nth(1), words.nth(1));
        let events = events.and_then(|events| u32::from_str_radix(events, 16).ok());
        number.is_some_and(is_socket) && events.is_some_and(|events| events & IN != 0)
    };
    watches.filter(awaits).count()
}

/// Number of threads of this process that sleep on two words, by futex_waitv(2) (proc_pid_syscall(5)).
fn asleep_on_words() -> usize {
    /// The number of the call, on every processor.
    const FUTEX_WAITV: &str = "449";
    let tasks = fs::read_dir("/proc/self/task").expect("every Linux has it");
    let calls = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("syscall")).ok());
    calls.filter(|call| call.split_whitespace().next() == Some(FUTEX_WAITV)).count()
}

/// An arrival wakes the waiter. Over sockets, no other thread awaits it. Over shared memory, where the system permits
/// it, the waiter sleeps on a word of the ring, and the thread of the adapter awaits the end of the peer, which shows
/// at the socket. Needs a process of its own, whose sockets are counted.
///
/// # Panics
/// If another thread awaits the connection meanwhile, or a message or an acknowledgement is lost.
pub fn a_waiter_reads_its_only_connection_itself(open: fn(&str) -> Node) {
    let (near, far) = (open(""), open(""));
    let (client, server) = (near.ep(), far.ep());
    link(&near, &client, &far, &server);
    let (source, target) = (near.buffer(1), far.buffer(1));
    let before = awaited();
    let is_over_sockets = near.ia.attributes().adapter_name.starts_with("tcp");
    let sleeps_on_word = !is_over_sockets && futex::is_available();
    let check_sleep = || {
        let watchers = if sleeps_on_word { before } else { before - 1 };
        assert_eq!((awaited(), asleep_on_words()), (watchers, usize::from(sleeps_on_word)));
    };
    for cookie in 0..MESSAGES {
        server.post_recv(&[target.piece(0, 1)], cookie, NONE).expect("connected");
        let waiter = Background::with(&far.recv, |received| {
            let mut event = Event::default();
            received.wait(Timeout::Infinite, 1, &mut event).expect("no other waiter");
            event
        });
        waiter.until_asleep();
        check_sleep();
        source.fill(0, &[cookie as u8]);
        client.post_send(&[source.piece(0, 1)], cookie, NONE).expect("connected");
        let Event::Dto(done) = waiter.join() else { panic!("another event") };
        assert_eq!((done.cookie, done.status), (cookie, DtoStatus::Success));
        assert_eq!(target.bytes(0, 1), [cookie as u8]);
        assert_eq!(awaited(), before, "the thread of the adapter reads the connection again");
    }
    let waiter = Background::with(&far.recv, |received| {
        received.wait(Timeout::Infinite, 1, &mut Event::default())
    });
    waiter.until_asleep();
    check_sleep();
    far.recv.set_unwaitable().expect("live");
    waiter.join().expect_err("no message came");
    assert_eq!(awaited(), before);
    // The acknowledgements do not depend on another call of the receiver.
    for cookie in 0..MESSAGES {
        expect_completion(&near.request, &[&client], cookie, DtoStatus::Success);
    }
    client.disconnect(Close::Abrupt).expect("connected");
}

/// A program that awaits a write in memory and polls a dispatcher for connection events reads the connection by these polls:
/// no thread awaits it, and the peer need not wake one. What arrives after the last poll wakes the thread again.
/// Needs a process of its own, whose sockets are counted.
///
/// # Panics
/// If the polls do not read the connection, the thread awaits it meanwhile, or a write is lost.
pub fn polls_for_connection_events_read_the_connection(open: fn(&str) -> Node) {
    let (near, far) = (open(""), open(""));
    let (client, server) = (near.ep(), far.ep());
    link(&near, &client, &far, &server);
    let (source, target) = (near.buffer(1), far.buffer(1));
    let write = |value: u8| {
        source.fill(0, &[value]);
        let (from, to) = (source.piece(0, 1), target.remote(0, 1));
        client.post_rdma_write(&[from], value.into(), to, NONE).expect("connected");
        until("the write arrives", || target.bytes(0, 1) == [value]);
        expect_completion(&near.request, &[&client], value.into(), DtoStatus::Success);
    };
    let before = awaited();
    let ends = Arc::new(AtomicBool::new(false));
    let poller = Background::with(&far.connect, {
        let ends = Arc::clone(&ends);
        move |connect| {
            while !ends.load(Ordering::Relaxed) {
                let found = connect.dequeue(&mut Event::default()).expect("live");
                assert!(!found, "nothing happens to the connection");
            }
        }
    });
    until("polls read the connection", || {
        write(1);
        awaited() < before
    });
    (2..100).for_each(write);
    ends.store(true, Ordering::Relaxed);
    poller.join();
    until("the thread reads the connection again", || awaited() == before);
    (100..110).for_each(write);
    client.disconnect(Close::Abrupt).expect("connected");
}
