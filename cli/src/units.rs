//! Sizes and times as text.

use std::time::Duration;

/// A size or a time that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseError {
    /// The unit of a size is unknown.
    #[error("a size is a number with an optional unit: 64, 4K, 1M")]
    Unit,
    /// A size does not start with a number.
    #[error("a size starts with a number")]
    Number,
    /// A size does not fit into 64 bits.
    #[error("the size is too large")]
    TooLarge,
    /// A time is missing or out of range.
    #[error("use seconds from 0.001 to 3600")]
    Seconds,
}

const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// A number of bytes, in a binary unit if it is a multiple of it.
pub(crate) fn bytes(count: u64) -> String {
    match UNITS.iter().find(|(_, unit)| count >= *unit && count % unit == 0) {
        Some((name, unit)) => format!("{} {name}", count / unit),
        None => format!("{count} B"),
    }
}

/// Parses a number of bytes such as `64`, `4K`, `4KiB` or `1M`; the units are powers of 1024.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, ParseError> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return Err(ParseError::Unit),
    };
    let number: u64 = number.parse().map_err(|_| ParseError::Number)?;
    number.checked_mul(factor).ok_or(ParseError::TooLarge)
}

/// Parses a number of seconds, from a millisecond to an hour.
pub(crate) fn parse_seconds(text: &str) -> Result<Duration, ParseError> {
    match text.trim().parse::<f64>() {
        Ok(seconds) if (0.001..=3600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(ParseError::Seconds),
    }
}

/// A time in a suitable unit, with three digits.
pub(crate) fn time(time: Duration) -> String {
    let nanos = time.as_secs_f64() * 1e9;
    let (value, unit) = match nanos {
        nanos if nanos < 999.5 => (nanos, "ns"),
        nanos if nanos < 999.5e3 => (nanos / 1e3, "us"),
        nanos if nanos < 999.5e6 => (nanos / 1e6, "ms"),
        nanos => (nanos / 1e9, "s"),
    };
    format!("{} {unit}", figures(value))
}

/// A number with three digits, or all digits before the decimal point.
pub(crate) fn figures(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// A number with three digits and a decimal prefix: `950`, `1.23k`, `45.6M`.
pub(crate) fn with_prefix(value: f64) -> String {
    match value {
        value if value < 999.5 => format!("{value:.0}"),
        value if value < 999.5e3 => format!("{}k", figures(value / 1e3)),
        value if value < 999.5e6 => format!("{}M", figures(value / 1e6)),
        value => format!("{}G", figures(value / 1e9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_written() {
        for (text, size) in [("64", 64), ("4K", 4096), ("4 KiB", 4096), ("1m", 1 << 20)] {
            assert_eq!(parse_bytes(text), Ok(size), "{text}");
        }
        for size in [0, 1, 1000, 1024, 1025, 65_536, 1 << 20, 3 << 30] {
            assert_eq!(parse_bytes(&bytes(size)), Ok(size));
        }
        for text in ["", "K", "-1", "1.5K", "4X", "99999999999G"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_with_a_prefix_have_three_figures() {
        for (value, text) in [(0.0, "0"), (999.0, "999"), (1234.0, "1.23k"), (4.56e7, "45.6M")] {
            assert_eq!(with_prefix(value), text);
        }
        assert_eq!(with_prefix(2e9), "2.00G");
    }

    #[test]
    fn times_have_three_figures() {
        let nanos = |count| time(Duration::from_nanos(count));
        assert_eq!(nanos(0), "0.00 ns");
        assert_eq!(nanos(12), "12.0 ns");
        assert_eq!(nanos(1234), "1.23 us");
        assert_eq!(nanos(45_678_900), "45.7 ms");
        assert_eq!(nanos(10_000_000_000), "10.0 s");
    }
}
