//! An open adapter.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use dat_provider::attr::NamedAttr;
use dat_provider::error::{Result, Subtype};
use dat_provider::verbs::VerbsAdapter;
use dat_provider::{
    Adapter, AdapterAttributes, AdapterSink, Address, CompletionQueueParts, CompletionSink,
    DeviceCounters, ListenSink, ListenerParts, LocalCause, ProtectionDomain, QueuePair,
    QueuePairSpec, RemoteAddress, Service, SharedReceiveLimits, SharedReceiveQueue,
    SharedReceiveSink, WaiterProgress, unsupported,
};
use dat_sync::Mutex;

use super::completions;
use super::datagram::{DatagramHandle, Destination};
use super::handle::QpHandle;
use super::listener::{Listener, Requests};
use crate::attributes::{Identity, attributes};
use crate::datagram_counts::DatagramCounts;
use crate::errors::ip_address;
use crate::parameters::Limits;
use crate::processors::ranges;
use crate::progress::{self, Core, IN, Job, ListenerState, ProgressThread};
use crate::progress_mode::ProgressMode;
use crate::protocol::datagram::MAX_DATAGRAM;
use crate::transport::{Acceptor, Transport};
use crate::{descriptors, domain, shared_receive};

/// An adapter of the engine.
struct SoftAdapter {
    identity: Identity,
    address: IpAddr,
    limits: Limits,
    core: Arc<Core>,
    thread: Arc<ProgressThread>,
    /// Losses of its queue pairs for datagrams.
    lost: Arc<DatagramCounts>,
}

/// Opens an adapter whose queue pairs are joined by the links of a transport. The sink receives its failure.
///
/// # Errors
/// `DAT_INSUFFICIENT_RESOURCES` if its thread cannot be started, `DAT_INVALID_PARAMETER` if the thread may not run
/// on the processors of [`Transport::processors`].
pub fn open(
    mut identity: Identity,
    address: IpAddr,
    limits: Limits,
    transport: Box<dyn Transport>,
    sink: Arc<dyn AdapterSink>,
) -> Result<Arc<dyn Adapter>> {
    limits.faults.apply();
    let mode = transport.progress_mode();
    let (core, thread, allowed) = progress::start(transport, sink)?;
    identity.specific.push(NamedAttr::new("progress_processors", ranges(&allowed)));
    identity.specific.push(NamedAttr::new(ProgressMode::PARAMETER, mode.word()));
    identity.specific.push(NamedAttr::new("descriptor_limit", descriptors::describe()));
    let lost = DatagramCounts::new();
    Ok(Arc::new(SoftAdapter { identity, address, limits, core, thread, lost }))
}

impl Adapter for SoftAdapter {
    fn attributes(&self) -> AdapterAttributes {
        let mut all = attributes(&self.identity, self.address.into(), &self.limits);
        if self.core.transport.has_datagrams() {
            all.provider.datagrams_supported = true;
            all.ia.transport.push(NamedAttr::new("MAX_DATAGRAM", MAX_DATAGRAM.to_string()));
        }
        all
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
        self.core.check()?;
        match spec.service {
            Service::Connection | Service::UnreliableConnection => {
                Ok(Box::new(QpHandle::create(&self.core, &self.lost, &spec)?))
            }
            Service::Datagram if self.core.transport.has_datagrams() => {
                Ok(Box::new(DatagramHandle::create(&self.core, &self.lost, &spec)?))
            }
            Service::Datagram => Err(unsupported("datagrams")),
        }
    }

    fn defers_queue_pairs(&self) -> Result<bool> {
        self.core.check().map(|()| true)
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
        self.listening(sink, |transport| transport.listen(qualifier))
    }

    fn listen_at(
        &self,
        address: Address,
        qualifier: u64,
        sink: Arc<dyn ListenSink>,
    ) -> Result<ListenerParts> {
        self.listening(sink, |transport| transport.listen_at(ip_address(address)?, qualifier))
    }

    fn for_verbs(&self) -> &dyn VerbsAdapter {
        self
    }

    fn waiter_progress(&self) -> Option<Arc<dyn WaiterProgress>> {
        // A thread that spins leaves no work to waiters and polls.
        let is_shared = !self.core.transport.progress_mode().spins();
        is_shared.then(|| Arc::clone(&self.thread) as Arc<dyn WaiterProgress>)
    }

    fn counters(&self) -> DeviceCounters {
        self.lost.read()
    }
}

impl VerbsAdapter for SoftAdapter {
    fn remote_address(
        &self,
        from: Option<IpAddr>,
        to: SocketAddr,
        key: u64,
    ) -> Result<RemoteAddress> {
        if !self.core.transport.has_datagrams() {
            return Err(unsupported("datagrams"));
        }
        Ok(Destination::at(from, to, key))
    }
}

impl SoftAdapter {
    fn listening(
        &self,
        sink: Arc<dyn ListenSink>,
        listen: impl FnOnce(&dyn Transport) -> Result<Box<dyn Acceptor>>,
    ) -> Result<ListenerParts> {
        self.core.check()?;
        let acceptor = listen(&*self.core.transport)?;
        let (token, qualifier) = (self.core.token(), acceptor.qualifier());
        // A link that arrives before the job is taken stays ready.
        self.core.watch(acceptor.descriptor(), token, IN).map_err(|errno| {
            LocalCause::new("watch a descriptor", &errno.into()).error(Subtype::ResourceMemory)
        })?;
        let requests = Requests { core: Arc::downgrade(&self.core), sink };
        let open = Mutex::new(Some((acceptor, Arc::new(requests) as _)));
        let state = Arc::new(ListenerState { token, qualifier, open });
        self.core.submit(Job::Listen(Arc::clone(&state)));
        let listener = Box::new(Listener { core: Arc::clone(&self.core), state });
        Ok(ListenerParts { qualifier, listener })
    }
}
