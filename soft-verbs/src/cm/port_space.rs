//! Port spaces.

/// The port space of an identifier (`rdma_port_space`): what kind of communication its port numbers are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum PortSpace {
    /// Datagrams over IPoIB. Its identifiers are like those of [`Udp`](Self::Udp).
    IpOverIb = 0x0002,
    /// Reliable connections.
    Tcp = 0x0106,
    /// Datagrams, and multicast.
    Udp = 0x0111,
    /// Queue pairs of any type.
    Ib = 0x013f,
}

impl PortSpace {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::IpOverIb, Self::Tcp, Self::Udp, Self::Ib];

    /// The port space with that number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|space| *space as u32 == number)
    }

    /// Returns true if its identifiers look up services of datagrams rather than connect.
    #[must_use]
    pub const fn is_datagram(self) -> bool {
        matches!(self, Self::IpOverIb | Self::Udp)
    }

    /// The longest private data of each message, in bytes (rdma_connect(3), rdma_accept(3)). InfiniBand sets these
    /// limits, less the header in which rdma_cm sends addresses.
    pub(super) const fn private_data(self) -> PrivateDataLimits {
        if self.is_datagram() {
            PrivateDataLimits { connect: 180, accept: 136, reject: 136 }
        } else {
            PrivateDataLimits { connect: 56, accept: 196, reject: 148 }
        }
    }
}

/// The longest private data of each message, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrivateDataLimits {
    pub(super) connect: usize,
    pub(super) accept: usize,
    pub(super) reject: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_header() {
        assert_eq!(PortSpace::from_number(0x106), Some(PortSpace::Tcp));
        assert_eq!(PortSpace::from_number(0x111), Some(PortSpace::Udp));
        assert_eq!(PortSpace::from_number(0x13f), Some(PortSpace::Ib));
        assert_eq!(PortSpace::from_number(1), None);
    }
}
