//! Messages of the peer, and the end of its link.

use std::sync::Arc;

use super::Identifier;
use super::address::canonical;
use super::event::{EventKind, Parameters, Queued};
use super::identifier::Inner;
use super::link::{Arrival, Link};
use super::message::{Message, Rejection, Terms, reason};
use super::state::{Input, Report, State, Step};

/// The numbers by which InfiniBand says why a service of datagrams was not found (SIDR).
mod sidr {
    pub(super) const UNSUPPORTED: i32 = 1;
    pub(super) const REJECTED: i32 = 2;
}

/// The event that reports a failed attempt.
struct Failure {
    kind: EventKind,
    status: i32,
    private_data: Vec<u8>,
}

impl Identifier {
    /// A request has arrived on a link of this listener.
    pub(super) fn take_request(self: &Arc<Self>, link: &Arc<Link>, terms: Terms) {
        let mut inner = self.inner.lock();
        let refusal = if inner.state != State::Listening || terms.space != self.space() as u32 {
            Some(reason::NO_LISTENER)
        } else if inner.waiting >= inner.backlog {
            Some(reason::CONSUMER)
        } else {
            None
        };
        if let Some(reason) = refusal {
            drop(inner);
            link.send(&Message::Reject(Rejection { reason, private_data: Vec::new() }));
            return link.close();
        }
        let request = Self::new(&inner.channel, 0, self.space(), self.qp_type());
        {
            let mut new = request.inner.lock();
            new.state = State::Requested;
            new.local = link.local_address().ok().map(canonical);
            new.peer = link.peer_address().ok().map(canonical);
            new.link = Some(Arc::clone(link));
            new.options = inner.options;
            new.theirs = Some(terms.clone());
        }
        link.set_owner(&request);
        let parameters = if self.is_datagram() {
            Parameters::Datagram(terms.datagram())
        } else {
            Parameters::Connection(terms.connection())
        };
        inner.waiting += 1;
        inner.channel.push(Queued {
            kind: EventKind::ConnectRequest,
            status: 0,
            parameters,
            target: Arc::downgrade(self),
            request: Some(request),
        });
    }

    /// Handles an arrival on the link of this identifier.
    pub(super) fn receive(self: &Arc<Self>, link: &Arc<Link>, arrival: Arrival) {
        let mut inner = self.inner.lock();
        if !inner.link.as_ref().is_some_and(|own| Arc::ptr_eq(own, link)) {
            return;
        }
        let has_no_listener = match &arrival {
            Arrival::Message(Message::Reject(rejection)) => rejection.reason == reason::NO_LISTENER,
            Arrival::Gone(errno) => is_refusal(*errno),
            Arrival::Message(_) => false,
        };
        if has_no_listener && self.asks_again(&mut inner) {
            return;
        }
        let (input, failure) = self.input(&mut inner, arrival);
        let is_served =
            self.is_datagram() && matches!(inner.state, State::Accepted | State::Leaving);
        let step = inner.state.step(input);
        if is_served && matches!(input, Input::PeerIsGone) {
            // The peer has the answer, and datagrams need no link.
            return inner.unlink();
        }
        let Step::To(next, report) = step else { return };
        let before = std::mem::replace(&mut inner.state, next);
        match report {
            Report::Response => {
                let parameters = self.answer(&inner);
                self.report(&inner, EventKind::ConnectResponse, 0, parameters);
                if self.is_datagram() {
                    inner.unlink();
                }
            }
            Report::Established => {
                let parameters = self.answer(&inner);
                self.report(&inner, EventKind::Established, 0, parameters);
            }
            Report::Disconnected => {
                self.report(&inner, EventKind::Disconnected, 0, Parameters::None);
            }
            Report::Failed => {
                let Failure { kind, status, private_data } = failure;
                self.report(&inner, kind, status, Parameters::Data(private_data));
            }
            Report::Nothing | Report::AddressResolved | Report::RouteResolved => {}
        }
        if next == State::Ended {
            inner.unlink();
            if before.was_connected() {
                drop(inner);
                self.exit_timewait_later();
            }
        }
    }

    /// An attempt could not be repeated.
    pub(super) fn fail_attempt(self: &Arc<Self>, inner: &mut Inner, errno: i32) {
        let (kind, status) = self.end(inner.state, errno);
        inner.state = State::Ended;
        self.report(inner, kind, status, Parameters::Data(Vec::new()));
    }

    /// The meaning of an arrival, and the event for the program if it ends the attempt.
    fn input(&self, inner: &mut Inner, arrival: Arrival) -> (Input, Failure) {
        let no_data = |(kind, status)| Failure { kind, status, private_data: Vec::new() };
        let gone = no_data((EventKind::Rejected, reason::TIMED_OUT.into()));
        match arrival {
            Arrival::Message(Message::Response(terms)) => {
                if inner.state == State::Connecting {
                    inner.theirs = Some(terms);
                }
                (Input::PeerAccepts, gone)
            }
            Arrival::Message(Message::Reject(rejection)) => {
                let (kind, status) = self.rejection(rejection.reason);
                let private_data = rejection.private_data;
                (Input::PeerRejects, Failure { kind, status, private_data })
            }
            Arrival::Message(Message::Ready) => (Input::PeerIsReady, gone),
            Arrival::Message(Message::Disconnect) => (Input::PeerDisconnects, gone),
            Arrival::Message(Message::Disconnected) => (Input::PeerAgrees, gone),
            // A second request violates the protocol.
            Arrival::Message(Message::Request(_)) => {
                (Input::PeerIsGone, no_data(self.end(inner.state, libc::EPROTO)))
            }
            Arrival::Gone(errno) => (Input::PeerIsGone, no_data(self.end(inner.state, errno))),
        }
    }

    fn rejection(&self, reason: u16) -> (EventKind, i32) {
        match (self.is_datagram(), reason) {
            (false, reason) => (EventKind::Rejected, reason.into()),
            (true, reason::NO_LISTENER) => (EventKind::Unreachable, sidr::UNSUPPORTED),
            (true, _) => (EventKind::Unreachable, sidr::REJECTED),
        }
    }

    /// The event for the end of a link.
    fn end(&self, state: State, errno: i32) -> (EventKind, i32) {
        match errno {
            _ if state != State::Connecting => (EventKind::Rejected, reason::TIMED_OUT.into()),
            // What answers there does not listen for requests.
            errno if is_refusal(errno) => self.rejection(reason::NO_LISTENER),
            errno => (EventKind::Unreachable, -errno),
        }
    }

    /// The parameters that the peer has offered.
    fn answer(&self, inner: &Inner) -> Parameters {
        match &inner.theirs {
            None => Parameters::None,
            Some(terms) if self.is_datagram() => Parameters::Datagram(terms.datagram()),
            // The request has brought the data of the peer already.
            Some(terms) if inner.state == State::Connected => {
                let private_data = Vec::new();
                Parameters::Connection(super::ConnectionParameters {
                    private_data,
                    ..terms.connection()
                })
            }
            Some(terms) => Parameters::Connection(terms.connection()),
        }
    }
}

/// Returns true for the errno of a host that answers and has no listener for requests.
fn is_refusal(errno: i32) -> bool {
    matches!(errno, libc::ECONNREFUSED | libc::ECONNRESET | libc::EPIPE | libc::EPROTO)
}
