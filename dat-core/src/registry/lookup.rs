//! From the configuration and the providers to entries with a fate, and from a name to those
//! of them that can be opened.

use std::collections::HashMap;
use std::sync::Arc;

use super::entry::{Entry, Fate, Origin};
use super::failure;
use super::line::Line;
use super::source::{Configuration, Record};
use super::uses::Registered;
use super::version::{ApiVersion, ProviderVersion, Space};

/// An entry, and the provider that would open it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) entry: Entry,
    pub(super) server: Option<Arc<Registered>>,
}

impl Found {
    fn is_usable_as(&self, name: &str) -> bool {
        self.entry.fate.is_usable() && self.entry.name == name
    }
}

/// A look at everything that is there, for a consumer of some version.
#[derive(Debug)]
pub(super) struct Survey<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) providers: &'a [Arc<Registered>],
    pub(super) version: ApiVersion,
}

impl Survey<'_> {
    /// What the configuration says, in file order.
    pub(super) fn lines(&self) -> Vec<Found> {
        self.configuration.records().iter().map(|record| self.record(record)).collect()
    }

    /// What the providers find, in the order in which they were added.
    pub(super) fn discovered(&self) -> Vec<Found> {
        self.providers.iter().flat_map(discover).collect()
    }

    fn record(&self, record: &Record) -> Found {
        let (file, number, content) = match record {
            Record::File { file, reason } => {
                let entry = Entry::unusable(Origin::File(Arc::clone(file)), reason.clone());
                return Found { entry, server: None };
            }
            Record::Line { file, number, content } => (file, *number, content),
        };
        let origin = Origin::Line { file: Arc::clone(file), line: number };
        match content {
            Ok(line) => {
                let (server, fate) = match self.serve(&origin, line) {
                    Ok(server) => (Some(server), Fate::Usable),
                    Err(reason) => (None, Fate::Unusable(reason)),
                };
                Found { entry: Entry::of_line(origin, line, fate), server }
            }
            Err(error) => {
                let mut entry = Entry::unusable(origin, failure::corrupt(file, error));
                error.name().unwrap_or_default().clone_into(&mut entry.name);
                entry.syntax_error = Some(error.clone());
                Found { entry, server: None }
            }
        }
    }

    /// The provider that a line names.
    fn serve(&self, origin: &Origin, line: &Line) -> crate::Result<Arc<Registered>> {
        if line.api_version.space == Space::Kernel {
            return Err(failure::kernel(origin, line));
        }
        if !self.version.accepts(line.api_version) {
            return Err(failure::other_version(origin, line, self.version));
        }
        let server = self.providers.iter().find(|provider| provider.name() == line.library);
        server.cloned().ok_or_else(|| failure::foreign(origin, line, self.providers))
    }
}

fn discover(server: &Arc<Registered>) -> Vec<Found> {
    let (major, minor) = server.description.version;
    let version = ProviderVersion { id: server.name().to_owned(), major, minor };
    let found = |adapter: crate::provider::Discovered| Found {
        entry: Entry {
            name: adapter.name,
            origin: Origin::Discovered,
            api_version: None,
            thread_safe: true,
            is_default: true,
            library: server.name().to_owned(),
            provider_version: Some(version.clone()),
            parameters: String::new(),
            platform_parameters: String::new(),
            summary: adapter.summary,
            syntax_error: None,
            fate: adapter.unusable.map_or(Fate::Usable, Fate::Unusable),
        },
        server: Some(Arc::clone(server)),
    };
    server.provider.discover().into_iter().map(found).collect()
}

/// Marks what others go before: `nondefault` lines where a `default` one of the name can be
/// used, and discovered adapters where any line of the name can.
pub(super) fn shadow(found: &mut [Found]) {
    let mut defaults: HashMap<String, Origin> = HashMap::new();
    let mut others: HashMap<String, Origin> = HashMap::new();
    for Found { entry, .. } in found.iter() {
        if entry.fate.is_usable() && entry.origin != Origin::Discovered {
            let lines = if entry.is_default { &mut defaults } else { &mut others };
            lines.entry(entry.name.clone()).or_insert_with(|| entry.origin.clone());
        }
    }
    for Found { entry, .. } in found.iter_mut().filter(|found| found.entry.fate.is_usable()) {
        let earlier = match entry.origin {
            Origin::Discovered => defaults.get(&entry.name).or_else(|| others.get(&entry.name)),
            _ if entry.is_default => None,
            _ => defaults.get(&entry.name),
        };
        if let Some(earlier) = earlier {
            entry.fate = Fate::Shadowed(earlier.clone());
        }
    }
}

/// A name as the consumer gave it: what is looked up, and IA parameters for what is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked<'a> {
    pub(super) name: &'a str,
    pub(super) suffix: &'a str,
}

impl<'a> Asked<'a> {
    /// Splits at the first `?`.
    pub(super) fn new(whole: &'a str) -> Self {
        let (name, suffix) = whole.split_once('?').unwrap_or((whole, ""));
        Self { name, suffix }
    }

    /// The entries to try, in order. An entry whose very name has a `?` can be opened too.
    pub(super) fn pick(whole: &'a str, found: &[Found]) -> Option<(Self, Vec<usize>)> {
        let named = |name: &str| -> Vec<usize> {
            (0..found.len()).filter(|&index| found[index].is_usable_as(name)).collect()
        };
        [Self { name: whole, suffix: "" }, Self::new(whole)]
            .into_iter()
            .map(|asked| (asked, named(asked.name)))
            .find(|(_, picked)| !picked.is_empty())
    }

    /// The parameters of an entry and those of the name.
    pub(super) fn parameters(&self, own: &str) -> String {
        match (own, self.suffix) {
            (own, "") => own.to_owned(),
            ("", suffix) => suffix.to_owned(),
            (own, suffix) => format!("{own} {suffix}"),
        }
    }
}
