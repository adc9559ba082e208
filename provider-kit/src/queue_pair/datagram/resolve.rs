//! The addresses of peers: both sides of a request for datagrams.

use std::sync::Arc;

use dat_provider::error::{Result, Subtype};
use dat_provider::{ConnectRequest, LocalCause, Peer};
use dat_sync::Mutex;

use super::address::Destination;
use super::resolution::{Request, Resolution};
use super::{DatagramQp, State};
use crate::errors::{already_answered, ip_address, wrong_state};
use crate::handshake::{ConnectionParameters, DatagramPort, Message};
use crate::progress::Incoming;
use crate::queue_pair::connect::failed;
use crate::queue_pair::event::Event;
use crate::transport::{ConnectError, DatagramEnds};

impl DatagramQp {
    /// Starts to resolve the address of a peer.
    ///
    /// # Errors
    /// The queue pair has no domain, or this side cannot connect.
    pub(super) fn resolve(&self, request: &ConnectRequest<'_>) -> Result<()> {
        let address = ip_address(request.address)?;
        self.state.lock().check_usable()?;
        let dialled = match self.core.transport.connect(address, request.qualifier) {
            Err(ConnectError::Local(cause)) => return Err(cause.error(Subtype::ResourceDevice)),
            Err(failure) => {
                self.report(request.attempt, &failed(failure));
                return Ok(());
            }
            Ok(dialled) => dialled,
        };
        let peer = Peer { address: address.into(), port: request.qualifier };
        let private_data = request.private_data.to_vec();
        let asked = Request { attempt: request.attempt, peer, private_data };
        let resolution = Resolution::new(&self.core, &self.weak_self, asked);
        self.state.lock().attempts.push(Arc::clone(&resolution));
        resolution.begin(dialled);
        Ok(())
    }

    /// Accepts a request, which still waits for an answer if that fails.
    ///
    /// # Errors
    /// The request was answered, it is for a connection, or this side cannot receive datagrams.
    pub(in crate::queue_pair) fn accept(
        &self,
        attempt: u64,
        private_data: &[u8],
        incoming: &Mutex<Option<Incoming>>,
    ) -> Result<()> {
        self.core.check()?;
        let asked = incoming.lock().as_ref().map(|request| {
            let Incoming { link, hello, .. } = request;
            (hello.side.datagrams, link.address, link.datagrams)
        });
        let (Some(port), peer, ends) = asked.ok_or_else(already_answered)? else {
            return Err(wrong_state(Subtype::InvalidStateEpNotready)
                .because("the queue pair carries datagrams, and the request is for a connection"));
        };
        let side = self.with_state(|state, _| {
            state.check_usable()?;
            let own =
                self.port(state, ends).map_err(|cause| cause.error(Subtype::ResourceDevice))?;
            Ok(state.connection_parameters(own, private_data))
        })?;
        let (Some(request), Some(ends)) = (incoming.lock().take(), ends) else {
            return Err(already_answered());
        };
        request.answer_and_close(&Message::acceptance(&side), &self.core);
        self.report(
            attempt,
            &Event::Resolved(Destination::of(peer.into(), ends, port), Vec::new()),
        );
        Ok(())
    }

    /// The message by which the active side introduces itself to the peer, on a link that exchanges datagrams at
    /// these addresses.
    ///
    /// # Errors
    /// The obstacle to receiving datagrams on this side.
    pub(super) fn introduce(
        &self,
        ends: Option<DatagramEnds>,
        private_data: &[u8],
    ) -> std::result::Result<ConnectionParameters, LocalCause> {
        self.with_state(|state, _| {
            let port = self.port(state, ends)?;
            Ok(state.connection_parameters(port, private_data))
        })
    }

    /// Where this side receives the datagrams of a peer, on a link that exchanges datagrams at these addresses.
    fn port(
        &self,
        state: &mut State,
        ends: Option<DatagramEnds>,
    ) -> std::result::Result<DatagramPort, LocalCause> {
        let key = state.key;
        let no_address = LocalCause { what: "receive datagrams", errno: libc::EADDRNOTAVAIL };
        let ends = ends.filter(|_| !state.is_retired).ok_or(no_address)?;
        let socket = state.sockets.at(ends.own, &self.core, &self.driven, &self.lost)?;
        Ok(DatagramPort { port: socket.port(), key })
    }

    /// The core has ended an attempt of this side.
    pub(super) fn abandon(&self, attempt: u64) {
        let mut state = self.state.lock();
        let found = state.attempts.iter().position(|one| one.attempt() == attempt);
        let ended = found.map(|index| state.attempts.swap_remove(index));
        drop(state);
        if let Some(ended) = ended {
            ended.abandon();
        }
    }

    /// The outcome of an attempt of this side.
    pub(super) fn conclude(&self, resolution: &Resolution, event: &Event) {
        self.state.lock().attempts.retain(|one| !std::ptr::eq(&**one, resolution));
        self.report(resolution.attempt(), event);
    }

    /// Reports the outcome of an attempt, unless the queue pair was retired.
    fn report(&self, attempt: u64, event: &Event) {
        let state = self.state.lock();
        let sink = (!state.is_retired).then(|| Arc::clone(&state.sink));
        drop(state);
        if let Some(sink) = sink {
            event.report(attempt, &*sink);
        }
    }
}

impl State {
    fn connection_parameters(
        &self,
        port: DatagramPort,
        private_data: &[u8],
    ) -> ConnectionParameters {
        let side = self.queues.connection_parameters(private_data.to_vec());
        ConnectionParameters { datagrams: Some(port), ..side }
    }
}
