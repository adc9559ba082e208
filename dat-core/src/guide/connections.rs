//! Connecting and accepting.
//!
//! The server listens on a *connection qualifier*, a number like a port, with a public service point
//! ([`Psp`](crate::Psp)). Requests arrive as events at the dispatcher of the service point, whose queue is the backlog:
//! if it is full, further requests are refused. Make it as long as the number of clients that may come at once.
//!
//! The client calls [`Ep::connect`](crate::Ep::connect), which returns at once. The outcome is one
//! connection event at the dispatcher of the endpoint:
//!
//! | event | meaning |
//! | --- | --- |
//! | [`Established`](crate::ConnectionEventKind::Established) | it is connected |
//! | [`PeerRejected`](crate::ConnectionEventKind::PeerRejected) | the server has rejected the request |
//! | [`NonPeerRejected`](crate::ConnectionEventKind::NonPeerRejected) | there is no listener, or its backlog is full |
//! | [`TimedOut`](crate::ConnectionEventKind::TimedOut) | the time-out of the call has expired |
//! | [`Unreachable`](crate::ConnectionEventKind::Unreachable) | there is no route, or no answer |
//!
//! The server answers each [`Cr`](crate::Cr) once: it accepts on an unconnected endpoint,
//! and then gets `Established` too, or rejects. Dropping the request rejects it as well.
//!
//! Both directions carry *private data*: with the request, and with the answer. It is meant for what both sides must
//! agree on before they exchange messages, such as a version or the address of a buffer. The adapter limits its length
//! (`max_private_data_size`).
//!
//! ```
//! use std::time::Duration;
//!
//! use dat_core::{
//!     Connect, ConnectionEventKind, EpSpec, EpState, EvdFlags, EvdOptions, Event, Evd,
//!     EpProvision, Registry,
//! };
//!
//! fn next(evd: &Evd) -> dat_core::Result<Event> {
//!     Ok(evd.next_event(Duration::from_secs(5))?.expect("an event within five seconds"))
//! }
//!
//! fn main() -> dat_core::Result<()> {
//!     let registry = Registry::new();
//!     registry.add_provider(dat_provider_loopback::provider())?;
//!     let ia = registry.open("loopback")?;
//!     let pz = ia.pz_create()?;
//!
//!     // The server: a dispatcher for requests, a service point, an endpoint.
//!     let requests = ia.evd_create(&EvdOptions::new(16, EvdFlags::CONNECTION_REQUEST))?;
//!     let server_evd = ia.evd_create(&EvdOptions::new(64, EvdFlags::CONNECTION | EvdFlags::DTO))?;
//!     let spec =
//!         EpSpec::new(&pz).recv_evd(&server_evd).request_evd(&server_evd).connect_evd(&server_evd);
//!     let server = ia.ep_create(&spec)?;
//!     let psp = ia.psp_create_any(&requests, EpProvision::Consumer)?;
//!
//!     // The client needs the address of the server's adapter and the qualifier.
//!     let client_evd = ia.evd_create(&EvdOptions::new(64, EvdFlags::CONNECTION | EvdFlags::DTO))?;
//!     let spec =
//!         EpSpec::new(&pz).recv_evd(&client_evd).request_evd(&client_evd).connect_evd(&client_evd);
//!     let client = ia.ep_create(&spec)?;
//!     let to = Connect::to(ia.attributes().address, psp.qualifier()).timeout(Duration::from_secs(10));
//!
//!     // The first request has the wrong version, and is rejected.
//!     client.connect(&to.clone().private_data(b"version 1"))?;
//!     let Event::ConnectionRequest(arrival) = next(&requests)? else { panic!("not a request") };
//!     assert_eq!(*arrival.request.query()?.private_data, *b"version 1");
//!     arrival.request.reject(b"need version 2")?;
//!     let Event::Connection(event) = next(&client_evd)? else { panic!("not a connection event") };
//!     assert_eq!(event.kind, ConnectionEventKind::PeerRejected);
//!     assert_eq!(*event.private_data, *b"need version 2");
//!
//!     // An endpoint whose attempt has failed is reset before it connects again.
//!     client.reset()?;
//!     client.connect(&to.private_data(b"version 2"))?;
//!     let Event::ConnectionRequest(arrival) = next(&requests)? else { panic!("not a request") };
//!     arrival.request.accept(Some(&server), b"welcome")?;
//!     for evd in [&client_evd, &server_evd] {
//!         let Event::Connection(event) = next(evd)? else { panic!("not a connection event") };
//!         assert_eq!(event.kind, ConnectionEventKind::Established);
//!     }
//!     assert_eq!(client.status()?.state, EpState::Connected);
//!     Ok(())
//! }
//! ```
//!
//! With [`EpProvision::Provider`](crate::EpProvision::Provider) the provider creates an endpoint for each request; a reserved
//! service point ([`Rsp`](crate::Rsp)) takes one request for a given endpoint.
//!
//! Pages: dat_psp_create(3DAT), dat_ep_connect(3DAT), dat_cr_accept(3DAT), dat_cr_reject(3DAT). Next:
//! [`messages`](super::messages).
