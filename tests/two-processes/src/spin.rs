//! An adapter whose thread spins (`progress=spin`).

use std::collections::BTreeSet;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use dat_conformance::{Node, link, until};

use crate::completions::{NONE, each_once};

/// The threads `dat-progress` of this process.
fn threads() -> BTreeSet<String> {
    let tasks = fs::read_dir("/proc/self/task").expect("every Linux has it");
    let ids = tasks.map(|task| task.expect("a task").file_name().into_string().expect("a number"));
    let is_progress = |id: &String| {
        let name = fs::read_to_string(format!("/proc/self/task/{id}/comm"));
        name.is_ok_and(|name| name.trim() == "dat-progress")
    };
    ids.filter(is_progress).collect()
}

/// How often a thread has slept in the kernel.
fn sleeps(thread: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/self/task/{thread}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.expect("proc_pid_status(5)").trim().parse().expect("a number")
}

/// The target of RDMA operations makes no call. Its thread executes them without a sleep between them. Needs a process
/// of its own.
///
/// # Panics
/// If an operation is not executed, or the thread sleeps.
pub fn a_target_without_calls_is_served_by_a_thread_that_never_sleeps(open: fn(&str) -> Node) {
    let (near, far) = (open(""), open("progress=spin"));
    let attribute = |node: &Node, name: &str| {
        let all = node.ia.provider_attributes().provider_specific.clone();
        all.into_iter().find(|one| one.name == name).map(|one| one.value)
    };
    assert_eq!(attribute(&near, "progress").as_deref(), Some("sleep"));
    assert_eq!(attribute(&far, "progress").as_deref(), Some("spin"));
    let (client, server) = (near.ep(), far.ep());
    link(&near, &client, &far, &server);
    let (source, target) = (near.buffer(64), far.buffer(64));
    let pause = Duration::from_millis(2);
    let all = threads();
    // The other thread sleeps in each of the pauses.
    let spinning = |before: &[(String, u64)]| -> Vec<String> {
        let same = before.iter().filter(|(thread, count)| sleeps(thread) == *count);
        same.map(|(thread, _)| thread.clone()).collect()
    };
    let mut last = Vec::new();
    let begin = Instant::now();
    // A signal or a debugger may interrupt a run; the thread of an adapter that sleeps does so in each of them.
    while last.len() != 1 && begin.elapsed() < Duration::from_secs(10) {
        let before: Vec<_> = all.iter().map(|one| (one.clone(), sleeps(one))).collect();
        for round in 1..=20_u8 {
            source.fill(0, &[round; 64]);
            let (from, to) = (source.piece(0, 64), target.remote(0, 64));
            client.post_rdma_write(&[from], round.into(), to, NONE).expect("connected");
            each_once(&[&near.request], &[round.into()]);
            let mut found = [0; 64];
            target.memory.read(0, &mut found).expect("inside");
            assert_eq!(found, [round; 64]);
            sleep(pause);
        }
        last = spinning(&before);
    }
    assert_eq!(last.len(), 1, "one thread of {all:?} does not sleep");
    for ep in [&client, &server] {
        drop(ep.disconnect(dat_core::Close::Abrupt));
    }
    until("both have ended", || {
        [&client, &server]
            .iter()
            .all(|ep| dat_conformance::state(ep) == dat_core::EpState::Disconnected)
    });
}
