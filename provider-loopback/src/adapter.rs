//! An open adapter.

use std::sync::Arc;

use dat_provider::error::Result;
use dat_provider::{
    Adapter, AdapterAttributes, Address, CompletionQueueParts, CompletionSink, DeviceCounters,
    ListenSink, ListenerParts, ProtectionDomain, QueuePair, QueuePairSpec, SharedReceiveLimits,
    SharedReceiveQueue, SharedReceiveSink,
};
use dat_provider_kit::attributes::{Identity, attributes};
use dat_provider_kit::{completion_queue, domain, shared_receive};

use crate::fabric::{self, Host};
use crate::parameters::Parameters;
use crate::queue_pair;

pub(crate) struct LoopbackAdapter {
    identity: Identity,
    parameters: Parameters,
    host: Arc<Host>,
}

impl LoopbackAdapter {
    pub(crate) fn new(identity: Identity, parameters: Parameters) -> Self {
        let host = Host::new(parameters.address);
        Self { identity, parameters, host }
    }
}

impl Adapter for LoopbackAdapter {
    fn attributes(&self) -> AdapterAttributes {
        let Parameters { address, limits } = &self.parameters;
        let mut attributes = attributes(&self.identity, *address, limits);
        attributes.provider.datagrams_supported = true;
        attributes
    }

    fn create_domain(&self) -> Result<Arc<dyn ProtectionDomain>> {
        Ok(domain::create())
    }

    fn create_completion_queue(
        &self,
        depth: usize,
        sink: Arc<dyn CompletionSink>,
    ) -> Result<CompletionQueueParts> {
        completion_queue::create(depth, sink)
    }

    fn create_queue_pair(&self, spec: QueuePairSpec) -> Result<Box<dyn QueuePair>> {
        queue_pair::create(&self.host, &spec)
    }

    fn defers_queue_pairs(&self) -> Result<bool> {
        Ok(true)
    }

    fn create_shared_receive_queue(
        &self,
        domain: Arc<dyn ProtectionDomain>,
        limits: SharedReceiveLimits,
        sink: Arc<dyn SharedReceiveSink>,
    ) -> Result<Arc<dyn SharedReceiveQueue>> {
        shared_receive::create(&*domain, limits, sink)
    }

    fn listen(&self, qualifier: Option<u64>, sink: Arc<dyn ListenSink>) -> Result<ListenerParts> {
        fabric::listen(&self.host, qualifier, sink)
    }

    fn listen_at(
        &self,
        address: Address,
        qualifier: u64,
        sink: Arc<dyn ListenSink>,
    ) -> Result<ListenerParts> {
        fabric::listen_at(&self.host, address, qualifier, sink)
    }

    fn counters(&self) -> DeviceCounters {
        DeviceCounters { dropped_datagrams: self.host.dropped(), ..DeviceCounters::default() }
    }
}
