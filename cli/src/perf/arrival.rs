//! An RDMA write that its target finds in memory, without a call.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

use dat_core::Memory;

use crate::error::CliError;

/// The number of times that memory is read between two readings of the clock.
const LOOKS: u32 = 1024;

/// After this time without an arrival, the caller may make calls.
const QUIET: Duration = Duration::from_millis(1);

/// The last byte of the message of a turn. It differs from the one of the next turn, and is never zero.
pub(super) const fn mark(turn: u64) -> u8 {
    (turn % 255) as u8 + 1
}

/// Stores the last byte of a message of `size` bytes, at the beginning of the memory.
pub(super) fn store(memory: &Memory, size: u64, last: u8) -> Result<(), CliError> {
    Ok(memory.write(size as usize - 1, &[last])?)
}

/// A check for [`await_mark`] that fails once the time has passed.
pub(super) fn time_limit(timeout: Duration) -> impl Fn() -> Result<(), CliError> {
    let start = Instant::now();
    move || match start.elapsed() > timeout {
        true => Err(CliError::timed_out("write into memory", timeout)),
        false => Ok(()),
    }
}

/// Spins until a message of `size` bytes, at the beginning of the memory, has this last byte: it arrives after all
/// others. `is_over` is called for each millisecond in which nothing arrives. Returns false if it returned true.
pub(super) fn await_mark(
    memory: &Memory,
    (size, last): (u64, u8),
    mut is_over: impl FnMut() -> Result<bool, CliError>,
) -> Result<bool, CliError> {
    let mut found = [0];
    let mut quiet_since = None;
    loop {
        for _ in 0..LOOKS {
            memory.read(size as usize - 1, &mut found)?;
            if found == [last] {
                return Ok(true);
            }
            spin_loop();
        }
        if quiet_since.get_or_insert_with(Instant::now).elapsed() >= QUIET {
            if is_over()? {
                return Ok(false);
            }
            // The peer may need this processor.
            std::thread::yield_now();
            quiet_since = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_byte_of_the_turn_is_an_arrival() {
        let memory = Memory::zeroed(8).expect("memory");
        store(&memory, 8, mark(1)).expect("8 bytes");
        let over = || Ok(true);
        assert!(await_mark(&memory, (8, mark(1)), over).expect("8 bytes"));
        assert!(!await_mark(&memory, (8, mark(2)), over).expect("8 bytes"));
        assert!(!await_mark(&memory, (7, mark(1)), over).expect("8 bytes"));
        assert!((0..1000).all(|turn| mark(turn) != mark(turn + 1) && mark(turn) != 0));
    }
}
