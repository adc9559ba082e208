//! Executing the requests of the peer that waited for a receive.

use dat_provider_kit::receive_wakeup::{PostAction, ReceiveWakeup};
use dat_provider_kit::shared_receive::Resume;
use dat_provider_kit::upcalls::Upcalls;
use dat_sync::SlabArc;

use super::connection_state::EndCause;
use super::execute::{Execution, execute};
use super::qp::{LoopbackQp, QpRef};
use super::responder::{Inbound, Responder};
use super::teardown::DeferredEnd;

impl Responder {
    /// Does what the poster of a receive owes.
    fn serve(
        &mut self,
        wakeup: &ReceiveWakeup,
        action: PostAction,
        upcalls: &mut Upcalls,
    ) -> Option<DeferredEnd> {
        match &self.inbound {
            Inbound::Shut => {
                self.receives.flush(upcalls);
                None
            }
            Inbound::Open(inbound) if inbound.waiting.is_empty() && !inbound.is_closing => {
                wakeup.settle();
                if action == PostAction::Rest {
                    wakeup.rest();
                }
                None
            }
            Inbound::Open(_) => self.execute_waiting(wakeup, upcalls),
            Inbound::Idle | Inbound::Expecting(_) => {
                wakeup.put_off();
                None
            }
        }
    }

    /// Executes waiting requests until one finds no receive.
    fn execute_waiting(
        &mut self,
        wakeup: &ReceiveWakeup,
        upcalls: &mut Upcalls,
    ) -> Option<DeferredEnd> {
        let Inbound::Open(inbound) = &mut self.inbound else { return None };
        while let Some((posted, segments)) = inbound.waiting.front() {
            let request = posted.with_segments(segments);
            match execute(&request, &inbound.requester, &mut self.receives, upcalls) {
                Execution::NoReceive if self.receives.request_wakeup(wakeup) => {}
                Execution::NoReceive => return None,
                Execution::Completed => drop(inbound.waiting.pop()),
                Execution::Suppressed => {
                    inbound.waiting.pop();
                    inbound.requester.target.suppress();
                }
                Execution::Failed => {
                    inbound.waiting.pop();
                    let inbound = self.shut(wakeup, upcalls)?;
                    return Some(DeferredEnd {
                        connection_id: inbound.connection_id,
                        peer: inbound.peer,
                        cause: EndCause::Broken,
                    });
                }
            }
        }
        wakeup.settle();
        inbound.is_closing.then(|| DeferredEnd {
            connection_id: inbound.connection_id,
            peer: SlabArc::clone(&inbound.peer),
            cause: EndCause::Disconnected,
        })
    }
}

impl LoopbackQp {
    /// Does what the poster of a receive owes to the peer.
    #[cold]
    pub(super) fn serve_inbound(&self, action: PostAction) {
        self.with_responder(|responder, upcalls| {
            responder.serve(&self.poster.wakeup, action, upcalls)
        });
    }

    /// Runs `serve` under the responder lock, then makes its upcalls and ends the connection if that
    /// is due.
    fn with_responder(
        &self,
        serve: impl FnOnce(&mut Responder, &mut Upcalls) -> Option<DeferredEnd>,
    ) {
        let mut upcalls = Upcalls::default();
        let mut responder = self.responder.lock();
        let end = serve(&mut responder, &mut upcalls);
        drop(responder);
        upcalls.deliver();
        if let Some(end) = end {
            end.run(self);
        }
    }
}

impl Resume for QpRef {
    fn resume(&self) {
        let Some(qp) = self.0.upgrade() else { return };
        qp.with_responder(|responder, upcalls| {
            if let Some(shared) = &mut responder.receives.shared {
                shared.set_resumed();
            }
            responder.execute_waiting(&qp.poster.wakeup, upcalls)
        });
    }
}
