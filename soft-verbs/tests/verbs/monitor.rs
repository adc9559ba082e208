//! What `dat top` shows of the device.

use std::time::Instant;

use dat_core::EpState;
use dat_core::WaitCause;
use dat_core::monitor::{ConnectionView, Watch};
use dat_soft_verbs::*;

use crate::world::{PATIENCE, pair};

/// The view of a queue pair of this process.
fn view(watch: &mut Watch, queue_pair: &QueuePair) -> Option<ConnectionView> {
    let (processes, _) = watch.sample();
    let own = processes.into_iter().find(|view| view.process == std::process::id())?;
    assert!(own.adapters.iter().any(|adapter| adapter.name == "soft0"), "{own:?}");
    own.connections.into_iter().find(|it| it.ep == u64::from(queue_pair.number()))
}

#[test]
fn queue_pairs_are_shown_with_their_peers_and_what_they_wait_for() {
    let [one, other] = pair();
    let mut watch = Watch::new();
    let shown = view(&mut watch, &one.qp).expect("it is connected");
    assert_eq!(shown.state, Some(EpState::Connected));
    let port = other.qp.number() >> 8;
    assert_eq!(shown.peer, format!("127.0.0.1 {port}"));
    assert_eq!((shown.requests, shown.receives), (0, 0));
    one.post_with(2, SendOperation::Send, &[one.sge(0, 64)], SendFlags::SIGNALED).expect("a send");
    let deadline = Instant::now() + 3 * PATIENCE;
    let waits_for = loop {
        let shown = view(&mut watch, &one.qp).expect("it is connected");
        if let Some(cause) = shown.waits_for {
            assert_eq!(shown.requests, 1);
            break cause;
        }
        assert!(Instant::now() < deadline, "{shown:?}");
    };
    assert_eq!(waits_for, WaitCause::NoReceive);
    other.receive(1, other.sge(0, 64));
    assert_eq!((other.one().byte_len, one.one().status), (64, WcStatus::SUCCESS));
    let shown = view(&mut watch, &one.qp).expect("it is connected");
    assert_eq!((shown.requests, shown.waits_for), (0, None));
    let (number, qp) = (one.qp.number(), std::sync::Arc::clone(&one.qp));
    qp.destroy().expect("it exists");
    assert!(view(&mut watch, &qp).is_none(), "{number}");
}
