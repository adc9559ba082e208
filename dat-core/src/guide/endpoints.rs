//! Endpoints, and the objects that they need.
//!
//! Both sides of a connection create the same objects:
//!
//! - A [`Pz`](crate::Pz) ties memory to endpoints: an endpoint reaches only memory of its own
//!   zone. Most programs need one.
//! - An [`Evd`](crate::Evd) is a queue of events. Its flags say which streams of events may
//!   feed it: connection requests, connection events, completions, errors of the adapter, events of the program
//!   itself. Its length is what it must be able to hold. The program sees the order of two events for certain only
//!   if they arrive at the same dispatcher.
//! - An [`Ep`](crate::Ep) is one end of a connection. It has up to three dispatchers: for completions of
//!   receives, for completions of requests (sends and RDMA), and for connection events. They may be the same one. An
//!   endpoint without one of them discards those events.
//!
//! A server usually has one dispatcher for connection requests and one or a few for the completions of all endpoints:
//! each completion names its endpoint and carries the cookie of its post, so that the program finds its own data.
//!
//! The attributes of an endpoint limit what may be outstanding on it. [`EpSpec`](crate::EpSpec) without attributes
//! takes the defaults of the adapter. To change some of them, start from a copy of the defaults.
//!
//! ```
//! use dat_core::{EpSpec, EpState, EvdFlags, EvdOptions, Registry};
//!
//! fn main() -> dat_core::Result<()> {
//!     let registry = Registry::new();
//!     registry.add_provider(dat_provider_loopback::provider())?;
//!     let ia = registry.open("loopback")?;
//!
//!     let pz = ia.pz_create()?;
//!     let completions = ia.evd_create(&EvdOptions::new(64, EvdFlags::DTO))?;
//!     let connections = ia.evd_create(&EvdOptions::new(8, EvdFlags::CONNECTION))?;
//!
//!     let mut attributes = ia.default_ep_attributes().clone();
//!     attributes.max_recv_dtos = 32;
//!     attributes.max_request_dtos = 32;
//!     let spec = EpSpec::new(&pz)
//!         .recv_evd(&completions)
//!         .request_evd(&completions)
//!         .connect_evd(&connections)
//!         .attributes(&attributes);
//!     let ep = ia.ep_create(&spec)?;
//!
//!     // The provider may grant more than was requested, never less.
//!     let granted = ep.query()?.attributes;
//!     assert!(granted.max_recv_dtos >= 32);
//!     assert_eq!(ep.status()?.state, EpState::Unconnected);
//!
//!     // An object in use cannot be freed; the error says so and changes nothing.
//!     assert!(pz.free().is_err());
//!     ep.free()?;
//!     pz.free()
//! }
//! ```
//!
//! Clones of a handle are the same object. An object lives until `free`, or until its last handle is dropped. A handle
//! keeps its adapter open, so that it cannot dangle.
//!
//! Pages: dat_pz_create(3DAT), dat_evd_create(3DAT), dat_ep_create(3DAT). Next: [`connections`](super::connections).
