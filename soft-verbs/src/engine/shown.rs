//! The device in the view of `dat top`.

use std::sync::Arc;

use dat_core::EpState;
use dat_core::monitor::{Device, Observation};

use super::{Engine, parameters};
use crate::QueuePairState as State;
use crate::queue_pair::QueuePair;

impl Device for Engine {
    fn name(&self) -> &str {
        parameters::DEVICE_NAME
    }

    fn endpoints(&self) -> u64 {
        self.numbers.count() as u64
    }

    fn connections(&self) -> Vec<Observation> {
        let observe = |queue_pair: Arc<QueuePair>| queue_pair.observe();
        self.numbers.all().into_iter().filter_map(observe).collect()
    }
}

impl QueuePair {
    /// Its activity, if it is connected or connects. Its state is that of an endpoint of DAT.
    fn observe(&self) -> Option<Observation> {
        let attributes = self.query();
        let activity = self.activity();
        let state = match attributes.qp_state {
            State::Reset | State::Init | State::Err => return None,
            _ if activity.transport.is_empty() => EpState::ActiveConnectionPending,
            State::Rtr | State::Rts | State::Sqd | State::Sqe => EpState::Connected,
        };
        let (address, number) = (attributes.ah_attr.address(), attributes.dest_qp_num);
        let peer = format!("{} {}", address, number >> 8);
        Some(Observation { ep: self.number().into(), state, peer, activity })
    }
}
