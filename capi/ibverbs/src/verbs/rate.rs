//! Rates of a link: the enumeration, multiples of 2.5 Gbit/s, and Mbit/s (ibv_rate_to_mbps(3), ibv_rate_to_mult(3)).

use std::ffi::c_int;

/// A rate: its value of `enum ibv_rate`, the multiple of 2.5 Gbit/s if it is known by that, and Mbit/s.
struct Rate(c_int, Option<c_int>, c_int);

/// `IBV_RATE_MAX`, which has neither.
const MAX: c_int = 0;

const RATES: [Rate; 23] = [
    Rate(2, Some(1), 2_500),
    Rate(5, Some(2), 5_000),
    Rate(3, Some(4), 10_000),
    Rate(6, Some(8), 20_000),
    Rate(4, Some(12), 30_000),
    Rate(7, Some(16), 40_000),
    Rate(8, Some(24), 60_000),
    Rate(9, Some(32), 80_000),
    Rate(10, Some(48), 120_000),
    Rate(11, None, 14_062),
    Rate(12, None, 56_250),
    Rate(13, None, 112_500),
    Rate(14, None, 168_750),
    Rate(15, None, 25_781),
    Rate(16, None, 103_125),
    Rate(17, None, 206_250),
    Rate(18, None, 309_375),
    Rate(19, Some(11), 28_125),
    Rate(20, Some(20), 53_125),
    Rate(21, Some(160), 425_000),
    Rate(22, Some(240), 637_500),
    Rate(23, Some(320), 850_000),
    Rate(24, Some(480), 1_275_000),
];

/// The multiple of 2.5 Gbit/s, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_rate_to_mult(rate: c_int) -> c_int {
    RATES.iter().find(|each| each.0 == rate).and_then(|each| each.1).unwrap_or(-1)
}

/// The rate of a multiple of 2.5 Gbit/s, or `IBV_RATE_MAX`.
#[unsafe(no_mangle)]
pub extern "C" fn mult_to_ibv_rate(multiple: c_int) -> c_int {
    RATES.iter().find(|each| each.1 == Some(multiple)).map_or(MAX, |each| each.0)
}

/// The rate in Mbit/s, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_rate_to_mbps(rate: c_int) -> c_int {
    RATES.iter().find(|each| each.0 == rate).map_or(-1, |each| each.2)
}

/// The rate of Mbit/s, or `IBV_RATE_MAX`.
#[unsafe(no_mangle)]
pub extern "C" fn mbps_to_ibv_rate(mbps: c_int) -> c_int {
    RATES.iter().find(|each| each.2 == mbps).map_or(MAX, |each| each.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_convert_in_both_directions() {
        for rate in 1..=24 {
            let mbps = ibv_rate_to_mbps(rate);
            assert_eq!(mbps_to_ibv_rate(mbps), if mbps == -1 { MAX } else { rate });
            let multiple = ibv_rate_to_mult(rate);
            assert_eq!(mult_to_ibv_rate(multiple), if multiple == -1 { MAX } else { rate });
        }
        assert_eq!((ibv_rate_to_mbps(3), ibv_rate_to_mult(5)), (10_000, 2));
        assert_eq!((ibv_rate_to_mbps(MAX), ibv_rate_to_mult(11)), (-1, -1));
    }
}
