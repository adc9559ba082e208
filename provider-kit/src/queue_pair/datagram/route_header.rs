//! The global route header before a received datagram, as RoCE v2 has it: the header of IPv6, or zeros and that of IPv4.

use std::net::IpAddr;

use super::packet::PREFIX;
use crate::packet_ends::PacketEnds;

/// Length of the header of IPv4, in bytes; it takes the last ones.
const IPV4: usize = 20;
/// Length of the header of UDP, in bytes.
const UDP: usize = 8;
/// The number of UDP among the protocols over IP.
const PROTOCOL: u8 = 17;
/// The usual number of routers that a packet may pass.
const HOPS: u8 = 64;

/// The header of a packet of `length` bytes. The programs of verbs check version, length and sum of that of IPv4.
pub(super) fn route_header(ends: &PacketEnds, length: usize) -> [u8; PREFIX] {
    let mut header = [0; PREFIX];
    let payload = UDP + length;
    match (ends.from.ip(), ends.to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let ip = &mut header[PREFIX - IPV4..];
            ip[0] = 0x45;
            ip[2..4].copy_from_slice(&word(IPV4 + payload));
            // It must not be divided.
            ip[6] = 0x40;
            (ip[8], ip[9]) = (HOPS, PROTOCOL);
            ip[12..16].copy_from_slice(&from.octets());
            ip[16..20].copy_from_slice(&to.octets());
            let sum = checksum(ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        (from, to) => {
            let octets = |address| match address {
                IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
                IpAddr::V6(v6) => v6.octets(),
            };
            header[0] = 0x60;
            header[4..6].copy_from_slice(&word(payload));
            (header[6], header[7]) = (PROTOCOL, HOPS);
            header[8..24].copy_from_slice(&octets(from));
            header[24..40].copy_from_slice(&octets(to));
        }
    }
    header
}

/// A length as two bytes; packets have at most 64 KiB.
fn word(length: usize) -> [u8; 2] {
    u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes()
}

/// The sum of a header of IPv4 whose field for it is zero (RFC 791).
fn checksum(header: &[u8]) -> u16 {
    let words =
        header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn header(from: &str, to: &str) -> [u8; PREFIX] {
        let ends =
            PacketEnds { from: from.parse().expect("valid"), to: to.parse().expect("valid") };
        route_header(&ends, 100)
    }

    #[test]
    fn the_last_bytes_are_a_valid_header_of_ipv4() {
        let header = header("192.0.2.1:9", "198.51.100.7");
        assert_eq!(header[..20], [0; 20]);
        assert_eq!(header[20..30], [0x45, 0, 0, 128, 0, 0, 0x40, 0, 64, 17]);
        assert_eq!(header[32..], [192, 0, 2, 1, 198, 51, 100, 7]);
        assert_eq!(checksum(&header[20..]), 0, "a header with its sum has the sum zero");
        // The example of RFC 1071.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }

    #[test]
    fn the_header_of_ipv6_has_both_addresses() {
        let header = header("[2001:db8::1]:9", "ff02::7");
        assert_eq!(header[..8], [0x60, 0, 0, 0, 0, 108, 17, 64]);
        assert_eq!((header[8], header[23], header[24], header[39]), (0x20, 1, 0xff, 7));
    }
}
