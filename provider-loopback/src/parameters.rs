//! The parameters of an adapter.

use std::net::{IpAddr, Ipv4Addr};

use dat_core::error::Result;
use dat_provider_kit::parameters::{Limits, Parameter, invalid, parse};

/// The address and the limits of an adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) address: IpAddr,
    pub(crate) limits: Limits,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { address: IpAddr::V4(Ipv4Addr::LOCALHOST), limits: Limits::default() }
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
        match value.parse::<Ipv4Addr>() {
            Ok(address) if address.is_loopback() => {
                self.address = IpAddr::V4(address);
                Ok(())
            }
            _ => Err(invalid(format!("invalid value {value:?} for the IA parameter address"))
                .advise("use an address from 127.0.0.0 to 127.255.255.255")),
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
        let address = IpAddr::V4(Ipv4Addr::new(127, 3, 2, 1));
        assert_eq!(parsed, Parameters { address, limits });
        assert!(Parameters::parse("address=10.0.0.1").is_err());
    }
}
