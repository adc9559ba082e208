//! What providers whose device is software have in common.
//!
//! A queue pair of such a provider reaches its peer through a [link]: an ordered way for
//! [frames](frame) that reports its end. A provider adds the link; the rest is here.

#![deny(unsafe_code)]

pub mod frame;
pub mod link;
