//! Tests of the decorators over loopback, through the DAT API.

mod dat;
mod decorators;
mod faults;

use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, unbounded};

/// Runs a test, and fails if it takes longer than a minute.
fn bounded(test: impl FnOnce() + Send + 'static) {
    let (done, wait) = unbounded();
    let thread = std::thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    match wait.recv_timeout(Duration::from_secs(60)) {
        Err(RecvTimeoutError::Timeout) => panic!("the test does not end"),
        _ => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    }
}
