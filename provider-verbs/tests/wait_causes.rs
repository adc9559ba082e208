//! What a stalled connection over an RDMA device waits for.

use std::path::Path;
use std::time::{Duration, Instant};

use dat_core::monitor::{ConnectionView, Watch};
use dat_core::{Ep, WaitCause};
use verbs_side::{NONE, Side, device, next};

/// The view of an endpoint of this process, once it is as the condition says.
fn view(side: &Side, ep: &Ep, is_so: impl Fn(&ConnectionView) -> bool) -> ConnectionView {
    // Over soft-verbs, the process has a page of that, too.
    let is_it =
        |it: &ConnectionView| (it.ia, it.ep, &*it.transport) == (side.ia.id(), ep.id(), "verbs");
    let mut watch = Watch::new();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let own = watch.sample().0.into_iter().filter(|it| it.process == std::process::id());
        let found = own.flat_map(|it| it.connections).find(is_it);
        match found {
            Some(found) if is_so(&found) => return found,
            found => assert!(Instant::now() < deadline, "{found:?}"),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Returns true if the kernel counts for the device how often a peer had no receive, as it does for soft-RoCE.
fn counts_missing_receives(side: &Side) -> bool {
    let named = &side.ia.provider_attributes().provider_specific;
    let value = |name| &*named.iter().find(|attr| attr.name == name).expect("it is set").value;
    let port = Path::new("/sys/class/infiniband")
        .join(value("DAT_IB_DEVICE_NAME"))
        .join("ports")
        .join(value("DAT_IB_PORT_NUMBER"));
    let names = ["sq_num_rnr", "rnr_nak_retry_err", "rcvd_rnr_err", "rnr_naks_rcvd"];
    let folders = [port.join("counters"), port.join("hw_counters"), port.join("../../hw_counters")];
    folders.iter().any(|folder| names.iter().any(|name| folder.join(name).exists()))
}

#[test]
fn a_request_that_is_stalled_says_why() {
    let Some(address) = device("why a request is stalled") else { return };
    let side = Side::open(address);
    let (client, server) = (side.ep(), side.ep());
    side.link(&client, &server);
    let (_memory, lmr) = side.memory(128);
    let before = view(&side, &client, |_| true);
    assert_eq!((before.requests, before.waits_for), (0, None));
    if !side.ia.provider_attributes().datagrams_supported {
        // On iWARP, a message without a receive ends the connection.
        return;
    }

    client.post_send(&[lmr.triplet(0, 8).expect("inside")], 1, NONE).expect("connected");
    // The device of soft-verbs does not count.
    let cause = if counts_missing_receives(&side) { WaitCause::NoReceive } else { WaitCause::Peer };
    let stalled = view(&side, &client, |it| it.waits_for == Some(cause));
    assert_eq!(stalled.requests, 1);
    assert!(stalled.age >= Duration::from_secs(1), "{stalled:?}");
    assert_eq!(client.stall().expect("it exists").expect("it was seen").cause, cause);

    server.post_recv(&[lmr.triplet(8, 8).expect("inside")], 2, NONE).expect("connected");
    let done = view(&side, &client, |it| it.requests == 0 && it.waits_for.is_some());
    assert_eq!((done.completions, done.waits_for), (1, Some(WaitCause::Consumer)));
    next(&side.done);
    next(&side.done);
    let after = view(&side, &client, |it| it.waits_for.is_none());
    assert_eq!((after.requests, after.completions, after.age), (0, 0, Duration::ZERO));
    assert_eq!(client.stall(), Ok(None));
}
