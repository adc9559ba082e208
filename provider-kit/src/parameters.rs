//! The limits of a software adapter, and the parameters (`key=value`) that set them.

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_sync::region_table::RegionTable;

use crate::fault::Faults;

/// The parameters that every adapter has: its limits, which attributes report, and the effect of lost memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of endpoints.
    pub max_eps: u32,
    /// Maximum number of event dispatchers.
    pub max_evds: u32,
    /// Maximum number of events in a dispatcher.
    pub max_evd_qlen: u32,
    /// Maximum length of a message, in bytes.
    pub max_message_size: u32,
    /// Maximum length of an RDMA operation, in bytes.
    pub max_rdma_size: u32,
    /// Maximum number of outstanding operations per work queue of an endpoint.
    pub max_dto_per_ep: u32,
    /// Maximum number of segments per operation.
    pub max_iov: u32,
    /// Maximum number of inbound RDMA reads per endpoint that are in flight.
    pub max_rdma_read_in: u32,
    /// Maximum number of outbound RDMA reads per endpoint that are in flight.
    pub max_rdma_read_out: u32,
    /// Maximum length of private data, in bytes.
    pub max_private_data_size: u32,
    /// Maximum number of local memory regions.
    pub max_lmrs: u32,
    /// Maximum number of remote memory regions.
    pub max_rmrs: u32,
    /// Maximum number of protection zones.
    pub max_pzs: u32,
    /// Maximum number of shared receive queues.
    pub max_srqs: u32,
    /// Maximum number of buffers per shared receive queue.
    pub max_recv_per_srq: u32,
    /// The effect of lost memory.
    pub faults: Faults,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_eps: 65_536,
            max_evds: 65_536,
            max_evd_qlen: 1 << 20,
            max_message_size: 1 << 30,
            max_rdma_size: 1 << 30,
            max_dto_per_ep: 65_536,
            max_iov: 32,
            max_rdma_read_in: 16,
            max_rdma_read_out: 16,
            max_private_data_size: 256,
            max_lmrs: 1 << 20,
            max_rmrs: 1 << 20,
            max_pzs: 65_536,
            max_srqs: 4_096,
            max_recv_per_srq: 65_536,
            faults: Faults::Status,
        }
    }
}

/// A parameter of one provider that is not a limit.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<P> {
    /// Its key.
    pub key: &'static str,
    /// Parses and stores a value; errors come from [`invalid`].
    pub set: fn(&mut P, &str) -> Result<()>,
}

/// A parameter that sets a limit: its key, its range and its field.
struct Limit {
    key: &'static str,
    min: u32,
    max: u32,
    field: fn(&mut Limits) -> &mut u32,
}

/// Maximum length of a transfer on any transport, in bytes.
const MAX_LENGTH: u32 = i32::MAX as u32;
/// Maximum number of objects of a kind.
const MAX_OBJECTS: u32 = 1 << 20;

const LIMITS: [Limit; 15] = [
    limit("max_eps", 1, MAX_OBJECTS, |p| &mut p.max_eps),
    limit("max_evds", 1, MAX_OBJECTS, |p| &mut p.max_evds),
    limit("max_evd_qlen", 1, 1 << 24, |p| &mut p.max_evd_qlen),
    limit("max_message_size", 1, MAX_LENGTH, |p| &mut p.max_message_size),
    limit("max_rdma_size", 1, MAX_LENGTH, |p| &mut p.max_rdma_size),
    limit("max_dto_per_ep", 1, 1 << 16, |p| &mut p.max_dto_per_ep),
    limit("max_iov", 1, 256, |p| &mut p.max_iov),
    limit("max_rdma_read_in", 0, 1 << 16, |p| &mut p.max_rdma_read_in),
    limit("max_rdma_read_out", 0, 1 << 16, |p| &mut p.max_rdma_read_out),
    limit("max_private_data_size", 0, 1 << 16, |p| &mut p.max_private_data_size),
    limit("max_lmrs", 1, RegionTable::CAPACITY, |p| &mut p.max_lmrs),
    limit("max_rmrs", 0, RegionTable::CAPACITY, |p| &mut p.max_rmrs),
    limit("max_pzs", 1, MAX_OBJECTS, |p| &mut p.max_pzs),
    limit("max_srqs", 0, MAX_OBJECTS, |p| &mut p.max_srqs),
    limit("max_recv_per_srq", 1, 1 << 20, |p| &mut p.max_recv_per_srq),
];

const fn limit(key: &'static str, min: u32, max: u32, field: fn(&mut Limits) -> &mut u32) -> Limit {
    Limit { key, min, max, field }
}

/// Parses `key=value` pairs, separated by blanks or commas, into the parameters of a provider: its
/// limits, and `others`. Later pairs override earlier ones.
///
/// # Errors
/// `DAT_INVALID_PARAMETER` for the first invalid pair, key or value.
pub fn parse<P>(
    text: &str,
    into: &mut P,
    limits: fn(&mut P) -> &mut Limits,
    others: &[Parameter<P>],
) -> Result<()> {
    let pairs = text.split(|c: char| c.is_whitespace() || c == ',');
    for pair in pairs.filter(|pair| !pair.is_empty()) {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(invalid(format!("the IA parameter {pair:?} has no value"))
                .advise("write parameters as key=value, separated by blanks or commas"));
        };
        if let Some(other) = others.iter().find(|other| other.key == key) {
            (other.set)(into, value)?;
        } else if let Some(limit) = LIMITS.iter().find(|limit| limit.key == key) {
            limit.set(limits(into), value)?;
        } else if key == Faults::PARAMETER {
            limits(into).faults = Faults::parse(value)?;
        } else {
            let keys = LIMITS.iter().map(|limit| limit.key);
            let keys = keys.chain([Faults::PARAMETER]).chain(others.iter().map(|other| other.key));
            let keys = keys.collect::<Vec<_>>();
            return Err(unknown(key, value, &keys));
        }
    }
    Ok(())
}

impl Limit {
    fn set(&self, limits: &mut Limits, value: &str) -> Result<()> {
        match value.parse() {
            Ok(number) if (self.min..=self.max).contains(&number) => {
                *(self.field)(limits) = number;
                Ok(())
            }
            _ => Err(invalid(format!("invalid value {value:?} for the IA parameter {}", self.key))
                .advise(format!("use a whole number from {} to {}", self.min, self.max))),
        }
    }
}

/// The parameters that do not belong to a provider: those of the core and of the decorators.
const COMMON: &str = "compat, monitor, trace, and fault.* to inject faults";

fn unknown(key: &str, value: &str, keys: &[&str]) -> Error {
    let (near, steps) = keys
        .iter()
        .map(|known| (*known, distance(key, known)))
        .min_by_key(|&(_, steps)| steps)
        .unwrap_or_default();
    let advice = if steps <= 3 {
        format!("did you mean {near}={value}?")
    } else {
        format!("the parameters are {}; every adapter also has {COMMON}", keys.join(", "))
    };
    invalid(format!("unknown IA parameter {key:?} (with the value {value:?})")).advise(advice)
}

/// The error for an invalid parameter.
#[must_use]
pub fn invalid(reason: String) -> Error {
    Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1).because(reason)
}

/// The edit distance of two words.
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

    fn parsed(text: &str) -> Result<Limits> {
        let mut limits = Limits::default();
        parse(text, &mut limits, |limits| limits, &[])?;
        Ok(limits)
    }

    #[test]
    fn a_later_value_wins_and_the_rest_stays() {
        let text = " max_eps=7,max_iov=2\tmax_srqs=0 , max_eps=8";
        let expected = Limits { max_eps: 8, max_iov: 2, max_srqs: 0, ..Limits::default() };
        assert_eq!(parsed(text), Ok(expected));
        assert_eq!(parsed(""), Ok(Limits::default()));
    }

    #[test]
    fn a_misspelt_key_is_answered_with_the_nearest() {
        let error = parsed("max_ep=3").expect_err("no such key");
        assert!(error.to_string().contains("did you mean max_eps=3?"), "{error}");
    }

    #[test]
    fn every_limit_can_be_set_to_both_its_ends_and_not_beyond() {
        for Limit { key, min, max, field } in LIMITS {
            for value in [min, max] {
                let mut parsed = parsed(&format!("{key}={value}")).expect(key);
                assert_eq!(*field(&mut parsed), value, "{key}");
            }
            assert!(parsed(&format!("{key}={}", u64::from(max) + 1)).is_err());
        }
    }

    #[test]
    fn letters_are_counted() {
        assert_eq!(distance("max_ep", "max_eps"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
