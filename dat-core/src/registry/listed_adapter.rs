//! The names that the registry lists for C programs (dat_registry_list_providers(3DAT)).

use std::cmp::Reverse;
use std::collections::HashSet;

use super::c_provider::OpenRequirements;
use super::entry::{Entry, EntryOrigin};
use super::{ApiVersion, Registry};
use crate::provider::Reach;

/// An adapter in the list for C programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListedAdapter {
    /// The name to open.
    pub name: String,
    /// Whether it opens for programs that require thread safety. It opens for the others too.
    pub thread_safe: bool,
}

impl Registry {
    /// The names that programs of that version get, in the order in which a program that takes the
    /// first one should try them.
    ///
    /// Each name that can be opened is listed once. C providers that the program registered come first,
    /// then the lines of the configuration in file order, which are what the administrator chose, and
    /// then the discovered adapters, those with a greater [`Reach`] first. An adapter that does not
    /// leave the process and that no line names is listed only if there is nothing else: programs would
    /// open it and wait for peers in other processes.
    #[must_use]
    pub fn listed_adapters(&self, version: ApiVersion) -> Vec<ListedAdapter> {
        let usable = |thread_safe| {
            let entries = self.list_for(OpenRequirements { version, thread_safe }).into_iter();
            entries.filter(|entry| entry.status.is_usable())
        };
        let thread_safe: HashSet<String> = usable(Some(true)).map(|entry| entry.name).collect();
        let mut names = HashSet::new();
        let mut entries: Vec<Entry> =
            usable(None).filter(|entry| names.insert(entry.name.clone())).collect();
        if !entries.iter().all(is_last_resort) {
            entries.retain(|entry| !is_last_resort(entry));
        }
        entries.sort_by_key(precedence);
        let listed = |Entry { name, .. }| {
            let thread_safe = thread_safe.contains(&name);
            ListedAdapter { name, thread_safe }
        };
        entries.into_iter().map(listed).collect()
    }
}

/// The key by which entries are sorted; entries with the same key keep their order.
fn precedence(entry: &Entry) -> (bool, Reverse<Option<Reach>>) {
    match entry.origin {
        EntryOrigin::Discovered => (true, Reverse(entry.reach)),
        _ => (false, Reverse(None)),
    }
}

fn is_last_resort(entry: &Entry) -> bool {
    entry.reach == Some(Reach::Process) && entry.origin == EntryOrigin::Discovered
}
