//! What the faults do to an adapter and its queue pairs.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::{Mutex, ReentrantMutex};

use super::completion::{HeldQueue, hold};
use super::connection::{DeadEnd, Link};
use super::handle::Faults;
use super::plan::{AsyncFault, AttemptSide, ConnectFault};
use crate::decorate::call::{Call, Object};
use crate::decorate::hooks::{Hooks, Queues};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::flags::Close;
use crate::{
    Adapter, AdapterAttributes, AdapterSink, AsyncUpcall, CompletionPoller, ConnectRequest,
    ConnectionSink, ConnectionUpcall, Peer, QueuePair,
};

/// The faults of one open adapter.
pub(super) struct FaultHooks {
    faults: Arc<Faults>,
    /// Dead once the adapter is gone, although its objects may live on.
    sink: Weak<dyn AdapterSink>,
    /// The adapter below. Weak, because objects of the adapter must not keep it open.
    below: OnceLock<(Weak<dyn Adapter>, IpAddr)>,
}

/// The state of a queue pair that calls need.
pub(super) struct FaultyPair {
    end: Arc<End>,
    /// Held during control calls, because a planned break is a control call made inside a post. A
    /// post only tries to lock it and never waits: the post may come from an upcall of the very
    /// control call that holds the lock.
    control: ReentrantMutex<()>,
    /// The dead ends of attempts that are to fail; attempts for datagrams can have several.
    dead_ends: Mutex<Vec<(u64, DeadEnd)>>,
}

/// The state of a queue pair that its connection events need.
pub(super) struct End {
    tag: u64,
    state: Mutex<EndState>,
}

struct EndState {
    queues: Queues<Arc<HeldQueue>>,
    /// The attempts that are to fail, by number.
    doomed: Vec<(u64, ConnectFault)>,
    /// The most recent connection.
    link: Option<Arc<Link>>,
    connected: bool,
    /// Number of requests posted on the connection.
    requests: u64,
    /// The last attempt that this side started.
    asked: Option<u64>,
    /// The last attempt of which a receive completed before its connection was reported.
    communicated: Option<u64>,
    late: Option<Late>,
}

/// The postponed `Established` event of an attempt that succeeded.
struct Late {
    attempt: u64,
    private_data: Box<[u8]>,
    peer: Peer,
    local_port: u64,
    sink: Arc<dyn ConnectionSink>,
}

impl FaultHooks {
    pub(super) fn new(faults: Arc<Faults>, sink: &Arc<dyn AdapterSink>) -> Self {
        let sink = Arc::downgrade(sink);
        faults.join(&sink);
        Self { faults, sink, below: OnceLock::new() }
    }

    fn address(&self) -> IpAddr {
        self.below.get().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |below| below.1)
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

    fn retire(&self, pair: &FaultyPair, inner: &dyn QueuePair) {
        inner.retire();
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
        self.tell_late(end, attempt);
        self.tell(end, &**sink, attempt, event);
    }

    fn communication_established(&self, pair: &FaultyPair, inner: &dyn QueuePair, attempt: u64) {
        pair.end.state.lock().communicated = Some(attempt);
        self.tell_late(&pair.end, attempt);
        inner.communication_established(attempt);
    }
}

impl FaultHooks {
    /// Reports the connection as established, if that event was held back.
    fn tell_late(&self, end: &End, attempt: u64) {
        let late = end.state.lock().late.take_if(|late| late.attempt == attempt);
        let Some(late) = late else { return };
        let Late { attempt, private_data, peer, local_port, sink } = &late;
        let event =
            ConnectionUpcall::Established { private_data, peer: *peer, local_port: *local_port };
        self.tell(end, &**sink, *attempt, event);
    }

    fn tell(
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

impl FaultyPair {
    /// Records the dead end of an attempt, and drops those of attempts that have failed.
    fn dead_end(&self, attempt: u64, fault: ConnectFault, dead_end: DeadEnd) {
        let doomed = {
            let mut state = self.end.state.lock();
            state.doomed.push((attempt, fault));
            state.doomed.clone()
        };
        let is_doomed = |attempt| doomed.iter().any(|one| one.0 == attempt);
        let mut dead_ends = self.dead_ends.lock();
        let before = std::mem::take(&mut *dead_ends);
        let (kept, over) = before.into_iter().partition(|one| is_doomed(one.0));
        *dead_ends = kept;
        dead_ends.push((attempt, dead_end));
        drop(dead_ends);
        drop::<Vec<_>>(over);
    }

    /// Drops the dead ends: every attempt and the connection are over for this side.
    fn leave(&self) {
        let dead_ends = std::mem::take(&mut *self.dead_ends.lock());
        drop(dead_ends);
        self.end.release();
    }
}

impl End {
    /// Releases the completions that were held back.
    fn release(&self) {
        let Queues { request, receive } = self.state.lock().queues.clone();
        for queue in [request, receive].into_iter().flatten() {
            queue.release();
        }
    }
}

impl EndState {
    fn new(queues: Queues<Arc<HeldQueue>>) -> Self {
        Self {
            queues,
            doomed: Vec::new(),
            link: None,
            connected: false,
            requests: 0,
            asked: None,
            communicated: None,
            late: None,
        }
    }

    /// Records an established connection; returns the one before.
    fn begin(&mut self, link: Arc<Link>) -> Option<Arc<Link>> {
        self.connected = true;
        self.requests = 0;
        self.link.replace(link)
    }

    /// Which side of the connection this is, judged by the attempt.
    fn side_of(&self, attempt: u64) -> AttemptSide {
        match self.asked {
            Some(asked) if asked == attempt => AttemptSide::Connect,
            _ => AttemptSide::Accept,
        }
    }

    fn forget(&mut self) -> Option<Arc<Link>> {
        self.doomed.clear();
        self.late = None;
        self.communicated = None;
        self.connected = false;
        self.link.take()
    }

    fn is_on(&self, link: &Arc<Link>) -> bool {
        self.connected && self.link.as_ref().is_some_and(|own| Arc::ptr_eq(own, link))
    }

    /// Counts a request; returns the connection if this was the last request that the plan allows
    /// it.
    fn count_request(&mut self, most: u64) -> Option<Arc<Link>> {
        if !self.connected {
            return None;
        }
        self.requests += 1;
        self.link.clone().filter(|_| most > 0 && self.requests >= most)
    }

    /// The event to report instead of the given one.
    fn rewrite<'a>(&mut self, attempt: u64, event: ConnectionUpcall<'a>) -> ConnectionUpcall<'a> {
        match event {
            ConnectionUpcall::Established { .. } | ConnectionUpcall::Resolved { .. } => event,
            ConnectionUpcall::Disconnected | ConnectionUpcall::Broken => {
                self.connected = false;
                match &self.link {
                    Some(link) if link.is_broken() => ConnectionUpcall::Broken,
                    _ => event,
                }
            }
            _ => {
                let place = self.doomed.iter().position(|one| one.0 == attempt);
                match place.map(|place| self.doomed.swap_remove(place).1) {
                    Some(ConnectFault::Unreachable) => ConnectionUpcall::Unreachable,
                    Some(ConnectFault::Refuse) => ConnectionUpcall::NonPeerRejected,
                    _ => event,
                }
            }
        }
    }
}

fn closed() -> Error {
    Error::new(ReturnType::InvalidHandle, Subtype::InvalidHandleIa)
        .because("the adapter was closed")
}
