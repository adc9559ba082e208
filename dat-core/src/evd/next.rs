//! Events by value: shorter than [`wait`](Evd::wait) and [`dequeue`](Evd::dequeue),
//! which deliver into storage of the caller.

use super::Evd;
use crate::error::Result;
use crate::event::Event;
use crate::timeout::Timeout;

impl Evd {
    /// Waits for the next event (dat_evd_wait(3DAT) with a threshold of 1). `None` if the time-out expires
    /// first.
    ///
    /// ```
    /// # use dat_core::registry::Registry;
    /// use dat_core::{Event, EvdFlags, EvdOptions};
    /// use std::time::Duration;
    /// # let registry = Registry::new();
    /// # registry.add_provider(std::sync::Arc::new(dat_core::provider::stub::StubProvider))?;
    /// # let ia = registry.open("stub")?;
    /// let evd = ia.evd_create(&EvdOptions::new(16, EvdFlags::SOFTWARE))?;
    /// evd.post_software_event(42)?;
    /// assert_eq!(evd.next_event(Duration::from_millis(1))?, Some(Event::Software(42)));
    /// assert_eq!(evd.next_event(Duration::from_millis(1))?, None);
    /// # Ok::<(), dat_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn next_event(&self, timeout: impl Into<Timeout>) -> Result<Option<Event>> {
        let mut event = Event::default();
        let waited = self.wait(timeout.into(), 1, &mut event)?;
        Ok(waited.is_event().then_some(event))
    }

    /// The events that are queued, without waiting for more (dat_evd_dequeue(3DAT)). The iteration ends at
    /// an empty queue, or after an error.
    ///
    /// ```
    /// # use dat_core::registry::Registry;
    /// use dat_core::{Event, EvdFlags, EvdOptions};
    /// # let registry = Registry::new();
    /// # registry.add_provider(std::sync::Arc::new(dat_core::provider::stub::StubProvider))?;
    /// # let ia = registry.open("stub")?;
    /// let evd = ia.evd_create(&EvdOptions::new(16, EvdFlags::SOFTWARE))?;
    /// evd.post_software_event(1)?;
    /// evd.post_software_event(2)?;
    /// let events = evd.queued_events().collect::<dat_core::Result<Vec<_>>>()?;
    /// assert_eq!(events, [Event::Software(1), Event::Software(2)]);
    /// # Ok::<(), dat_core::Error>(())
    /// ```
    #[must_use]
    pub fn queued_events(&self) -> QueuedEvents<'_> {
        QueuedEvents { evd: Some(self) }
    }
}

/// The queued events of a dispatcher; see [`Evd::queued_events`].
#[derive(Debug)]
pub struct QueuedEvents<'a> {
    /// `None` once the queue was empty, or a call failed.
    evd: Option<&'a Evd>,
}

impl Iterator for QueuedEvents<'_> {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut event = Event::default();
        let taken = self.evd?.dequeue(&mut event);
        if !matches!(taken, Ok(true)) {
            self.evd = None;
        }
        match taken {
            Ok(true) => Some(Ok(event)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}
