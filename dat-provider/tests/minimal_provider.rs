//! A provider written outside of dat-provider, with the required methods only: 24 of them. It stops
//! compiling if the contract requires another one, or if a structure that providers fill in can no
//! longer be built from its default.

use std::sync::Arc;

use dat_provider::attr::{EpAttributes, IaAttributes, ProviderAttributes};
use dat_provider::error::{Result, ReturnType};
use dat_provider::flags::{Close, Privileges};
use dat_provider::mem::Span;
use dat_provider::{
    Adapter, AdapterAttributes, AdapterSink, AsyncUpcall, Completion, CompletionPoller,
    CompletionQueue, CompletionQueueParts, CompletionSink, ConnectRequest, Description,
    DiscoveredAdapter, ListenSink, Listener, ListenerParts, MemoryRegion, Notify, OpenRequest,
    Outstanding, ProtectionDomain, Provider, QueuePair, QueuePairSpec, Reach, ReceiveRequest,
    Registration, Relationship, Request, Responder, SharedReceiveQueue, WindowScope, unsupported,
};

/// Every object of the provider; it has no transport.
struct Minimal;

impl Provider for Minimal {
    fn describe(&self) -> Description {
        Description { name: "minimal", ..Description::default() }
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        vec![DiscoveredAdapter { name: "minimal".to_owned(), ..DiscoveredAdapter::default() }]
    }

    fn open(&self, _request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        Ok(Arc::new(Self))
    }
}

impl Adapter for Minimal {
    fn attributes(&self) -> AdapterAttributes {
        AdapterAttributes {
            ia: IaAttributes { max_eps: 1, ..IaAttributes::default() },
            provider: ProviderAttributes {
                max_private_data_size: 64,
                ..ProviderAttributes::default()
            },
            default_ep: EpAttributes { max_recv_dtos: 1, ..EpAttributes::default() },
            ..AdapterAttributes::default()
        }
    }

    fn create_domain(&self) -> Result<Arc<dyn ProtectionDomain>> {
        Ok(Arc::new(Self))
    }

    fn create_completion_queue(
        &self,
        _depth: usize,
        _sink: Arc<dyn CompletionSink>,
    ) -> Result<CompletionQueueParts> {
        Ok(CompletionQueueParts { queue: Arc::new(Self), poller: Box::new(Self) })
    }

    fn create_queue_pair(&self, _spec: QueuePairSpec) -> Result<Box<dyn QueuePair>> {
        Ok(Box::new(Self))
    }

    fn listen(&self, qualifier: Option<u64>, _sink: Arc<dyn ListenSink>) -> Result<ListenerParts> {
        Ok(ListenerParts { qualifier: qualifier.unwrap_or(1), listener: Box::new(Self) })
    }
}

impl ProtectionDomain for Minimal {
    fn register(&self, _span: Span, _privileges: Privileges) -> Result<Registration> {
        Ok(Registration { region: Box::new(Self), local_key: 1, remote_key: 0 })
    }
}

impl MemoryRegion for Minimal {
    fn deregister(&self) -> Result<()> {
        Ok(())
    }
}

impl CompletionQueue for Minimal {}

impl CompletionPoller for Minimal {
    fn poll(&mut self, _into: &mut [Completion]) -> usize {
        0
    }

    fn notify(&mut self, _mode: Notify) -> bool {
        false
    }

    fn resize(&mut self, _depth: usize) -> Result<()> {
        Ok(())
    }
}

impl QueuePair for Minimal {
    fn post_receive(&self, _receive: &ReceiveRequest<'_>) -> Result<()> {
        Ok(())
    }

    fn post_request(&self, _request: &Request<'_>) -> Result<()> {
        Ok(())
    }

    fn connect(&self, _request: &ConnectRequest<'_>) -> Result<()> {
        Err(unsupported("connections"))
    }

    fn disconnect(&self, _how: Close) {}

    fn reset(&self) -> Result<()> {
        Ok(())
    }

    fn modify(&self, _spec: QueuePairSpec) -> Result<()> {
        Ok(())
    }

    fn outstanding(&self) -> Outstanding {
        Outstanding::default()
    }
}

impl Listener for Minimal {}

impl Responder for Minimal {
    fn accept(&self, _: &dyn QueuePair, _attempt: u64, _private_data: &[u8]) -> Result<()> {
        Ok(())
    }

    fn reject(&self, _private_data: &[u8]) -> Result<()> {
        Ok(())
    }
}

impl SharedReceiveQueue for Minimal {
    fn post_receive(&self, _receive: &ReceiveRequest<'_>) -> Result<()> {
        Ok(())
    }

    fn counts(&self) -> (u32, u32) {
        (0, 0)
    }
}

struct Ignore;

impl AdapterSink for Ignore {
    fn async_event(&self, _event: AsyncUpcall) {}
}

fn open() -> Arc<dyn Adapter> {
    let request = OpenRequest { name: "minimal", parameters: "", sink: Arc::new(Ignore) };
    Minimal.open(request).expect("the provider opens every name")
}

#[test]
fn defaults_offer_nothing_optional() {
    let AdapterAttributes { ia, provider, completion_scope, .. } = open().attributes();
    assert_eq!((ia.max_eps, ia.max_srqs), (1, 0));
    assert!(!provider.srq_supported && !provider.rmr_supported && !provider.atomics_supported);
    assert_eq!(completion_scope, None);
    assert_eq!(Minimal.describe().reach, Reach::Process);
    assert!(Minimal.discover()[0].unusable.is_none());
}

#[test]
fn optional_methods_have_defaults() {
    assert!(Minimal.claims_name("any name"));
    assert_eq!(Minimal.related("one", "other"), Relationship::Unknown);
    let domain = open().create_domain().expect("no limit");
    let window = domain.create_window(1, WindowScope::Domain).err().expect("not supported");
    assert_eq!(window.return_type(), ReturnType::ModelNotSupported);
    let resize = SharedReceiveQueue::resize(&Minimal, 1).expect_err("not supported");
    assert_eq!(resize.return_type(), ReturnType::ModelNotSupported);
    let pair: &dyn QueuePair = &Minimal;
    assert!(pair.failure().is_none());
    assert_eq!(pair.connecting_port(), None);
    assert!(CompletionPoller::descriptor(&mut Minimal).is_none());
}
