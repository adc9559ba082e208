//! Frames with values at the boundaries.

use dat_provider::status::DtoStatus;

use crate::frame::{
    Body, ConnectReply, EXTENT, Extra, Frame, MAX_EXTENTS, MAX_HANDSHAKE, MAX_NEXT_PIECE,
    MAX_PIECE, MAX_TRANSFER, Reason, Refusal, Remote, VERSION,
};
use crate::protocol::tests::place::{Area, Place};

const LENGTHS: [u64; 13] = [
    0,
    1,
    8,
    40,
    4096,
    4097,
    MAX_PIECE,
    MAX_PIECE + 1,
    MAX_NEXT_PIECE,
    MAX_NEXT_PIECE + 1,
    MAX_TRANSFER,
    MAX_TRANSFER + 1,
    u64::MAX,
];

/// Remote memory of the side that receives the frame: valid, with an unknown key, at the end of the addresses, across
/// the end of the region.
fn remotes(place: &Place) -> [Remote; 4] {
    let valid = place.target(0);
    let end = place.unregistered().address;
    [
        valid,
        Remote { context: !valid.context, ..valid },
        Remote { address: u64::MAX, ..valid },
        Remote { address: end - 4, ..valid },
    ]
}

fn reasons() -> [Reason; 5] {
    let broken = |request, status| Reason::Broken { request, status };
    [
        Reason::Graceful,
        Reason::Abrupt,
        broken(u32::MAX, DtoStatus::RemoteAccess),
        broken(0, DtoStatus::Flushed),
        broken(1 << 31, DtoStatus::LocalLength),
    ]
}

/// All kinds of frames with all boundary values.
pub(super) fn all_bodies(place: &Place) -> Vec<Body> {
    let mut all = vec![Body::Ready, Body::Cts, Body::NoReceive, Body::Ack];
    all.extend([0, 1, 1 << 31, u32::MAX].map(|request| Body::Withdraw { request }));
    all.extend(reasons().map(|reason| Body::End { reason }));
    for length in [0, 8, 48, MAX_HANDSHAKE, MAX_HANDSHAKE + 1, u64::MAX] {
        all.extend([VERSION, 0, 255].map(|version| Body::Hello { version, length }));
        all.extend([Body::Challenge { length }, Body::Proof { length }]);
        let replies = [
            ConnectReply::Accepted,
            ConnectReply::Rejected,
            ConnectReply::Refused(Refusal::NoListener),
        ];
        all.extend(replies.map(|reply| Body::Answer { reply, length }));
    }
    for length in LENGTHS {
        all.push(Body::Rts { length });
        let extras = [Extra::None, Extra::Invalidate(0), Extra::Invalidate(place.key)];
        for extra in extras.into_iter().chain([0, 1].map(Extra::Immediate)) {
            all.push(Body::Send { length, solicited: true, extra });
        }
        for last in [false, true] {
            all.extend([Body::Data { length, last }, Body::More { length, last }]);
        }
        for extents in [0, 1, MAX_EXTENTS, MAX_EXTENTS + 1, u32::MAX] {
            all.push(Body::Offer { length, solicited: false, extents, epoch: u64::MAX });
        }
        for remote in remotes(place) {
            let immediate = Body::WriteImmediate { length, remote, immediate: 1, solicited: false };
            all.extend([Body::Write { length, remote }, Body::Read { length, remote }, immediate]);
        }
    }
    for remote in remotes(place) {
        all.push(Body::FetchAdd { remote, add: u64::MAX });
        all.push(Body::CompareSwap { remote, compare: 0, swap: u64::MAX });
    }
    all
}

/// One or two frames of each kind.
pub(super) fn some_bodies(place: &Place) -> Vec<Body> {
    let [valid, wrong, ..] = remotes(place);
    let send = |length| Body::Send { length, solicited: false, extra: Extra::None };
    let offer = |length| Body::Offer { length, solicited: false, extents: 1, epoch: 1 };
    let write = |length, remote| Body::Write { length, remote };
    let immediate =
        Body::WriteImmediate { length: 8, remote: valid, immediate: 1, solicited: false };
    let (request, status) = (u32::MAX, DtoStatus::RemoteAccess);
    vec![
        Body::Ready,
        Body::Answer { reply: ConnectReply::Accepted, length: 8 },
        Body::Challenge { length: 48 },
        send(0),
        send(40),
        send(5000),
        send(MAX_PIECE + 1),
        Body::Send { length: 8, solicited: false, extra: Extra::Invalidate(place.key) },
        Body::Send { length: 40, solicited: false, extra: Extra::Immediate(7) },
        write(8, valid),
        write(8, wrong),
        write(MAX_PIECE + 1, valid),
        immediate,
        Body::Read { length: 40, remote: valid },
        Body::Read { length: 0, remote: wrong },
        Body::FetchAdd { remote: valid, add: 1 },
        Body::Data { length: 8, last: false },
        Body::Data { length: 8, last: true },
        Body::Data { length: 40, last: true },
        Body::More { length: 1, last: true },
        Body::More { length: 40, last: false },
        Body::Rts { length: 5000 },
        Body::Cts,
        Body::NoReceive,
        Body::Withdraw { request: 0 },
        offer(40),
        offer(9000),
        Body::Ack,
        Body::End { reason: Reason::Graceful },
        Body::End { reason: Reason::Broken { request, status } },
    ]
}

/// The expected counts, and others.
pub(super) fn all_counts((done, posted): (u32, u32)) -> Vec<(u32, u32)> {
    let others = [0, 1, 2, 1 << 15, i32::MAX as u32, 1 << 31, (1 << 31) + 1, u32::MAX];
    let mut all = Vec::new();
    for done_by in others {
        for posted_by in others {
            all.push((done.wrapping_add(done_by), posted.wrapping_add(posted_by)));
        }
    }
    all
}

/// The payload of a frame. That of an offer names memory of the peer, and has the length of the offer in total.
pub(super) fn payload(frame: &Frame, peer: &Place) -> Vec<u8> {
    let mut bytes = vec![7; frame.payload() as usize];
    if let Body::Offer { length, .. } = frame.body {
        let source = peer.memory.address() + peer.offset(Area::Source, 0) as u64;
        bytes.fill(0);
        for (each, words) in bytes.chunks_exact_mut(EXTENT as usize).zip([[source, length]]) {
            each[..8].copy_from_slice(&words[0].to_le_bytes());
            each[8..].copy_from_slice(&words[1].to_le_bytes());
        }
    }
    bytes
}
