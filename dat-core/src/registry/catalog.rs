//! The catalog: entries of the configuration and of the providers with their statuses, and the
//! choice of those that can open a name.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::entry::{ConfigItem, Configuration, Entry, EntryOrigin, EntryStatus};
use super::errors;
use super::line::{ConsumerSpace, Line, LineVersion, ProviderVersion};
use super::providers::{OpenRequirements, Registered, Registration};
use crate::error::{Error, Result};
use crate::provider::{Provider, Reach};

/// An entry, and its opener.
#[derive(Debug)]
pub(super) struct Match {
    pub(super) entry: Entry,
    pub(super) server: Option<Opener>,
    excess: Excess,
}

/// How an entry exceeds the requirements. An exact match takes precedence.
#[derive(Clone, Copy, Debug, Default)]
struct Excess {
    /// A thread-safe C provider, for a consumer that does not require thread safety.
    threads: bool,
    /// A larger minor version of the API.
    minor: bool,
}

/// The opener of an entry.
#[derive(Debug)]
pub(super) enum Opener {
    /// A Rust provider.
    Provider(Arc<Registered>),
    /// The library of a line.
    Library(Line),
    /// A C provider that registered itself.
    Registered(Registration),
}

impl Opener {
    /// The reach of the provider; a C provider does not report it.
    fn reach(&self) -> Option<Reach> {
        match self {
            Self::Provider(registered) => Some(registered.description.reach),
            Self::Library(_) | Self::Registered(_) => None,
        }
    }
}

impl Match {
    /// An entry that matches the requirements exactly, or cannot be opened.
    fn new(entry: Entry, server: Option<Opener>) -> Self {
        Self { entry, server, excess: Excess::default() }
    }

    fn is_usable_as(&self, name: &str) -> bool {
        self.entry.status.is_usable() && self.entry.name == name
    }

    /// Its precedence among the usable entries of its name: the lowest number wins.
    fn rank(&self) -> u8 {
        let class = match (&self.entry.origin, self.entry.is_default) {
            (EntryOrigin::Discovered, _) => return u8::MAX,
            (EntryOrigin::Registered, _) => 0,
            (_, true) => 1,
            (_, false) => 2,
        };
        let Excess { threads, minor } = self.excess;
        class + if threads { 3 } else { 0 } + if minor { 6 } else { 0 }
    }
}

/// All entries for the requirements.
#[derive(Debug)]
pub(super) struct Catalog<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) providers: &'a [Arc<Registered>],
    pub(super) registrations: &'a [Registration],
    pub(super) requirements: OpenRequirements,
    /// The libraries known to be unusable; `None` if the owner cannot load any.
    pub(super) loadable: Option<&'a BTreeMap<EntryOrigin, Error>>,
}

impl Catalog<'_> {
    /// The registered C providers, then the entries of the configuration in file order.
    pub(super) fn named(&self) -> Vec<Match> {
        let registered = self.registrations.iter().map(|it| self.registered(it));
        registered.chain(self.configuration.items().iter().map(|it| self.item(it))).collect()
    }

    /// The adapters that the providers discover, in the order in which the providers were added.
    pub(super) fn discovered(&self) -> Vec<Match> {
        self.discovered_by(|_| true)
    }

    /// The adapters discovered by the providers that claim one of the names, or by all others.
    pub(super) fn discovered_for(&self, names: [&str; 2], claims_name: bool) -> Vec<Match> {
        self.discovered_by(|provider| {
            names.iter().any(|name| provider.claims_name(name)) == claims_name
        })
    }

    fn discovered_by(&self, wanted: impl Fn(&dyn Provider) -> bool) -> Vec<Match> {
        let wanted = |server: &&Arc<Registered>| wanted(&*server.provider);
        self.providers.iter().filter(wanted).flat_map(discover).collect()
    }

    fn registered(&self, registration: &Registration) -> Match {
        let served = self.serve_registered(registration);
        let (server, status) = match served {
            Ok(()) => (Some(Opener::Registered(registration.clone())), EntryStatus::Usable),
            Err(reason) => (None, EntryStatus::Unusable(reason)),
        };
        let mut found = Match::new(Entry::of_registration(registration, status), server);
        found.excess = self.excess(registration.version, registration.thread_safe);
        found
    }

    fn serve_registered(&self, registration: &Registration) -> Result<()> {
        let (origin, version) = (&EntryOrigin::Registered, registration.version);
        if !self.requirements.version.accepts(version) {
            return Err(errors::other_version(origin, version, self.requirements.version));
        }
        if self.loadable.is_none() {
            return Err(errors::registered_for_c(registration));
        }
        self.check_threads(origin, registration.thread_safe)
    }

    fn item(&self, item: &ConfigItem) -> Match {
        let (file, number, content) = match item {
            ConfigItem::File { file, reason } => {
                let entry = Entry::unusable(EntryOrigin::File(Arc::clone(file)), reason.clone());
                return Match::new(entry, None);
            }
            ConfigItem::Line { file, number, content } => (file, *number, content),
        };
        let origin = EntryOrigin::Line { file: Arc::clone(file), line: number };
        match content {
            Ok(line) => {
                let (server, status) = match self.serve(&origin, line) {
                    Ok(server) => (Some(server), EntryStatus::Usable),
                    Err(reason) => (None, EntryStatus::Unusable(reason)),
                };
                let mut excess = self.excess(line.api_version, line.thread_safe);
                excess.threads &= matches!(server, Some(Opener::Library(_)));
                let mut entry = Entry::of_line(origin, line, status);
                entry.reach = server.as_ref().and_then(Opener::reach);
                Match { entry, server, excess }
            }
            Err(error) => {
                let mut entry = Entry::unusable(origin, errors::corrupt(file, error));
                error.name().unwrap_or_default().clone_into(&mut entry.name);
                entry.syntax_error = Some(error.clone());
                Match::new(entry, None)
            }
        }
    }

    /// Returns the opener of a line.
    fn serve(&self, origin: &EntryOrigin, line: &Line) -> Result<Opener> {
        if line.api_version.space == ConsumerSpace::Kernel {
            return Err(errors::kernel(origin, line));
        }
        if !self.requirements.version.accepts(line.api_version) {
            return Err(errors::other_version(origin, line.api_version, self.requirements.version));
        }
        let server = self.providers.iter().find(|provider| provider.name() == line.library);
        if let Some(server) = server {
            return Ok(Opener::Provider(Arc::clone(server)));
        }
        let Some(unusable) = self.loadable else {
            return Err(errors::foreign(origin, line, self.providers));
        };
        self.check_threads(origin, line.thread_safe)?;
        match unusable.get(origin) {
            Some(reason) => Err(reason.clone()),
            None => Ok(Opener::Library(line.clone())),
        }
    }

    /// Rejects a C provider registered as `nonthreadsafe` if the caller requires thread safety.
    fn check_threads(&self, origin: &EntryOrigin, thread_safe: bool) -> Result<()> {
        if self.requirements.thread_safe == Some(true) && !thread_safe {
            return Err(errors::unsafe_for_threads(origin));
        }
        Ok(())
    }

    fn excess(&self, version: LineVersion, thread_safe: bool) -> Excess {
        Excess {
            threads: self.requirements.thread_safe == Some(false) && thread_safe,
            minor: self.requirements.version.is_exceeded_by(version),
        }
    }
}

fn discover(server: &Arc<Registered>) -> Vec<Match> {
    let (major, minor) = server.description.version;
    let version = ProviderVersion { id: server.name().to_owned(), major, minor };
    let found = |adapter: crate::provider::DiscoveredAdapter| {
        let entry = Entry {
            name: adapter.name,
            origin: EntryOrigin::Discovered,
            api_version: None,
            thread_safe: true,
            is_default: true,
            library: server.name().to_owned(),
            provider_version: Some(version.clone()),
            parameters: String::new(),
            platform_parameters: String::new(),
            reach: Some(server.description.reach),
            summary: adapter.summary,
            syntax_error: None,
            status: adapter.unusable.map_or(EntryStatus::Usable, EntryStatus::Unusable),
        };
        Match::new(entry, Some(Opener::Provider(Arc::clone(server))))
    };
    server.provider.discover().into_iter().map(found).collect()
}

/// Marks shadowed entries: of the usable entries of a name, only those of the first rank are tried.
pub(super) fn shadow(found: &mut [Match]) {
    let mut first: HashMap<String, (u8, EntryOrigin)> = HashMap::new();
    for found in found.iter().filter(|found| found.entry.status.is_usable()) {
        let (name, rank) = (&found.entry.name, found.rank());
        if first.get(name).is_none_or(|(least, _)| rank < *least) {
            first.insert(name.clone(), (rank, found.entry.origin.clone()));
        }
    }
    for found in found.iter_mut().filter(|found| found.entry.status.is_usable()) {
        match first.get(&found.entry.name) {
            Some((least, origin)) if *least < found.rank() => {
                found.entry.status = EntryStatus::Shadowed(origin.clone());
            }
            _ => {}
        }
    }
}

/// A name as the consumer gave it: the part that is looked up, and IA parameters for the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestedName<'a> {
    pub(super) name: &'a str,
    pub(super) suffix: &'a str,
}

impl<'a> RequestedName<'a> {
    /// Splits at the first `?`.
    pub(super) fn new(whole: &'a str) -> Self {
        let (name, suffix) = whole.split_once('?').unwrap_or((whole, ""));
        Self { name, suffix }
    }

    /// The entries to try, in order. An entry whose own name contains a `?` can be opened too.
    pub(super) fn pick(whole: &'a str, found: &[Match]) -> Option<(Self, Vec<usize>)> {
        let named = |name: &str| -> Vec<usize> {
            (0..found.len()).filter(|&index| found[index].is_usable_as(name)).collect()
        };
        [Self { name: whole, suffix: "" }, Self::new(whole)]
            .into_iter()
            .map(|asked| (asked, named(asked.name)))
            .find(|(_, picked)| !picked.is_empty())
    }

    /// The parameters of an entry, followed by those of the name.
    pub(super) fn parameters(&self, own: &str) -> String {
        match (own, self.suffix) {
            (own, "") => own.to_owned(),
            ("", suffix) => suffix.to_owned(),
            (own, suffix) => format!("{own} {suffix}"),
        }
    }
}
