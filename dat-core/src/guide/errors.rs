//! Errors, and what to do about them.
//!
//! A failure reaches the program in one of four ways:
//!
//! - **A call returns an [`Error`](crate::Error).** The object is then as it was before the call, unless the
//!   documentation of the method says otherwise. Programs decide by [`Error::is`](crate::Error::is) and, if needed,
//!   [`subtype`](crate::Error::subtype). Users read its text, which has the call, the object,
//!   the [`reason`](crate::Error::reason) and the [`advice`](crate::Error::advice).
//! - **A connection event** reports that an attempt failed, or that the connection ended. The
//!   [`cause`](crate::ConnectionEvent::cause) says why an attempt failed, as far as the transport knows.
//! - **A completion** has a status other than success: [`DtoCompletion::result`](crate::DtoCompletion::result). The first
//!   failure of an endpoint breaks its connection, and everything that was posted then completes as
//!   [`Flushed`](crate::DtoStatus::Flushed): look for the one failure that is not flushed, or call
//!   [`Ep::failure`](crate::Ep::failure).
//! - **An asynchronous error** belongs to no call, for instance an event that found its dispatcher full. It arrives at
//!   [`Ia::async_evd`](crate::Ia::async_evd); read it, or at least log it.
//!
//! What to do:
//!
//! | error | meaning | reaction |
//! | --- | --- | --- |
//! | `DAT_INVALID_PARAMETER`, `DAT_LENGTH_ERROR`, `DAT_INVALID_ADDRESS` | the program passed what the call cannot use | correct the program; the reason has the value and the limit |
//! | `DAT_INVALID_HANDLE` | the object was freed, or belongs to another adapter | correct the program |
//! | `DAT_INVALID_STATE` | the call does not fit the state of the object, for example a post before the connection | wait for the event that changes the state |
//! | `DAT_INSUFFICIENT_RESOURCES` | a queue is full, or a limit is reached | dequeue completions and post again; or free objects, or raise the limit |
//! | `DAT_MODEL_NOT_SUPPORTED` | the transport cannot do this | do without it; the attributes of the adapter show it in advance |
//! | `DAT_PROTECTION_VIOLATION`, `DAT_PRIVILEGES_VIOLATION` | memory of another zone, or without the privilege | register it in the right zone, with the privilege |
//! | an attempt fails | no listener, no route, too slow | [`reset`](crate::Ep::reset), pause, and connect again |
//! | `Broken`, or `Disconnected` that was not expected | the peer is gone, or an operation failed | take the flushed completions, reset, and connect again |
//!
//! ```
//! use std::time::Duration;
//!
//! use dat_core::error::ReturnType;
//! use dat_core::{
//!     Connect, ConnectionEventKind, DtoStatus, EpSpec, EpState, EvdFlags, EvdOptions, Event,
//!     Evd, Memory, Privileges, EpProvision, RefusalCause, Registry,
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
//!     let streams = EvdFlags::CONNECTION_REQUEST | EvdFlags::CONNECTION | EvdFlags::DTO;
//!     let (near, far) = (
//!         ia.evd_create(&EvdOptions::new(64, streams))?,
//!         ia.evd_create(&EvdOptions::new(64, streams))?,
//!     );
//!     let spec = |evd| EpSpec::new(&pz).recv_evd(evd).request_evd(evd).connect_evd(evd);
//!     let (client, server) = (ia.ep_create(&spec(&near))?, ia.ep_create(&spec(&far))?);
//!     let memory = Memory::zeroed(4096)?;
//!     let lmr = ia.lmr_create(&memory, &pz, Privileges::ALL)?;
//!
//!     // A call fails, and nothing has changed.
//!     let error = client.send(&[lmr.triplet(0, 64)?], 1).unwrap_err();
//!     assert!(error.is(ReturnType::InvalidState), "{error}");
//!
//!     // An attempt fails: there is no listener.
//!     let psp = ia.psp_create_any(&far, EpProvision::Consumer)?;
//!     let to = Connect::to_psp(&psp);
//!     psp.free()?;
//!     client.connect(&to)?;
//!     let Event::Connection(event) = next(&near)? else { panic!("not a connection event") };
//!     assert_eq!(event.kind, ConnectionEventKind::NonPeerRejected);
//!     assert_eq!(event.cause, RefusalCause::NoListener);
//!     client.reset()?; // it may connect again
//!
//!     // An operation fails: the receive is too short for the message.
//!     server.receive(&[lmr.triplet(0, 8)?], 2)?;
//!     let psp = ia.psp_create_any(&far, EpProvision::Consumer)?;
//!     client.connect(&Connect::to_psp(&psp))?;
//!     let Event::ConnectionRequest(arrival) = next(&far)? else { panic!("not a request") };
//!     arrival.request.accept(Some(&server), b"")?;
//!     client.send(&[lmr.triplet(0, 64)?], 3)?;
//!     loop {
//!         match next(&near)? {
//!             Event::Dto(done) => match done.result() {
//!                 Ok(_) => {}
//!                 Err(failure) if failure.status == DtoStatus::Flushed => {} // a consequence
//!                 Err(failure) => println!("{failure}"),                     // the cause
//!             },
//!             Event::Connection(event) if event.kind == ConnectionEventKind::Established => {}
//!             Event::Connection(_) => break, // the end
//!             other => panic!("{other}"),
//!         }
//!     }
//!     let first = server.failure()?.expect("the receive");
//!     assert_eq!((first.cookie, first.status), (2, DtoStatus::LocalLength));
//!
//!     // The endpoint is disconnected. After a reset it can be used again.
//!     client.reset()?;
//!     assert_eq!(client.status()?.state, EpState::Unconnected);
//!     Ok(())
//! }
//! ```
//!
//! The codes have numbers in the C API; `dat explain CODE` of the command explains one. Next: [`shutdown`](super::shutdown).
