//! The ports of the last attempts. A ring needs its port only until it is connected, so the system may give
//! the same port to the next attempt; the target could not tell two pending requests apart.

use std::collections::VecDeque;

use dat_sync::Mutex;

/// Number of ports that are remembered.
const MAX: usize = 64;

/// The ports, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct RecentPorts(Mutex<VecDeque<u64>>);

impl RecentPorts {
    /// Adds the port of a new attempt. Returns false if it is among the last ones already.
    pub(crate) fn add(&self, port: u64) -> bool {
        let mut ports = self.0.lock();
        if ports.contains(&port) {
            return false;
        }
        if ports.len() == MAX {
            ports.pop_front();
        }
        ports.push_back(port);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_new_again_after_many_others() {
        let recent = RecentPorts::default();
        assert!((1..=64).all(|port| recent.add(port)));
        assert!((1..=64).all(|port| !recent.add(port)));
        assert!(recent.add(65));
        assert!(recent.add(1), "the oldest is forgotten");
        assert!(!recent.add(3));
    }
}
