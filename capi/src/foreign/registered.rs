//! C providers that registered themselves: during the initialisation of a line's library, or by a
//! call of a program.

use std::cell::RefCell;

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::registry::{EntryOrigin, Registration};
use dat_sync::{ProcessLock, Rank};

use super::tables::Table;
use crate::debug::{self, Kind};
use crate::registry;

struct Registered {
    registration: Registration,
    table: Table,
    /// The line whose library registered it.
    line: Option<EntryOrigin>,
    /// Number of adapters that are open or being opened.
    uses: usize,
    /// True if the registry lists it. Otherwise it is found through its line.
    listed: bool,
}

static REGISTERED: ProcessLock<Vec<Registered>> =
    ProcessLock::new(Rank::ForeignProviders, Vec::new());

/// The library of a line while it is initialised: registrations in that time are its own.
struct Starting {
    line: EntryOrigin,
    expected: Registration,
    report: Report,
}

/// The registrations of a library while it was initialised.
#[derive(Default)]
pub(super) struct Report {
    /// The registrations that it made.
    pub(super) registered: Vec<Registration>,
    /// The errors of those that it could not make.
    pub(super) refusals: Vec<Error>,
}

thread_local! {
    /// A library may open adapters of others while it is initialised; the innermost is last.
    static STARTING: RefCell<Vec<Starting>> = const { RefCell::new(Vec::new()) };
}

/// Runs the initialisation of a line's library, which is expected to register a provider.
pub(super) fn starting<T>(
    line: &EntryOrigin,
    expected: &Registration,
    start: impl FnOnce() -> T,
) -> (T, Report) {
    let entry =
        Starting { line: line.clone(), expected: expected.clone(), report: Report::default() };
    STARTING.with_borrow_mut(|starting| starting.push(entry));
    let started = start();
    let entry = STARTING.with_borrow_mut(Vec::pop);
    (started, entry.map(|entry| entry.report).unwrap_or_default())
}

/// Adds a provider.
///
/// # Safety
/// The address is that of a table that stays valid until the provider is removed.
pub(super) unsafe fn add(table: usize, registration: Registration) -> Result<()> {
    debug::say(Kind::Dynamic, || format!("dat_registry_add_provider: {registration}"));
    let (line, is_expected) = STARTING.with_borrow(|starting| match starting.last() {
        Some(it) => (Some(it.line.clone()), it.expected == registration),
        None => (None, false),
    });
    // SAFETY: the caller guarantees that the table stays valid until the provider is removed.
    let added = unsafe { enter(table, registration.clone(), line, !is_expected) };
    STARTING.with_borrow_mut(|starting| {
        let Some(Starting { report, .. }) = starting.last_mut() else { return };
        match &added {
            Ok(()) => report.registered.push(registration),
            Err(error) => report.refusals.push(error.clone()),
        }
    });
    added
}

/// # Safety
/// As for [`add`].
unsafe fn enter(
    table: usize,
    registration: Registration,
    line: Option<EntryOrigin>,
    listed: bool,
) -> Result<()> {
    let mut all = REGISTERED.lock();
    if all.iter().any(|it| it.registration == registration) {
        return Err(Error::new(ReturnType::ProviderAlreadyRegistered, Subtype::NoSubtype)
            .during("dat_registry_add_provider")
            .on(&registration)
            .because("the name is already registered for that version and thread safety")
            .advise("remove the other provider first"));
    }
    if listed {
        registry::shared().add_registration(registration.clone())?;
    }
    // SAFETY: the caller guarantees that the table stays valid until the provider is removed.
    let table = unsafe { Table::register(table) };
    all.push(Registered { registration, table, line, uses: 0, listed });
    Ok(())
}

/// Returns true if a provider is registered.
pub(super) fn contains(registration: &Registration) -> bool {
    REGISTERED.lock().iter().any(|it| it.registration == *registration)
}

/// Removes a provider that is not in use.
pub(super) fn remove(registration: &Registration) -> Result<()> {
    debug::say(Kind::Dynamic, || format!("dat_registry_remove_provider: {registration}"));
    let mut all = REGISTERED.lock();
    let Some(place) = all.iter().position(|it| it.registration == *registration) else {
        return Err(Error::new(ReturnType::ProviderNotFound, Subtype::NameNotRegistered)
            .during("dat_registry_remove_provider")
            .on(registration)
            .because("no provider is registered with that name, version and thread safety"));
    };
    if all[place].uses > 0 {
        return Err(Error::new(ReturnType::ProviderInUse, Subtype::NoSubtype)
            .during("dat_registry_remove_provider")
            .on(registration)
            .because(format!("{} of its adapters are open", all[place].uses))
            .advise("close its adapters first"));
    }
    forget(&all.swap_remove(place))
}

/// Removes everything that the library of a line left registered.
pub(super) fn remove_of(line: &EntryOrigin) {
    let mut all = REGISTERED.lock();
    let of_line = |it: &Registered| it.line.as_ref() == Some(line);
    let (left, others): (Vec<_>, Vec<_>) = all.drain(..).partition(of_line);
    *all = others;
    for registered in left {
        // It was listed, so removing it from the list cannot fail.
        let _ = forget(&registered);
    }
}

fn forget(registered: &Registered) -> Result<()> {
    if registered.listed {
        registry::shared().remove_registration(&registered.registration)?;
    }
    Ok(())
}

/// A use of a provider, which prevents its removal.
pub(super) struct Use {
    registration: Registration,
    table: usize,
    line: Option<EntryOrigin>,
}

impl Use {
    /// Takes a use of a provider, if it is registered.
    pub(super) fn take(registration: &Registration) -> Option<Self> {
        let mut all = REGISTERED.lock();
        let found = all.iter_mut().find(|it| it.registration == *registration)?;
        found.uses += 1;
        Some(Self {
            registration: registration.clone(),
            table: found.table.address(),
            line: found.line.clone(),
        })
    }

    /// The address of the provider's table.
    pub(super) fn table(&self) -> usize {
        self.table
    }

    /// The line whose library registered the provider.
    pub(super) fn line(&self) -> Option<&EntryOrigin> {
        self.line.as_ref()
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let mut all = REGISTERED.lock();
        let found = all.iter_mut().find(|it| it.registration == self.registration);
        if let Some(found) = found {
            found.uses = found.uses.saturating_sub(1);
        }
    }
}
