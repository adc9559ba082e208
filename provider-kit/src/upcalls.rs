//! The upcalls that some work calls for, collected until the locks are released.

use std::sync::Arc;

use crate::completion_queue::Cq;
use crate::shared_receive::Srq;

/// The upcalls that some work calls for; kept until the locks are released. Mostly there are
/// none, and then it is no more than an empty word.
#[derive(Default)]
#[must_use]
pub struct Upcalls(Option<Box<Noted>>);

#[derive(Default)]
struct Noted {
    /// Completion queues, each once for every work queue that completed something.
    queues: Vec<Told>,
    /// The shared receive queue that fell below its watermark.
    watermark: Option<Arc<Srq>>,
}

/// What a completion queue must report.
struct Told {
    queue: Arc<Cq>,
    source: u32,
    ready: bool,
    overflow: bool,
}

impl Upcalls {
    /// Notes that a queue has a completion for its waiter.
    #[cold]
    pub fn ready(&mut self, queue: &Arc<Cq>, source: u32) {
        self.told(queue, source).ready = true;
    }

    /// Notes that the queue was full when a completion arrived.
    #[cold]
    pub fn overflow(&mut self, queue: &Arc<Cq>, source: u32) {
        self.told(queue, source).overflow = true;
    }

    /// Notes that a shared receive queue fell below its watermark.
    #[cold]
    pub fn watermark(&mut self, shared: &Arc<Srq>) {
        self.0.get_or_insert_with(Box::default).watermark = Some(Arc::clone(shared));
    }

    fn told(&mut self, queue: &Arc<Cq>, source: u32) -> &mut Told {
        let queues = &mut self.0.get_or_insert_with(Box::default).queues;
        let known =
            queues.iter().position(|told| told.source == source && Arc::ptr_eq(&told.queue, queue));
        let index = known.unwrap_or(queues.len());
        if index == queues.len() {
            queues.push(Told { queue: Arc::clone(queue), source, ready: false, overflow: false });
        }
        &mut queues[index]
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Makes them; no lock may be held.
    #[inline]
    pub fn deliver(self) {
        if let Some(noted) = self.0 {
            noted.deliver();
        }
    }
}

impl Noted {
    #[cold]
    fn deliver(self) {
        for told in self.queues {
            told.queue.report(told.ready, told.overflow);
        }
        if let Some(shared) = self.watermark {
            shared.report_watermark();
        }
    }
}
