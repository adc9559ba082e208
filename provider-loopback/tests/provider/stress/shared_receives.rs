//! Threads that post to the same shared receive queue.

use super::*;
use crate::common::{Setup, Shared, eventually};

#[test]
fn a_shared_queue_serves_all_messages_of_all_senders() {
    in_world(|world| {
        let shared = Shared::new(world, 4);
        let pairs: Vec<_> =
            (0..4).map(|_| world.pair_with(Setup::default(), shared.setup())).collect();
        let (each, buffer) = (rounds(3000), world.buffer(8));
        let expected = each * pairs.len() as u64;
        let received = AtomicU64::new(0);
        let posted: Vec<u64> = thread::scope(|scope| {
            for (sender, _) in &pairs {
                let buffer = &buffer;
                scope.spawn(move || {
                    for cookie in 0..each {
                        eventually("credits to send", || {
                            sender.recorder.drain();
                            sender.try_send(cookie, &[buffer.segment(0, 8)]).is_ok()
                        });
                    }
                });
            }
            let posters: Vec<_> = (0..2_u64)
                .map(|poster| {
                    let (shared, received, pairs, buffer) = (&shared, &received, &pairs, &buffer);
                    scope.spawn(move || {
                        let mut count = 0;
                        while received.load(Ordering::Relaxed) < expected {
                            let cookie = poster << 32 | count;
                            let posted = shared.post(cookie, &[buffer.segment(0, 8)]);
                            count += u64::from(posted.is_ok());
                            for (_, receiver) in pairs {
                                receiver.recorder.drain();
                            }
                            received.store(received_so_far(pairs), Ordering::Relaxed);
                        }
                        count
                    })
                })
                .collect();
            posters.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let (on_queue, outstanding) = shared.queue.counts();
        assert_eq!(on_queue, outstanding, "all others were polled");
        assert_eq!(posted.iter().sum::<u64>(), expected + u64::from(on_queue));
        let mut cookies: Vec<_> =
            pairs.iter().flat_map(|(_, receiver)| receiver.cookies()).collect();
        assert_eq!(cookies.len() as u64, expected);
        cookies.sort_unstable();
        cookies.dedup();
        assert_eq!(cookies.len() as u64, expected, "a buffer was used twice");
        for (sender, _) in &pairs {
            assert_eq!(sender.cookies(), (0..each).collect::<Vec<_>>());
        }
    });
}

fn received_so_far(pairs: &[(Side, Side)]) -> u64 {
    pairs.iter().map(|(_, receiver)| receiver.recorder.len() as u64).sum()
}
