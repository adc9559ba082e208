//! Queue pairs for datagrams, as the provider contract has them.

use std::net::IpAddr;
use std::sync::Arc;

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::flags::Close;
use dat_provider::verbs::VerbsQueuePair;
use dat_provider::{
    Activity, ConnectRequest, Failure, Outstanding, QueuePair, QueuePairSpec, ReceiveRequest,
    RemoteAddress, Request, unsupported,
};

use super::DatagramQp;
use crate::errors::{no_credit, wrong_state};
use crate::receive_ring::PostedReceive;

/// The core's reference to a queue pair.
pub(in crate::queue_pair) struct DatagramHandle(pub(super) Arc<DatagramQp>);

impl DatagramHandle {
    /// # Errors
    /// The process is a child of the owner, or the queue pair has no port of its own.
    fn check_binding(&self) -> Result<()> {
        self.0.core.check()?;
        match self.datagram_port() {
            Some(_) => Ok(()),
            None => Err(unsupported("this for a queue pair whose address is resolved")),
        }
    }
}

impl QueuePair for DatagramHandle {
    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        self.0.core.owner_process.check()?;
        self.0.with_state(|state, upcalls| {
            if state.queues.receives.shared.is_some() {
                return Err(wrong_state(Subtype::InvalidStateSrqInUse)
                    .because("the queue pair uses a shared receive queue"));
            }
            let receives = &mut state.queues.receives;
            if !receives.credits.try_take() {
                return Err(no_credit());
            }
            if receives.ring.push(PostedReceive::new(receive), receive.segments).is_err() {
                receives.credits.give_back();
                return Err(Error::no_memory("the receives of the endpoint"));
            }
            if state.is_retired {
                receives.flush(upcalls);
            }
            state.lease.resume();
            Ok(())
        })
    }

    fn post_request(&self, _: &Request<'_>) -> Result<()> {
        Err(wrong_state(Subtype::InvalidStateEpUnconnected)
            .because("the queue pair carries datagrams only"))
    }

    fn post_datagram(&self, to: &RemoteAddress, request: &Request<'_>) -> Result<()> {
        self.0.core.check()?;
        self.0.post(to, request)
    }

    fn connect(&self, request: &ConnectRequest<'_>) -> Result<()> {
        self.0.core.check()?;
        self.0.resolve(request)
    }

    fn abandon(&self, attempt: u64) {
        if self.0.core.owner_process.check().is_ok() {
            self.0.abandon(attempt);
        }
    }

    fn disconnect(&self, _: Close) {
        if self.check_binding().is_ok() {
            self.0.with_state(|state, upcalls| {
                self.0.discard(state);
                state.backlog.flush(&mut state.queues, upcalls);
                state.queues.receives.flush(upcalls);
            });
        }
    }

    fn reset(&self) -> Result<()> {
        Err(wrong_state(Subtype::InvalidStateEpUnconnected))
    }

    fn modify(&self, spec: QueuePairSpec) -> Result<()> {
        self.0.core.owner_process.check()?;
        let replaced = self.0.with_state(|state, _| {
            if state.is_retired {
                return Err(wrong_state(Subtype::InvalidStateEpNotready));
            }
            state.apply(&spec, &self.0.weak_self)
        })?;
        drop(replaced);
        self.0.join_completion_queues();
        self.0.announce_sockets();
        Ok(())
    }

    fn outstanding(&self) -> Outstanding {
        if self.0.core.owner_process.check().is_err() {
            return Outstanding::default();
        }
        let state = self.0.state.lock();
        Outstanding { receives: state.queues.receives.ring.count(), requests: state.backlog.len() }
    }

    fn for_verbs(&self) -> &dyn VerbsQueuePair {
        self
    }

    fn activity(&self) -> Activity {
        let Outstanding { requests, receives } = self.outstanding();
        Activity { transport: "udp", requests, receives, ..Activity::default() }
    }

    fn failure(&self) -> Option<Failure> {
        self.0.core.owner_process.check().ok()?;
        let state = self.0.state.lock();
        state.queues.requests.failure().or_else(|| state.queues.receives.target.failure())
    }

    fn shutdown(&self) {
        if self.0.core.owner_process.check().is_ok() {
            self.0.end();
        }
    }
}

impl VerbsQueuePair for DatagramHandle {
    fn datagram_port(&self) -> Option<u16> {
        self.0.core.owner_process.check().ok()?;
        self.0.state.lock().sockets.port()
    }

    fn set_datagram_key(&self, key: u64) -> Result<()> {
        self.check_binding()?;
        self.0.state.lock().key = key;
        Ok(())
    }

    fn join_group(&self, group: IpAddr, at: IpAddr) -> Result<()> {
        self.check_binding()?;
        self.0.open(|sockets, core, this, lost| sockets.join((group, at), core, this, lost))
    }

    fn leave_group(&self, group: IpAddr, at: IpAddr) -> Result<()> {
        self.check_binding()?;
        if self.0.with_state(|state, _| state.sockets.leave(group, at, &self.0.core)) {
            return Ok(());
        }
        Err(Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1)
            .because(format!("the queue pair is not a member of {group} at {at}")))
    }
}

impl Drop for DatagramHandle {
    fn drop(&mut self) {
        // In a child of `fork`, another thread may have held the locks when the process was copied.
        if self.0.core.owner_process.is_current() {
            self.0.end();
            self.0.polled_by.lock().clear();
        }
    }
}

/// The queue pair behind an object of the contract, if it is one for datagrams.
pub(in crate::queue_pair) fn downcast(queue_pair: &dyn QueuePair) -> Option<Arc<DatagramQp>> {
    let handle = queue_pair.as_any().downcast_ref::<DatagramHandle>()?;
    Some(Arc::clone(&handle.0))
}
