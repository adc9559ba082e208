//! Registered memory that the program unmaps, protects or truncates: the operations that need it fail with a
//! status, the connection ends, and nothing else does.

use dat_conformance::{Buffer, Node, drain, exchange, expect_dto, link, state, until};
use dat_core::{
    ConnectionEventKind, DtoStatus, Ep, EpState, Event, Lmr, LmrTriplet, MemorySource, Privileges,
    RmrTriplet, Srq,
};

use crate::completions::NONE;
use crate::pages::{Loss, Pages};

/// The longest operation, in bytes.
const LONGEST: usize = 1 << 20;
/// A program that hangs ends after this number of seconds.
const LIMIT: u32 = 300;

/// An operation that needs the lost memory. Its owner posts the first ones, and the peer the others.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Send,
    Receive,
    /// The receive is posted to a shared queue, after the message was.
    SharedReceive,
    Write,
    Read,
    PeerWrites,
    PeerReads,
    PeerAdds,
    PeerSwaps,
}

use Operation::{
    PeerAdds, PeerReads, PeerSwaps, PeerWrites, Read, Receive, Send, SharedReceive, Write,
};

impl Operation {
    const ALL: [Self; 9] =
        [Send, Receive, SharedReceive, Write, Read, PeerWrites, PeerReads, PeerAdds, PeerSwaps];

    /// Returns true if it only reads the lost memory.
    fn only_reads(self) -> bool {
        matches!(self, Send | Write | PeerReads)
    }

    fn is_atomic(self) -> bool {
        matches!(self, PeerAdds | PeerSwaps)
    }
}

/// Two adapters, of which one loses memory, and a connection that must not notice.
struct Sides {
    owner: Node,
    peer: Node,
    good: Buffer,
    bystanders: (Ep, Ep),
}

/// What was posted, and on which memory.
struct Posted<'a> {
    sides: &'a Sides,
    owner: Ep,
    peer: Ep,
    srq: Option<Srq>,
    lost: LmrTriplet,
    remote: RmrTriplet,
}

impl Sides {
    fn open(open: fn(&str) -> Node) -> Self {
        let (owner, peer) = (open(""), open(""));
        let (good, bystanders) = (peer.buffer(LONGEST), owner.pair());
        Self { owner, peer, good, bystanders }
    }

    fn register(&self, pages: &Pages) -> Lmr {
        let source = MemorySource::Span(pages.span());
        self.owner.ia.lmr_create(source, &self.owner.pz, Privileges::ALL).expect("a registration")
    }

    /// Runs an operation of a length after the loss of its memory.
    fn run(&self, operation: Operation, loss: Loss, length: usize) {
        let case = format!("{operation:?} of {length} bytes, {loss:?}");
        let pages = Pages::map(length);
        let lmr = self.register(&pages);
        let srq = (operation == SharedReceive).then(|| self.owner.srq(4));
        let spec = srq.iter().fold(self.owner.spec(), |spec, srq| spec.srq(srq));
        let owner = self.owner.ia.ep_create(&spec).expect("an endpoint");
        let peer = self.peer.ep();
        link(&self.owner, &owner, &self.peer, &peer);
        let lost = lmr.triplet(0, length as u64).expect("inside");
        let remote = lmr.remote_triplet(0, length as u64).expect("inside");
        let posted = Posted { sides: self, owner, peer, srq, lost, remote };
        if loss == Loss::Writing && operation.only_reads() {
            pages.lose(loss);
            assert_eq!(posted.status(operation), DtoStatus::Success, "{case}");
        } else {
            posted.fail(operation, &case, || pages.lose(loss));
        }
        let Posted { owner, peer, srq, .. } = posted;
        owner.free().expect("no other user");
        peer.free().expect("no other user");
        if let Some(srq) = srq {
            srq.free().expect("no other user");
        }
        for evd in [&self.owner.recv, &self.peer.recv, &self.owner.connect, &self.peer.connect] {
            drain(evd);
        }
        lmr.free().expect("no other user");
        exchange(&self.owner, &self.bystanders.0, &self.bystanders.1);
    }
}

impl Posted<'_> {
    /// Posts an operation, which must fail after `lose`.
    fn fail(&self, operation: Operation, case: &str, lose: impl FnOnce()) {
        if operation == Receive {
            self.owner.post_recv(&[self.lost], 1, NONE).expect("posted");
        }
        lose();
        let status = self.status(operation);
        let right = match operation {
            Send | Write | Read => DtoStatus::LocalProtection,
            Receive | SharedReceive => DtoStatus::RemoteResponder,
            PeerWrites | PeerReads | PeerAdds | PeerSwaps => DtoStatus::RemoteAccess,
        };
        // The answer to a read may be cut off before its end, which no status can follow.
        let is_cut = operation == PeerReads && status == DtoStatus::Flushed;
        assert!(status == right || is_cut, "{case}: {status:?}");
        let received = match operation {
            Receive | SharedReceive => Some((&self.sides.owner, DtoStatus::LocalProtection)),
            Send => Some((&self.sides.peer, DtoStatus::Flushed)),
            _ => None,
        };
        if let Some((node, status)) = received {
            let done = expect_dto(&node.recv, &[&self.owner, &self.peer]);
            assert_eq!(done.status, status, "{case}");
        }
        for (node, ep) in [(&self.sides.owner, &self.owner), (&self.sides.peer, &self.peer)] {
            until(case, || state(ep) == EpState::Disconnected);
            let mut ends = Vec::new();
            until(case, || {
                ends.append(&mut drain(&node.connect));
                !ends.is_empty()
            });
            let [Event::Connection(end)] = &ends[..] else { panic!("{case}: {ends:?}") };
            let known = [ConnectionEventKind::Broken, ConnectionEventKind::Disconnected];
            assert!(known.contains(&end.kind), "{case}: {end:?}");
        }
    }

    /// Posts the operation and returns its status.
    fn status(&self, operation: Operation) -> DtoStatus {
        let Self { sides, owner, peer, srq, lost, remote } = self;
        let length = usize::try_from(lost.length).expect("a short operation");
        let (piece, there) = (sides.good.piece(0, length), sides.good.remote(0, length));
        let posted = match operation {
            Send => {
                peer.post_recv(&[piece], 2, NONE).expect("posted");
                owner.post_send(&[*lost], 3, NONE)
            }
            Receive => peer.post_send(&[piece], 3, NONE),
            SharedReceive => {
                peer.post_send(&[piece], 3, NONE).expect("connected");
                srq.as_ref().expect("its queue").post_recv(&[*lost], 1)
            }
            Write => owner.post_rdma_write(&[*lost], 3, there, NONE),
            Read => owner.post_rdma_read(&[*lost], 3, there, NONE),
            PeerWrites => peer.post_rdma_write(&[piece], 3, *remote, NONE),
            PeerReads => peer.post_rdma_read(&[piece], 3, *remote, NONE),
            PeerAdds => peer.post_fetch_and_add(1, piece, 3, *remote, NONE),
            PeerSwaps => peer.post_compare_and_swap((0, 1), piece, 3, *remote, NONE),
        };
        posted.expect("connected");
        let is_of_owner = matches!(operation, Send | Write | Read);
        let node = if is_of_owner { &sides.owner } else { &sides.peer };
        expect_dto(&node.request, &[owner, peer]).status
    }
}

/// Every operation, after every loss. Needs a process of its own, which a signal would end.
///
/// # Panics
/// If an operation has the wrong status, or a connection does not end or is disturbed.
pub fn each_operation_fails(open: fn(&str) -> Node) {
    // SAFETY: the call has no memory as an argument.
    #[allow(unsafe_code, reason = "a call of libc")]
    let _ = unsafe { libc::alarm(LIMIT) };
    let sides = Sides::open(open);
    for loss in Loss::ALL {
        for operation in Operation::ALL {
            for length in [8, 64, 200, 4096, 8192, LONGEST] {
                if length == 8 || !operation.is_atomic() {
                    sides.run(operation, loss, length);
                }
            }
        }
    }
}

/// Memory that is lost while long operations use it: each completes, and the connection ends.
///
/// # Panics
/// If an operation does not complete, or a connection does not end.
pub fn the_second_half_is_enough(open: fn(&str) -> Node) {
    let sides = Sides::open(open);
    for operation in Operation::ALL.into_iter().filter(|it| !it.is_atomic()) {
        for length in [16 << 10, LONGEST] {
            sides.run(operation, Loss::Half, length);
        }
    }
}

/// Memory that other processes cannot access although its owner can: all operations succeed.
///
/// # Panics
/// If one fails.
pub fn memory_that_only_its_owner_reaches_works(open: fn(&str) -> Node) {
    let (owner, peer) = (open(""), open(""));
    let good = peer.buffer(LONGEST);
    let Some(pages) = Pages::secret(LONGEST) else {
        println!("skipped: the kernel has no memfd_secret");
        return;
    };
    let bystanders = owner.pair();
    let sides = Sides { owner, peer, good, bystanders };
    let lmr = sides.register(&pages);
    let (owner, peer) = (sides.owner.ep(), sides.peer.ep());
    link(&sides.owner, &owner, &sides.peer, &peer);
    for length in [8, 4096, 8192, 64 << 10, LONGEST] {
        let lost = lmr.triplet(0, length as u64).expect("inside");
        let remote = lmr.remote_triplet(0, length as u64).expect("inside");
        let (owner, peer) = (owner.clone(), peer.clone());
        let posted = Posted { sides: &sides, owner, peer, srq: None, lost, remote };
        for operation in [Send, Receive, Write, Read, PeerWrites, PeerReads] {
            if operation == Receive {
                posted.owner.post_recv(&[lost], 1, NONE).expect("posted");
            }
            // More often than a connection offers messages that the peer cannot fetch.
            for _ in 0..if operation == Receive { 1 } else { 12 } {
                assert_eq!(posted.status(operation), DtoStatus::Success, "{operation:?} {length}");
            }
            drain(&sides.owner.recv);
            drain(&sides.peer.recv);
        }
    }
}
