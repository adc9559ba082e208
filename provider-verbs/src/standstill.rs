//! Connections that stand still after their port went down.
//!
//! A device that can't send any more retries, and reports a failure after as long as the peer of
//! a broken link does. Soft-RoCE does not in every case: where a request fails for want of a
//! route while older ones wait for their acknowledgement, it stops its queue pair and tells
//! nobody, also after the port is up again. So what was outstanding when the port went down, and
//! still is after the time of the retries, is taken as failed.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::queue_pair::Endpoint;

/// Longer than a device retries with the time-outs that the connection manager sets.
const PATIENCE: Duration = Duration::from_secs(16);

/// What was outstanding when a port went down.
#[derive(Default)]
pub(crate) struct Standstill {
    watched: Vec<Watched>,
}

struct Watched {
    until: Instant,
    endpoint: Weak<Endpoint>,
    /// The number of its oldest request.
    oldest: u32,
}

impl Standstill {
    /// The port of these went down.
    pub(crate) fn watch(&mut self, endpoints: impl IntoIterator<Item = Arc<Endpoint>>) {
        let until = Instant::now() + PATIENCE;
        for endpoint in endpoints {
            if let Some(oldest) = endpoint.oldest_request() {
                let endpoint = Arc::downgrade(&endpoint);
                self.watched.push(Watched { until, endpoint, oldest });
            }
        }
    }

    /// How long nothing has to be done; nothing where nobody is watched.
    pub(crate) fn rest(&self) -> Option<Duration> {
        let first = self.watched.iter().map(|watched| watched.until).min()?;
        Some(first.saturating_duration_since(Instant::now()))
    }

    /// Ends the connections that have stood still.
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
