//! The effects of faults on an adapter and its queue pairs.

use std::sync::{Arc, OnceLock, Weak};

use dat_sync::{Mutex, ReentrantMutex};

use super::completion::{HeldQueue, hold};
use super::connection::{DeadEnd, Link};
use super::handle::Faults;
use super::pair::{End, EndState, FaultyPair, Late};
use super::plan::{AsyncFault, ConnectFault};
use crate::call::Call;
use crate::hooks::{Hooks, Queues};
use crate::object::Object;
use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::flags::Close;
use dat_provider::{
    Adapter, AdapterAttributes, AdapterSink, Address, AsyncUpcall, CompletionPoller,
    ConnectRequest, ConnectionSink, ConnectionUpcall, QueuePair,
};

/// The faults of one open adapter.
pub(super) struct FaultHooks {
    faults: Arc<Faults>,
    /// Dead once the adapter is gone, although its objects may live on.
    sink: Weak<dyn AdapterSink>,
    /// The adapter below. Weak, because objects of the adapter must not keep it open.
    below: OnceLock<(Weak<dyn Adapter>, Address)>,
}

impl FaultHooks {
    pub(super) fn new(faults: Arc<Faults>, sink: &Arc<dyn AdapterSink>) -> Self {
        let sink = Arc::downgrade(sink);
        faults.join(&sink);
        Self { faults, sink, below: OnceLock::new() }
    }

    fn address(&self) -> Address {
        self.below.get().map_or(Address::UNSPECIFIED, |below| below.1)
    }

    /// Breaks the connection after its last allowed request. If a control call is in progress, that
    /// call ends the connection anyway, or the next request does.
    fn break_off(pair: &FaultyPair, inner: &dyn QueuePair, link: &Arc<Link>) {
        if pair.control.is_owned_by_current_thread() {
            return;
        }
        let Some(_control) = pair.control.try_lock() else { return };
        if pair.end.state.lock().is_on(link) {
            link.break_off();
            inner.disconnect(Close::Abrupt);
        }
    }
}

impl Hooks for FaultHooks {
    type Queue = Arc<HeldQueue>;
    type Pair = FaultyPair;
    type End = Arc<End>;

    fn opened(&self, adapter: &Arc<dyn Adapter>, attributes: &mut AdapterAttributes) {
        let _ = self.below.set((Arc::downgrade(adapter), attributes.ia.address));
    }

    fn admit(&self, _object: Object, call: &Call<'_>) -> Result<()> {
        match call {
            Call::CreateDomain => self.faults.creating(Subtype::ResourceProtectionDomain),
            Call::CreateCompletionQueue { .. } => self.faults.creating(Subtype::ResourceTevd),
            Call::CreateQueuePair { .. } => self.faults.creating(Subtype::ResourceTep),
            Call::CreateSharedReceives { .. } => self.faults.creating(Subtype::ResourceSrq),
            Call::Listen { .. } => self.faults.creating(Subtype::ResourceDevice),
            Call::Register { .. } => self.faults.registering(),
            call if call.is_post() => self.faults.posting(Subtype::ResourceCredits),
            _ => Ok(()),
        }
    }

    fn done(&self, _object: Object, _call: &Call<'_>, _error: Option<&Error>) {}

    fn queue(
        &self,
        poller: Box<dyn CompletionPoller>,
        depth: usize,
    ) -> (Arc<HeldQueue>, Box<dyn CompletionPoller>) {
        hold(&self.faults, poller, depth)
    }

    fn pair(&self, tag: u64, queues: Queues<Arc<HeldQueue>>) -> FaultyPair {
        let state = Mutex::new(EndState::new(queues));
        FaultyPair {
            end: Arc::new(End { tag, state }),
            control: ReentrantMutex::new(()),
            dead_ends: Mutex::default(),
        }
    }

    fn end(&self, pair: &FaultyPair) -> Arc<End> {
        Arc::clone(&pair.end)
    }

    fn modified(&self, pair: &FaultyPair, queues: Queues<Arc<HeldQueue>>) {
        pair.end.state.lock().queues = queues;
    }

    fn posted(&self, pair: &FaultyPair, inner: &dyn QueuePair, call: &Call<'_>) {
        if let (Some(fault), Some(sink)) = (self.faults.accepted(), self.sink.upgrade()) {
            sink.async_event(match fault {
                AsyncFault::Catastrophic => AsyncUpcall::Catastrophic,
                AsyncFault::Internal => AsyncUpcall::ProviderInternal,
                AsyncFault::EpBroken => AsyncUpcall::QueuePairBroken { tag: pair.end.tag },
            });
        }
        if !matches!(call, Call::PostReceive(_)) {
            let last = pair.end.state.lock().count_request(self.faults.break_after());
            if let Some(link) = last {
                Self::break_off(pair, inner, &link);
            }
        }
    }

    fn connect(
        &self,
        pair: &FaultyPair,
        inner: &dyn QueuePair,
        request: &ConnectRequest<'_>,
    ) -> Result<()> {
        let _control = pair.control.lock();
        pair.end.state.lock().asked = Some(request.attempt);
        let Some(fault) = self.faults.connecting() else { return inner.connect(request) };
        let adapter = self.below.get().and_then(|below| below.0.upgrade()).ok_or_else(closed)?;
        let dead_end = DeadEnd::new(&*adapter, fault == ConnectFault::Silent)?;
        let qualifier = dead_end.qualifier();
        pair.dead_end(request.attempt, fault, dead_end);
        inner.connect(&ConnectRequest { address: self.address(), qualifier, ..*request })
    }

    fn disconnect(&self, pair: &FaultyPair, inner: &dyn QueuePair, how: Close) {
        let _control = pair.control.lock();
        inner.disconnect(how);
        pair.leave();
    }

    fn reset(&self, pair: &FaultyPair, inner: &dyn QueuePair) -> Result<()> {
        let _control = pair.control.lock();
        inner.reset()?;
        pair.leave();
        let before = pair.end.state.lock().forget();
        drop(before);
        Ok(())
    }

    fn shutdown(&self, pair: &FaultyPair, inner: &dyn QueuePair) {
        inner.shutdown();
        pair.leave();
    }

    fn event(
        &self,
        end: &Arc<End>,
        sink: &Arc<dyn ConnectionSink>,
        attempt: u64,
        event: ConnectionUpcall<'_>,
    ) {
        if let ConnectionUpcall::Established { private_data, peer, local_port } = event {
            let mut state = end.state.lock();
            let is_late = self.faults.late_established() == Some(state.side_of(attempt));
            // A receive may complete before the provider reports the connection.
            if is_late && state.communicated != Some(attempt) {
                let (private_data, sink) = (private_data.into(), Arc::clone(sink));
                state.late = Some(Late { attempt, private_data, peer, local_port, sink });
                return;
            }
        }
        self.report_late(end, attempt);
        self.report(end, &**sink, attempt, event);
    }

    fn communication_established(&self, pair: &FaultyPair, inner: &dyn QueuePair, attempt: u64) {
        pair.end.state.lock().communicated = Some(attempt);
        self.report_late(&pair.end, attempt);
        inner.communication_established(attempt);
    }
}

impl FaultHooks {
    /// Reports the connection as established, if that event was held back.
    fn report_late(&self, end: &End, attempt: u64) {
        let late = end.state.lock().late.take_if(|late| late.attempt == attempt);
        let Some(late) = late else { return };
        let Late { attempt, private_data, peer, local_port, sink } = &late;
        let event =
            ConnectionUpcall::Established { private_data, peer: *peer, local_port: *local_port };
        self.report(end, &**sink, *attempt, event);
    }

    fn report(
        &self,
        end: &End,
        sink: &dyn ConnectionSink,
        attempt: u64,
        event: ConnectionUpcall<'_>,
    ) {
        if let ConnectionUpcall::Established { peer, local_port, .. } = event {
            let link = Link::between((self.address(), local_port), (peer.address, peer.port));
            let before = end.state.lock().begin(link);
            drop(before);
        }
        let event = end.state.lock().rewrite(attempt, event);
        end.release();
        sink.connection_event(attempt, event);
    }
}

fn closed() -> Error {
    Error::new(ReturnType::InvalidHandle, Subtype::InvalidHandleIa)
        .because("the adapter was closed")
}
