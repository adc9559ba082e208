//! The DAT provider over TCP: any two processes or machines with IP between them, without root, a
//! kernel module or a library.
//!
//! Each network interface that is up and has an address is an adapter: `tcp-lo`, `tcp-eth0`. It listens at
//! all addresses of the interface. The
//! queue pairs are those of [`dat_provider_kit`]; this crate adds the sockets: [`Transport`] connects
//! and listens, and `Socket` is the stream of bytes under a link.
//!
//! [`Transport`]: dat_provider_kit::engine::Transport

#![deny(unsafe_code)]

mod connect;
mod discovery;
mod listener;
mod parameters;
mod patience;
mod place;
mod provider;
mod socket;
mod tcp_info;
mod transport;

pub use provider::{TcpProvider, provider};
pub use transport::Sockets;
