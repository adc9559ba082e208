//! The reader of a stream: however the bytes are split, it passes on the frames that they contain, and ends at the
//! first head that is not one.

#![cfg_attr(fuzzing, no_main)]

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};

use dat_fuzz_targets::{Input, Sink};
use dat_provider::mem::Span;
use dat_provider_kit::bytes;
use dat_provider_kit::frame::{Frame, decode};
use dat_provider_kit::link::{Budget, End, Reader};
use dat_provider_kit::stream_link::{Stream, StreamReader};

/// What has arrived, in the parts in which it can be read.
struct Parts(Mutex<VecDeque<Vec<u8>>>);

impl Stream for Parts {
    fn write(&self, from: &[Span]) -> Result<usize, End> {
        Ok(bytes::total(from))
    }

    fn read(&self, into: &[Span]) -> Result<Option<usize>, End> {
        let mut parts = self.0.lock().expect("one thread");
        let Some(mut part) = parts.pop_front() else { return Err(End::Closed) };
        if part.is_empty() {
            return Ok(None);
        }
        let count = bytes::scatter(&part, into).map_err(|_| End::Inaccessible)?;
        let rest = part.split_off(count);
        if !rest.is_empty() {
            parts.push_front(rest);
        }
        Ok(Some(count))
    }

    fn shut_down(&self) -> Result<(), End> {
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// The frames in bytes whose last one may be incomplete, and what must end the link.
fn frames(mut bytes: &[u8]) -> (Vec<Frame>, End) {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let (frame, head) = match decode(bytes) {
            Ok(Some(found)) => found,
            Ok(None) => return (frames, End::Gone),
            Err(why) => return (frames, End::Malformed(why)),
        };
        frames.push(frame);
        match bytes.get(head + frame.payload() as usize..) {
            Some(rest) => bytes = rest,
            None => return (frames, End::Gone),
        }
    }
    (frames, End::Closed)
}

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let [length, times] = input.array();
    let (piece, per_call) = (input.half().into(), u32::from(input.byte()) + 1);
    let mut parts = VecDeque::new();
    let mut all = Vec::new();
    while !input.is_empty() {
        // Long payloads cost few bytes of the input.
        let part = input.bytes(usize::from(length) + 1).repeat(1 + usize::from(times % 8) * 7);
        all.extend_from_slice(&part);
        parts.push_back(part);
        if times & 8 != 0 {
            parts.push_back(Vec::new());
        }
    }
    let mut reader = StreamReader::new(Arc::new(Parts(Mutex::new(parts))));
    let mut sink = Sink::new(usize::MAX, piece, false);
    let budget = Budget { frames: per_call, bytes: 1 << 16 };
    let end = loop {
        if let Err(end) = reader.read(&mut sink, budget) {
            break end;
        }
    };
    let (expected, why) = frames(&all);
    assert_eq!((sink.frames.as_slice(), &end), (expected.as_slice(), &why));
    assert_eq!(reader.read(&mut sink, budget), Err(end), "a later read");
}

dat_fuzz_targets::target!(run);
