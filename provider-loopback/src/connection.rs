//! Connecting, and answering requests for a connection.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dat_core::error::{Result, Subtype};
use dat_core::provider::{
    Answer, ConnectRequest, ConnectionUpcall, Incoming, Peer, QueuePair, Service,
};
use dat_sync::SlabArc;

use crate::errors::wrong_state;
use crate::fabric::{self, Route};
use crate::queue_pair::{self, Announced, Connection, Endpoint, Inbound, Source, State};

/// A request for a connection that waits for its answer.
struct Pending {
    /// The number of the connection that may come of it.
    link: u64,
    connecting: SlabArc<Endpoint>,
    peer: Peer,
    /// The address and qualifier that it came in on.
    address: IpAddr,
    qualifier: u64,
    /// The attempt of a queue pair that carries datagrams.
    datagram: Option<u64>,
    answered: AtomicBool,
}

impl Endpoint {
    /// Starts to connect.
    pub(crate) fn begin_connect(me: SlabArc<Self>, request: &ConnectRequest<'_>) -> Result<()> {
        let (link, port) = (fabric::unique_id(), fabric::ephemeral_port());
        let mut sq = me.sq.lock();
        sq.check_connectable()?;
        let datagram = (sq.service == Service::Datagram).then_some(request.attempt);
        if datagram.is_none() {
            sq.state = State::Connecting { link, attempt: request.attempt, port };
            me.rq.lock().inbound = Inbound::Expecting(link);
        }
        drop(sq);
        let fail = |event| match datagram {
            Some(attempt) => me.tell(attempt, event),
            None => me.fail_attempt(link, Some(event)),
        };
        let sink = match fabric::route(request.address, request.qualifier) {
            Route::Listener(sink) => sink,
            Route::NoListener => {
                fail(ConnectionUpcall::NonPeerRejected);
                return Ok(());
            }
            Route::NoHost => {
                fail(ConnectionUpcall::Unreachable);
                return Ok(());
            }
        };
        let peer = Peer { address: me.host.address(), port };
        let incoming = Incoming {
            peer,
            is_datagram: datagram.is_some(),
            private_data: request.private_data.into(),
            answer: Box::new(Pending {
                link,
                peer,
                connecting: me,
                address: request.address,
                qualifier: request.qualifier,
                datagram,
                answered: AtomicBool::new(false),
            }),
        };
        // A request that comes back is refused by its drop.
        drop(sink.connection_request(incoming));
        Ok(())
    }

    /// The accepting side: takes its place, before the other side is asked for.
    fn begin_accept(
        me: &SlabArc<Self>,
        link: u64,
        attempt: u64,
        peer: &SlabArc<Self>,
    ) -> Result<Source> {
        let mut sq = me.sq.lock();
        sq.check_connectable()?;
        sq.state = State::Connected(Connection::new(link, attempt, peer));
        me.set_peer(Some(peer));
        me.rq.lock().inbound = Inbound::Expecting(link);
        Ok(sq.source(link, me))
    }

    /// The connecting side: opens both directions, unless either side gave up.
    fn complete_connect(
        me: &SlabArc<Self>,
        link: u64,
        accepting: &SlabArc<Self>,
        inbound: Source,
    ) -> Linked {
        let mut sq = me.sq.lock();
        let attempt = match sq.state {
            State::Connecting { link: number, attempt, .. } if number == link => attempt,
            _ => return Linked::GivenUp,
        };
        me.set_peer(Some(accepting));
        let outbound = sq.source(link, me);
        {
            let mut rq = accepting.rq.lock();
            if !rq.inbound.is(link) {
                return Linked::Deserted;
            }
            rq.inbound = Inbound::Open(Box::new(outbound));
        }
        // The accepting side may have shut this by now; then it also waits to say so.
        let mut rq = me.rq.lock();
        if rq.inbound.is(link) {
            rq.inbound = Inbound::Open(Box::new(inbound));
        }
        drop(rq);
        sq.state = State::Connected(Connection::new(link, attempt, accepting));
        Linked::Done
    }

    /// Reports `Established`, and the end of the connection if that came meanwhile.
    fn announce(&self, link: u64, private_data: &[u8], peer: Peer, local_port: u64) {
        let (sink, attempt) = {
            let mut sq = self.sq.lock();
            let Some(connection) = sq.state.connection(link) else { return };
            connection.announced = Announced::Running;
            let attempt = connection.attempt;
            (Arc::clone(&sq.sink), attempt)
        };
        let event = ConnectionUpcall::Established { private_data, peer, local_port };
        sink.connection_event(attempt, event);
        let mut sq = self.sq.lock();
        let Some(connection) = sq.state.connection(link) else { return };
        connection.announced = Announced::Done;
        let Some(end) = connection.ended else { return };
        let before = std::mem::replace(&mut sq.state, State::Disconnected);
        drop(sq);
        drop(before);
        sink.connection_event(attempt, end.into());
    }
}

/// What became of the attempt to open both directions.
enum Linked {
    Done,
    /// The connecting side is gone.
    GivenUp,
    /// The accepting side is gone.
    Deserted,
}

impl Answer for Pending {
    fn accept(&self, queue_pair: &dyn QueuePair, attempt: u64, private_data: &[u8]) -> Result<()> {
        let accepting = queue_pair::find(queue_pair)?;
        if let Some(asked) = self.datagram {
            return self.accept_datagrams(&accepting, (asked, attempt), private_data);
        }
        self.answer()?;
        let source = match Endpoint::begin_accept(&accepting, self.link, attempt, &self.connecting)
        {
            Ok(source) => source,
            Err(error) => {
                self.answered.store(false, Ordering::Release);
                return Err(error);
            }
        };
        match Endpoint::complete_connect(&self.connecting, self.link, &accepting, source) {
            Linked::Done => {
                accepting.announce(self.link, &[], self.peer, self.qualifier);
                let peer = Peer { address: self.address, port: self.qualifier };
                self.connecting.announce(self.link, private_data, peer, self.peer.port);
            }
            Linked::GivenUp => accepting.fail_accept(self.link),
            Linked::Deserted => self.refuse(ConnectionUpcall::NonPeerRejected),
        }
        Ok(())
    }

    fn reject(&self, private_data: &[u8]) -> Result<()> {
        self.answer()?;
        self.refuse(ConnectionUpcall::PeerRejected { private_data });
        Ok(())
    }
}

impl Pending {
    fn answer(&self) -> Result<()> {
        if self.answered.swap(true, Ordering::AcqRel) {
            return Err(wrong_state(Subtype::NoSubtype)
                .because("the connection request was already answered"));
        }
        Ok(())
    }

    fn refuse(&self, event: ConnectionUpcall<'_>) {
        match self.datagram {
            Some(attempt) => self.connecting.tell(attempt, event),
            None => self.connecting.fail_attempt(self.link, Some(event)),
        }
    }

    /// Gives each side the address of the other.
    fn accept_datagrams(
        &self,
        accepting: &SlabArc<Endpoint>,
        (asked, accepted): (u64, u64),
        private_data: &[u8],
    ) -> Result<()> {
        accepting.check_datagrams()?;
        self.answer()?;
        let remote = &self.connecting.datagram_address();
        accepting.tell(accepted, ConnectionUpcall::Resolved { remote, private_data: &[] });
        let remote = &accepting.datagram_address();
        self.connecting.tell(asked, ConnectionUpcall::Resolved { remote, private_data });
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.answer().is_ok() {
            self.refuse(ConnectionUpcall::NonPeerRejected);
        }
    }
}
