//! The parameters of an adapter.

use std::net::{IpAddr, Ipv4Addr};

use dat_provider::Address;
use dat_provider::error::Result;
use dat_provider_kit::parameters::{Limits, Parameter, invalid, parse};

/// The address and the limits of an adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) address: Address,
    pub(crate) limits: Limits,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { address: Ipv4Addr::LOCALHOST.into(), limits: Limits::default() }
    }
}

const ADDRESS: [Parameter<Parameters>; 1] =
    [Parameter { key: "address", set: Parameters::set_address }];

impl Parameters {
    /// Parses `key=value` pairs, separated by blanks or commas. A later pair overrides an earlier one.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut parameters = Self::default();
        parse(text, &mut parameters, |parameters| &mut parameters.limits, &ADDRESS)?;
        Ok(parameters)
    }

    fn set_address(&mut self, value: &str) -> Result<()> {
        let address = value.parse().ok().filter(|address| match address {
            Address::Ip(IpAddr::V4(ip)) => ip.is_loopback(),
            Address::Ip(IpAddr::V6(_)) => false,
            Address::Fabric(_) => true,
        });
        match address {
            Some(address) => {
                self.address = address;
                Ok(())
            }
            None => Err(invalid(format!("invalid value {value:?} for the IA parameter address"))
                .advise(
                    "use an address from 127.0.0.0 to 127.255.255.255, or FAMILY:HEXDIGITS for one \
                     that is not IP",
                )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_address_are_set_and_the_rest_stays() {
        let text = "max_iov=2 address=127.3.2.1 max_eps=8";
        let parsed = Parameters::parse(text).expect("valid");
        let limits = Limits { max_eps: 8, max_iov: 2, ..Limits::default() };
        let address = Ipv4Addr::new(127, 3, 2, 1).into();
        assert_eq!(parsed, Parameters { address, limits });
        let fabric = Parameters::parse("address=65:0a0b").expect("valid").address;
        assert_eq!(fabric.to_string(), "65:0a0b");
        for wrong in ["10.0.0.1", "::1", "65:", "2:7f000001"] {
            assert!(Parameters::parse(&format!("address={wrong}")).is_err(), "{wrong}");
        }
    }
}
