//! The processors on which the thread of an adapter may run: the IA parameter `processors`.

use dat_provider::error::Result;
use rustix::thread::CpuSet;

use crate::parameters::invalid;

/// The processors on which the thread of an adapter may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Processors {
    /// Every processor of the control group of the process. Written `any`.
    #[default]
    Any,
    /// The processors of the thread that opens the adapter. Written `opener`.
    Opener,
    /// The processors with numbers from the first to the second. Written `3` or `0-3`.
    Range(usize, usize),
}

impl Processors {
    /// The name of the IA parameter.
    pub const PARAMETER: &'static str = "processors";

    /// Reads the value of the parameter.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if it is neither a word nor a range.
    pub fn parse(value: &str) -> Result<Self> {
        let range = || {
            let (first, last) = value.split_once('-').unwrap_or((value, value));
            let (first, last) = (first.parse().ok()?, last.parse().ok()?);
            (first <= last && last < CpuSet::MAX_CPU).then_some(Self::Range(first, last))
        };
        let parsed = match value {
            "any" => Some(Self::Any),
            "opener" => Some(Self::Opener),
            _ => range(),
        };
        parsed.ok_or_else(|| {
            invalid(format!("invalid value {value:?} for the IA parameter {}", Self::PARAMETER))
                .advise("use any, opener, the number of a processor, or a range such as 0-3")
        })
    }
}

/// The processors of a set, as ranges: `0-3,8`.
#[must_use]
pub fn ranges(set: &CpuSet) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for processor in (0..CpuSet::MAX_CPU).filter(|processor| set.is_set(*processor)) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == processor => *last = processor,
            _ => ranges.push((processor, processor)),
        }
    }
    let text = |(first, last): (usize, usize)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.into_iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_and_ranges_are_read() {
        for (value, processors) in [
            ("any", Processors::Any),
            ("opener", Processors::Opener),
            ("7", Processors::Range(7, 7)),
            ("0-3", Processors::Range(0, 3)),
        ] {
            assert_eq!(Processors::parse(value), Ok(processors));
        }
        for value in ["", "all", "-1", "3-0", "0-", "99999", "0-99999"] {
            assert!(Processors::parse(value).is_err(), "{value}");
        }
    }

    #[test]
    fn a_set_is_written_as_ranges() {
        let mut set = CpuSet::new();
        assert_eq!(ranges(&set), "");
        [0, 1, 2, 8, 10, 11].into_iter().for_each(|processor| set.set(processor));
        assert_eq!(ranges(&set), "0-2,8,10-11");
    }
}
