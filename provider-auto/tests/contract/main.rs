//! What the provider contract has and DAT has no call for, on the adapters in software.

mod datagrams;
mod flow_control;
mod immediate;
mod losses;
mod unreliable;
mod world;
