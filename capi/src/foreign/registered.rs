//! Providers of C that registered themselves: those of a line, when its library is started, and
//! those that programs register.

use std::cell::RefCell;

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::registry::{Origin, Registration};
use parking_lot::Mutex;

use super::tables::Table;
use crate::debug::{self, Kind};
use crate::registry;

struct Registered {
    registration: Registration,
    table: Table,
    /// The line whose library registered it.
    line: Option<Origin>,
    /// Adapters that are open, or are being opened.
    uses: usize,
    /// Whether the registry knows it by itself. Else it is found through its line.
    listed: bool,
}

static REGISTERED: Mutex<Vec<Registered>> = Mutex::new(Vec::new());

/// The library of a line while it is started: what is registered meanwhile is its own.
struct Starting {
    line: Origin,
    expected: Registration,
    report: Report,
}

/// What a library did while it was started.
#[derive(Default)]
pub(super) struct Report {
    /// What it registered itself as.
    pub(super) registered: Vec<Registration>,
    /// Why it could not.
    pub(super) refusals: Vec<Error>,
}

thread_local! {
    /// A library may open adapters of others while it is started; the innermost is last.
    static STARTING: RefCell<Vec<Starting>> = const { RefCell::new(Vec::new()) };
}

/// Starts the library of a line, which is expected to register itself.
pub(super) fn starting<T>(
    line: &Origin,
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

/// Takes up a provider.
///
/// # Safety
/// The address is that of a table, which stays until the provider is removed.
pub(super) unsafe fn add(table: usize, registration: Registration) -> Result<()> {
    debug::say(Kind::Dynamic, || format!("dat_registry_add_provider: {registration}"));
    let (line, is_expected) = STARTING.with_borrow(|starting| match starting.last() {
        Some(it) => (Some(it.line.clone()), it.expected == registration),
        None => (None, false),
    });
    // SAFETY: as the caller promises.
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
    line: Option<Origin>,
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
    // SAFETY: as the caller promises.
    let table = unsafe { Table::know(table) };
    all.push(Registered { registration, table, line, uses: 0, listed });
    Ok(())
}

/// Whether a provider is there.
pub(super) fn contains(registration: &Registration) -> bool {
    REGISTERED.lock().iter().any(|it| it.registration == *registration)
}

/// Lets go of a provider that nobody uses.
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

/// Lets go of everything that the library of a line left behind.
pub(super) fn remove_of(line: &Origin) {
    let mut all = REGISTERED.lock();
    let of_line = |it: &Registered| it.line.as_ref() == Some(line);
    let (left, others): (Vec<_>, Vec<_>) = all.drain(..).partition(of_line);
    *all = others;
    for registered in left {
        // What is listed can be taken off the list.
        let _ = forget(&registered);
    }
}

fn forget(registered: &Registered) -> Result<()> {
    if registered.listed {
        registry::shared().remove_registration(&registered.registration)?;
    }
    Ok(())
}

/// The right to use a provider: while one is alive the provider is not removed.
pub(super) struct Use {
    registration: Registration,
    table: usize,
    line: Option<Origin>,
}

impl Use {
    /// Takes a use of a provider that is there.
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
    pub(super) fn line(&self) -> Option<&Origin> {
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
