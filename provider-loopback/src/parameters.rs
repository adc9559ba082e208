//! The parameters that an adapter is opened with.

use std::net::{IpAddr, Ipv4Addr};

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_sync::region_table::RegionTable;

/// The limits of an adapter, all of which can be set, and its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) address: IpAddr,
    pub(crate) max_eps: u32,
    pub(crate) max_evds: u32,
    pub(crate) max_evd_qlen: u32,
    pub(crate) max_message_size: u32,
    pub(crate) max_rdma_size: u32,
    pub(crate) max_dto_per_ep: u32,
    pub(crate) max_iov: u32,
    pub(crate) max_rdma_read_in: u32,
    pub(crate) max_rdma_read_out: u32,
    pub(crate) max_private_data_size: u32,
    pub(crate) max_lmrs: u32,
    pub(crate) max_rmrs: u32,
    pub(crate) max_pzs: u32,
    pub(crate) max_srqs: u32,
    pub(crate) max_recv_per_srq: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            max_eps: 65_536,
            max_evds: 65_536,
            max_evd_qlen: 1 << 20,
            max_message_size: 1 << 30,
            max_rdma_size: 1 << 30,
            max_dto_per_ep: 8_192,
            max_iov: 32,
            max_rdma_read_in: 16,
            max_rdma_read_out: 16,
            max_private_data_size: 256,
            max_lmrs: 1 << 20,
            max_rmrs: 1 << 20,
            max_pzs: 65_536,
            max_srqs: 4_096,
            max_recv_per_srq: 65_536,
        }
    }
}

/// A limit: its key, the values that it can have, and where it is kept.
struct Limit {
    key: &'static str,
    least: u32,
    most: u32,
    place: fn(&mut Parameters) -> &mut u32,
}

/// The longest transfer that fits the 31 bits of a length on any transport.
const LONGEST: u32 = i32::MAX as u32;
const OBJECTS: u32 = 1 << 20;

const LIMITS: [Limit; 15] = [
    limit("max_eps", 1, OBJECTS, |p| &mut p.max_eps),
    limit("max_evds", 1, OBJECTS, |p| &mut p.max_evds),
    limit("max_evd_qlen", 1, 1 << 24, |p| &mut p.max_evd_qlen),
    limit("max_message_size", 1, LONGEST, |p| &mut p.max_message_size),
    limit("max_rdma_size", 1, LONGEST, |p| &mut p.max_rdma_size),
    limit("max_dto_per_ep", 1, 1 << 16, |p| &mut p.max_dto_per_ep),
    limit("max_iov", 1, 256, |p| &mut p.max_iov),
    limit("max_rdma_read_in", 0, 1 << 16, |p| &mut p.max_rdma_read_in),
    limit("max_rdma_read_out", 0, 1 << 16, |p| &mut p.max_rdma_read_out),
    limit("max_private_data_size", 0, 1 << 16, |p| &mut p.max_private_data_size),
    limit("max_lmrs", 1, RegionTable::CAPACITY, |p| &mut p.max_lmrs),
    limit("max_rmrs", 0, RegionTable::CAPACITY, |p| &mut p.max_rmrs),
    limit("max_pzs", 1, OBJECTS, |p| &mut p.max_pzs),
    limit("max_srqs", 0, OBJECTS, |p| &mut p.max_srqs),
    limit("max_recv_per_srq", 1, 1 << 20, |p| &mut p.max_recv_per_srq),
];

const fn limit(
    key: &'static str,
    least: u32,
    most: u32,
    place: fn(&mut Parameters) -> &mut u32,
) -> Limit {
    Limit { key, least, most, place }
}

impl Parameters {
    /// Reads `key=value` pairs, separated by blanks or commas; a later one wins.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut parameters = Self::default();
        let pairs = text.split(|c: char| c.is_whitespace() || c == ',');
        for pair in pairs.filter(|pair| !pair.is_empty()) {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(invalid(format!("the IA parameter {pair:?} has no value"))
                    .advise("write parameters as key=value, separated by blanks or commas"));
            };
            parameters.set(key, value)?;
        }
        Ok(parameters)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        if key == "address" {
            self.address = address(value)?;
            return Ok(());
        }
        let Some(limit) = LIMITS.iter().find(|limit| limit.key == key) else {
            return Err(unknown(key, value));
        };
        match value.parse() {
            Ok(number) if (limit.least..=limit.most).contains(&number) => {
                *(limit.place)(self) = number;
                Ok(())
            }
            _ => Err(invalid(format!("invalid value {value:?} for the IA parameter {key}"))
                .advise(format!("use a whole number from {} to {}", limit.least, limit.most))),
        }
    }
}

fn address(value: &str) -> Result<IpAddr> {
    match value.parse::<Ipv4Addr>() {
        Ok(address) if address.is_loopback() => Ok(IpAddr::V4(address)),
        _ => Err(invalid(format!("invalid value {value:?} for the IA parameter address"))
            .advise("use an address from 127.0.0.0 to 127.255.255.255")),
    }
}

fn unknown(key: &str, value: &str) -> Error {
    let keys = || LIMITS.iter().map(|limit| limit.key).chain(["address"]);
    let (near, steps) = keys()
        .map(|known| (known, distance(key, known)))
        .min_by_key(|&(_, steps)| steps)
        .unwrap_or_default();
    let advice = if steps <= 3 {
        format!("did you mean {near}={value}?")
    } else {
        format!("the parameters are {}", keys().collect::<Vec<_>>().join(", "))
    };
    invalid(format!("unknown IA parameter {key:?} (with the value {value:?})")).advise(advice)
}

fn invalid(reason: String) -> Error {
    Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1).because(reason)
}

/// How many letters must be added, removed or changed to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, have) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, want) in to.iter().enumerate() {
            let change = diagonal + usize::from(have != *want);
            diagonal = row[column + 1];
            row[column + 1] = change.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_address_are_set_and_the_rest_stays() {
        let text = " max_eps=7,max_iov=2\tmax_srqs=0 , address=127.3.2.1 max_eps=8";
        let parsed = Parameters::parse(text).expect("valid");
        let expected = Parameters {
            max_eps: 8,
            max_iov: 2,
            max_srqs: 0,
            address: IpAddr::V4(Ipv4Addr::new(127, 3, 2, 1)),
            ..Parameters::default()
        };
        assert_eq!(parsed, expected);
        assert_eq!(Parameters::parse(""), Ok(Parameters::default()));
    }

    #[test]
    fn every_limit_can_be_set_to_both_its_ends_and_not_beyond() {
        for Limit { key, least, most, place } in LIMITS {
            for value in [least, most] {
                let mut parsed = Parameters::parse(&format!("{key}={value}")).expect(key);
                assert_eq!(*place(&mut parsed), value, "{key}");
            }
            assert!(Parameters::parse(&format!("{key}={}", u64::from(most) + 1)).is_err());
        }
    }

    #[test]
    fn letters_are_counted() {
        assert_eq!(distance("max_ep", "max_eps"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
