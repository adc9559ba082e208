//! Counts of the system for a socket (tcp(7), `TCP_INFO`).
#![allow(unsafe_code, reason = "getsockopt writes to memory by address")]

use std::os::fd::{AsFd, AsRawFd};

/// Number of words that are read; later ones have counts that are not needed.
const WORDS: usize = 26;
/// The words of `struct tcp_info` of linux/tcp.h: `tcpi_bytes_acked`, `tcpi_bytes_received`, and the one whose first half is
/// `tcpi_notsent_bytes`.
const ACKNOWLEDGED: usize = 15;
const RECEIVED: usize = 16;
const NOT_SENT: usize = 18;

/// The counts of one socket, as far as the system has them.
#[derive(Debug)]
pub(crate) struct TcpInfo {
    words: [u64; WORDS],
    /// Number of words that the system has written.
    count: usize,
}

impl TcpInfo {
    /// The counts of a socket; none if it is not a TCP socket.
    pub(crate) fn of(socket: impl AsFd) -> Self {
        let mut words = [0; WORDS];
        let mut length = size_of_val(&words) as libc::socklen_t;
        // SAFETY: the system writes at most the given length to the words.
        let result = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                words.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        let count = if result == 0 { length as usize / size_of::<u64>() } else { 0 };
        Self { words, count }
    }

    fn word(&self, index: usize) -> Option<u64> {
        self.words.get(index).copied().filter(|_| index < self.count)
    }

    /// Number of bytes that the system of the peer has acknowledged.
    pub(crate) fn acknowledged(&self) -> Option<u64> {
        self.word(ACKNOWLEDGED)
    }

    /// Number of bytes that have arrived, read or not.
    pub(crate) fn received(&self) -> Option<u64> {
        self.word(RECEIVED)
    }

    /// Returns true if bytes wait on this machine, because the socket of the peer is full or the network is busy.
    pub(crate) fn is_backed_up(&self) -> bool {
        self.word(NOT_SENT).is_some_and(|word| word.to_ne_bytes()[..4] != [0; 4])
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn bytes_are_counted_and_those_that_cannot_be_sent_are_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut near =
            TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let (mut far, _) = listener.accept().expect("it is connected");
        near.write_all(&[1; 1000]).expect("there is space");
        far.read_exact(&mut [0; 1000]).expect("they arrive");
        assert_eq!(TcpInfo::of(&far).received(), Some(1000));
        assert!(!TcpInfo::of(&near).is_backed_up());
        near.set_nonblocking(true).expect("a socket");
        while near.write(&[1; 1 << 16]).is_ok() {}
        assert!(TcpInfo::of(&near).is_backed_up());
        assert!(TcpInfo::of(&near).acknowledged() >= Some(1000));
    }

    #[test]
    fn other_sockets_have_no_counts() {
        let (one, _other) = std::os::unix::net::UnixStream::pair().expect("sockets");
        let info = TcpInfo::of(&one);
        assert_eq!((info.acknowledged(), info.received()), (None, None));
        assert!(!info.is_backed_up());
    }
}
