//! A waiter that arms a completion queue, while a completion arrives.

use std::sync::Arc;

use dat_provider::error::Subtype;
use dat_provider::status::Operation;
use dat_provider::{Completion, CompletionFeatures, CompletionQueueParts, CompletionSink, Notify};
use loom::thread;

use super::large_model;
use crate::completion_queue;
use crate::completion_target::CompletionTarget;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::upcalls::Upcalls;

/// Wakes the waiter.
struct Sink(AtomicBool);

impl CompletionSink for Sink {
    fn completion_ready(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn completion_overflow(&self) {}
}

/// Open MPI #13761: the waiter finds the completion when it arms the queue, or the producer wakes it.
#[test]
fn ompi_13761_a_completion_is_found_or_reported() {
    large_model(|| {
        let sink = Arc::new(Sink(AtomicBool::new(false)));
        let upcalls = Arc::clone(&sink) as Arc<dyn CompletionSink>;
        let CompletionQueueParts { queue, mut poller } =
            completion_queue::create(2, upcalls).expect("memory");
        let queue = completion_queue::downcast(Some(&*queue), Subtype::NoSubtype)
            .expect("of this provider");
        let attachment = queue.attach();
        let producer = {
            let target = CompletionTarget::new(1, Arc::clone(&queue), attachment.index());
            let features =
                CompletionFeatures { unsignalled: false, solicited: false, failed: false };
            thread::spawn(move || {
                let mut upcalls = Upcalls::default();
                // On the fast path, unless a waiter needs the other one.
                target.succeed((2, 3, Operation::Receive), features, &mut upcalls);
                upcalls.deliver();
            })
        };
        let is_found = poller.notify(Notify::Signalled);
        producer.join().expect("no panic");
        assert!(is_found || sink.0.load(Ordering::Relaxed), "the waiter sleeps");
        drop(attachment);
    });
}
