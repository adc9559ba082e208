//! The heads of frames: what is accepted is what the encoder makes of it.

#![cfg_attr(fuzzing, no_main)]

use dat_provider_kit::frame::{AckHead, MAX_NEXT_PIECE, MessageHead, decode};

fn run(bytes: &[u8]) {
    let Ok(Some((frame, length))) = decode(bytes) else { return };
    let head = frame.encode();
    assert_eq!(*head, bytes[..length], "{frame:?}");
    assert!(frame.payload() <= MAX_NEXT_PIECE, "{frame:?}");
    for part in 0..length {
        assert_eq!(decode(&bytes[..part]), Ok(None), "the first {part} bytes of {frame:?}");
    }
    // The fast paths ignore the number.
    let [first, second, third, ..] = head.words();
    let plain = dat_provider_kit::frame::Frame { number: 0, ..frame };
    if let Some(message) = MessageHead::of([first, second, third]) {
        assert_eq!(message.frame(), plain);
    }
    if let Some(ack) = AckHead::of([first, second, third]) {
        assert_eq!(ack.frame(), plain);
    }
}

dat_fuzz_targets::target!(run);
