//! What the TCP provider does about peers that are gone, silent, strangers or hostile.

mod common;
mod fork;
mod freed;
mod lost;
mod many;
mod secret;
mod starved;
mod strangers;
mod wire;
