//! The connection manager: the calls and events of rdma_cm(7), both sides in one process.

mod address;
mod connection;
mod datagram;
mod event;
mod listener;
mod process;
mod queue_pair;
mod sides;
