//! The engine: queue pairs whose peers are reached through links.

mod transport;

pub use transport::{Acceptor, ConnectFailure, Connected, Transport};
