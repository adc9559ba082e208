//! What the provider contract has and DAT has no call for, on the adapters in software.

mod datagrams;
mod immediate;
mod losses;
mod unreliable;
mod world;
