//! Descriptors that are used up at each step of a connection: the attempt fails, and nothing is left.
//! A program of its own, because it lowers the limit of descriptors of the whole process.

#[path = "shm/common.rs"]
mod common;

use dat_conformance::{drain, exchange};
use dat_core::{Connect, EpState, Event, PspMaker};
use dat_two_processes::{each_once, posts};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::common::node;

fn descriptors() -> u64 {
    std::fs::read_dir("/proc/self/fd").expect("Linux").count() as u64
}

#[test]
fn descriptors_used_up_fail_the_attempt_and_leave_nothing() {
    let node = node("");
    let buffer = node.buffer(128);
    let (client, server) = node.pair();
    let psp = node.ia.psp_create_any(&node.requests, PspMaker::Consumer).expect("a qualifier");
    // With more than two endpoints, dispatchers watch their links by descriptors of their own.
    let third = node.ep();
    let limit = getrlimit(Resource::Nofile);
    let before = descriptors();
    let mut established = 0;
    for more in 0..8 {
        let (near, far) = (node.ep(), node.ep());
        let cookies = posts(&far, &buffer, 2, 0);
        // One of them reads the folder.
        let soft = Rlimit { current: Some(before - 1 + more), ..limit };
        setrlimit(Resource::Nofile, soft).expect("lower");
        near.connect(&Connect::to(node.address(), psp.qualifier())).expect("an attempt");
        let ended = || dat_conformance::state(&near) != EpState::ActiveConnectionPending;
        dat_conformance::until("it ends or is established", || {
            for event in drain(&node.requests) {
                let Event::ConnectionRequest(arrival) = event else { panic!("{event:?}") };
                arrival.request.accept(Some(&far), b"").expect("unconnected");
            }
            ended()
        });
        setrlimit(Resource::Nofile, limit).expect("as before");
        if dat_conformance::state(&near) == EpState::Connected {
            established += 1;
        }
        near.free().expect("live");
        far.free().expect("live");
        each_once(&[&node.recv], &cookies);
        drain(&node.connect);
        exchange(&node, &client, &server);
    }
    assert!((1..8).contains(&established), "{established}");
    dat_conformance::until("no descriptor is left", || descriptors() <= before);
    third.free().expect("live");
    psp.free().expect("live");
}
