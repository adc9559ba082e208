//! What a request for datagrams begins with.
//!
//! The connection manager tells the asking side where to send to, and the answering side nothing:
//! so the latter asks back, at a port that the request names. A request that is such a question
//! gets its answer without a consumer.

/// How it begins, with its version.
const MARK: [u8; 5] = *b"DATG\x01";

/// How many bytes it has.
const LENGTH: usize = 8;

/// Who asks whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Introduction {
    /// A consumer; at this port its endpoint can be asked back.
    First { port: u16 },
    /// An endpoint asks back.
    Back,
}

impl Introduction {
    /// A request with data.
    pub(crate) fn compose(self, private_data: &[u8]) -> Vec<u8> {
        let (kind, port) = match self {
            Self::First { port } => (1, port),
            Self::Back => (2, 0),
        };
        [&MARK[..], &[kind], &port.to_be_bytes(), private_data].concat()
    }

    /// What a request is, and its data; nothing where another kind of program asks.
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
    fn it_comes_back_as_it_went() {
        for introduction in [Introduction::First { port: 65_535 }, Introduction::Back] {
            let composed = introduction.compose(b"data");
            assert_eq!(composed.len(), LENGTH + 4);
            assert_eq!(Introduction::read(&composed), Some((introduction, &b"data"[..])));
        }
    }

    #[test]
    fn what_others_ask_is_none() {
        let first = Introduction::First { port: 1 }.compose(b"");
        for length in 0..LENGTH {
            assert_eq!(Introduction::read(&first[..length]), None);
        }
        assert_eq!(Introduction::read(&[0; 99]), None);
        let mut other = first.clone();
        other[4] = 2;
        assert_eq!(Introduction::read(&other), None, "another version");
        assert_eq!(Introduction::read(&Introduction::First { port: 0 }.compose(b"")), None);
    }
}
