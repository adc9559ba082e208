//! Operations of each kind in three lengths, and a process that keeps executing and posting them.

use std::collections::HashMap;
use std::os::unix::process::CommandExt;
use std::process::Command;

use dat_conformance::{Buffer, Node, drain};
use dat_core::{ConnectionEventKind, DtoStatus, Ep, EpProvision, Event, Result, RmrTriplet};

use crate::completions::NONE;
use crate::process;

/// Length of the longest operation, in bytes.
pub const LONGEST: usize = 1 << 20;
/// Lengths of operations, in bytes.
const LENGTHS: [usize; 3] = [64, 4 << 10, LONGEST];
/// Receives and requests per endpoint.
pub const DEPTH: u64 = 8;

/// The load of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// 0 sends, 1 RDMA writes, 2 RDMA reads.
    kind: u8,
    /// The index of the length.
    length: u8,
}

impl Load {
    /// One of the nine combinations.
    #[must_use]
    pub const fn number(number: usize) -> Self {
        Self { kind: (number % 3) as u8, length: (number / 3 % 3) as u8 }
    }

    /// Posts a request.
    ///
    /// # Errors Like the post.
    pub fn post(self, ep: &Ep, buffer: &Buffer, theirs: RmrTriplet, cookie: u64) -> Result<()> {
        let length = LENGTHS[usize::from(self.length) % LENGTHS.len()];
        let local = [buffer.piece(LONGEST, length)];
        let remote = RmrTriplet { length: length as u64, ..theirs };
        match self.kind % 3 {
            0 => ep.post_send(&local, cookie, NONE),
            1 => ep.post_rdma_write(&local, cookie, remote, NONE),
            _ => ep.post_rdma_read(&local, cookie, remote, NONE),
        }
    }

    /// Private data with the load and a memory region, for the peer.
    #[must_use]
    pub fn private_data(self, own: RmrTriplet) -> Vec<u8> {
        let mut bytes = vec![self.kind, self.length];
        bytes.extend_from_slice(&own.context.to_le_bytes());
        bytes.extend_from_slice(&own.address.to_le_bytes());
        bytes
    }

    /// Decodes private data.
    ///
    /// # Panics
    /// If they are malformed.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> (Self, RmrTriplet) {
        let load = Self { kind: bytes[0], length: bytes[1] };
        let context = u32::from_le_bytes(bytes[2..6].try_into().expect("4 bytes"));
        let address = u64::from_le_bytes(bytes[6..14].try_into().expect("8 bytes"));
        (load, RmrTriplet { context, address, length: LONGEST as u64 })
    }
}

/// Memory for the operations of all endpoints. The first half is for peers and receives.
#[must_use]
pub fn buffer(node: &Node) -> Buffer {
    node.buffer(2 * LONGEST)
}

/// The other process: accepts requests until all connections have ended, and posts the load in
/// their private data. Receives of its peers may run out, and then its sends wait. A byte on its
/// standard input makes it execute another program.
///
/// # Panics
/// If it is refused what a live endpoint may do.
pub fn peer(open: fn(&str) -> Node) {
    let node = open("");
    let psp = node.ia.psp_create_any(&node.requests, EpProvision::Consumer).expect("a port");
    let buffer = buffer(&node);
    let own = buffer.remote(0, LONGEST);
    process::announce(psp.qualifier());
    std::thread::spawn(|| {
        if std::io::Read::read(&mut std::io::stdin(), &mut [0]).is_ok_and(|length| length == 1) {
            panic!("{}", Command::new("sleep").arg("60").exec());
        }
    });
    let mut loads: HashMap<u64, (Ep, Load, RmrTriplet)> = HashMap::new();
    loop {
        for event in drain(&node.requests) {
            let Event::ConnectionRequest(arrival) = event else { panic!("{event:?}") };
            let (load, theirs) = Load::parse(&arrival.request.query().expect("live").private_data);
            let ep = node.ep();
            for _ in 0..DEPTH {
                ep.post_recv(&[buffer.piece(0, LONGEST)], 0, NONE).expect("live");
            }
            arrival.request.accept(Some(&ep), &load.private_data(own)).expect("unconnected");
            loads.insert(ep.id(), (ep, load, theirs));
        }
        for event in drain(&node.connect) {
            let Event::Connection(event) = event else { panic!("{event:?}") };
            if event.kind != ConnectionEventKind::Established {
                loads.remove(&event.ep);
                if loads.is_empty() {
                    return;
                }
                continue;
            }
            let (ep, load, theirs) = &loads[&event.ep];
            for _ in 0..DEPTH / 2 {
                load.post(ep, &buffer, *theirs, 1).expect("established");
            }
        }
        for event in drain(&node.recv).into_iter().chain(drain(&node.request)) {
            let Event::Dto(done) = event else { panic!("{event:?}") };
            let Some((ep, load, theirs)) = loads.get(&done.ep) else { continue };
            if done.status == DtoStatus::Success {
                let _ = match done.cookie {
                    0 => ep.post_recv(&[buffer.piece(0, LONGEST)], 0, NONE),
                    _ => load.post(ep, &buffer, *theirs, 1),
                };
            }
        }
        std::thread::yield_now();
    }
}
