//! The shared receive queue: what DAT 2.0 has of its own.

/// State of a shared receive queue.
pub type DAT_SRQ_STATE = u32;
pub const DAT_SRQ_STATE_ERROR: DAT_SRQ_STATE = 0;
pub const DAT_SRQ_STATE_OPERATIONAL: DAT_SRQ_STATE = 1;
pub const DAT_SRQ_STATE_SHUTDOWN: DAT_SRQ_STATE = 2;
