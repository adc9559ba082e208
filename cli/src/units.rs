//! Sizes and times, as people write and read them.

use std::time::Duration;

const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// A number of bytes: in a binary unit where that is exact.
pub(crate) fn bytes(count: u64) -> String {
    match UNITS.iter().find(|(_, unit)| count >= *unit && count % unit == 0) {
        Some((name, unit)) => format!("{} {name}", count / unit),
        None => format!("{count} B"),
    }
}

/// A number of bytes from text such as `64`, `4K`, `4KiB` or `1M`; the letters count in 1024.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return Err("a size is a number and at most a unit: 64, 4K, 1M".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "a size starts with a number".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "the size is too large".to_owned())
}

/// A number of seconds, above 0 and not beyond an hour.
pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    match text.trim().parse::<f64>() {
        Ok(seconds) if (0.001..=3600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("give seconds from 0.001 to 3600".to_owned()),
    }
}

/// A time in the unit that suits it, in three figures.
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

/// A number in three figures, or all that stand before the point.
pub(crate) fn figures(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
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
    fn times_have_three_figures() {
        let nanos = |count| time(Duration::from_nanos(count));
        assert_eq!(nanos(0), "0.00 ns");
        assert_eq!(nanos(12), "12.0 ns");
        assert_eq!(nanos(1234), "1.23 us");
        assert_eq!(nanos(45_678_900), "45.7 ms");
        assert_eq!(nanos(10_000_000_000), "10.0 s");
    }
}
