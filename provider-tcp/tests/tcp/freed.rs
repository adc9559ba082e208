//! A region that is freed in the middle of a transfer of 64 MiB: from then on nothing reads or writes its
//! memory, on either side.

use dat_conformance::{Buffer, Node, link, until};
use dat_core::{Close, DtoStatus, Ep, EpState, Event};
use dat_two_processes::NONE;

use crate::common::node;

const LENGTH: usize = 64 << 20;
const DATA: u8 = 0x5a;
const POISON: u8 = 0xee;

/// Two adapters, an endpoint on each, and memory.
struct Rig {
    near: Node,
    far: Node,
    client: Ep,
    server: Ep,
    source: Buffer,
    target: Buffer,
}

impl Rig {
    /// A transfer goes from the source to the target: the client writes, or reads.
    fn new(client_reads: bool) -> Self {
        let (near, far) = (node(""), node(""));
        let (client, server) = (near.ep(), far.ep());
        link(&near, &client, &far, &server);
        let (from, to) = if client_reads { (&far, &near) } else { (&near, &far) };
        let (source, target) = (from.buffer(LENGTH), to.buffer(LENGTH));
        source.fill(0, &vec![DATA; LENGTH]);
        Self { near, far, client, server, source, target }
    }

    fn post(&self, client_reads: bool) {
        let (source, target) = (&self.source, &self.target);
        if client_reads {
            let (to, from) = (target.piece(0, LENGTH), source.remote(0, LENGTH));
            self.client.post_rdma_read(&[to], 1, from, NONE).expect("connected");
        } else {
            let (from, to) = (source.piece(0, LENGTH), target.remote(0, LENGTH));
            self.client.post_rdma_write(&[from], 1, to, NONE).expect("connected");
        }
    }

    /// The status of the transfer, or none if it is not complete.
    fn status(&self) -> Option<DtoStatus> {
        match dat_conformance::drain(&self.near.request).pop()? {
            Event::Dto(done) => Some(done.status),
            other => panic!("{other:?}"),
        }
    }

    /// Waits until the first bytes are there; the transfer is in flight.
    fn await_first_bytes(&self) {
        until("the first bytes arrive", || self.target.bytes(0, 1) == [DATA]);
    }

    /// Waits for the completion, and ends the connection, so that nothing can arrive later.
    fn end(&self) -> DtoStatus {
        let mut status = None;
        until("the transfer completes", || {
            status = status.or_else(|| self.status());
            status.is_some()
        });
        // It may have ended by itself.
        let _ = self.client.disconnect(Close::Abrupt);
        let is_over = |ep| dat_conformance::state(ep) == EpState::Disconnected;
        until("both are disconnected", || is_over(&self.client) && is_over(&self.server));
        status.expect("waited for above")
    }

    fn finish(self) {
        for ep in [&self.client, &self.server] {
            ep.free().expect("disconnected");
        }
        for buffer in [&self.source, &self.target] {
            // One of them is free already.
            let _ = buffer.lmr.free();
        }
        for node in [self.near, self.far] {
            drop(dat_conformance::drain(&node.connect));
            node.finish();
        }
    }
}

/// Tries until a region was freed in the middle of its transfer; the first bytes may be seen late.
fn in_the_middle(mut attempt: impl FnMut() -> DtoStatus) {
    for _ in 0..20 {
        if attempt() != DtoStatus::Success {
            return;
        }
    }
    panic!("each of 20 transfers was over before its region was freed");
}

/// Frees the target's region, and poisons its memory at once: nothing is written there any more.
fn frees_the_target(client_reads: bool) {
    in_the_middle(|| {
        let rig = Rig::new(client_reads);
        rig.post(client_reads);
        rig.await_first_bytes();
        rig.target.lmr.free().expect("nothing but the transfer uses it");
        let poison = vec![POISON; LENGTH];
        rig.target.fill(0, &poison);
        let status = rig.end();
        assert!(
            rig.target.bytes(0, LENGTH) == poison,
            "memory was written after its region was freed"
        );
        rig.finish();
        status
    });
}

/// Frees the source's region, and poisons its memory at once: the poison does not reach the peer.
fn frees_the_source(client_reads: bool) {
    in_the_middle(|| {
        let rig = Rig::new(client_reads);
        rig.post(client_reads);
        rig.await_first_bytes();
        rig.source.lmr.free().expect("nothing but the transfer uses it");
        rig.source.fill(0, &vec![POISON; LENGTH]);
        let status = rig.end();
        let found = rig.target.bytes(0, LENGTH);
        assert!(!found.contains(&POISON), "memory was read after its region was freed");
        assert!(found.iter().all(|byte| [0, DATA].contains(byte)));
        rig.finish();
        status
    });
}

#[test]
fn a_target_that_is_freed_during_a_write_is_not_written() {
    frees_the_target(false);
}

#[test]
fn a_target_that_is_freed_during_a_read_is_not_written() {
    frees_the_target(true);
}

#[test]
fn a_source_that_is_freed_during_a_write_is_not_read() {
    frees_the_source(false);
}

#[test]
fn a_source_that_is_freed_during_a_read_is_not_read() {
    frees_the_source(true);
}
