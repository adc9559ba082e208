//! Connections that stall after their port went down.
//!
//! A device that cannot send retries, and reports a failure after the same time as the peer of a
//! broken link does. Soft-RoCE does not always do so: if a request fails for lack of a route while
//! older ones wait for their acknowledgement, it stops its queue pair without any report, even
//! after the port is up again. So requests that were outstanding when the port went down, and still
//! are after the time of all retries, are considered failed.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::engine::QueuePairEvents;

/// Longer than the retries of a device with the time-outs that the connection manager sets.
const PATIENCE: Duration = Duration::from_secs(16);

/// The requests that were outstanding when a port went down.
#[derive(Default)]
pub(crate) struct StallWatchdog {
    watched: Vec<Watched>,
}

struct Watched {
    until: Instant,
    endpoint: Weak<dyn QueuePairEvents>,
    /// The sequence number of its oldest request.
    oldest: u32,
}

impl StallWatchdog {
    /// The port of these endpoints went down.
    pub(crate) fn watch(&mut self, endpoints: impl IntoIterator<Item = Arc<dyn QueuePairEvents>>) {
        let until = Instant::now() + PATIENCE;
        for endpoint in endpoints {
            if let Some(oldest) = endpoint.oldest_request() {
                let endpoint = Arc::downgrade(&endpoint);
                self.watched.push(Watched { until, endpoint, oldest });
            }
        }
    }

    /// The time until the next check; `None` if no endpoint is watched.
    pub(crate) fn rest(&self) -> Option<Duration> {
        let first = self.watched.iter().map(|watched| watched.until).min()?;
        Some(first.saturating_duration_since(Instant::now()))
    }

    /// Ends the connections that have stalled.
    pub(crate) fn judge(&mut self) {
        let now = Instant::now();
        self.watched.retain(|watched| {
            if now < watched.until {
                return true;
            }
            if let Some(endpoint) = watched.endpoint.upgrade() {
                if endpoint.oldest_request() == Some(watched.oldest) {
                    endpoint.trouble();
                }
            }
            false
        });
    }
}
