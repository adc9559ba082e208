//! Upcalls that are collected until the locks are released.

use std::sync::Arc;

use dat_provider::SharedReceiveSink;

use crate::completion_queue::Cq;

/// Upcalls to make once the locks are released. Usually there are none, and nothing is allocated.
#[derive(Default)]
#[must_use]
pub struct Upcalls(Option<Box<Pending>>);

#[derive(Default)]
struct Pending {
    /// One entry for each completion queue and work queue.
    queues: Vec<CqUpcalls>,
    /// The sink of the shared receive queue that fell below its watermark.
    watermark: Option<Arc<dyn SharedReceiveSink>>,
}

/// The upcalls of a completion queue.
struct CqUpcalls {
    queue: Arc<Cq>,
    work_queue: u32,
    ready: bool,
    overflow: bool,
}

impl Upcalls {
    /// Notes that a completion queue has a completion for its waiter.
    #[cold]
    pub fn ready(&mut self, queue: &Arc<Cq>, work_queue: u32) {
        self.of(queue, work_queue).ready = true;
    }

    /// Notes that a completion queue was full when a completion arrived.
    #[cold]
    pub fn overflow(&mut self, queue: &Arc<Cq>, work_queue: u32) {
        self.of(queue, work_queue).overflow = true;
    }

    /// Notes that a shared receive queue fell below its watermark.
    #[cold]
    pub fn watermark(&mut self, sink: &Arc<dyn SharedReceiveSink>) {
        self.0.get_or_insert_with(Box::default).watermark = Some(Arc::clone(sink));
    }

    fn of(&mut self, queue: &Arc<Cq>, work_queue: u32) -> &mut CqUpcalls {
        let queues = &mut self.0.get_or_insert_with(Box::default).queues;
        let known = queues
            .iter()
            .position(|one| one.work_queue == work_queue && Arc::ptr_eq(&one.queue, queue));
        let index = known.unwrap_or(queues.len());
        if index == queues.len() {
            queues.push(CqUpcalls {
                queue: Arc::clone(queue),
                work_queue,
                ready: false,
                overflow: false,
            });
        }
        &mut queues[index]
    }

    /// Returns the upcalls, if there are any. Otherwise this costs nothing, unlike a drop.
    #[inline]
    #[must_use]
    pub fn pending(self) -> Option<Self> {
        self.0.map(|pending| Self(Some(pending)))
    }

    /// Makes the upcalls. The caller holds no lock.
    #[inline]
    pub fn deliver(self) {
        if let Some(pending) = self.0 {
            pending.deliver();
        }
    }
}

impl Pending {
    #[cold]
    fn deliver(self) {
        for one in self.queues {
            one.queue.report(one.ready, one.overflow);
        }
        if let Some(sink) = self.watermark {
            sink.low_watermark_reached();
        }
    }
}
