//! Addresses of adapters.

use std::fmt;
use std::net::{AddrParseError, IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::error::{Error, ReturnType, Subtype};

/// The address of an adapter, by which peers reach it (`DAT_IA_ADDRESS_PTR`): an IP address, or
/// one of a fabric that has addresses of its own.
///
/// C programs see it as a `sockaddr`. Its text form is that of the IP address, or
/// `FAMILY:HEXDIGITS` for an address of a fabric, and can be parsed again.
///
/// ```
/// use dat_provider::{Address, FabricAddress};
///
/// let ip: Address = "192.0.2.1".parse()?;
/// assert!(ip.ip().is_some());
/// let fabric = FabricAddress::new(65, &[0x0a, 0x0b]).expect("a family that is not IP");
/// assert_eq!(Address::Fabric(fabric), "65:0a0b".parse::<Address>()?);
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    /// An IP address.
    Ip(IpAddr),
    /// An address whose bytes only the provider understands.
    Fabric(FabricAddress),
}

/// An address that only its provider understands: the number of an address family, which is
/// neither `AF_INET` nor `AF_INET6`, and up to [`FabricAddress::MAX_LENGTH`] bytes.
///
/// All addresses of one provider and family have the same length, because a C program passes only a
/// pointer: the C libraries read as many bytes as the adapter's own address of that family has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FabricAddress {
    family: u16,
    length: u8,
    /// Zero beyond the length.
    bytes: [u8; Self::MAX_LENGTH],
}

impl FabricAddress {
    /// Maximum length, in bytes, without the two bytes of the family: a C program that copies the
    /// address needs a buffer of 64 bytes.
    pub const MAX_LENGTH: usize = 62;

    /// An address of a family. `None` if the family is one of IP (2 or 10) or unspecified (0), or
    /// if there are no bytes or more than [`Self::MAX_LENGTH`].
    #[must_use]
    pub fn new(family: u16, address: &[u8]) -> Option<Self> {
        if matches!(family, 0 | 2 | 10) || address.is_empty() {
            return None;
        }
        let mut bytes = [0; Self::MAX_LENGTH];
        bytes.get_mut(..address.len())?.copy_from_slice(address);
        Some(Self { family, length: address.len() as u8, bytes })
    }

    /// The number of the address family, as in `sa_family`.
    #[must_use]
    pub const fn family(&self) -> u16 {
        self.family
    }

    /// The bytes that follow the family in a `sockaddr`.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl Address {
    /// The unspecified address of IPv4.
    pub const UNSPECIFIED: Self = Self::Ip(IpAddr::V4(Ipv4Addr::UNSPECIFIED));

    /// The IP address, if it is one.
    #[must_use]
    pub const fn ip(&self) -> Option<IpAddr> {
        match self {
            Self::Ip(ip) => Some(*ip),
            Self::Fabric(_) => None,
        }
    }

    /// Returns true if it is an unspecified IP address (`0.0.0.0` or `::`).
    #[must_use]
    pub fn is_unspecified(&self) -> bool {
        self.ip().is_some_and(|ip| ip.is_unspecified())
    }

    /// Returns true if the addresses are of different families.
    #[must_use]
    pub fn differs_in_family(&self, other: &Self) -> bool {
        let family = |address: &Self| match address {
            Self::Ip(IpAddr::V4(_)) => 2,
            Self::Ip(IpAddr::V6(_)) => 10,
            Self::Fabric(address) => address.family(),
        };
        family(self) != family(other)
    }

    /// The error for a listener at this address, of an adapter that does not have it.
    #[must_use]
    pub fn not_of_adapter(self, reported: Self) -> Error {
        Error::new(ReturnType::InvalidAddress, Subtype::InvalidAddressUnreachable)
            .because(format!("{self} is not an address of the adapter, which reports {reported}"))
            .advise("listen at an address of the adapter or at the unspecified address")
    }
}

impl From<IpAddr> for Address {
    /// An IPv4 address that is mapped to IPv6 (`::ffff:192.0.2.1`) is the IPv4 address.
    fn from(ip: IpAddr) -> Self {
        Self::Ip(ip.to_canonical())
    }
}

impl From<Ipv4Addr> for Address {
    fn from(ip: Ipv4Addr) -> Self {
        Self::Ip(ip.into())
    }
}

impl From<Ipv6Addr> for Address {
    /// As from an [`IpAddr`].
    fn from(ip: Ipv6Addr) -> Self {
        IpAddr::V6(ip).into()
    }
}

impl From<FabricAddress> for Address {
    fn from(address: FabricAddress) -> Self {
        Self::Fabric(address)
    }
}

impl PartialEq<IpAddr> for Address {
    fn eq(&self, other: &IpAddr) -> bool {
        self.ip() == Some(*other)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(ip) => ip.fmt(f),
            Self::Fabric(address) => address.fmt(f),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for FabricAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.family)?;
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for FabricAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Address {
    type Err = AddrParseError;

    fn from_str(text: &str) -> Result<Self, AddrParseError> {
        text.parse::<IpAddr>()
            .map(Self::from)
            .or_else(|error| fabric(text).map(Self::Fabric).ok_or(error))
    }
}

/// Parses `FAMILY:HEXDIGITS`.
fn fabric(text: &str) -> Option<FabricAddress> {
    let (family, digits) = text.split_once(':')?;
    if digits.len() % 2 != 0 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
    FabricAddress::new(family.parse().ok()?, &bytes?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_can_be_parsed_again() {
        for text in ["192.0.2.1", "::1", "2001:db8::5", "65:00", "27:fe80000000000000"] {
            assert_eq!(text.parse::<Address>().expect(text).to_string(), text);
        }
        for wrong in ["", "65:", "65:0", "65:0g", "2:c0000201", "10:00", "70000:00", "65:+1"] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_fabric_address_has_a_family_of_its_own_and_one_to_sixty_two_bytes() {
        assert_eq!(FabricAddress::new(2, &[1]), None);
        assert_eq!(FabricAddress::new(10, &[1]), None);
        assert_eq!(FabricAddress::new(0, &[1]), None);
        assert_eq!(FabricAddress::new(65, &[]), None);
        assert_eq!(FabricAddress::new(65, &[0; 63]), None);
        let address = FabricAddress::new(65, &[7; 62]).expect("the longest");
        assert_eq!((address.family(), address.bytes()), (65, &[7; 62][..]));
    }

    #[test]
    fn a_mapped_address_is_the_ipv4_address() {
        let mapped: Ipv6Addr = "::ffff:192.0.2.1".parse().expect("an address");
        let plain = Address::from(Ipv4Addr::new(192, 0, 2, 1));
        assert_eq!((Address::from(mapped), Address::from(IpAddr::V6(mapped))), (plain, plain));
        assert_eq!("::ffff:192.0.2.1".parse(), Ok(plain));
    }

    #[test]
    fn addresses_of_different_length_differ() {
        assert_ne!(FabricAddress::new(65, &[0]), FabricAddress::new(65, &[0, 0]));
        let ip: Address = IpAddr::from([127, 0, 0, 1]).into();
        assert_eq!(ip, IpAddr::from([127, 0, 0, 1]));
        assert_ne!(ip, Address::UNSPECIFIED);
    }
}
