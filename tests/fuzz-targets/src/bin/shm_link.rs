//! A link in shared memory whose peer writes any bytes anywhere, and sends any packets: each half ends the link or goes
//! on, and stays inside its memory.

#![cfg_attr(fuzzing, no_main)]

use dat_fuzz_targets::{Input, Sink};
use dat_provider::mem::Memory;
use dat_provider_kit::frame::{Body, Extra, Frame};
use dat_provider_kit::link::{Armed, Budget, End, WriteResult};
use dat_provider_shm::fuzz::{HostileLink, PIECE};

/// Where the next frame of the peer is, in units of a cache line.
#[derive(Default)]
struct Place(usize);

const UNIT: usize = 64;
/// Bytes of a ring.
const RING: usize = 4096 * UNIT;

fn send_frame(link: &HostileLink, direction: usize, place: &mut Place, input: &mut Input<'_>) {
    let at = link.ring(direction) + place.0 * UNIT % RING;
    let (mut head, length) = ([0; UNIT], input.half());
    let given = input.bytes(UNIT - 8);
    head[8..8 + given.len()].copy_from_slice(given);
    // Most words fit their heads.
    let total = match dat_provider_kit::frame::decode(&head[8..]) {
        Ok(Some((frame, head))) if length < 0xff00 => 8 + head as u64 + frame.payload_within(PIECE),
        _ => u64::from(length) << (input.byte() % 64),
    };
    head[..8].copy_from_slice(&total.to_le_bytes());
    link.write(at, &head);
    let before = if total > 1024 { UNIT as u64 } else { 0 };
    place.0 += (total + before).div_ceil(UNIT as u64).min(2000) as usize;
}

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let flags = input.byte();
    let is_active = flags & 1 != 0;
    let reads = usize::from(is_active);
    let mut link = HostileLink::new(is_active).expect("memory and descriptors");
    if !is_active && flags & 2 != 0 {
        link.greet().expect("room in the socket");
    }
    let mut place = Place::default();
    let mut sink = Sink::new(200, usize::from(input.half()), flags & 4 != 0);
    thread_local! {
        static PAYLOAD: Memory = Memory::zeroed(64 << 10).expect("memory");
    }
    let payload = PAYLOAD.with(Memory::clone);
    let mut ended: Option<End> = None;
    for _ in 0..200 {
        if input.is_empty() {
            break;
        }
        match input.byte() % 10 {
            0..=2 => send_frame(&link, reads, &mut place, &mut input),
            3 => {
                // Words that both sides share, in the first page.
                let at = usize::from(input.half()) % 4096;
                let count = usize::from(input.byte() % 17);
                link.write(at, input.bytes(count));
            }
            4 => {
                let at = input.word() as usize;
                let count = usize::from(input.byte());
                link.write(at, input.bytes(count));
            }
            5 => {
                let [count, descriptors] = input.array();
                link.send(input.bytes(usize::from(count % 20)), usize::from(descriptors % 4));
                link.reader.note_readable();
            }
            6 => {
                // Few frames are too long, which ends the link.
                let length = u64::from(input.half()) % (PIECE + 64);
                let body = Body::Send { length, solicited: false, extra: Extra::None };
                let span = payload.part(0..length as usize).expect("inside");
                let _ = match input.byte() % 4 {
                    0 => link.writer.hold(&Frame::new(body), &[span], 4096),
                    1 => link.writer.write(&Frame::new(Body::Ack), &[]),
                    _ => link.writer.write(&Frame::new(body), &[span]),
                }
                .is_ok_and(|written| written == WriteResult::Full);
                let _ = link.writer.flush();
            }
            7 => {
                let all = [Armed::Nothing, Armed::Doorbell, Armed::Descriptor].map(Some);
                match input.one_of(&[all[0], all[1], all[2], None]) {
                    Some(armed) => _ = link.reader.arm(armed),
                    None => drop(link.reader.begin_sleep()),
                }
            }
            8 if input.byte() & 15 == 0 => link.hang_up(),
            8 => drop(link.reader.discard()),
            _ => {
                let frames = u32::from(input.byte() % 16) + 1;
                let result = link.reader.read(&mut sink, Budget { frames, bytes: 1 << 16 });
                match (&ended, result) {
                    (Some(end), result) => assert_eq!(result, Err(end.clone()), "a later read"),
                    (None, Err(end)) => ended = Some(end),
                    (None, Ok(_)) => {}
                }
            }
        }
    }
}

dat_fuzz_targets::target!(run);

#[cfg(test)]
#[test]
fn the_passive_side_reads_the_segment_of_the_greeting() {
    let mut link = HostileLink::new(false).expect("memory and descriptors");
    link.greet().expect("room in the socket");
    link.reader.note_readable();
    let budget = Budget { frames: 1, bytes: 1 << 16 };
    assert!(link.reader.read(&mut Sink::new(200, 0, false), budget).is_ok());
}
