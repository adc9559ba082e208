//! A receiver of frames that checks the reader of a link.

use dat_provider::mem::{Memory, Span};
use dat_provider_kit::bytes;
use dat_provider_kit::frame::{AckHead, Frame, MAX_NEXT_PIECE, MessageHead};
use dat_provider_kit::link::{Destinations, FrameSink, Refused};

/// It gives memory for each payload, and panics if the calls of the reader contradict each other.
#[derive(Debug)]
pub struct Sink {
    memory: Memory,
    current: Option<Frame>,
    /// The frames that were passed on, as the general methods would pass them.
    pub frames: Vec<Frame>,
    /// Acknowledgements and messages take the shorter way.
    takes_plain: bool,
    /// Number of bytes of each span of memory.
    piece: usize,
    /// Number of frames after which it refuses one.
    left: usize,
}

impl Sink {
    /// A sink that refuses the frame after `left` others.
    ///
    /// # Panics
    /// The system has no memory.
    #[must_use]
    pub fn new(left: usize, piece: usize, takes_plain: bool) -> Self {
        thread_local! {
            // All inputs use the same: nothing depends on its content.
            static MEMORY: Memory = Memory::zeroed(MAX_NEXT_PIECE as usize).expect("memory");
        }
        Self {
            memory: MEMORY.with(Memory::clone),
            current: None,
            frames: Vec::new(),
            takes_plain,
            piece: piece.max(1),
            left,
        }
    }

    fn note(&mut self, frame: Frame) -> Result<(), Refused> {
        self.left = self.left.checked_sub(1).ok_or(Refused)?;
        self.frames.push(frame);
        Ok(())
    }
}

impl FrameSink for Sink {
    fn message(&mut self, head: &MessageHead, payload: Span) -> Result<bool, Refused> {
        assert!(self.current.is_none(), "a message within {:?}", self.current);
        if !self.takes_plain {
            return Ok(false);
        }
        assert_eq!(payload.len() as u64, head.length);
        let mut copy = vec![0; payload.len()];
        assert_eq!(bytes::gather_into(&[payload], &mut copy).ok(), Some(payload.len()));
        self.note(head.frame()).map(|()| true)
    }

    fn ack(&mut self, head: &AckHead) -> Result<bool, Refused> {
        assert!(self.current.is_none(), "an acknowledgement within {:?}", self.current);
        if !self.takes_plain {
            return Ok(false);
        }
        self.note(head.frame()).map(|()| true)
    }

    fn begin(&mut self, frame: &Frame) -> Result<(), Refused> {
        assert!(self.current.is_none(), "{frame:?} within {:?}", self.current);
        assert!(frame.payload() <= MAX_NEXT_PIECE, "{frame:?}");
        self.note(*frame)?;
        self.current = Some(*frame);
        Ok(())
    }

    fn destinations(&mut self, offset: u64, into: &mut Destinations) {
        let frame = self.current.expect("a payload belongs to a frame");
        assert!(offset < frame.payload(), "offset {offset} of {frame:?}");
        let end = frame.payload() as usize;
        let mut at = offset as usize;
        // A fifth of the frames gets no memory for its last bytes.
        let end = if frame.number % 5 == 4 { end - end / 3 } else { end };
        while at < end && into.len() < 16 {
            let next = if into.len() == 15 { end } else { end.min(at + self.piece) };
            into.extend(self.memory.part(at..next));
            at = next;
        }
    }

    fn end(&mut self) -> Result<(), Refused> {
        assert!(self.current.take().is_some(), "an end without a frame");
        Ok(())
    }
}
