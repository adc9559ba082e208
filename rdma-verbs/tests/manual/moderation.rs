//! Moderation of the events of a completion queue.

use rdma_verbs::verbs::{CompletionQueue, Moderation};

use crate::common::*;
use crate::objects::open;

#[test]
fn a_queue_is_moderated_unless_the_device_cannot() {
    with_device(|address| {
        let (context, ..) = open(address);
        let queue = CompletionQueue::new(&context, 4, 0, None).expect("a queue");
        let limits = context.query_extended().expect("its attributes").moderation;
        let moderated = queue.moderate(Moderation { completions: 2, microseconds: 10 });
        match moderated {
            Ok(()) => assert!(limits.completions >= 2),
            Err(error) => assert_unsupported(error),
        }
    });
}
