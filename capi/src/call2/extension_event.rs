//! Events of the InfiniBand extension.

use dat_core::{CrArrival, DatagramEvent, DtoCompletion};

use crate::abi::*;

pub(crate) fn completion(_done: &DtoCompletion, _to: &mut DAT_EVENT) {}

pub(crate) fn request(_arrival: &CrArrival, _to: &mut DAT_EVENT) {}

pub(crate) fn datagram(_event: &DatagramEvent, _to: &mut DAT_EVENT) {}
