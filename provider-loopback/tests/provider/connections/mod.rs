//! Connections of queue pairs.

use std::sync::Arc;

use crate::common::{Event, Refuse, World, bounded, fresh_address, in_world};
use dat_core::DtoStatus::*;
use dat_core::Operation::*;
use dat_core::ReturnType;
use dat_core::flags::Close;

mod connect;
mod disconnect;
mod listeners;
mod modify;
