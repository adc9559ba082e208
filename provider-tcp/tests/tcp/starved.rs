//! A process that has used up its descriptors, at each step of a connection.

use std::fs::File;
use std::process::Command;
use std::time::Duration;

use dat_core::{
    Connect, ConnectionEventKind, EpProvision, EpSpec, Evd, EvdFlags, EvdOptions, Event, Registry,
    Result, ReturnType, Timeout,
};
use rustix::process::{Resource, Rlimit, setrlimit};

/// More than an attempt needs.
const MOST: usize = 24;

#[test]
fn without_descriptors_each_step_fails_and_leaves_nothing() {
    // In a process of its own, because it lowers the limit of descriptors of the whole process.
    let ran = Command::new(std::env::current_exe().expect("a test"))
        .args(["--exact", "starved::process", "--ignored", "--nocapture"])
        .output()
        .expect("a process");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ran.status.success(), "{}{}", text(&ran.stdout), text(&ran.stderr));
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("Linux").count()
}

/// Takes every descriptor that is left.
fn hoard() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

/// How a connection attempt ended, if it came so far.
fn next(evd: &Evd) -> Result<Option<Event>> {
    let mut event = Event::default();
    let waited = evd.wait(Timeout::After(Duration::from_secs(3)), 1, &mut event)?;
    Ok(waited.is_event().then_some(event))
}

/// Opens an adapter and connects it to itself. Returns whether the connection was established.
fn attempt() -> Result<bool> {
    let registry = Registry::new();
    registry.add_provider(dat_provider_tcp::provider())?;
    let ia = registry.open("tcp-lo")?;
    let pz = ia.pz_create()?;
    let evd = |flags| ia.evd_create(&EvdOptions::new(8, flags));
    let (done, events, requests) =
        (evd(EvdFlags::DTO)?, evd(EvdFlags::CONNECTION)?, evd(EvdFlags::CONNECTION_REQUEST)?);
    let spec = EpSpec::new(&pz).recv_evd(&done).request_evd(&done).connect_evd(&events);
    let (client, server) = (ia.ep_create(&spec)?, ia.ep_create(&spec)?);
    let psp = ia.psp_create_any(&requests, EpProvision::Consumer)?;
    client.connect(&Connect::to(ia.attributes().address, psp.qualifier()))?;
    // The request comes, or the attempt fails.
    let mut accepted = false;
    for _ in 0..50 {
        let mut event = Event::default();
        let wait = Timeout::After(Duration::from_millis(20));
        if requests.wait(wait, 1, &mut event)?.is_event() {
            if let Event::ConnectionRequest(arrival) = event {
                arrival.request.accept(Some(&server), b"")?;
                accepted = true;
                break;
            }
        }
        let mut event = Event::default();
        if events.dequeue(&mut event)? {
            assert!(is_failure(&event), "{event:?}");
            return Ok(false);
        }
    }
    assert!(accepted, "neither a request nor a failure");
    for _ in 0..2 {
        let event = next(&events)?.expect("an event for each side");
        if is_failure(&event) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_failure(event: &Event) -> bool {
    let Event::Connection(event) = event else { panic!("{event:?}") };
    match event.kind {
        ConnectionEventKind::Established => false,
        ConnectionEventKind::NonPeerRejected
        | ConnectionEventKind::Unreachable
        | ConnectionEventKind::TimedOut
        | ConnectionEventKind::AcceptCompletionError
        | ConnectionEventKind::Disconnected => true,
        other => panic!("{other:?}"),
    }
}

#[test]
#[ignore = "the process of the test above"]
fn process() {
    let limit = Rlimit { current: Some(200), maximum: Some(200) };
    setrlimit(Resource::Nofile, limit).expect("a lower limit is always allowed");
    assert!(attempt().expect("enough descriptors"));
    settle();
    let before = descriptors();
    let mut outcomes = Vec::new();
    for spare in 0..=MOST {
        let mut all = hoard();
        all.truncate(all.len() - spare);
        let outcome = attempt();
        drop(all);
        if let Err(error) = &outcome {
            let expected = ReturnType::InsufficientResources;
            assert_eq!(error.return_type(), expected, "{spare} descriptors: {error}");
            assert!(!error.reason().is_empty(), "{spare} descriptors: {error}");
        }
        outcomes.push(outcome.is_ok_and(|established| established));
        let what = format!("all descriptors are closed, after {spare} were there");
        dat_conformance::until(&what, || descriptors() == before);
    }
    assert!(!outcomes[0] && outcomes[MOST], "{outcomes:?}");
    assert!(attempt().expect("enough descriptors again"));
}

/// Waits until the threads of closed adapters have ended.
fn settle() {
    let is_over = || {
        let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
        tasks.flatten().all(|task| {
            std::fs::read_to_string(task.path().join("comm"))
                .is_ok_and(|name| name.trim() != "dat-progress")
        })
    };
    dat_conformance::until("the threads end", is_over);
}
