//! Awaiting events in tasks of tokio.
//!
//! With the feature `tokio`, an [`EventStream`](crate::EventStream) delivers the events of a dispatcher to a task. The
//! task sleeps in the reactor of the runtime while none arrives, so one thread can serve many dispatchers and sockets.
//!
//! - Create the stream within a runtime whose I/O driver is enabled.
//! - [`EventStream::next`](crate::EventStream::next) loses no event if its future is dropped, so it may be a branch of
//!   `tokio::select!`.
//! - The type is also a `Stream` of futures-core, for the adapters of other crates.
//! - Posts do not block, so a task makes them directly. Calls that wait, such as
//!   [`Evd::wait`](crate::Evd::wait), do not belong in a task.
//!
//! ```
//! use dat_core::{
//!     Connect, ConnectionEventKind, EpSpec, EvdFlags, EvdOptions, Event, EventStream,
//!     Ia, Psp, EpProvision, Registry,
//! };
//!
//! /// Accepts one client, and waits until it is connected.
//! async fn serve(ia: &Ia, mut events: EventStream) -> dat_core::Result<()> {
//!     let evd = events.dispatcher().clone();
//!     let ep = ia.ep_create(&EpSpec::new(&ia.pz_create()?).connect_evd(&evd))?;
//!     let Event::ConnectionRequest(arrival) = events.next().await? else { panic!("not a request") };
//!     arrival.request.accept(Some(&ep), b"welcome")?;
//!     let Event::Connection(event) = events.next().await? else { panic!("not a connection event") };
//!     assert_eq!(event.kind, ConnectionEventKind::Established);
//!     Ok(())
//! }
//!
//! /// Connects, and returns the private data of the server.
//! async fn connect(ia: &Ia, psp: &Psp) -> dat_core::Result<Vec<u8>> {
//!     let evd = ia.evd_create(&EvdOptions::new(16, EvdFlags::CONNECTION))?;
//!     let ep = ia.ep_create(&EpSpec::new(&ia.pz_create()?).connect_evd(&evd))?;
//!     let mut events = EventStream::new(evd)?;
//!     ep.connect(&Connect::to_psp(psp))?;
//!     let Event::Connection(event) = events.next().await? else { panic!("not a connection event") };
//!     assert_eq!(event.kind, ConnectionEventKind::Established);
//!     Ok(event.private_data.to_vec())
//! }
//!
//! fn main() -> dat_core::Result<()> {
//!     let registry = Registry::new();
//!     registry.add_provider(dat_provider_loopback::provider())?;
//!     let ia = registry.open("loopback")?;
//!
//!     let runtime =
//!         tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
//!     runtime.block_on(async {
//!         let streams = EvdFlags::CONNECTION_REQUEST | EvdFlags::CONNECTION;
//!         let evd = ia.evd_create(&EvdOptions::new(16, streams))?;
//!         let psp = ia.psp_create_any(&evd, EpProvision::Consumer)?;
//!         let events = EventStream::new(evd)?;
//!         let server = tokio::spawn({
//!             let ia = ia.clone();
//!             async move { serve(&ia, events).await }
//!         });
//!         assert_eq!(connect(&ia, &psp).await?, b"welcome");
//!         server.await.expect("no panic")
//!     })
//! }
//! ```
//!
//! Next: [`errors`](super::errors).
