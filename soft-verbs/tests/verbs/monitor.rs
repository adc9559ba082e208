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

/// Watches a queue pair until its view has what is wanted.
fn until<T>(
    watch: &mut Watch,
    queue_pair: &QueuePair,
    wanted: impl Fn(&ConnectionView) -> Option<T>,
) -> T {
    let deadline = Instant::now() + 3 * PATIENCE;
    loop {
        let shown = view(watch, queue_pair).expect("it exists");
        if let Some(found) = wanted(&shown) {
            return found;
        }
        assert!(Instant::now() < deadline, "{shown:?}");
    }
}

#[test]
fn queue_pairs_are_shown_with_their_peers_and_what_they_wait_for() {
    let [one, other] = pair();
    let mut watch = Watch::new();
    // The link is made after the transitions.
    let shown = until(&mut watch, &one.qp, |shown| {
        (shown.state == Some(EpState::Connected)).then(|| shown.clone())
    });
    let port = other.qp.number() >> 8;
    assert_eq!(shown.peer, format!("127.0.0.1 {port}"));
    assert_eq!((shown.requests, shown.receives), (0, 0));
    one.post_with(2, SendOperation::Send, &[one.sge(0, 64)], SendFlags::SIGNALED).expect("a send");
    let waiting =
        until(&mut watch, &one.qp, |shown| shown.waits_for.map(|cause| (cause, shown.requests)));
    assert_eq!(waiting, (WaitCause::NoReceive, 1));
    other.receive(1, other.sge(0, 64));
    assert_eq!((other.one().byte_len, one.one().status), (64, WcStatus::SUCCESS));
    let shown = view(&mut watch, &one.qp).expect("it is connected");
    assert_eq!((shown.requests, shown.waits_for), (0, None));
    let (number, qp) = (one.qp.number(), std::sync::Arc::clone(&one.qp));
    qp.destroy().expect("it exists");
    assert!(view(&mut watch, &qp).is_none(), "{number}");
}
