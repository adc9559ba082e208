//! The parameters that an adapter is opened with.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use dat_provider::error::Result;
use dat_provider_kit::descriptors::{Descriptors, MAX_EPS_FROM_LIMIT};
use dat_provider_kit::handshake::MAX_PRIVATE_DATA;
use dat_provider_kit::parameters::{Limits, Parameter, invalid, parse};
use dat_provider_kit::processors::Processors;
use dat_provider_kit::progress_mode::ProgressMode;

/// Maximum length of the name of a folder, in bytes: a socket's path in it has at most 108.
const LONGEST_FOLDER: usize = 72;

/// All settings of an open.
#[derive(Clone, Debug)]
pub(crate) struct Parameters {
    pub(crate) address: Ipv4Addr,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) any_user: bool,
    pub(crate) is_direct: bool,
    /// True if any process may access this one as far as Yama is concerned.
    pub(crate) any_tracer: bool,
    pub(crate) processors: Processors,
    pub(crate) progress_mode: ProgressMode,
    descriptors: Descriptors,
    pub(crate) limits: Limits,
}

const OTHERS: [Parameter<Parameters>; 8] = [
    Parameter { key: "address", set: Parameters::set_address },
    Parameter { key: Descriptors::PARAMETER, set: Parameters::set_descriptors },
    Parameter { key: "direct", set: Parameters::set_direct },
    Parameter { key: "dir", set: Parameters::set_folder },
    Parameter { key: Processors::PARAMETER, set: Parameters::set_processors },
    Parameter { key: ProgressMode::PARAMETER, set: Parameters::set_progress_mode },
    Parameter { key: "ptracer", set: Parameters::set_tracer },
    Parameter { key: "users", set: Parameters::set_users },
];

impl Parameters {
    /// Reads `key=value` pairs, separated by blanks or commas.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let limits = Limits {
            max_eps: MAX_EPS_FROM_LIMIT,
            max_private_data_size: MAX_PRIVATE_DATA as u32,
            ..Limits::default()
        };
        let mut parameters = Self {
            address: Ipv4Addr::LOCALHOST,
            folder: None,
            any_user: false,
            is_direct: true,
            any_tracer: false,
            processors: Processors::default(),
            progress_mode: ProgressMode::default(),
            descriptors: Descriptors::default(),
            limits,
        };
        parse(text, &mut parameters, |all| &mut all.limits, &OTHERS)?;
        parameters.descriptors.apply(&mut parameters.limits)?;
        if parameters.limits.max_private_data_size > MAX_PRIVATE_DATA as u32 {
            return Err(invalid("max_private_data_size is too large".to_owned())
                .advise(format!("use at most {MAX_PRIVATE_DATA}")));
        }
        Ok(parameters)
    }

    fn set_address(&mut self, value: &str) -> Result<()> {
        let address = value.parse::<IpAddr>().map(|address| address.to_canonical());
        let address = match address {
            Ok(IpAddr::V4(v4)) if v4.is_loopback() => Some(v4),
            _ => None,
        };
        self.address = address.ok_or_else(|| {
            invalid(format!("invalid value {value:?} for the IA parameter address"))
                .advise("use an address of 127.0.0.0/8")
        })?;
        Ok(())
    }

    fn set_folder(&mut self, value: &str) -> Result<()> {
        let wrong = |why: &str| {
            invalid(format!("invalid value {value:?} for the IA parameter dir: {why}"))
                .advise("use an absolute path of a folder that both sides can write")
        };
        let folder = Path::new(value);
        if !folder.is_absolute() || !folder.is_dir() {
            return Err(wrong("not an absolute path of a folder"));
        }
        if value.len() > LONGEST_FOLDER {
            return Err(wrong("too long for the names of sockets in it"));
        }
        self.folder = Some(folder.to_owned());
        Ok(())
    }

    fn set_direct(&mut self, value: &str) -> Result<()> {
        self.is_direct = choice("direct", value, ["no", "yes"])?;
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

    fn set_tracer(&mut self, value: &str) -> Result<()> {
        self.any_tracer = choice("ptracer", value, ["none", "any"])?;
        Ok(())
    }

    fn set_users(&mut self, value: &str) -> Result<()> {
        self.any_user = choice("users", value, ["same", "any"])?;
        Ok(())
    }
}

/// Returns true if a value is the second of two words.
fn choice(key: &str, value: &str, words: [&str; 2]) -> Result<bool> {
    match words.iter().position(|word| *word == value) {
        Some(chosen) => Ok(chosen == 1),
        None => Err(invalid(format!("invalid value {value:?} for the IA parameter {key}"))
            .advise(format!("use {} or {}", words[0], words[1]))),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        let parsed = Parameters::parse("address=127.0.0.9 users=any,max_eps=7").expect("valid");
        assert_eq!(parsed.address, Ipv4Addr::new(127, 0, 0, 9));
        assert_eq!((parsed.any_user, parsed.limits.max_eps), (true, 7));
        let parsed = Parameters::parse("dir=/tmp").expect("a folder");
        assert_eq!(parsed.folder.as_deref(), Some(Path::new("/tmp")));
        assert!(!parsed.any_user, "users=same is the default");
        assert!(parsed.is_direct, "direct=yes is the default");
        assert!(!parsed.any_tracer, "ptracer=none is the default");
        let parsed = Parameters::parse("direct=no ptracer=any").expect("valid");
        assert!(!parsed.is_direct && parsed.any_tracer);
    }

    #[test]
    fn wrong_values_are_refused() {
        for text in [
            "address=192.0.2.1",
            "address=::1",
            "dir=/no/such/folder",
            "dir=tmp",
            "users=root",
            "direct=maybe",
            "ptracer=1",
            "progress=poll",
            "max_private_data_size=513",
            "no_such_key=1",
        ] {
            assert!(Parameters::parse(text).is_err(), "{text}");
        }
    }
}
