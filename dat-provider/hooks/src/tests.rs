//! Tests that need no transport: decorators over providers that can do almost nothing.

use std::net::Ipv4Addr;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dat_sync::Mutex;

use super::faults::{FaultPlan, FaultyProvider};
use super::trace::{TraceRing, TracingProvider};
use dat_provider::error::Result;
use dat_provider::stub::StubProvider;
use dat_provider::{
    Adapter, AdapterAttributes, AdapterSink, AsyncUpcall, CompletionQueueParts, CompletionSink,
    Description, DiscoveredAdapter, IncomingRequest, ListenSink, Listener, ListenerParts,
    OpenRequest, Peer, ProtectionDomain, Provider, QueuePair, QueuePairSpec, Relationship,
    Responder,
};

struct Deaf;

impl AdapterSink for Deaf {
    fn async_event(&self, _event: AsyncUpcall) {}
}

fn open(provider: &dyn Provider, parameters: &str) -> Result<Arc<dyn Adapter>> {
    provider.open(OpenRequest { name: "stub", parameters, sink: Arc::new(Deaf) })
}

/// Each decorator over a provider.
fn decorated(inner: &Arc<dyn Provider>) -> Vec<Arc<dyn Provider>> {
    let inner = || Arc::clone(inner);
    vec![
        Arc::new(FaultyProvider::new(inner(), FaultPlan::new())),
        Arc::new(TracingProvider::new(inner(), Arc::new(TraceRing::new(9)))),
    ]
}

/// A stub provider that also implements what the stub leaves out.
#[derive(Default)]
struct Probe {
    attributes: Arc<AtomicU32>,
    parameters: Mutex<String>,
    sink: Arc<Mutex<Option<Arc<dyn ListenSink>>>>,
}

struct ProbeAdapter {
    stub: Arc<dyn Adapter>,
    attributes: Arc<AtomicU32>,
    sink: Arc<Mutex<Option<Arc<dyn ListenSink>>>>,
}

impl Provider for Probe {
    fn describe(&self) -> Description {
        Description { name: "probe", version: (3, 4), ..StubProvider.describe() }
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        StubProvider.discover()
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        *self.parameters.lock() = request.parameters.to_owned();
        Ok(Arc::new(ProbeAdapter {
            stub: StubProvider.open(request)?,
            attributes: Arc::clone(&self.attributes),
            sink: Arc::clone(&self.sink),
        }))
    }

    fn claims_name(&self, name: &str) -> bool {
        name == "probe"
    }

    fn related(&self, one: &str, other: &str) -> Relationship {
        if one == other { Relationship::Related } else { Relationship::Conflicting }
    }
}

impl Adapter for ProbeAdapter {
    fn attributes(&self) -> AdapterAttributes {
        self.attributes.fetch_add(1, Ordering::Relaxed);
        self.stub.attributes()
    }

    fn create_domain(&self) -> Result<Arc<dyn ProtectionDomain>> {
        self.stub.create_domain()
    }

    fn create_completion_queue(
        &self,
        depth: usize,
        sink: Arc<dyn CompletionSink>,
    ) -> Result<CompletionQueueParts> {
        self.stub.create_completion_queue(depth, sink)
    }

    fn create_queue_pair(&self, spec: QueuePairSpec) -> Result<Box<dyn QueuePair>> {
        self.stub.create_queue_pair(spec)
    }

    fn listen(&self, _qualifier: Option<u64>, sink: Arc<dyn ListenSink>) -> Result<ListenerParts> {
        *self.sink.lock() = Some(sink);
        Ok(ListenerParts { qualifier: 7, listener: Box::new(Somewhere) })
    }
}

struct Somewhere;

impl Listener for Somewhere {}

#[test]
fn what_the_provider_says_of_itself_stays() {
    let probe = Arc::new(Probe::default());
    for provider in decorated(&(Arc::clone(&probe) as _)) {
        assert_eq!(provider.describe(), probe.describe());
        assert_eq!(provider.discover()[0].name, "stub");
        assert!(provider.claims_name("probe") && !provider.claims_name("other"));
        assert_eq!(provider.related("a", "a"), Relationship::Related);
        assert_eq!(provider.related("a", "b"), Relationship::Conflicting);
        let before = probe.attributes.swap(0, Ordering::Relaxed);
        assert_eq!(before, 0);
        let adapter = open(&*provider, " x=1,y z ").unwrap();
        assert_eq!(*probe.parameters.lock(), " x=1,y z ");
        assert_eq!(adapter.attributes(), adapter.attributes());
        assert_eq!(adapter.attributes().ia.adapter_name, "stub");
        assert_eq!(probe.attributes.swap(0, Ordering::Relaxed), 1, "asked once");
    }
}

/// A request that records how it was answered.
struct Knock(Arc<AtomicU32>);

impl Responder for Knock {
    fn accept(&self, _queue_pair: &dyn QueuePair, _attempt: u64, _data: &[u8]) -> Result<()> {
        Ok(())
    }

    fn reject(&self, _data: &[u8]) -> Result<()> {
        Ok(())
    }
}

impl Drop for Knock {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A sink that gives requests back or keeps them.
#[derive(Default)]
struct Door {
    open: bool,
    kept: Mutex<Vec<IncomingRequest>>,
}

impl ListenSink for Door {
    fn connection_request(
        &self,
        incoming: IncomingRequest,
    ) -> std::result::Result<(), IncomingRequest> {
        assert_eq!(*incoming.private_data, *b"knock");
        assert_eq!(incoming.peer.port, 5);
        if !self.open {
            return Err(incoming);
        }
        self.kept.lock().push(incoming);
        Ok(())
    }
}

#[test]
fn a_request_that_is_given_back_is_the_providers_own_again() {
    for index in 0..2 {
        for open_door in [false, true] {
            let probe = Arc::new(Probe::default());
            let provider = decorated(&(Arc::clone(&probe) as _)).swap_remove(index);
            let adapter = open(&*provider, "").unwrap();
            let door = Arc::new(Door { open: open_door, ..Door::default() });
            let listening = adapter.listen(None, Arc::clone(&door) as _).unwrap();
            assert_eq!(listening.qualifier, 7);
            let sink = probe.sink.lock().take().unwrap();
            let drops = Arc::new(AtomicU32::new(0));
            let responder: Box<dyn Responder> = Box::new(Knock(Arc::clone(&drops)));
            let place = ptr::from_ref(&*responder).cast::<()>();
            let outcome = sink.connection_request(IncomingRequest {
                peer: Peer { address: Ipv4Addr::LOCALHOST.into(), port: 5 },
                is_datagram: false,
                private_data: Arc::from(*b"knock"),
                responder,
            });
            assert_eq!(drops.load(Ordering::Relaxed), 0);
            match outcome {
                Err(back) => assert!(!open_door && ptr::from_ref(&*back.responder).cast() == place),
                Ok(()) => assert!(open_door),
            }
            door.kept.lock().clear();
            assert_eq!(drops.load(Ordering::Relaxed), 1);
        }
    }
}

#[test]
fn failures_of_the_provider_pass_through_and_are_traced() {
    let ring = Arc::new(TraceRing::new(10));
    let provider = TracingProvider::new(Arc::new(StubProvider), Arc::clone(&ring) as _);
    let adapter = open(&provider, "").unwrap();
    let memory = dat_provider::mem::Memory::zeroed(8).unwrap();
    let domain = adapter.create_domain().unwrap();
    let refused =
        domain.register(memory.span(), dat_provider::flags::Privileges::ALL).err().unwrap();
    assert_eq!(refused.return_type(), dat_provider::error::ReturnType::ModelNotSupported);
    assert!(ring.lines()[2].contains("DAT_MODEL_NOT_SUPPORTED"), "{:?}", ring.lines());
}

#[test]
fn parameters_request_decorators_of_any_provider() {
    let probe = Probe::default();
    let request = |parameters| OpenRequest { name: "stub", parameters, sink: Arc::new(Deaf) };
    let adapter = crate::open(&probe, request("x=1 fault.create_nth=1,y")).unwrap();
    assert_eq!(*probe.parameters.lock(), "x=1 y");
    assert!(adapter.create_domain().err().unwrap().to_string().contains("fault.create_nth=1"));
    adapter.create_domain().unwrap();
    let file = std::env::temp_dir().join(format!("dat-hooks-{}", std::process::id()));
    let parameters = format!("fault.create_nth=1 z trace={}", file.display());
    crate::open(&probe, request(&parameters)).unwrap().create_domain().err().unwrap();
    assert_eq!(*probe.parameters.lock(), "z ");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    // The trace is the outer one: it shows the parameters of the faults, and the failure.
    assert!(text.contains("open parameters=\"fault.create_nth=1 z \": ok"), "{text}");
    assert!(text.contains("a fault was planned"), "{text}");
}
