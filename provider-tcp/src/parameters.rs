//! The parameters that an adapter is opened with.

use std::net::{IpAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dat_provider::error::Result;
use dat_provider_kit::descriptors::{Descriptors, MAX_EPS_FROM_LIMIT};
use dat_provider_kit::fork::Private;
use dat_provider_kit::handshake::{MAX_PRIVATE_DATA, Secret};
use dat_provider_kit::network::is_link_local;
use dat_provider_kit::parameters::{Limits, Parameter, invalid, parse};
use dat_provider_kit::processors::Processors;
use dat_provider_kit::progress_mode::ProgressMode;

use crate::discovery::{address_of, interface_of};
use crate::place::{Extent, Place};

/// Everything that an open can set.
#[derive(Clone, Debug)]
pub(crate) struct Parameters {
    /// The interface, as the line of dat.conf or the name of the adapter has it.
    pub(crate) interface: Option<String>,
    address: Option<IpAddr>,
    /// After this time, a peer that cannot be reached counts as lost.
    pub(crate) timeout: Duration,
    secret: Option<PathBuf>,
    pub(crate) processors: Processors,
    pub(crate) progress_mode: ProgressMode,
    descriptors: Descriptors,
    pub(crate) limits: Limits,
}

const OTHERS: [Parameter<Parameters>; 6] = [
    Parameter { key: "address", set: Parameters::set_address },
    Parameter { key: "timeout", set: Parameters::set_timeout },
    Parameter { key: "secret", set: Parameters::set_secret },
    Parameter { key: Descriptors::PARAMETER, set: Parameters::set_descriptors },
    Parameter { key: Processors::PARAMETER, set: Parameters::set_processors },
    Parameter { key: ProgressMode::PARAMETER, set: Parameters::set_progress_mode },
];

impl Parameters {
    /// Reads the parameters: an interface, unless the name of the adapter has one, and
    /// `key=value` pairs, separated by blanks or commas.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self> {
        let limits = Limits {
            max_eps: MAX_EPS_FROM_LIMIT,
            max_private_data_size: MAX_PRIVATE_DATA as u32,
            ..Limits::default()
        };
        let mut parameters = Self {
            interface: interface_of(name).map(str::to_owned),
            address: None,
            timeout: Duration::from_secs(15),
            secret: None,
            processors: Processors::default(),
            progress_mode: ProgressMode::default(),
            descriptors: Descriptors::default(),
            limits,
        };
        let text = text.trim_start();
        let first = text.split(|c: char| c.is_whitespace() || c == ',').next().unwrap_or("");
        let mut rest = text;
        if !first.is_empty() && !first.contains('=') {
            parameters.interface = Some(first.to_owned());
            rest = &text[first.len()..];
        }
        parse(rest, &mut parameters, |all| &mut all.limits, &OTHERS)?;
        parameters.descriptors.apply(&mut parameters.limits)?;
        if parameters.limits.max_private_data_size > MAX_PRIVATE_DATA as u32 {
            return Err(invalid("max_private_data_size is too large".to_owned())
                .advise(format!("use at most {MAX_PRIVATE_DATA}")));
        }
        Ok(parameters)
    }

    /// The addresses of the adapter.
    pub(crate) fn place(&self) -> Result<Place> {
        let interface = self.interface.clone();
        match (self.address, &self.interface) {
            (Some(address), _) => Ok(Place { interface, address, extent: Extent::Address }),
            (None, Some(name)) => {
                Ok(Place { address: address_of(name)?, interface, extent: Extent::Interface })
            }
            (None, None) => Err(invalid("the line names no network interface".to_owned())
                .advise("begin the IA parameters with one, for example \"eth0\"")),
        }
    }

    /// As [`place`](Self::place), or all addresses of the machine if neither an interface nor an address is named.
    /// The adapter reports the address of `interface`.
    pub(crate) fn place_or_everywhere(&self, interface: &str) -> Result<Place> {
        if self.interface.is_some() || self.address.is_some() {
            return self.place();
        }
        let address = address_of(interface)?;
        Ok(Place { interface: Some(interface.to_owned()), address, extent: Extent::Machine })
    }

    /// The secret of the adapter, if it has one.
    pub(crate) fn secret(&self) -> Result<Option<Secret>> {
        self.secret.as_deref().map(Secret::read).transpose()
    }

    fn set_address(&mut self, value: &str) -> Result<()> {
        let wrong = |why: String| {
            invalid(format!("invalid value {value:?} for the IA parameter address: {why}"))
                .advise("use an IP address of this machine")
        };
        let (address, _scope) = value.split_once('%').unwrap_or((value, ""));
        let address: IpAddr = address.parse().map_err(|_| wrong("not an IP address".to_owned()))?;
        let address = address.to_canonical();
        if address.is_ipv6() && is_link_local(address) {
            return Err(wrong(
                "link-local addresses are not used, because a peer needs a scope of \
                              its own for them"
                    .to_owned(),
            ));
        }
        if address.is_unspecified() {
            return Err(wrong("peers cannot connect to it".to_owned()));
        }
        Private::create(|| TcpListener::bind((address, 0)))
            .map_err(|error| wrong(error.to_string()))?;
        self.address = Some(address);
        Ok(())
    }

    fn set_timeout(&mut self, value: &str) -> Result<()> {
        let seconds = value.parse().ok().filter(|seconds| (1..=3600).contains(seconds));
        let seconds = seconds.ok_or_else(|| {
            invalid(format!("invalid value {value:?} for the IA parameter timeout"))
                .advise("use a whole number of seconds from 1 to 3600")
        })?;
        self.timeout = Duration::from_secs(seconds);
        Ok(())
    }

    fn set_descriptors(&mut self, value: &str) -> Result<()> {
        self.descriptors = Descriptors::parse(value)?;
        Ok(())
    }

    fn set_processors(&mut self, value: &str) -> Result<()> {
        self.processors = Processors::parse(value)?;
        Ok(())
    }

    fn set_progress_mode(&mut self, value: &str) -> Result<()> {
        self.progress_mode = ProgressMode::parse(value)?;
        Ok(())
    }

    fn set_secret(&mut self, value: &str) -> Result<()> {
        self.secret = Some(Path::new(value).to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_comes_from_the_name_or_from_the_first_word() {
        let address =
            |name, text| -> Result<IpAddr> { Ok(Parameters::parse(name, text)?.place()?.address) };
        let lo: IpAddr = [127, 0, 0, 1].into();
        assert_eq!(address("tcp-lo", ""), Ok(lo));
        assert_eq!(address("my-name", "lo timeout=3"), Ok(lo));
        assert_eq!(address("my-name", "lo"), Ok(lo));
        assert_eq!(address("tcp-lo", "address=127.0.0.9"), Ok([127, 0, 0, 9].into()));
        assert!(address("my-name", "").is_err());
        assert!(address("tcp-no-such-interface", "").is_err());
    }

    #[test]
    fn an_interface_or_an_address_narrows_an_adapter_of_the_machine() {
        let extent = |text| {
            let parameters = Parameters::parse("auto", text).expect("valid");
            parameters.place_or_everywhere("lo").expect("every Linux has it").extent
        };
        assert_eq!(extent(""), Extent::Machine);
        assert_eq!(extent("timeout=3"), Extent::Machine);
        assert_eq!(extent("lo timeout=3"), Extent::Interface);
        assert_eq!(extent("address=127.0.0.2"), Extent::Address);
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for text in [
            "timeout=0",
            "timeout=soon",
            "address=0.0.0.0",
            "address=192.0.2.1",
            "max_private_data_size=513",
            "processors=most",
            "progress=poll",
            "no_such_key=1",
        ] {
            assert!(Parameters::parse("tcp-lo", text).is_err(), "{text}");
        }
        let missing = Parameters::parse("tcp-lo", "secret=/no/such/file").expect("a path");
        assert!(missing.secret().is_err(), "a file that is missing");
        let parsed = Parameters::parse("tcp-lo", "timeout=4,max_eps=7").expect("valid");
        assert_eq!((parsed.timeout, parsed.limits.max_eps), (Duration::from_secs(4), 7));
    }
}
