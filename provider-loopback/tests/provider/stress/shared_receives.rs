//! Threads that post to the same shared receive queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::rounds;
use crate::common::{Setup, Side, World, bounded, eventually};
use dat_core::flags::CompletionFlags;
use dat_core::provider::{
    Epoch, ReceiveRequest, SharedReceiveLimits, SharedReceiveQueue, SharedReceiveSink, Work,
};

struct NoSink;

impl SharedReceiveSink for NoSink {
    fn low_watermark_reached(&self) {}
}

#[test]
fn a_shared_queue_serves_all_messages_of_all_senders() {
    bounded(|| {
        let world = World::new();
        let limits = SharedReceiveLimits { max_receives: 4, max_segments: 1 };
        let domain = Arc::clone(&world.domain);
        let queue: Arc<dyn SharedReceiveQueue> =
            world.adapter.create_shared_receive_queue(domain, limits, Arc::new(NoSink)).unwrap();
        let setup = Setup { shared: Some(Arc::clone(&queue)), ..Setup::default() };
        let pairs: Vec<_> =
            (0..4).map(|_| world.pair_with(Setup::default(), setup.clone())).collect();
        let (each, buffer) = (rounds(3000), world.buffer(8));
        let expected = each * pairs.len() as u64;
        let received = AtomicU64::new(0);
        let posted: Vec<u64> = thread::scope(|scope| {
            for (sender, _) in &pairs {
                let buffer = &buffer;
                scope.spawn(move || {
                    for cookie in 0..each {
                        let flags = CompletionFlags::empty();
                        eventually("credits to send", || {
                            sender.recorder.drain();
                            sender
                                .request(Work::Send, cookie, &[buffer.segment(0, 8)], flags)
                                .is_ok()
                        });
                    }
                });
            }
            let posters: Vec<_> = (0..2_u64)
                .map(|poster| {
                    let (queue, received, pairs, buffer) = (&queue, &received, &pairs, &buffer);
                    scope.spawn(move || {
                        let mut count = 0;
                        while received.load(Ordering::Relaxed) < expected {
                            let segments = [buffer.segment(0, 8)];
                            let flags = CompletionFlags::empty();
                            let cookie = poster << 32 | count;
                            let checked = Epoch::default();
                            let segments = &segments;
                            let receive = ReceiveRequest { segments, cookie, flags, checked };
                            count += u64::from(queue.post_receive(&receive).is_ok());
                            for (_, receiver) in pairs {
                                receiver.recorder.drain();
                            }
                            let done = received_so_far(pairs);
                            received.store(done, Ordering::Relaxed);
                        }
                        count
                    })
                })
                .collect();
            posters.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let (on_queue, outstanding) = queue.counts();
        assert_eq!(on_queue, outstanding, "all others were polled");
        assert_eq!(posted.iter().sum::<u64>(), expected + u64::from(on_queue));
        let mut cookies: Vec<u64> = pairs
            .iter()
            .flat_map(|(_, receiver)| receiver.completions())
            .map(|completion| completion.cookie)
            .collect();
        assert_eq!(cookies.len() as u64, expected);
        cookies.sort_unstable();
        cookies.dedup();
        assert_eq!(cookies.len() as u64, expected, "a buffer was used twice");
        for (sender, _) in &pairs {
            let order: Vec<u64> = sender.completions().iter().map(|one| one.cookie).collect();
            assert_eq!(order, (0..each).collect::<Vec<_>>());
        }
    });
}

fn received_so_far(pairs: &[(Side, Side)]) -> u64 {
    pairs.iter().map(|(_, receiver)| receiver.recorder.len() as u64).sum()
}
