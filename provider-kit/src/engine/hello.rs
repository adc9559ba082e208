//! The payloads of the frames that make a connection.

/// What the active side says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    /// The qualifier that it wants to reach.
    pub(super) qualifier: u64,
    /// Its own port.
    pub(super) port: u64,
    /// Whether its receives are shared, so that messages must be announced.
    pub(super) shared: bool,
    /// The consumer's data.
    pub(super) private_data: Vec<u8>,
}

/// Bytes before the private data.
const HEAD: usize = 17;

impl Hello {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + self.private_data.len());
        bytes.extend(self.qualifier.to_le_bytes());
        bytes.extend(self.port.to_le_bytes());
        bytes.push(self.shared.into());
        bytes.extend(&self.private_data);
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (qualifier, rest) = bytes.split_first_chunk::<8>()?;
        let (port, rest) = rest.split_first_chunk::<8>()?;
        let (&shared, private_data) = rest.split_first()?;
        Some(Self {
            qualifier: u64::from_le_bytes(*qualifier),
            port: u64::from_le_bytes(*port),
            shared: shared != 0,
            private_data: private_data.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_understood() {
        let hello =
            Hello { qualifier: u64::MAX - 1, port: 7, shared: true, private_data: vec![1, 2, 3] };
        assert_eq!(Hello::decode(&hello.encode()), Some(hello.clone()));
        assert_eq!(Hello::decode(&hello.encode()[..16]), None);
    }
}
