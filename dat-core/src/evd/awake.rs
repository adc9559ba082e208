//! The beginning of a wait: some looks at the queue, awake, of which nobody else is told.
//!
//! A wait that ends here is as one that began with its last look, so that what others did to the
//! dispatcher before came before the wait. There is nothing to announce and to take back.

use super::EvdInner;
use crate::event::Event;
use crate::provider::{Success, Taken};
use crate::sync::pause_shortly;
use crate::timeout::Timeout;

/// Looks at the queue before the time-out begins to count, which takes them a microsecond.
const SOON: u32 = 16;

impl EvdInner {
    /// Takes the first event if it comes soon and is what most are; how many more there are.
    /// Otherwise nothing has happened, be it that the wait has to be announced, that it ends
    /// with another event, or that it is refused. `late` is called before the time that it takes
    /// can be noticed.
    pub(super) fn wait_awake(
        &self,
        timeout: Timeout,
        threshold: u32,
        event: &mut Event,
        late: impl Fn(),
    ) -> Option<usize> {
        let (mut turn, mut turns) = (0, 0);
        let mut success = Success::default();
        loop {
            let mut queue = self.queue.lock();
            // Who is told of arrivals would be told of what the waiter takes.
            if queue.is_taken() || queue.is_unwaitable() || queue.is_listened_to() {
                return None;
            }
            let taken = match threshold {
                1 => queue.take(&mut success),
                _ if threshold as usize > queue.capacity() => return None,
                _ => Taken::Other,
            };
            match taken {
                Taken::Success => {
                    event.complete_dto(success.into());
                    if turn > 0 {
                        queue.patience.learn(true);
                    }
                    return Some(queue.collect());
                }
                Taken::Nothing => {}
                Taken::Other if queue.collect() >= threshold as usize => return None,
                Taken::Other => {}
            }
            if turn == 0 {
                turns = queue.turns(timeout);
            }
            if turn == turns {
                if turns > 0 {
                    queue.patience.learn(false);
                }
                return None;
            }
            drop(queue);
            turn += 1;
            if turn == SOON {
                late();
            }
            pause_shortly();
        }
    }
}
