use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A poller that counts how often it was polled without a result.
struct Counting {
    completions: VecDeque<Completion>,
    counts: bool,
    idle_polls: Arc<AtomicUsize>,
}

impl CompletionPoller for Counting {
    fn poll(&mut self, into: &mut [Completion]) -> usize {
        let count = into.len().min(self.completions.len());
        into.iter_mut().zip(self.completions.drain(..count)).for_each(|(to, one)| *to = one);
        if count == 0 {
            self.idle_polls.fetch_add(1, Ordering::Relaxed);
        }
        count
    }

    fn queued(&mut self) -> Option<usize> {
        self.counts.then_some(self.completions.len())
    }

    fn notify(&mut self, _: Notify) -> bool {
        false
    }

    fn resize(&mut self, _: usize) -> Result<()> {
        Ok(())
    }
}

fn queue(completions: usize, counts: bool) -> (Queue, Arc<AtomicUsize>) {
    let idle_polls = Arc::default();
    let completions = (0..completions).map(|_| Completion::default()).collect();
    let poller = Counting { completions, counts, idle_polls: Arc::clone(&idle_polls) };
    (Queue::new(100, Box::new(poller)), idle_polls)
}

/// An idle poll of a link sends the acknowledgement that the reply of the consumer would carry.
#[test]
fn what_a_waiter_leaves_is_counted_without_an_idle_poll() {
    for count in [0, 1, 2, 5] {
        let (mut queue, idle_polls) = queue(count, true);
        assert_eq!(queue.left(), count);
        assert_eq!(queue.collect(), count);
        let expected = usize::from(count == 0);
        assert_eq!(idle_polls.load(Ordering::Relaxed), expected, "{count} completions");
    }
}

#[test]
fn a_poller_that_does_not_count_is_polled() {
    for count in [0, 1, 9, 20] {
        let (mut queue, idle_polls) = queue(count, false);
        assert_eq!(queue.left(), count);
        assert!(idle_polls.load(Ordering::Relaxed) <= 1);
    }
}
