//! The stub's adapter and protection domain.

use std::net::Ipv4Addr;
use std::sync::Arc;

use super::no_transport;
use super::queues::{StubCompletions, StubPoller, StubQueuePair};
use crate::attr::{EpAttributes, IaAttributes, ProviderAttributes};
use crate::error::Result;
use crate::flags::Privileges;
use crate::mem::Span;
use crate::{
    Adapter, AdapterAttributes, CompletionQueueParts, CompletionSink, ListenSink, ListenerParts,
    ProtectionDomain, QueuePair, QueuePairSpec, Registration,
};

pub(super) struct StubAdapter {
    name: String,
}

impl StubAdapter {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned() }
    }

    /// The limits of the device; the core enforces each of them.
    fn interface(&self) -> IaAttributes {
        IaAttributes {
            adapter_name: self.name.clone(),
            vendor_name: "dat-core".to_owned(),
            address: Ipv4Addr::LOCALHOST.into(),
            max_eps: 1,
            max_dto_per_ep: 1,
            max_evds: 4,
            max_evd_qlen: 16,
            max_iov_segments_per_dto: 1,
            max_lmrs: 1,
            max_lmr_block_size: 4096,
            max_pzs: 4,
            max_message_size: 4096,
            ..IaAttributes::default()
        }
    }
}

impl Adapter for StubAdapter {
    fn attributes(&self) -> AdapterAttributes {
        AdapterAttributes {
            ia: self.interface(),
            provider: ProviderAttributes {
                provider_name: "dat-core".to_owned(),
                provider_version: (0, 1),
                max_private_data_size: 64,
                ..ProviderAttributes::default()
            },
            default_ep: EpAttributes {
                max_message_size: 4096,
                max_recv_dtos: 1,
                max_request_dtos: 1,
                max_recv_iov: 1,
                max_request_iov: 1,
                ..EpAttributes::default()
            },
            completion_scope: None,
        }
    }

    fn create_domain(&self) -> Result<Arc<dyn ProtectionDomain>> {
        Ok(Arc::new(StubDomain))
    }

    fn create_completion_queue(
        &self,
        _depth: usize,
        _sink: Arc<dyn CompletionSink>,
    ) -> Result<CompletionQueueParts> {
        Ok(CompletionQueueParts { queue: Arc::new(StubCompletions), poller: Box::new(StubPoller) })
    }

    fn create_queue_pair(&self, _spec: QueuePairSpec) -> Result<Box<dyn QueuePair>> {
        Ok(Box::new(StubQueuePair))
    }

    fn listen(&self, _qualifier: Option<u64>, _sink: Arc<dyn ListenSink>) -> Result<ListenerParts> {
        Err(no_transport("listening"))
    }
}

struct StubDomain;

impl ProtectionDomain for StubDomain {
    fn register(&self, _span: Span, _privileges: Privileges) -> Result<Registration> {
        Err(no_transport("memory registration"))
    }
}
