//! The header of a datagram request.
//!
//! The connection manager tells the requesting side the address to send to, but not the answering
//! side. So the latter requests an address too, at a port that the first request names. This second
//! request is answered without a consumer.

/// Its first bytes, including its version.
const MARK: [u8; 5] = *b"DATG\x01";

/// Length of the header in bytes.
const LENGTH: usize = 8;

/// Which side sent the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UdRequest {
    /// A consumer; the answering side can request the address of its endpoint at this port.
    First { port: u16 },
    /// The answering side.
    Back,
}

impl UdRequest {
    /// Builds a request with private data.
    pub(crate) fn compose(self, private_data: &[u8]) -> Vec<u8> {
        let (kind, port) = match self {
            Self::First { port } => (1, port),
            Self::Back => (2, 0),
        };
        [&MARK[..], &[kind], &port.to_be_bytes(), private_data].concat()
    }

    /// Parses a request and its private data; `None` if another kind of program sent it.
    pub(crate) fn read(data: &[u8]) -> Option<(Self, &[u8])> {
        let (head, rest) = data.split_at_checked(LENGTH)?;
        let (mark, head) = head.split_at(MARK.len());
        let &[kind, high, low] = head else { return None };
        let port = u16::from_be_bytes([high, low]);
        match kind {
            1 if mark == MARK && port != 0 => Some((Self::First { port }, rest)),
            2 if mark == MARK => Some((Self::Back, rest)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_reverses_composing() {
        for request in [UdRequest::First { port: 65_535 }, UdRequest::Back] {
            let composed = request.compose(b"data");
            assert_eq!(composed.len(), LENGTH + 4);
            assert_eq!(UdRequest::read(&composed), Some((request, &b"data"[..])));
        }
    }

    #[test]
    fn other_requests_are_not_read() {
        let first = UdRequest::First { port: 1 }.compose(b"");
        for length in 0..LENGTH {
            assert_eq!(UdRequest::read(&first[..length]), None);
        }
        assert_eq!(UdRequest::read(&[0; 99]), None);
        let mut other = first.clone();
        other[4] = 2;
        assert_eq!(UdRequest::read(&other), None, "another version");
        assert_eq!(UdRequest::read(&UdRequest::First { port: 0 }.compose(b"")), None);
    }
}
