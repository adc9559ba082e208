//! When a peer is lost. A peer whose process does not run is slow: its kernel answers. It is lost if its kernel was
//! asked and has given no sign of life for a time.
#![allow(unsafe_code, reason = "getsockopt and setsockopt of options that no crate has")]

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dat_sync::Mutex;
use socket2::Socket;

/// The longest time between two checks.
const LONGEST_INTERVAL: Duration = Duration::from_secs(3);
/// How long an answer may take.
const SHORTEST_GRACE: Duration = Duration::from_secs(1);

/// The known state of a socket's peer.
#[derive(Debug)]
pub(crate) struct Patience {
    /// After this time without a sign of life the peer is lost.
    timeout: Duration,
    /// Since when the last question is known to have no answer.
    unanswered: Mutex<Option<Instant>>,
    is_over: AtomicBool,
}

impl Patience {
    pub(crate) const fn new(timeout: Duration) -> Self {
        let unanswered = Mutex::new(None);
        Self { timeout, unanswered, is_over: AtomicBool::new(false) }
    }

    /// The time between two checks.
    pub(crate) fn interval(&self) -> Duration {
        (self.timeout / 5).min(LONGEST_INTERVAL)
    }

    /// Returns true if the peer is lost.
    pub(crate) fn is_over(&self) -> bool {
        // Pairs with `ends`.
        self.is_over.load(Ordering::Acquire)
    }

    /// Checks the peer. Returns true once: when it is lost.
    pub(crate) fn ends(&self, socket: &Socket) -> bool {
        let Some(info) = info(socket) else { return false };
        // TCP has sent a probe, or data, since the last sign of life. While the peer takes no data, TCP asks
        // only now and then, so that silence alone means nothing.
        let is_asked = info.tcpi_probes > 0
            || info.tcpi_unacked > 0 && info.tcpi_last_data_sent < info.tcpi_last_ack_recv;
        let mut unanswered = self.unanswered.lock();
        if !is_asked {
            *unanswered = None;
            return false;
        }
        let since = *unanswered.get_or_insert_with(Instant::now);
        let silence = Duration::from_millis(info.tcpi_last_ack_recv.into());
        let grace = (self.timeout / 3).max(SHORTEST_GRACE);
        silence >= self.timeout
            && since.elapsed() >= grace
            && !self.is_over.swap(true, Ordering::AcqRel)
    }
}

fn info(socket: &Socket) -> Option<libc::tcp_info> {
    // SAFETY: all zeros is a valid tcp_info.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&info) as libc::socklen_t;
    let (fd, into) = (socket.as_raw_fd(), (&raw mut info).cast());
    // SAFETY: the kernel writes at most `length` bytes into `info`.
    let got =
        unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, into, &raw mut length) };
    (got == 0).then_some(info)
}

/// Makes TCP ask at least three times within `timeout`, also a peer that has taken no data for long. Linux before
/// 6.15 cannot, and doubles the pauses up to two minutes.
pub(crate) fn limit_pauses(socket: &Socket, timeout: Duration) {
    /// `TCP_RTO_MAX_MS`, in milliseconds from 1000 to 120000.
    const LONGEST_PAUSE: libc::c_int = 44;
    let pause = (timeout / 3).as_millis().clamp(1000, 120_000) as libc::c_int;
    let length = size_of_val(&pause) as libc::socklen_t;
    let (fd, from) = (socket.as_raw_fd(), (&raw const pause).cast());
    // SAFETY: the kernel reads `length` bytes of `pause`.
    let _ = unsafe { libc::setsockopt(fd, libc::IPPROTO_TCP, LONGEST_PAUSE, from, length) };
}
