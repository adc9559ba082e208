//! An open adapter.

use std::net::IpAddr;
use std::sync::Arc;

use dat_provider::error::Result;
use dat_provider::{
    Adapter, AdapterAttributes, CompletionQueueParts, CompletionSink, ListenSink, ListenerParts,
    ProtectionDomain, QueuePair, QueuePairSpec, Service, SharedReceiveLimits, SharedReceiveQueue,
    SharedReceiveSink, unsupported,
};
use parking_lot::Mutex;

use super::completions;
use super::connect::Listening;
use super::core::{Core, Door, Job};
use super::pair;
use super::transport::Transport;
use crate::attributes::{Identity, attributes};
use crate::parameters::Limits;
use crate::{domain, shared_receive};

struct Soft {
    identity: Identity,
    address: IpAddr,
    limits: Limits,
    core: Arc<Core>,
}

/// Opens an adapter whose queue pairs are joined by the links of a transport.
///
/// # Errors
/// `DAT_INSUFFICIENT_RESOURCES` when its thread can't be started.
pub fn open(
    identity: Identity,
    address: IpAddr,
    limits: Limits,
    transport: Box<dyn Transport>,
) -> Result<Arc<dyn Adapter>> {
    let core = Core::start(transport)?;
    Ok(Arc::new(Soft { identity, address, limits, core }))
}

impl Adapter for Soft {
    fn attributes(&self) -> AdapterAttributes {
        attributes(&self.identity, self.address, &self.limits)
    }

    fn create_domain(&self) -> Result<Arc<dyn ProtectionDomain>> {
        Ok(domain::create())
    }

    fn create_completion_queue(
        &self,
        depth: usize,
        sink: Arc<dyn CompletionSink>,
    ) -> Result<CompletionQueueParts> {
        completions::create(depth, sink)
    }

    fn create_queue_pair(&self, spec: QueuePairSpec) -> Result<Box<dyn QueuePair>> {
        self.core.origin.check()?;
        if spec.service == Service::Datagram {
            return Err(unsupported("datagrams"));
        }
        Ok(Box::new(pair::create(&self.core, &spec)?))
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
        self.core.origin.check()?;
        let acceptor = self.core.transport.listen(qualifier)?;
        let (token, qualifier) = (self.core.token(), acceptor.qualifier());
        let door = Arc::new(Door { token, qualifier, open: Mutex::new(Some((acceptor, sink))) });
        self.core.ask(Job::Listen(Arc::clone(&door)));
        let listener = Box::new(Listening { core: Arc::clone(&self.core), door });
        Ok(ListenerParts { qualifier, listener })
    }
}
