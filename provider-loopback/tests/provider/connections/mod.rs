//! Connections of queue pairs.

mod connect;
mod disconnect;
mod listeners;
mod modify;
