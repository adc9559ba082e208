//! Shutting down.
//!
//! 1. **Say in the program's own protocol that you are done.** A disconnect does not wait until the peer has received
//!    what it still expects.
//! 2. **Disconnect.** [`Close::Graceful`](crate::Close::Graceful) lets requests that were posted finish;
//!    [`Close::Abrupt`](crate::Close::Abrupt) flushes them. Receives that wait are flushed in both cases. Each side gets
//!    one `Disconnected`, whichever side has called.
//! 3. **Take what is left.** The completions that precede the end of a connection are queued before its event. A
//!    buffer of the program may be used again only after its completion, or after its region was freed.
//! 4. **Free in the opposite order of creation**: service points, endpoints, memory regions, dispatchers, notification
//!    objects, zones. An object in use cannot be freed, so the order cannot be wrong without an error. Dropping the
//!    handles does the same silently.
//! 5. **Close the adapter.** A graceful close fails while objects exist, which shows what was forgotten. An abrupt one
//!    ends them all, and wakes the threads that wait on them.
//!
//! A thread that waits forever must be woken first: post it a software event, or call
//! [`set_unwaitable`](crate::Evd::set_unwaitable).
//!
//! If a process dies, its peers get `Disconnected` or `Broken`, as soon as the transport notices.
//!
//! ```
//! use std::time::Duration;
//!
//! use dat_core::error::ReturnType;
//! use dat_core::{
//!     Close, Connect, ConnectionEventKind, DtoStatus, EpSpec, EvdFlags, EvdOptions, Event,
//!     Evd, Memory, Privileges, EpProvision, Registry,
//! };
//!
//! /// Takes events until the connection has ended; returns the cookies of the flushed operations.
//! fn drain(evd: &Evd) -> dat_core::Result<Vec<u64>> {
//!     let mut flushed = Vec::new();
//!     loop {
//!         match evd.next_event(Duration::from_secs(5))?.expect("an event within five seconds") {
//!             Event::Dto(done) if done.status == DtoStatus::Flushed => flushed.push(done.cookie),
//!             Event::Connection(event) if event.kind == ConnectionEventKind::Disconnected => {
//!                 return Ok(flushed);
//!             }
//!             _ => {}
//!         }
//!     }
//! }
//!
//! fn main() -> dat_core::Result<()> {
//!     let registry = Registry::new();
//!     registry.add_provider(dat_provider_loopback::provider())?;
//!     let ia = registry.open("loopback")?;
//!     let pz = ia.pz_create()?;
//!     let streams = EvdFlags::CONNECTION_REQUEST | EvdFlags::CONNECTION | EvdFlags::DTO;
//!     let (near, far) = (
//!         ia.evd_create(&EvdOptions::new(64, streams))?,
//!         ia.evd_create(&EvdOptions::new(64, streams))?,
//!     );
//!     let spec = |evd| EpSpec::new(&pz).recv_evd(evd).request_evd(evd).connect_evd(evd);
//!     let (client, server) = (ia.ep_create(&spec(&near))?, ia.ep_create(&spec(&far))?);
//!     let memory = Memory::zeroed(4096)?;
//!     let lmr = ia.lmr_create(&memory, &pz, Privileges::ALL)?;
//!     server.receive(&[lmr.triplet(0, 64)?], 7)?;
//!
//!     let psp = ia.psp_create_any(&far, EpProvision::Consumer)?;
//!     client.connect(&Connect::to_psp(&psp))?;
//!     let arrival = far.next_event(Duration::from_secs(5))?;
//!     let Some(Event::ConnectionRequest(arrival)) = arrival else { panic!("not a request") };
//!     arrival.request.accept(Some(&server), b"")?;
//!
//!     client.disconnect(Close::Graceful)?;
//!     assert!(drain(&near)?.is_empty());
//!     assert_eq!(drain(&far)?, [7], "the receive that still waited");
//!
//!     let error = ia.close(Close::Graceful).unwrap_err();
//!     assert!(error.is(ReturnType::InvalidState), "objects exist: {error}");
//!     psp.free()?;
//!     client.free()?;
//!     server.free()?;
//!     lmr.free()?;
//!     near.free()?;
//!     far.free()?;
//!     pz.free()?;
//!     ia.close(Close::Graceful)
//! }
//! ```
//!
//! Pages: dat_ep_disconnect(3DAT), dat_ep_free(3DAT), dat_ia_close(3DAT).
