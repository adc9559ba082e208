//! Opening an adapter.
//!
//! A [`Registry`](crate::Registry) knows names and the providers that serve them. A provider is the code for one
//! transport; it serves one or more adapters, each with a name. `loopback` has one adapter of the same name.
//!
//! [`Registry::from_environment`](crate::Registry::from_environment) also reads `dat.conf`, if there is one, in which
//! an administrator can give names of their own to adapters. [`Registry::new`](crate::Registry::new) reads no file.
//!
//! A name may carry parameters of the provider after a question mark: `loopback?fault.connect=refuse` opens the same
//! adapter, on which every connection is refused.
//!
//! [`Registry::open`](crate::Registry::open) returns an [`Ia`](crate::Ia), from which
//! all other objects are created. Its attributes are the limits of the device: how long a message may be, how many
//! segments an operation may have, how many objects of each kind there may be. Check those that your program depends
//! on at the start, because they differ between transports.
//!
//! ```
//! use dat_core::error::ReturnType;
//! use dat_core::{Close, Registry};
//!
//! fn main() -> dat_core::Result<()> {
//!     let registry = Registry::new();
//!     registry.add_provider(dat_provider_loopback::provider())?;
//!     for entry in registry.list() {
//!         println!("{}", entry.name);
//!     }
//!
//!     // An unknown name is an error that says which one was probably meant.
//!     let error = registry.open("lopback").unwrap_err();
//!     assert!(error.is(ReturnType::ProviderNotFound));
//!     assert_eq!(error.advice(), "did you mean \"loopback\"?");
//!
//!     let ia = registry.open("loopback")?;
//!     let attributes = ia.attributes();
//!     println!("{} at {}", attributes.adapter_name, attributes.address);
//!     assert!(attributes.max_message_size >= 4096, "this program sends 4 KiB");
//!     assert!(ia.provider_attributes().max_private_data_size >= 16);
//!
//!     ia.close(Close::Graceful)
//! }
//! ```
//!
//! Pages: dat_ia_open(3DAT), dat_ia_query(3DAT). Next: [`endpoints`](super::endpoints).
