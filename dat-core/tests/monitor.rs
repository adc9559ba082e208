//! What `dat top` sees of this process, and what pages do that are not what they should be.

#![cfg(not(miri))]
#![allow(unsafe_code, reason = "fork")]

use std::io::Write;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dat_core::counters::{SizedOperation, Sizes};
use dat_core::monitor::{ConnectionView, PageError, ProcessView, Watch};
use dat_core::{
    Close, CompletionFlags, Connect, Ep, EpAttributes, EpCounter, EpProvision, EpSpec, Evd,
    EvdCounter, EvdFlags, EvdOptions, Event, Ia, IaCounter, Lmr, Memory, Privileges, Registry,
    Timeout, WaitCause,
};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, Uid, fork, pause, setuid};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Tests of one process see each other's adapters.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open(name: &str) -> Ia {
    let registry = Registry::new();
    registry.add_provider(dat_provider_loopback::provider()).expect("the only one");
    registry.open(name).expect("it opens")
}

/// A process in a view.
fn find(watch: &mut Watch, process: u32) -> Option<ProcessView> {
    let (processes, _) = watch.look();
    processes.into_iter().find(|view| view.process == process)
}

fn own(watch: &mut Watch) -> ProcessView {
    find(watch, std::process::id()).expect("this process has an adapter")
}

/// Two connected endpoints.
struct Pair {
    ia: Ia,
    evd: Evd,
    client: Ep,
    server: Ep,
    lmr: Lmr,
}

impl Pair {
    fn connect(name: &str) -> Self {
        let ia = open(name);
        let pz = ia.pz_create().expect("a zone");
        let options = EvdOptions::new(64, EvdFlags::DEFAULT);
        let evd = ia.evd_create(&options).expect("a dispatcher");
        let spec = EpSpec::new(&pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd);
        let client = ia.ep_create(&spec).expect("an endpoint");
        let server = ia.ep_create(&spec).expect("an endpoint");
        let memory = Memory::zeroed(64).expect("memory");
        let lmr = ia.lmr_create(&memory, &pz, Privileges::ALL).expect("a region");
        let psp = ia.psp_create_any(&evd, EpProvision::Consumer).expect("a service point");
        client.connect(&Connect::to_psp(&psp)).expect("it starts");
        let event = evd.next_event(Timeout::Infinite).expect("no error");
        let Some(Event::ConnectionRequest(arrival)) = event else { panic!("{event:?}") };
        arrival.request.accept(Some(&server), b"").expect("it is the first");
        let pair = Self { ia, evd, client, server, lmr };
        pair.take(2);
        pair
    }

    /// Takes that many events.
    fn take(&self, count: usize) {
        for _ in 0..count {
            let event = self.evd.next_event(Timeout::After(Duration::from_secs(10)));
            assert!(event.expect("no error").is_some());
        }
    }

    /// The view of an endpoint.
    fn view(&self, watch: &mut Watch, endpoint: &Ep) -> ConnectionView {
        let all = own(watch).connections;
        let found = all.iter().find(|it| (it.ia, it.ep) == (self.ia.id(), endpoint.id()));
        found.unwrap_or_else(|| panic!("{all:?}")).clone()
    }

    /// The view of the client, once it waits for something for more than a second.
    fn stalled(&self, watch: &mut Watch) -> ConnectionView {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let view = self.view(watch, &self.client);
            if view.waits_for.is_some() {
                return view;
            }
            assert!(Instant::now() < deadline, "{view:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

#[test]
fn a_request_that_is_stalled_says_why() {
    let _alone = alone();
    let pair = Pair::connect("loopback");
    let mut watch = Watch::new();
    let before = pair.view(&mut watch, &pair.client);
    assert_eq!((before.requests, before.credits, before.waits_for), (0, Some(0), None));
    assert_eq!(before.transport, "loopback");

    pair.client.send(&[pair.lmr.triplet(0, 8).expect("in it")], 1).expect("connected");
    let view = pair.stalled(&mut watch);
    assert_eq!((view.requests, view.waits_for), (1, Some(WaitCause::NoReceive)));
    assert!(view.age >= Duration::from_secs(1), "{view:?}");
    let stall = pair.client.stall().expect("it exists").expect("it was seen");
    assert_eq!(stall.cause, WaitCause::NoReceive);
    let all = dat_core::monitor::stalls(10);
    assert!(all.contains(&(pair.ia.id(), pair.client.id(), stall)), "{all:?}");

    pair.server.start_counters().expect("it exists");
    pair.server.receive(&[pair.lmr.triplet(8, 8).expect("in it")], 2).expect("connected");
    let counters = pair.view(&mut watch, &pair.server).counters;
    assert_eq!(counters, [(EpCounter::PostRecv, 1), (EpCounter::PostRecvData, 8)]);
    let view = pair.view(&mut watch, &pair.client);
    assert_eq!(view.counters, []);
    assert_eq!((view.requests, view.completions, view.waits_for), (0, 1, None));
    assert_eq!(view.sent.requests, 1);
    assert!(view.sent.requests_per_second.is_some(), "{view:?}");
    let view = pair.stalled(&mut watch);
    assert_eq!(view.waits_for, Some(WaitCause::Consumer));

    pair.take(2);
    let view = pair.view(&mut watch, &pair.client);
    assert_eq!((view.completions, view.waits_for, view.age), (0, None, Duration::ZERO));
    assert_eq!(pair.client.stall(), Ok(None));
    let server = pair.view(&mut watch, &pair.server);
    assert_eq!((server.received.requests, server.receives), (1, 0));
}

#[test]
fn the_parameter_starts_the_counters_of_all_objects_with_the_sizes_of_operations() {
    let _alone = alone();
    let pair = Pair::connect("loopback?counters=yes");
    for (cookie, length) in [(1, 0), (2, 1), (3, 8), (4, 8)] {
        pair.server.receive(&[pair.lmr.triplet(32, 16).expect("in it")], cookie).expect("ready");
        pair.client.send(&[pair.lmr.triplet(0, length).expect("in it")], cookie).expect("ready");
        pair.take(2);
    }
    let mut watch = Watch::new();
    let view = own(&mut watch);
    let adapter = &view.adapters[0].counters;
    for expected in [(IaCounter::EpCreate, 2), (IaCounter::PspCreateAny, 1)] {
        assert!(adapter.contains(&expected), "{adapter:?}");
    }
    for expected in [IaCounter::CmRepRx, IaCounter::CmRtuTx, IaCounter::CmRtuRx] {
        assert!(adapter.contains(&(expected, 1)), "{adapter:?}");
    }
    let dispatcher = view.dispatchers.iter().find(|it| it.evd == pair.evd.id()).expect("it counts");
    let counter = |wanted| dispatcher.counters.iter().find(|(it, _)| *it == wanted);
    assert!(counter(EvdCounter::Wait).is_some(), "{dispatcher:?}");
    assert_eq!(counter(EvdCounter::ConnCallback), Some(&(EvdCounter::ConnCallback, 3)));

    let sizes = |endpoint: &Ep, watch: &mut Watch| -> Vec<_> {
        let view = pair.view(watch, endpoint);
        view.sizes.into_iter().map(|sizes| (sizes.operation, sizes.counts)).collect()
    };
    let expected = vec![(0, 1), (1, 1), (Sizes::bucket(8), 2)];
    assert_eq!(sizes(&pair.client, &mut watch), [(SizedOperation::Send, expected.clone())]);
    assert_eq!(sizes(&pair.server, &mut watch), [(SizedOperation::Receive, expected)]);
    let all = pair.client.sizes(true).expect("it exists");
    assert_eq!(all.counts(SizedOperation::Send)[Sizes::bucket(8)], 2);
    assert_eq!(sizes(&pair.client, &mut watch), [], "they were reset");
    assert_eq!(pair.view(&mut watch, &pair.client).sent.bytes, Some(17));
    assert_eq!(pair.view(&mut watch, &pair.server).received.bytes, Some(17));

    let counter = |ia: &Ia, counter| ia.counters(false).expect("open").get(counter);
    pair.client.disconnect(Close::Abrupt).expect("connected");
    pair.take(2);
    let (requests, replies) = (IaCounter::CmDreqRx, IaCounter::CmDrepRx);
    assert_eq!((counter(&pair.ia, requests), counter(&pair.ia, replies)), (1, 1));
    assert_eq!(counter(&pair.ia, IaCounter::CmDreqTx), 1);
}

#[test]
fn a_datagram_without_a_receive_is_a_counter_of_the_adapter() {
    let _alone = alone();
    let ia = open("loopback?counters=yes");
    let pz = ia.pz_create().expect("a zone");
    let evd = ia.evd_create(&EvdOptions::new(64, EvdFlags::DEFAULT)).expect("a dispatcher");
    let mut attributes = ia.default_ep_attributes().clone();
    attributes.service_type = EpAttributes::SERVICE_DATAGRAM;
    let spec = EpSpec::new(&pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd);
    let spec = spec.attributes(&attributes);
    let client = ia.ep_create(&spec).expect("an endpoint");
    let server = ia.ep_create(&spec).expect("an endpoint");
    let memory = Memory::zeroed(128).expect("memory");
    let lmr = ia.lmr_create(&memory, &pz, Privileges::ALL).expect("a region");
    let psp = ia.psp_create_any(&evd, EpProvision::Consumer).expect("a service point");
    client.connect(&Connect::to_psp(&psp)).expect("it starts");
    let mut address = None;
    while address.is_none() {
        match evd.next_event(Timeout::Infinite).expect("no error").expect("no time-out") {
            Event::ConnectionRequest(arrival) => {
                arrival.request.accept(Some(&server), b"").expect("it is the first");
            }
            Event::Datagram(event) if event.ep == client.id() => address = event.remote,
            _ => {}
        }
    }
    let address = address.expect("found");
    let send = |length| {
        let piece = [lmr.triplet(0, length).expect("in it")];
        client
            .post_send_datagram(&piece, &address, 1, CompletionFlags::empty())
            .expect("the address is known");
    };
    let lost = || ia.counters(false).expect("open").get(IaCounter::DiagErrRqUdsdprd);
    send(8);
    assert_eq!(lost(), 1, "there is no receive");
    server.receive(&[lmr.triplet(64, 41).expect("in it")], 2).expect("ready");
    send(8);
    assert_eq!(lost(), 2, "the receive is too short");
    server.receive(&[lmr.triplet(64, 64).expect("in it")], 3).expect("ready");
    send(8);
    assert_eq!(lost(), 2);
    let counted = |counter| ia.counters(false).expect("open").get(counter);
    let exchanged = [IaCounter::CmAhReqTx, IaCounter::CmAhReqRx].map(counted);
    assert_eq!((exchanged, counted(IaCounter::CmAhResolved)), ([1, 1], 2));
}

#[test]
fn polls_of_a_dispatcher_that_counts_are_distinguished_from_its_events() {
    let _alone = alone();
    let pair = Pair::connect("loopback?counters=yes");
    let counted = |counter| pair.evd.counters(false).expect("it exists").get(counter);
    let polls = || (counted(EvdCounter::DequeuePoll), counted(EvdCounter::DequeuePollFound));
    let (before, _) = polls();
    let mut event = Event::default();
    assert!(!pair.evd.dequeue(&mut event).expect("it exists"));
    assert_eq!(polls(), (before + 1, 0));
    pair.server.receive(&[pair.lmr.triplet(32, 16).expect("in it")], 1).expect("ready");
    pair.client.send(&[pair.lmr.triplet(0, 8).expect("in it")], 1).expect("ready");
    assert!(pair.evd.dequeue(&mut event).expect("it exists"));
    assert!(pair.evd.dequeue(&mut event).expect("it exists"));
    assert_eq!(polls(), (before + 3, 2));
}

#[test]
fn values_of_the_parameters_that_mean_nothing_are_errors_of_the_open() {
    let _alone = alone();
    let registry = Registry::new();
    registry.add_provider(dat_provider_loopback::provider()).expect("the only one");
    for (name, valid) in [("loopback?monitor=of", "off"), ("loopback?counters=some", "yes")] {
        let error = registry.open(name).expect_err("no such value").to_string();
        assert!(error.contains("is neither yes") && error.contains(valid), "{error}");
    }
    let off = registry.open("loopback?monitor=off,counters=off").expect("both are words");
    assert_eq!((pages("self").len(), off.name()), (0, "loopback"));
    assert!(!Path::new("off").exists());
}

/// Whether the thread of the monitor runs in this process.
fn has_thread() -> bool {
    let tasks = std::fs::read_dir("/proc/self/task").expect("it runs");
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
    tasks.flatten().filter_map(|task| name(task).ok()).any(|name| name == "dat-monitor\n")
}

#[test]
fn a_program_without_endpoints_is_shown_without_a_thread() {
    let _alone = alone();
    let deadline = Instant::now() + Duration::from_secs(10);
    while has_thread() {
        assert!(Instant::now() < deadline, "that of another test ends");
        std::thread::yield_now();
    }
    let first = open("loopback");
    let second = open("loopback");
    let mut watch = Watch::new();
    let shown = |watch: &mut Watch| -> Vec<u64> {
        let view = own(watch);
        assert_eq!(view.sample_age, Duration::ZERO, "there is nothing to wait for");
        view.adapters.iter().map(|it| it.ia).collect()
    };
    assert_eq!(shown(&mut watch), [first.id(), second.id()]);
    drop(first);
    assert_eq!(shown(&mut watch), [second.id()]);
    assert!(!has_thread());
    let pz = second.pz_create().expect("a zone");
    let endpoint = second.ep_create(&EpSpec::new(&pz)).expect("an endpoint");
    assert_eq!(own(&mut watch).adapters[0].endpoints, 1);
    assert!(has_thread());
    endpoint.free().expect("it is not connected");
    assert_eq!(own(&mut watch).adapters[0].endpoints, 0);
}

#[test]
fn the_length_of_a_page_cannot_change_while_it_is_read() {
    let _alone = alone();
    let _ia = open("loopback");
    let page = pages("self").pop().expect("one");
    let file = std::fs::File::options().write(true).open(page).expect("it exists");
    let length = file.metadata().expect("it exists").len();
    for wrong in [0, 4096, length + 4096] {
        let error = file.set_len(wrong).expect_err("the length is sealed");
        assert_eq!(error.raw_os_error(), Some(nix::libc::EPERM));
    }
    assert_eq!(own(&mut Watch::new()).adapters.len(), 1);
}

#[test]
fn a_thousand_endpoints_are_shown_while_other_threads_use_the_processors() {
    let _alone = alone();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let pairs: Vec<Pair> = (0..8).map(|_| Pair::connect("loopback?counters=yes")).collect();
        let ia = &pairs[0].ia;
        let pz = ia.pz_create().expect("a zone");
        let evd = ia.evd_create(&EvdOptions::new(4096, EvdFlags::DEFAULT)).expect("a dispatcher");
        let spec = EpSpec::new(&pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd);
        let psp = ia.psp_create_any(&evd, EpProvision::Consumer).expect("a service point");
        let mut all = Vec::new();
        for _ in 0..500 {
            let client = ia.ep_create(&spec).expect("an endpoint");
            let server = ia.ep_create(&spec).expect("an endpoint");
            client.connect(&Connect::to_psp(&psp)).expect("it starts");
            loop {
                match evd.next_event(Timeout::Infinite).expect("no error") {
                    Some(Event::ConnectionRequest(arrival)) => {
                        arrival.request.accept(Some(&server), b"").expect("it is the first");
                        break;
                    }
                    Some(_) => {}
                    None => panic!("no time-out"),
                }
            }
            all.push((client, server));
        }
        let mut watch = Watch::new();
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let view = own(&mut watch);
            if view.connections.len() == 1016 && view.omitted == 0 {
                break;
            }
            assert!(Instant::now() < deadline, "{}", view.connections.len());
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn adapters_are_shown_from_open_to_close_unless_they_are_excluded() {
    let _alone = alone();
    let mut watch = Watch::new();
    let excluded = open("loopback?monitor=no");
    assert!(find(&mut watch, std::process::id()).is_none());
    let shown = open("loopback?max_eps=4,monitor=yes");
    let adapters = own(&mut watch).adapters;
    assert_eq!(adapters.iter().map(|it| it.ia).collect::<Vec<_>>(), [shown.id()]);
    shown.close(Close::Graceful).expect("it has no objects");
    assert!(find(&mut watch, std::process::id()).is_none());
    assert_eq!(pages("self").len(), 0, "the descriptor is closed");
    let again = open("loopback");
    assert_eq!(own(&mut watch).adapters.len(), 1);
    drop((again, excluded));
}

/// The descriptors of pages in a process.
fn pages(process: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(format!("/proc/{process}/fd")).expect("it runs");
    let is_page = |path: &PathBuf| {
        std::fs::read_link(path).is_ok_and(|to| to.to_string_lossy().contains("dat-monitor"))
    };
    all.map(|entry| entry.expect("it runs").path()).filter(is_page).collect()
}

/// Runs a function in a child, which ends with 0 if it returns true.
fn in_child(run: impl FnOnce() -> bool) -> Pid {
    // SAFETY: the child ends by `_exit`; the library supports use after fork.
    match unsafe { fork() }.expect("a child") {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            // The runner of tests, which would catch a panic, is not in this process.
            let is_right = catch_unwind(AssertUnwindSafe(run)).unwrap_or(false);
            // SAFETY: `_exit` ends the process without running any destructor.
            unsafe { nix::libc::_exit(i32::from(!is_right)) }
        }
    }
}

fn succeeds(child: Pid) {
    assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
}

#[test]
fn a_child_has_neither_the_page_nor_the_memory_of_its_parent() {
    let _alone = alone();
    let pair = Pair::connect("loopback");
    assert_eq!(pages("self").len(), 1);
    succeeds(in_child(|| {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        if !pages("self").is_empty() || maps.contains("dat-monitor") {
            return false;
        }
        // What it opens itself has a page of its own.
        let _own = open("loopback");
        let mut watch = Watch::new();
        let number_of = |process: u32, watch: &mut Watch| {
            find(watch, process).map(|view| (view.adapters.len(), view.connections.len()))
        };
        let parent = nix::unistd::getppid().as_raw() as u32;
        number_of(std::process::id(), &mut watch) == Some((1, 0))
            && number_of(parent, &mut watch) == Some((1, 2))
    }));
    assert_eq!(own(&mut Watch::new()).connections.len(), 2);
    drop(pair);
}

#[test]
fn the_page_is_gone_with_a_process_that_is_killed() {
    let _alone = alone();
    let child = in_child(|| {
        let _ia = open("loopback");
        loop {
            pause();
        }
    });
    let process = child.as_raw() as u32;
    let mut watch = Watch::new();
    let deadline = Instant::now() + Duration::from_secs(30);
    while find(&mut watch, process).is_none() {
        assert!(Instant::now() < deadline, "it opens its adapter");
    }
    kill(child, Signal::SIGSTOP).expect("it runs");
    while !find(&mut watch, process).is_some_and(|view| view.is_stopped) {
        assert!(Instant::now() < deadline, "it stops");
    }
    kill(child, Signal::SIGKILL).expect("it exists");
    waitpid(child, None).expect("a child");
    assert!(find(&mut watch, process).is_none());
}

#[test]
fn only_the_same_user_can_open_the_page() {
    let _alone = alone();
    let _ia = open("loopback");
    let page = pages("self").pop().expect("one");
    let metadata = std::fs::metadata(&page).expect("it exists");
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    assert_eq!(metadata.uid(), Uid::effective().as_raw());
    if !Uid::effective().is_root() {
        // Only root can become another user; the mode has been checked.
        return;
    }
    let parent = std::process::id();
    let name = page.file_name().expect("a number").to_owned();
    let nobody = Uid::from_raw(65_534);
    succeeds(in_child(move || {
        let page = PathBuf::from(format!("/proc/{parent}/fd")).join(name);
        let opens = || std::fs::File::open(&page).is_ok();
        let is_open_to_root = opens();
        setuid(nobody).expect("root may");
        is_open_to_root && !opens() && find(&mut Watch::new(), parent).is_none()
    }));
}

/// A memory file with the name of a page.
fn impostor(length: u64, seals: SealFlags, content: &[u8]) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create("dat-monitor", flags).expect("memory");
    rustix::fs::ftruncate(&file, length).expect("memory");
    let mut rest = content;
    let mut at = 0;
    while !rest.is_empty() {
        let written = rustix::io::pwrite(&file, rest, at).expect("memory");
        (rest, at) = (&rest[written..], at + written as u64);
    }
    rustix::fs::fcntl_add_seals(&file, seals).expect("allowed");
    file
}

#[test]
fn pages_of_strangers_are_refused_or_shown_and_never_crash_the_reader() {
    let _alone = alone();
    let own = std::process::id();
    let errors = || -> Vec<PageError> {
        let (_, errors) = Watch::new().look();
        errors.into_iter().filter(|error| error.process == own).collect()
    };
    assert!(errors().is_empty());
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    // The genuine page tells the length and the header.
    let ia = open("loopback");
    let page = pages("self").pop().expect("one");
    let genuine = std::fs::read(page).expect("it exists");
    let length = genuine.len() as u64;
    drop(ia);

    let growing = SealFlags::GROW;
    for (what, length, seals, content) in [
        ("it could shrink", length, growing, &[] as &[u8]),
        ("it is short", 4096, seals, &[]),
        ("it is empty", 0, seals, &[]),
        ("it has no format", length, seals, &[7; 64]),
        ("it is of zeros", length, seals, &[]),
    ] {
        let file = impostor(length, seals, content);
        assert_eq!(errors().len(), 1, "{what}");
        drop(file);
    }

    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..21_u64 {
        let mut content = genuine[..128].to_vec();
        content.resize(64 << 10, 0);
        // The kinds of slots are small numbers, and so is the number of slots, except in some rounds.
        content[128..].chunks_exact_mut(8).for_each(|word| {
            let value = if round % 3 == 0 { random() % 4 } else { random() };
            word.copy_from_slice(&value.to_ne_bytes());
        });
        let slots = if round % 5 == 0 { random() } else { random() % 100 };
        content[48..56].copy_from_slice(&slots.to_ne_bytes());
        // Some are written without end.
        content[16..24].copy_from_slice(&(round % 7 / 6).to_ne_bytes());
        let file = impostor(length, seals, &content);
        let (processes, errors) = Watch::new().look();
        let is_shown = processes.iter().any(|view| view.process == own);
        let is_refused = errors.iter().any(|error| error.process == own);
        assert!(is_shown != is_refused, "round {round}");
        drop(file);
    }
}

/// A path for a file that is removed again.
fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("dat-monitor-{name}-{}", std::process::id()))
}

#[test]
fn metrics_are_in_a_file_from_open_to_close() {
    let _alone = alone();
    let path = scratch("metrics");
    let pair = Pair::connect(&format!("loopback?monitor={}", path.display()));
    let second = open(&format!("loopback?monitor={}", path.display()));
    let other = open("loopback");
    own(&mut Watch::new());
    let text = std::fs::read_to_string(&path).expect("written");
    let count = |begin: &str| text.lines().filter(|line| line.starts_with(begin)).count();
    assert_eq!((count("dat_endpoints{"), count("dat_requests{"), count("dat_stalled{")), (2, 2, 2));
    let expected = format!("dat_endpoints{{adapter=\"loopback\",ia=\"{}\"}} 2", pair.ia.id());
    assert!(text.lines().any(|line| line == expected), "{text}");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (_, value) = line.rsplit_once("} ").expect(line);
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    drop(second);
    assert!(path.exists());
    pair.ia.close(Close::Abrupt).expect("it is open");
    assert!(!path.exists());
    drop(other);
}

#[test]
fn a_metrics_file_that_cannot_be_written_is_an_error_of_the_open() {
    let _alone = alone();
    let registry = Registry::new();
    registry.add_provider(dat_provider_loopback::provider()).expect("the only one");
    let error = registry.open("loopback?monitor=/proc/no/such/file").expect_err("no folder");
    assert!(error.to_string().contains("/proc/no/such/file"), "{error}");
    assert_eq!(pages("self").len(), 0);
}

/// The folder of a test in a process of its own.
const FOLDER: &str = "DAT_TEST_FOLDER";

/// Writes metrics to a file while `begin` makes that fail, until `end`. The failure is said, the file keeps the last
/// metrics that fitted, the connection works, and then the file has the metrics of now.
fn survives(path: &Path, failure: &str, mut begin: impl FnMut(), end: impl FnOnce()) {
    let pair = Pair::connect(&format!("loopback?monitor={}", path.display()));
    let mut watch = Watch::new();
    let mut look_until = |is_right: &mut dyn FnMut(&str, &str) -> bool| {
        // A sample has the failure of the one before it, and comes late on a busy machine.
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let trouble = own(&mut watch).adapters.remove(0).trouble;
            let text = std::fs::read_to_string(path).expect("there is always one");
            if is_right(&trouble, &text) {
                return text;
            }
            assert!(Instant::now() < deadline, "{trouble:?}: {text}");
        }
    };
    look_until(&mut |trouble, text| trouble.is_empty() && text.contains("dat_endpoints{"));
    let last = look_until(&mut |trouble, _| {
        // Again, because a file that was being written may have released the one before.
        begin();
        trouble.contains(failure)
    });
    assert!(last.contains("dat_endpoints{"), "{last}");
    pair.server.receive(&[pair.lmr.triplet(8, 8).expect("in it")], 2).expect("connected");
    pair.client.send(&[pair.lmr.triplet(0, 8).expect("in it")], 1).expect("connected");
    pair.take(2);
    let has_sent = |text: &str| {
        let mut lines = text.lines();
        lines.any(|line| line.starts_with("dat_sent_requests_total{") && line.ends_with(" 1"))
    };
    assert!(!has_sent(&look_until(&mut |trouble, _| trouble.contains(failure))));
    end();
    look_until(&mut |trouble, text| trouble.is_empty() && has_sent(text));
}

/// This program, to run one of its ignored tests in a process of its own, after other arguments.
fn add_test<'a>(command: &'a mut Command, test: &str) -> &'a mut Command {
    command.args(["--exact", test, "--ignored", "--nocapture"])
}

/// Runs a command that must succeed within two minutes.
fn passes(command: &mut Command) {
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.expect("a process");
    let deadline = Instant::now() + Duration::from_secs(120);
    while child.try_wait().expect("a child").is_none() {
        if Instant::now() > deadline {
            child.kill().expect("a child");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let ran = child.wait_with_output().expect("a child");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ran.status.success(), "{}: {}{}", ran.status, text(&ran.stdout), text(&ran.stderr));
}

/// In mount and user namespaces of its own, where anyone may mount a small file system. A limit of file sizes, which
/// needs no privilege, tests the same below.
#[test]
fn a_full_disk_is_said_and_the_program_goes_on() {
    let _alone = alone();
    let folder = scratch("full");
    std::fs::create_dir_all(&folder).expect("a folder");
    let small = || {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-ec"]);
        command.arg("mount -t tmpfs -o size=64k none \"$0\"; exec \"$@\"").arg(&folder);
        command.env(FOLDER, &folder).arg(std::env::current_exe().expect("this program"));
        add_test(&mut command, "on_a_full_disk");
        command
    };
    let tried = small().arg("--list").output();
    if tried.as_ref().is_ok_and(|ran| ran.status.success()) {
        passes(&mut small());
    } else {
        // Directly, so that the test runner does not capture it.
        let _ = writeln!(std::io::stderr(), "NOT RUN: a full disk: no namespaces: {tried:?}");
    }
    std::fs::remove_dir(&folder).expect("it is empty here");
}

#[test]
#[ignore = "the process of the test above"]
fn on_a_full_disk() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("the test above sets it"));
    let name = folder.join("ballast");
    let mut ballast = std::fs::File::create(&name).expect("there is space");
    // It takes all pages that the file does not have.
    let fill = || while ballast.write_all(&[1; 512]).is_ok() {};
    let release = || std::fs::File::create(&name).map(drop).expect("it exists");
    survives(&folder.join("metrics"), "No space left on device", fill, release);
}

#[test]
fn a_limit_of_file_sizes_is_said_and_the_program_goes_on() {
    let _alone = alone();
    let folder = scratch("limited");
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    passes(add_test(command.env(FOLDER, &folder), "with_a_limit_of_file_sizes"));
    std::fs::remove_dir(&folder).expect("the metrics are removed");
}

#[test]
#[ignore = "the process of the test above, because the limit is one of the process"]
fn with_a_limit_of_file_sizes() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("the test above sets it"));
    let before = getrlimit(Resource::Fsize);
    let set = |limit| setrlimit(Resource::Fsize, limit).expect("not above the maximum");
    let short = Rlimit { current: Some(16), ..before };
    survives(&folder.join("metrics"), "File too large", || set(short), || set(before));
}
